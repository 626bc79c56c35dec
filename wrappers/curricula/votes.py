"""Is the critic any good? Step votes against outcomes, and what follows for the choice of difficulty."""

from __future__ import annotations

import math
import reprlib
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from rla_envs.errors import InputError


def parse_votes(votes: object) -> tuple[tuple[int, ...], ...]:
    """Return an episode's votes, for every step its own; None is an episode without votes.

    Raises:
        InputError: If they are not a sequence of sequences of -1, 0 and 1.
    """
    if votes is None:
        return ()
    try:
        steps = tuple(tuple(step) for step in votes)  # type: ignore[attr-defined]
    except TypeError:
        steps = ((None,),)
    if not all(
        isinstance(vote, int | float | np.number) and vote in (-1, 0, 1) for step in steps for vote in step
    ):
        raise InputError(
            f"votes: expected for every step a list of -1, 0 or 1, got {reprlib.repr(votes)}; "
            "one vote a step is [[1], [-1]]"
        )
    return tuple(tuple(int(vote) for vote in step) for step in steps)


def high_risk_steps(votes: Sequence[Sequence[int]]) -> list[int]:
    """Return the indices of the steps that all votes are against (arXiv 2602.02488).

    Example:
        >>> high_risk_steps([(-1, -1, -1), (-1, -1, 0), (1, -1, -1), ()])
        [0]
    """
    return [index for index, step in enumerate(votes) if step and all(vote == -1 for vote in step)]


class VoteAudit:
    """Compares a critic's votes with the outcomes of the episodes it voted on.

    With p+ the share of +1 votes in won episodes and p- that of -1 votes in
    lost ones, a critic tells good steps from bad ones if and only if
    mu = p+ + p- exceeds 1 (theorem 1 of arXiv 2602.02488). The audit estimates
    mu from the latest episodes, one number per episode since the votes within
    one are not independent, and *trusts* the critic while mu exceeds 1 by
    3 standard errors. With enough episodes of both outcomes
    and no such excess it is *ignored*. Before that it is *unproven*: its votes
    decide nothing, but its words may be passed on.

    Malformed votes (0) count for nothing. An episode counts as won from a
    result of 0.5 on.

    Attributes:
        status: ``"unproven"``, ``"trusted"`` or ``"ignored"``.
    """

    window: ClassVar[int] = 128
    """Episodes of each outcome that count."""
    enough: ClassVar[int] = 10
    """Episodes of each outcome below which nothing is concluded."""
    z: ClassVar[float] = 3.0

    def __init__(self) -> None:
        """Start without episodes."""
        self._won: deque[float] = deque(maxlen=self.window)
        self._lost: deque[float] = deque(maxlen=self.window)
        self.status = "unproven"

    @property
    def trusted(self) -> bool:
        """Whether the votes may decide something."""
        return self.status == "trusted"

    @property
    def usable(self) -> bool:
        """Whether the critic may be listened to: nothing speaks against it yet."""
        return self.status != "ignored"

    def add(self, success: float, votes: Sequence[Sequence[int]]) -> dict[str, Any] | None:
        """Take in an episode; return an event if the verdict on the critic changed."""
        counted = [vote for step in votes for vote in step if vote in (-1, 1)]
        if not counted:
            return None
        share = sum(vote == 1 for vote in counted) / len(counted)
        (self._won if success >= 0.5 else self._lost).append(share)
        status = self._judge()
        if status == self.status:
            return None
        self.status = status
        return {
            "event": f"critic_{status}",
            "precision": round(self.precision, 4),
            "episodes": len(self._won) + len(self._lost),
            "reason": self.describe(),
        }

    @property
    def precision(self) -> float:
        """The estimate of mu = p+ + p-: 2 is a perfect critic, 1 a coin."""
        won, lost = self.rates()
        return won + lost

    def rates(self) -> tuple[float, float]:
        """Return the estimates of p+ and p-; 0.5 where no episode tells."""
        plus = float(np.mean(self._won)) if self._won else 0.5
        minus = 1.0 - float(np.mean(self._lost)) if self._lost else 0.5
        return plus, minus

    def target(self) -> float:
        """Return the success rate at which practice trains the critic's weaker side.

        Over-hard tasks train mostly p-, over-easy ones mostly p+ (theorem 2
        there). The target is 0.5 for a balanced critic and moves up to 0.15 to
        the side where it is weaker: more wins if p+ lags, more losses if p- does.
        An untrusted critic moves nothing.
        """
        if not self.trusted:
            return 0.5
        plus, minus = self.rates()
        return 0.5 + max(-0.15, min(0.15, (minus - plus) / 2.0))

    def describe(self) -> str:
        """Return the verdict in words."""
        if not self._won and not self._lost:
            return "no votes"
        plus, minus = self.rates()
        numbers = (
            f"p+ {plus:.2f}, p- {minus:.2f} over {len(self._won)} won and {len(self._lost)} lost episodes"
        )
        meaning = {
            "unproven": "votes not used yet, too few episodes of one outcome",
            "trusted": "votes used, they agree with the outcomes",
            "ignored": "votes ignored, they say nothing about the outcomes",
        }
        return f"critic: {meaning[self.status]} ({numbers})"

    def state_dict(self) -> dict[str, Any]:
        """Return the audit as JSON values."""
        return {"won": list(self._won), "lost": list(self._lost), "status": self.status}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from :meth:`state_dict`."""
        self._won = deque((float(share) for share in state["won"]), maxlen=self.window)
        self._lost = deque((float(share) for share in state["lost"]), maxlen=self.window)
        self.status = str(state["status"])

    def _judge(self) -> str:
        if min(len(self._won), len(self._lost)) < self.enough:
            return "unproven"
        variance = sum(float(np.var(shares, ddof=1)) / len(shares) for shares in (self._won, self._lost))
        return "trusted" if self.precision - 1.0 > self.z * math.sqrt(variance) else "ignored"
