"""The settings of a training run: typed, checked, from a TOML file and the command line.

Defaults follow the paper (arXiv 2602.02488) and its released code, except where
it fails; ``DEVIATIONS`` lists every such place and heads each saved ``config.toml``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, cast

import tyro

from rla_agents.command_line import Arguments, Choices, Keywords, parse
from rla_agents.files import write_atomic
from rla_agents.learner import LearnerConfig
from rla_agents.objectives import CRITIC_ACCURACY, POLICY_ACCURACY, advantage_estimator
from rla_agents.toml_config import dump_toml, read_toml, update
from rla_envs.errors import InputError, unknown_name

DEVIATIONS = """\
Where the defaults differ from the paper (arXiv 2602.02488) and its released code:
- Difficulty is decided on a posterior (curriculum "thompson"). The paper's own rule is "threshold";
  at 8 rollouts it accepts an edit that changes nothing 93% of the time at success 0.5.
- The critic's reward is normalised over all steps and votes of a task, not over the votes of one step,
  where self-consistency cancels and only the outcome's sign survives.
- The gradient norm is clipped as configured and the optimizer's state is kept from step to step.
- The shipped models are small enough for a CPU, with learning rates to match; other models keep the
  paper's 1e-6.
- The policy chooses among admissible commands by constrained decoding; the paper's boxed index is
  policy.numbered without policy.constrained."""

EDITORS = ("none", "rules", "llm")
"""Who can rewrite tasks."""


@dataclass(frozen=True)
class EnvConfig:
    """Where the agent acts."""

    id: Annotated[str, tyro.conf.arg(aliases=("--env",))] = "RLA/AlfWorld-v0"
    """Environment; `rla envs` lists them."""
    engine: str | None = None
    """Engine that plays its games; None is the environment's own default."""
    split: str = "train"
    """Which share of its tasks to train on."""
    difficulty: Arguments = field(default_factory=dict)
    """Difficulty parameters that stay fixed; the curriculum moves the others."""
    arguments: Keywords = field(default_factory=dict)
    """Further keywords of the environment: `data=alfred` plays alfworld's own games; lists as in TOML."""
    workers: int = 0
    """Processes that run environments; 0 runs them in this one."""


@dataclass(frozen=True)
class PolicyConfig:
    """The language model that acts."""

    model: Annotated[str, tyro.conf.arg(aliases=("--model",))] = "tiny"
    """Model: tiny, smollm2, or the folder of any causal language model."""
    device: str = "auto"
    """Where it runs: auto, cpu, cuda, cuda:1; auto takes a GPU if there is one."""
    temperature: float = 1.0
    """Sampling temperature in training; the loss uses the same."""
    constrained: bool = True
    """Decode only admissible commands, where the environment lists them."""
    numbered: bool = False
    """Show the admissible commands as a numbered list and answer with a number, as in the paper."""
    max_tokens: int = 64
    """Longest action, in tokens."""
    max_context: int | None = None
    """Longest episode, in tokens; None is the model's own limit. Longer ones are cut and counted."""


@dataclass(frozen=True)
class CriticConfig:
    """The language model that judges steps: the reward model."""

    model: str | None = None
    """Model, named as for the policy; None takes the policy's, with weights of its own."""
    votes: int = 3
    """Judgements m of every step; 0 trains on outcomes alone."""
    temperature: float = 1.0
    """Sampling temperature of the judgements."""
    reason: bool = False
    """Reason in words before each judgement, as in the paper; needs a model that can."""
    max_tokens: int = 64
    """Longest judgement, in tokens."""


@dataclass(frozen=True)
class CurriculumConfig:
    """How tasks adapt."""

    name: str = "thompson"
    """Rule that moves the difficulty, see docs/curricula.md; threshold is the paper's."""
    arguments: Keywords = field(default_factory=dict)
    """Keyword arguments of that rule; lists and tables as in TOML."""


@dataclass(frozen=True)
class EditorConfig:
    """Who rewrites tasks, for a curriculum that lets them be rewritten (threshold)."""

    name: Annotated[str, tyro.conf.arg(aliases=("--editor",))] = "none"
    """Editor: none (the environment's own edits in random order), rules (those that answer what the
    rollouts failed at first), or llm."""
    model: str = "smollm2"
    """Language model of the editor llm, named as for the policy, with weights of its own that never train."""
    samples: int = 4
    """Edits that the editor llm drafts for every task that is to be rewritten."""
    temperature: float = 1.0
    """Its sampling temperature."""
    max_tokens: int = 256
    """Its longest answer, in tokens."""


@dataclass(frozen=True)
class RolloutConfig:
    """What is played in one iteration."""

    tasks: int = 16
    """Different tasks; paper: 16 for text games."""
    rollouts: int = 8
    """Episodes of each task; advantages compare them. Paper: 8."""
    retries: int = 2
    """How often an episode is played again after a failure of the machinery, before it is given up."""


