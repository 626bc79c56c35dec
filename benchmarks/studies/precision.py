"""Theorem 1 of arXiv 2602.02488: how precisely m votes tell a good step from a bad one.

A step of a successful trajectory gets m votes, each +1 with probability p+; a
step of a failed one gets m votes, each -1 with probability p-. All votes are
independent. The reward precision A is the probability that the first step's
mean vote is the greater one. The theorem: A goes to 1 with m if and only if
mu = p+ + p- > 1, and then ``A >= 1 - exp(-m (mu - 1)^2 / 4)``.

Here a tie counts as an error, or as half of one, and both are computed. The
first is what the theorem's words say, and the harder one to satisfy.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats


class Precision(NamedTuple):
    """How often the step of the successful trajectory gets the greater mean vote.

    Attributes:
        strict: Probability of that; a tie counts as an error.
        half: The same, with a tie counted as half an error.
    """

    strict: float
    half: float


def exact(m: int, p_plus: float, p_minus: float, correlation: float = 0.0) -> Precision:
    """Return A from the distributions of the numbers of +1 votes.

    Args:
        m: Votes a step, at least 1.
        p_plus: Probability of a vote +1 on a step of a successful trajectory.
        p_minus: Probability of a vote -1 on a step of a failed one.
        correlation: Correlation of two votes on one step. Above 0 the counts
            are beta-binomial: steps differ in how easily they are judged. The
            theorem is about 0.
    """
    good, bad = _votes(m, p_plus, correlation), _votes(m, 1.0 - p_minus, correlation)
    fewer = np.concatenate(([0.0], np.cumsum(bad)[:-1]))
    strict = float(good @ fewer)
    return Precision(strict, strict + 0.5 * float(good @ bad))


def simulated(m: int, p_plus: float, p_minus: float, pairs: int, rng: np.random.Generator) -> Precision:
    """Return A as the share among that many simulated pairs of steps, vote by vote."""
    good = np.where(rng.random((pairs, m)) < p_plus, 1, -1).sum(axis=1)
    bad = np.where(rng.random((pairs, m)) < p_minus, -1, 1).sum(axis=1)
    strict = float(np.mean(good > bad))
    return Precision(strict, strict + 0.5 * float(np.mean(good == bad)))


def published_bound(m: int, mu: float) -> float:
    """Return the theorem's bound on A; it is claimed for ``mu > 1``."""
    return 1.0 - math.exp(-m * (mu - 1.0) ** 2 / 4.0)


def hoeffding_bound(m: int, mu: float) -> float:
    """Return Hoeffding's bound on A over all 2m votes, for ``mu > 1``.

    The difference of the two means is a sum of 2m independent terms of range
    2/m with expectation 2 (mu - 1), so P(difference <= 0) is at most
    ``exp(-2 (2 (mu - 1))^2 / (2m (2/m)^2)) = exp(-m (mu - 1)^2)``: the exponent
    is four times the published one.
    """
    return 1.0 - math.exp(-m * (mu - 1.0) ** 2)


def chernoff_bound(m: int, p_plus: float, p_minus: float) -> float:
    """Return Chernoff's bound on A, for ``p_plus + p_minus > 1``.

    With X the number of +1 votes among m of the good step and Y of the bad
    one, ``P(X <= Y) <= min_s E[exp(s (Y - X))]``. The minimum has a closed form,

        ``(sqrt(p+ (1 - p-)) + sqrt((1 - p+) p-))^(2m)``,

    the Bhattacharyya coefficient of the two kinds of votes to the power of 2m.
    No bound of the form c^m has a smaller c (Cramer's theorem), so it is
    never looser than Hoeffding's.
    """
    coefficient = math.sqrt(p_plus * (1.0 - p_minus)) + math.sqrt((1.0 - p_plus) * p_minus)
    return 1.0 - coefficient ** (2 * m)


def _votes(m: int, p: float, correlation: float) -> NDArray[np.float64]:
    counts = np.arange(m + 1)
    if correlation == 0.0 or p in (0.0, 1.0):
        probabilities = stats.binom.pmf(counts, m, p)
    else:
        spread = 1.0 / correlation - 1.0
        probabilities = stats.betabinom.pmf(counts, m, p * spread, (1.0 - p) * spread)
    result: NDArray[np.float64] = probabilities
    return result
