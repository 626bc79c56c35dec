"""What curricula that seek uncertain success share: an audit of the critic, a way out of a stall."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rla_envs.difficulty import Value
from rla_envs.errors import InputError
from wrappers.curricula.base import BaseCurriculum, check_number, parse_success
from wrappers.curricula.votes import VoteAudit, high_risk_steps, parse_votes
from wrappers.protocols import Proposal


class Choice(NamedTuple):
    """A difficulty and why it was chosen.

    Attributes:
        values: Values of some parameters; the others take their defaults.
        reason: Why, in a line.
    """

    values: dict[str, Value]
    reason: str


def learnability(success: NDArray[np.float64], target: float = 0.5) -> NDArray[np.float64]:
    """Return how much a group of rollouts can teach at each success rate.

    At a target of 0.5 that is p(1-p), the variance of a success (SFL, arXiv
    2408.15099). Another target moves the peak there: ``p^(2t) (1-p)^(2-2t)``.
    """
    scores: NDArray[np.float64] = success ** (2.0 * target) * (1.0 - success) ** (2.0 - 2.0 * target)
    return scores


class AdaptiveCurriculum(BaseCurriculum):
    """Base of the curricula that look for a success rate in the middle.

    **Stall.** When nine in ten of the latest 16 groups were wasted (all won or
    all lost), every fourth proposal is drawn from the whole space until one in
    four groups teaches something. Events ``stalled`` and ``recovered`` say so.

    **Critic.** Votes that come with the results are compared with the outcomes
    (:class:`~wrappers.curricula.votes.VoteAudit`); only a critic that passes
    has any influence, and only if asked for by one of the arguments. Events
    ``critic_trusted`` and ``critic_ignored`` say which.

    Args:
        difficulty_space: See :class:`~wrappers.curricula.base.BaseCurriculum`.
        critic_weight: Weight of a trusted critic in what counts as success:
            ``(1 - w) * success + w * (share of steps that are not high-risk)``.
            A step is high-risk if all votes are against it. 0 counts outcomes alone.
        balance: Seek the success rate at which practice trains a trusted
            critic's weaker side, in place of 0.5 (:meth:`VoteAudit.target`).
    """

    stall_groups: ClassVar[int] = 16
    stall_share: ClassVar[float] = 0.9
    recover_share: ClassVar[float] = 0.75
    widen: ClassVar[float] = 0.25

    def __init__(
        self, difficulty_space: spaces.Dict, critic_weight: float = 0.0, balance: bool = False
    ) -> None:
        """Keep the arguments; see the class."""
        super().__init__(difficulty_space)
        check_number("critic_weight", critic_weight, 0.0, 1.0)
        if not isinstance(balance, bool):
            raise InputError(f"balance: expected true or false, got {balance!r}")
        self._critic_weight, self._balance = float(critic_weight), balance
        self._audit = VoteAudit()
        self._stalled = False

    @property
    def target(self) -> float:
        """The success rate that is sought."""
        return self._audit.target() if self._balance else 0.5

    def next_proposal(self, rng: np.random.Generator) -> Proposal:
        """Return the difficulty to play next; while stalled, sometimes one from anywhere."""
        if self._stalled and rng.random() < self.widen:
            choice = Choice(
                self._difficulties.draw(rng), "nearly no group teaches: drawn from the whole space"
            )
        else:
            choice = self._choose(rng)
        return Proposal(self._difficulties.member(choice.values), None, choice.reason)

    def observe(self, difficulty: Mapping[str, Any], success: bool | float, **feedback: Any) -> None:
        """Learn from one result."""
        value = parse_success(success)
        played = self._difficulties.read(difficulty, self._needed())
        votes = parse_votes(feedback.get("votes"))
        event = self._audit.add(value, votes)
        if event is not None:
            self._events.append(event)
        credit = value
        if self._critic_weight and votes and self._audit.trusted:
            sound = 1.0 - len(high_risk_steps(votes)) / len(votes)
            credit = (1.0 - self._critic_weight) * value + self._critic_weight * sound
        self._learn(played, credit)
        self._groups.add(self._cell(played), value)
        self._watch()

    def _watch(self) -> None:
        share = self._groups.share(self.stall_groups)
        if share is None or (share < self.stall_share, share > self.recover_share)[self._stalled]:
            return
        self._stalled = not self._stalled
        event = "stalled" if self._stalled else "recovered"
        self._events.append({"event": event, "wasted": share, "reason": self.explain()})

    def _tail(self) -> str:
        text = self._groups.describe()
        if self._stalled:
            text += f", so {self.widen:.0%} of the proposals come from the whole space"
        if self._balance:
            text += f"; target success {self.target:.2f}"
        return f"{text}; {self._audit.describe()}."

    def _needed(self) -> list[str]:
        """Return the parameters that every result must state."""
        return [p.name for p in self._difficulties.parameters]

    def _cell(self, played: Mapping[str, Value]) -> str:
        """Return the name of the group a result belongs to: fifths of each range, each named value."""
        named = {p.name for p in self._difficulties.parameters if p.names}
        hardness = self._difficulties.hardness(played)
        return ",".join(
            str(played[p.name]) if p.name in named else str(round(4.0 * h))
            for p, h in zip(self._difficulties.parameters, hardness, strict=True)
        )

    @abc.abstractmethod
    def _choose(self, rng: np.random.Generator) -> Choice:
        """Return the difficulty that this rule wants next."""

    @abc.abstractmethod
    def _learn(self, played: Mapping[str, Value], success: float) -> None:
        """Take in one result."""

    def _state(self) -> dict[str, Any]:
        return {"audit": self._audit.state_dict(), "stalled": self._stalled}

    def _load(self, state: dict[str, Any]) -> None:
        self._audit.load_state_dict(state["audit"])
        self._stalled = bool(state["stalled"])
