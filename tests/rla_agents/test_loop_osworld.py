"""The closed loop runs on real desktops: a model that reads, and one that sees the screen."""

import dataclasses

import pytest

pytest.importorskip("alfworld", reason="the tokenizer is made from alfworld's tables")

from rla_agents.config import CriticConfig, CurriculumConfig, EnvConfig, EvalConfig, PolicyConfig
from rla_agents.files import read_jsonl
from rla_agents.loop import train
from rla_envs.osworld.desktop import packages
from tests.rla_agents.small_run import doors_config, save_models
from tests.rla_agents.vision import tiny_vision_model

LEVEL = {
    "edits": 1, "applications": 1, "vagueness": 0, "start": 0, "distractor_files": 0,
    "distractor_windows": 0, "infeasible": 0.0, "step_budget": 1.5,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _desktops():
    if missing := packages.missing():
        pytest.skip(f"a real desktop needs Debian packages: {' '.join(missing)}")


def desktop_config(tmp_path, env_id, **arguments):
    """Return settings of one iteration with two episodes on desktops of their own."""
    config = doors_config(save_models(tmp_path / "models"), tmp_path / "run", "thompson", 1)
    return dataclasses.replace(
        config,
        env=EnvConfig(env_id, difficulty=LEVEL, arguments={"family": "text_append", **arguments}),
        critic=CriticConfig(str(tmp_path / "models" / "critic"), votes=1),
        curriculum=CurriculumConfig("thompson", {"grid": {"hints": [0, 1]}}),
        rollout=dataclasses.replace(config.rollout, tasks=1, rollouts=2),
        evaluation=EvalConfig(games=0),
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_model_that_reads_chooses_among_what_can_be_clicked(tmp_path):
    config = desktop_config(tmp_path, "RLA/OSWorld-Text-v0")
    train(config, quiet=True)
    traces = read_jsonl(tmp_path / "run" / "traces.jsonl")
    assert len(traces) == 2
    for trace in traces:
        assert trace["stop"] in ("solved", "failed", "budget")
        words = {step["action"].split()[0] for step in trace["steps"]}
        assert words <= {"click", "type", "press", "done", "fail"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_model_that_sees_plays_from_screenshots(tmp_path):
    config = desktop_config(tmp_path, "RLA/OSWorld-v0", observation=["screenshot"])
    tiny_vision_model(context=1024).save(tmp_path / "seeing")
    policy = PolicyConfig(str(tmp_path / "seeing"), "cpu", max_tokens=8)
    train(dataclasses.replace(config, policy=policy), quiet=True)
    (row,) = read_jsonl(tmp_path / "run" / "metrics.jsonl")
    traces = read_jsonl(tmp_path / "run" / "traces.jsonl")
    assert (row["infrastructure_errors"], len(traces)) == (0, 2)
    assert {trace["stop"] for trace in traces} <= {"failed", "budget"}
    for trace in traces:
        assert "The screen is 1280 x 720 pixels." in trace["prompt"]
        # What an untrained model says is no action, and it is told so.
        assert any(step["error"] for step in trace["steps"])
