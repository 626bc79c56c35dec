"""Evidence before a pending edit is kept: a posterior over success before and after it."""

from __future__ import annotations

import functools
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rla_envs.errors import InputError
from wrappers.acceptance.base import Decision, Results, check_band, check_direction, check_results

_POINTS = 2000
"""Midpoints of the grid on which the posteriors are integrated; errors are below 1e-6 at 100 rollouts."""


class PosteriorRule:
    """Keep an edit once it is probable that it moved success the wanted way and into the learnable band.

    Success before and after the edit have uniform priors and are independent.
    With B and A the two success rates, the rule looks at ::

        P(A < B and low <= A <= high | results)     for a harder edit
        P(A > B and low <= A <= high | results)     for an easier one

    and accepts once that exceeds ``level``, rejects once it falls below
    ``futility``, and asks for more rollouts in between, until the edited task
    has ``budget`` of them. Nothing is accepted on fewer than ``minimum``
    rollouts of the edited task.

    **False acceptance.** With the default level, minimum and budget, an edit
    that changes nothing is accepted at most 5% of the time at any success rate,
    however many rollouts lie between two looks; computed exactly by
    :func:`wrappers.acceptance.characteristics`. That holds where ``before`` is
    *fresh*: it leaves out the group that asked for the edit, which was
    selected for being extreme. The slots of :class:`wrappers.curricula.Threshold`
    do this: while an edit is pending they roll out both versions in turn. If
    the caller passes the selected group as ``before`` and adds results of the
    edited task only, the chance of a false edit that was asked for *and*
    accepted stays below 5%, but given that it was asked for no rule with any
    power can promise that: eight wins in a row look the same at a true rate of
    0.5 as at 0.95. Another level or budget promises something else; compute it.

    Args:
        level: Posterior probability at which an edit is accepted.
        budget: Rollouts of the edited task after which it is accepted or rejected.
        minimum: Rollouts of the edited task before which none is accepted.
        futility: Posterior probability below which an edit is rejected early.
        low: Success below which a task is too hard to learn from.
        high: Success above which a task is too easy to learn from.

    Raises:
        InputError: On an argument out of range, or ``minimum`` above ``budget``.

    Example:
        >>> rule = PosteriorRule()
        >>> rule.decide("harder", before=(7, 8), after=(4, 8))
        'more'
        >>> rule.decide("harder", before=(29, 32), after=(15, 32))
        'accept'
    """

    name: ClassVar[str] = "posterior"
    fresh_before: ClassVar[bool] = True
    """The group that asked for an edit is no evidence; the version in force is rolled out again."""

    def __init__(
        self,
        level: float = 0.98,
        budget: int = 32,
        minimum: int = 16,
        futility: float = 0.1,
        low: float = 0.2,
        high: float = 0.8,
    ) -> None:
        """Keep the arguments; see the class."""
        for name, value in (("level", level), ("futility", futility)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < 1.0:
                raise InputError(f"{name}: expected a number of 0 or more and below 1, got {value!r}")
        for name, count in (("budget", budget), ("minimum", minimum)):
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise InputError(f"{name}: expected an integer of 1 or more, got {count!r}")
        if futility >= level:
            raise InputError(f"futility: expected less than level, got {futility} and {level}")
        if minimum > budget:
            raise InputError(f"minimum: expected at most the budget, got {minimum} and {budget}")
        check_band(low, high)
        self.level, self.futility = float(level), float(futility)
        self.budget, self.minimum = budget, minimum
        self.low, self.high = float(low), float(high)

    def decide(self, direction: str, before: Results, after: Results) -> Decision:
        """Return whether the edit is kept, dropped, or needs more rollouts of both versions."""
        probability = self.probability(direction, before, after)
        rollouts = float(after[1])
        if probability > self.level and rollouts >= self.minimum:
            return "accept"
        if probability < self.futility or rollouts >= self.budget:
            return "reject"
        return "more"

    def probability(self, direction: str, before: Results, after: Results) -> float:
        """Return the posterior probability that the edit did what it was to do.

        Raises:
            InputError: On another direction, or results that are no counts.
        """
        check_direction(direction)
        (b, n), (a, m) = check_results("before", before), check_results("after", after)
        if direction == "harder":
            return _probability(b, n - b, a, m - a, self.low, self.high)
        # The mirror image: failure rates, and the band seen from the other end.
        return _probability(n - b, b, m - a, a, 1.0 - self.high, 1.0 - self.low)


@functools.lru_cache(maxsize=65536)
def _probability(b_won: float, b_lost: float, a_won: float, a_lost: float, low: float, high: float) -> float:
    """Return P(A < B and low <= A <= high) for two Beta posteriors with uniform priors."""
    before, after = _density(b_won, b_lost), _density(a_won, a_lost)
    above = 1.0 - (np.cumsum(before) - before / 2)
    rates = _rates()
    inside = (rates > low) & (rates < high)
    return float((after * above)[inside].sum())


@functools.lru_cache(maxsize=512)
def _density(won: float, lost: float) -> NDArray[np.float64]:
    rates = _rates()
    log = won * np.log(rates) + lost * np.log1p(-rates)
    weights = np.exp(log - log.max())
    density: NDArray[np.float64] = weights / weights.sum()
    return density


@functools.cache
def _rates() -> NDArray[np.float64]:
    rates: NDArray[np.float64] = (np.arange(_POINTS) + 0.5) / _POINTS
    return rates
