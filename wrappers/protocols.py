"""What a wrapper, a critic and a curriculum say to each other: plain values and small protocols."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from gymnasium import spaces

from rla_envs.difficulty import DifficultyParameter
from rla_envs.task import Task, TaskCheck, TaskEdit


class Step(NamedTuple):
    """One transition of an episode.

    Attributes:
        observation: What the agent saw.
        action: What it did.
        next_observation: What it saw then.
        reward: The environment's own reward for it.
        error: Why the action had no effect, in one line; empty if it had one.
    """

    observation: Any
    action: Any
    next_observation: Any
    reward: float
    error: str


@dataclass(frozen=True)
class Episode:
    """One finished episode.

    Attributes:
        task: What was played.
        steps: Its transitions, in order.
        success: Whether the task was solved.
        truncated: Whether a budget ended it.
    """

    task: Task
    steps: tuple[Step, ...]
    success: bool
    truncated: bool

    @property
    def outcome(self) -> int:
        """O of arXiv 2602.02488: +1 for a solved task, -1 for any other."""
        return 1 if self.success else -1


class Verdict(NamedTuple):
    """What a critic says about one episode.

    Attributes:
        votes: For every step its m votes, each +1 (helped), -1 (did not help)
            or 0 (the critic's answer was malformed).
        summary: What went wrong, in at most two sentences; empty if nothing.
    """

    votes: tuple[tuple[int, ...], ...]
    summary: str = ""


class Critic(Protocol):
    """A reward model: judges every step of finished episodes."""

    def judge(self, episodes: Sequence[Episode]) -> list[Verdict]:
        """Return one verdict per episode, in order."""
        ...


@runtime_checkable
class TaskSource(Protocol):
    """Where tasks come from; every :class:`rla_envs.adaptive.AdaptiveEnv` is one."""

    @property
    def difficulty_parameters(self) -> Sequence[DifficultyParameter]:
        """The parameters that may be set, in the environment's order."""
        ...

    @property
    def difficulty_space(self) -> spaces.Dict:
        """The same parameters as a Gymnasium space."""
        ...

    def sample_task(self, difficulty: Mapping[str, object] | None, rng: np.random.Generator) -> Task:
        """Return a random solvable task of this difficulty."""
        ...

    def check_task(self, task: Task) -> TaskCheck:
        """Return whether the task may be presented."""
        ...

    def apply_edit(self, task: Task, edit: TaskEdit) -> Task:
        """Return the edited task, or raise RefusedEditError."""
        ...

    def propose_edits(self, task: Task, direction: str, rng: np.random.Generator) -> Sequence[TaskEdit]:
        """Return candidate edits that aim in the direction, best first."""
        ...


class Feedback(tuple[str, ...]):
    """What a task editor is told about the rollouts of a task's last group.

    A tuple of the critic's summaries of the failed ones, oldest first, without
    those it left empty; with one more attribute.

    Args:
        summaries: The summaries.
        lost_steps: Steps that gained nothing, by what they were spent on (the
            kinds are the environment's own, see
            :meth:`rla_envs.adaptive.AdaptiveEnv.lost_step_kinds`). A step counts
            by the share of the critic's votes against it; without votes it
            counts whole.
    """

    lost_steps: Mapping[str, float]

    def __new__(cls, summaries: Iterable[str] = (), lost_steps: Mapping[str, float] | None = None) -> Self:
        """Make the tuple; see the class for the arguments."""
        feedback = super().__new__(cls, summaries)
        feedback.lost_steps = dict(lost_steps or {})
        return feedback


class TaskEditor(Protocol):
    """Rewrites tasks with the critic's feedback in hand; a language model, or rules."""

    def propose(self, task: Task, direction: str, feedback: Sequence[str]) -> Sequence[TaskEdit]:
        """Return candidate edits, best first.

        Args:
            task: The version to rewrite.
            direction: ``"harder"`` or ``"easier"``.
            feedback: The critic's summaries of the failed rollouts of its last
                group. From a curriculum it is a :class:`Feedback`, which also
                says on what the rollouts lost steps.
        """
        ...


class Proposal(NamedTuple):
    """What a curriculum wants played next: exactly one of a difficulty and a task.

    Attributes:
        difficulty: Parameter values; the environment fills in those that are missing.
        task: A concrete task.
        reason: Why this one, in a line for a human.
    """

    difficulty: Mapping[str, Any] | None
    task: Task | None
    reason: str


class Curriculum(Protocol):
    """Chooses difficulty from results. All its randomness comes from the generator that it is handed.

    Its class is called with a difficulty space (a ``gymnasium.spaces.Dict``)
    and keywords. A trainer calls :meth:`propose` once per group of rollouts of
    one task and :meth:`observe` once per rollout;
    :class:`wrappers.CriticFeedback` calls each once per episode. A curriculum
    works with both, and with results in any order.

    Three things may be left out, and every built-in curriculum has them:
    ``next_proposal(rng)`` returns a :class:`Proposal` in place of a dict, which
    says why, and may be a rewritten task; ``events()`` returns what happened
    since the last call, as JSON objects; ``difficulty_space`` is the space, so
    that environments of another kind are refused. A class that rewrites tasks
    takes them from the keyword ``tasks`` (a :class:`TaskSource`).
    """

    def propose(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return the difficulty to play next, a member of the difficulty space."""
        ...

    def observe(self, difficulty: Mapping[str, Any], success: bool | float, **feedback: Any) -> None:
        """Take in the result of one episode.

        Args:
            difficulty: The difficulty that was played.
            success: Whether it was solved; or a number from 0 to 1, the share
                of it that was.
            **feedback: ``task`` (the Task), ``votes`` (per step), ``summary``
                (what went wrong) and ``lost_steps`` (see :class:`Feedback`);
                each may be missing.

        Raises:
            InputError: If ``success`` is anything else.
        """
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return everything it has learned, as JSON values."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from :meth:`state_dict`, exactly."""
        ...

    def explain(self) -> str:
        """Return what it is doing and why, in a line or two for a human."""
        ...