@dataclass(frozen=True)
class ObjectiveConfig:
    """What is learned from the episodes."""

    step_weight: float = 1.0
    """Weight lambda of the step votes beside the outcome; 0 trains the policy on outcomes alone."""
    estimator: str = "step_index"
    """Advantage: step_index compares the same step of a task's episodes (paper); by name, others."""
    policy_accuracy: tuple[float, float] = POLICY_ACCURACY
    """Tasks solved at a rate in this range train the policy (released code)."""
    critic_accuracy: tuple[float, float] = CRITIC_ACCURACY
    """Tasks solved at a rate in this range train the critic (released code)."""


@dataclass(frozen=True)
class UpdateConfig:
    """How often each model learns, in iterations."""

    policy_every: int = 1
    """Train the policy every so many iterations; 0 keeps it as it is."""
    critic_every: int = 1
    """Train the critic every so many iterations; 0 keeps it as it is."""


@dataclass(frozen=True)
class EvalConfig:
    """Success on fixed games that never train, before and after."""

    games: int = 504
    """Held-out games; fewer than 500 mislead by several points. 0 skips the evaluation."""
    split: str = "valid_unseen"
    """Share of the environment's tasks they come from; must not be the one trained on."""
    grid: Choices = field(default_factory=dict)
    """Lists of values of some difficulty parameters; every combination gets equally many games. The
    others are as in training. Empty draws games as the environment does."""
    every: int = 0
    """Evaluate every so many iterations too; 0 evaluates at the start and the end only."""
    sampled: bool = True
    """Decode with the policy's temperature."""
    greedy: bool = True
    """Decode greedily."""
    seed: int = 0
    """Seed of the held-out games; the same for every run that is compared."""


@dataclass(frozen=True)
class TrainConfig:
    """A training run of the closed loop: environment, policy and reward model learn together."""

    env: EnvConfig = field(default_factory=EnvConfig)
    """Where the agent acts."""
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    """The language model that acts."""
    critic: CriticConfig = field(default_factory=CriticConfig)
    """The language model that judges steps."""
    curriculum: CurriculumConfig = field(default_factory=CurriculumConfig)
    """How tasks adapt."""
    editor: EditorConfig = field(default_factory=EditorConfig)
    """Who rewrites tasks."""
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    """What is played in one iteration."""
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)
    """What is learned from the episodes."""
    updates: UpdateConfig = field(default_factory=UpdateConfig)
    """How often each model learns."""
    policy_learner: LearnerConfig = field(default_factory=lambda: LearnerConfig(lr=1e-6))
    """How the policy learns; its temperature is always that of the policy."""
    critic_learner: LearnerConfig = field(default_factory=lambda: LearnerConfig(lr=1e-6))
    """How the critic learns; its temperature is always that of the critic."""
    evaluation: EvalConfig = field(default_factory=EvalConfig)
    """Success on games that never train."""
    iterations: int = 100
    """Rounds of rollout, judgement, adaptation and training."""
    seed: int = 0
    """Seed of everything random in the run."""
    threads: int = 0
    """CPU threads of the models; 0 lets torch choose."""
    checkpoint_every: int = 1
    """Iterations between checkpoints."""
    run_dir: str | None = None
    """Folder of the run; None takes the first free runs/MODEL-N."""

    def __post_init__(self) -> None:
        """Check every value that has a range.

        Raises:
            InputError: Names the key, what was expected and what came.
        """
        for path, low in _AT_LEAST.items():
            value = get(self, path)
            if value is not None and not (isinstance(value, int | float) and value >= low):
                raise InputError(f"{path}: expected {low} or more, got {value!r}")
        if self.editor.name not in EDITORS:
            raise unknown_name("editor", self.editor.name, EDITORS)
        for path in ("policy.temperature", "critic.temperature", "editor.temperature"):
            if not 0 < cast(float, get(self, path)) < float("inf"):
                raise InputError(f"{path}: expected a positive number, got {get(self, path)!r}")
        for path in ("objective.policy_accuracy", "objective.critic_accuracy"):
            first, last = cast(tuple[float, float], get(self, path))
            if not 0 <= first <= last <= 1:
                raise InputError(f"{path}: expected two rates, 0 <= low <= high <= 1, got [{first}, {last}]")
        advantage_estimator(self.objective.estimator)
        for role in ("policy", "critic"):
            # A loss at another temperature than the sampler's would start from ratios other than 1.
            learner = dataclasses.replace(
                getattr(self, f"{role}_learner"), temperature=getattr(self, role).temperature
            )
            object.__setattr__(self, f"{role}_learner", learner)
        for name, values in self.evaluation.grid.items():
            if not values:
                raise InputError(f"evaluation.grid: expected one value or more for {name!r}, got none")
        if self.evaluation.games and self.evaluation.split == self.env.split:
            raise InputError(
                f"evaluation.split: expected a split that does not train, got {self.env.split!r}, "
                "which is also env.split"
            )


