"""The record of one episode as it was played, sampled and judged."""

from __future__ import annotations

from dataclasses import dataclass, field

from rla_agents.llm.base import Span, TokenSequence
from rla_envs.task import Task
from wrappers.protocols import Episode, Step


@dataclass
class Turn:
    """One step of an episode.

    Attributes:
        observation: What the policy saw.
        action: The command it sent to the environment.
        next_observation: What came back.
        reward: The environment's reward.
        error: Why the command had no effect; empty if it had one.
        oracle: +1 if the step shortened the optimal plan, -1 if not, None if
            the environment knows no plan. Never seen by policy or critic.
    """

    observation: str
    action: str
    next_observation: str
    reward: float
    error: str = ""
    oracle: int | None = None


@dataclass
class Trajectory:
    """One episode: what was played, and the token sequence behind it.

    Attributes:
        task: The task.
        seed: Number of the episode within its run.
        turns: Its steps.
        sequence: The policy's token sequence.
        earlier: The sequences before it, each of which ended where pictures had to be left out so that the
            next action fitted the context; what was sampled in one is context without a span in the next.
        stop: ``"solved"``, ``"failed"``, ``"budget"`` (the environment's steps), or ``"context"``
            (the model's) ended it; ``"error"`` if the machinery failed for good.
        error: What failed, if ``stop`` is ``"error"``.
        retries: How often the episode was started again.
        optimal_length: Steps of a shortest plan from its start, if the environment knows one.
        votes: The critic's votes, per turn.
        summary: The critic's words on what went wrong; empty if nothing did.
    """

    task: Task
    seed: int
    turns: list[Turn] = field(default_factory=list)
    sequence: TokenSequence = field(default_factory=TokenSequence)
    earlier: list[TokenSequence] = field(default_factory=list)
    stop: str = ""
    error: str = ""
    retries: int = 0
    optimal_length: int | None = None
    votes: tuple[tuple[int, ...], ...] = ()
    summary: str = ""

    @property
    def sequences(self) -> list[TokenSequence]:
        """All token sequences in order: one, unless pictures had to be left out on the way."""
        return [*self.earlier, self.sequence]

    @property
    def spans(self) -> list[Span]:
        """The sampled actions; number i is that of turn i."""
        return [span for sequence in self.sequences for span in sequence.spans]

    @property
    def success(self) -> bool:
        """Whether the task was solved."""
        return self.stop == "solved"

    @property
    def healthy(self) -> bool:
        """Whether the episode may be scored: no failure of the machinery ended it."""
        return self.stop != "error"

    @property
    def outcome(self) -> int:
        """O of arXiv 2602.02488: +1 if solved, else -1."""
        return 1 if self.success else -1

    @property
    def score(self) -> float:
        """O, or where the environment rewards a part of the task as well, 2 * the share solved - 1."""
        if self.success:
            return 1.0
        return 2.0 * min(1.0, max(0.0, sum(turn.reward for turn in self.turns))) - 1.0

    def episode(self) -> Episode:
        """Return the episode as critics and wrappers see it."""
        steps = tuple(
            Step(t.observation, t.action, t.next_observation, t.reward, t.error) for t in self.turns
        )
        return Episode(self.task, steps, self.success, self.stop in ("budget", "context"))
