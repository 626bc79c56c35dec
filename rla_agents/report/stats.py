"""The few statistics that the report states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

_Z95 = 1.959963984540054
"""Two-sided 95% quantile of the normal distribution."""


class Rate(NamedTuple):
    """A success rate with its 95% Wilson interval.

    Attributes:
        wins: Number of successes.
        n: Number of trials.
        rate: Their ratio; 0 without trials.
        low: Lower end of the interval.
        high: Upper end of the interval.
    """

    wins: int
    n: int
    rate: float
    low: float
    high: float


def wilson(wins: int, n: int) -> Rate:
    """Return a rate with its 95% Wilson score interval; without trials it is all of [0, 1].

    Raises:
        ValueError: Unless 0 <= wins <= n.
    """
    if not 0 <= wins <= n:
        raise ValueError(f"expected 0 <= wins <= n, got wins={wins}, n={n}")
    if n == 0:
        return Rate(0, 0, 0.0, 0.0, 1.0)
    rate, z2 = wins / n, _Z95**2
    middle = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z95 * math.sqrt(rate * (1 - rate) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    # The ends are exactly 0 and 1 at the extremes; rounding must not leave the unit interval.
    low = 0.0 if wins == 0 else middle - half
    high = 1.0 if wins == n else middle + half
    return Rate(wins, n, rate, low, high)


def trailing_mean(values: Sequence[float | None], window: int) -> list[float | None]:
    """Return the mean of each value and those before it, ``window`` in all; gaps count as absent."""
    means: list[float | None] = []
    for end in range(1, len(values) + 1):
        present = [value for value in values[max(0, end - window) : end] if value is not None]
        means.append(sum(present) / len(present) if present else None)
    return means
