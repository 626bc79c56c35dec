"""The smallest training runs that still do everything."""

import dataclasses
from pathlib import Path

from rla_agents.config import (
    CriticConfig,
    CurriculumConfig,
    EnvConfig,
    EvalConfig,
    ObjectiveConfig,
    PolicyConfig,
    RolloutConfig,
    TrainConfig,
)
from rla_agents.learner import LearnerConfig

DOORS = "tests.rla_agents.doors:RLATest/Doors-v0"
COMPARED = ("metrics.jsonl", "traces.jsonl", "events.jsonl", "evaluation.json")
"""Files that depend on the settings alone."""


def save_models(folder):
    """Save an untrained policy and an untrained critic."""
    from rla_agents.tiny.make import new_model

    for seed, role in enumerate(("policy", "critic")):
        new_model(seed).save(Path(folder) / role)
    return Path(folder)


def doors_config(models, run_dir, curriculum="threshold", iterations=3, **values):
    """Return settings under which every part has something to do, on the toy environment."""
    arguments = {
        "threshold": {"slots": 2, "n": 4, "low": 0.3, "high": 0.7, "difficulty": {"doors": 1}},
        "thompson": {"grid": {"doors": [1, 2]}},
    }
    learner = LearnerConfig(lr=1e-3, minibatch=4, ema=0.9)
    config = TrainConfig(
        env=EnvConfig(id=DOORS),
        policy=PolicyConfig(model=str(models / "policy"), device="cpu"),
        critic=CriticConfig(model=str(models / "critic"), votes=2),
        curriculum=CurriculumConfig(curriculum, arguments[curriculum]),
        rollout=RolloutConfig(tasks=2, rollouts=4),
        # So few rollouts rarely have a success rate in the paper's range.
        objective=ObjectiveConfig(policy_accuracy=(0.0, 1.0), critic_accuracy=(0.0, 1.0)),
        policy_learner=learner,
        critic_learner=learner,
        evaluation=EvalConfig(games=2, every=2, grid={"doors": [1, 2]}),
        iterations=iterations,
        threads=1,
        run_dir=str(run_dir),
    )
    return dataclasses.replace(config, **values)


def outcome(run_dir):
    """Return everything that must not depend on how often a run was killed: files and newest checkpoint."""
    run_dir = Path(run_dir)
    files = {name: (run_dir / name).read_bytes() for name in COMPARED if (run_dir / name).exists()}
    newest = max(path for path in (run_dir / "checkpoints").iterdir() if path.name.isdecimal())
    parts = {p.relative_to(run_dir).as_posix(): p.read_bytes() for p in newest.rglob("*") if p.is_file()}
    return files | parts