_AT_LEAST: Mapping[str, float] = {
    "env.workers": 0,
    "policy.max_tokens": 1,
    "policy.max_context": 1,
    "critic.votes": 0,
    "critic.max_tokens": 1,
    "editor.samples": 1,
    "editor.max_tokens": 1,
    "rollout.tasks": 1,
    "rollout.rollouts": 1,
    "rollout.retries": 0,
    "objective.step_weight": 0,
    "updates.policy_every": 0,
    "updates.critic_every": 0,
    "evaluation.games": 0,
    "evaluation.every": 0,
    "evaluation.seed": 0,
    "iterations": 0,
    "seed": 0,
    "threads": 0,
    "checkpoint_every": 1,
}


def get(config: TrainConfig, path: str) -> object:
    """Return the value at a dotted path such as ``"rollout.tasks"``."""
    value: object = config
    for name in path.split("."):
        value = getattr(value, name)
    return value


def load_config(
    path: str | Path | None = None, args: Sequence[str] = (), preset: str | None = None
) -> TrainConfig:
    """Return a run's settings.

    The defaults come first, then what suits the chosen model, then a preset,
    then a file, then the command line. Each overrides the ones before, key by
    key; a mapping is replaced as a whole. Naming another environment or
    curriculum drops the difficulty or the arguments meant for the one before.

    Args:
        path: A TOML file.
        args: Words of a command line, such as ``["--rollout.tasks", "4"]``.
        preset: Name of a shipped preset.

    Raises:
        InputError: On a file that cannot be read, an unknown key, a value of
            the wrong type or out of range; names the key.
    """
    model = override(layers(path, preset), args).policy.model
    return override(layers(path, preset, model), args)


def layers(
    path: str | Path | None = None, preset: str | None = None, model: str | None = None
) -> TrainConfig:
    """Return the settings below the command line; see :func:`load_config`.

    Args:
        path: A TOML file.
        preset: Name of a shipped preset.
        model: The policy's model, whose own settings lie under the rest; None
            takes the one that preset and file name.
    """
    if model is None:
        model = _stack(TrainConfig(), path, preset).policy.model
    config = TrainConfig()
    if model in _shipped("models"):
        config = _layer(config, _shipped("models")[model], f"settings of model {model}")
    return _stack(config, path, preset)


def override(config: TrainConfig, args: Sequence[str]) -> TrainConfig:
    """Return the settings with those that a command line names replaced; see :func:`load_config`."""
    return drop_stale(config, parse(TrainConfig, args, prog="rla train", default=config))


def drop_stale(before: TrainConfig, after: TrainConfig) -> TrainConfig:
    """Return ``after`` without mappings inherited from ``before`` that belong to something else."""
    env, curriculum, evaluation = after.env, after.curriculum, after.evaluation
    if env.id != before.env.id and env.difficulty == before.env.difficulty:
        env = dataclasses.replace(env, difficulty={})
    if env.id != before.env.id and evaluation.grid == before.evaluation.grid:
        evaluation = dataclasses.replace(evaluation, grid={})
    if curriculum.name != before.curriculum.name and curriculum.arguments == before.curriculum.arguments:
        curriculum = dataclasses.replace(curriculum, arguments={})
    return dataclasses.replace(after, env=env, curriculum=curriculum, evaluation=evaluation)


def save_config(config: TrainConfig, path: str | Path) -> None:
    """Write a run's settings as TOML that :func:`load_config` reads back to an equal value."""
    header = "".join(f"# {line}\n" for line in DEVIATIONS.splitlines())
    write_atomic(path, f"{header}\n{dump_toml(config)}")


def _stack(config: TrainConfig, path: str | Path | None, preset: str | None) -> TrainConfig:
    if preset is not None:
        presets = _shipped("presets")
        if preset not in presets:
            raise unknown_name("preset", preset, presets)
        config = _layer(config, presets[preset], f"preset {preset}")
    if path is not None:
        config = _layer(config, Path(path), str(path))
    return config


def _layer(config: TrainConfig, file: Traversable, source: str) -> TrainConfig:
    return drop_stale(config, update(config, read_toml(file), source))


def _shipped(folder: str) -> dict[str, Traversable]:
    """Return the settings files in a folder of this package, by name."""
    files = (resources.files("rla_agents") / "settings" / folder).iterdir()
    return {file.name.removesuffix(".toml"): file for file in files if file.name.endswith(".toml")}
