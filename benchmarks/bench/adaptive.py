"""An adaptive test: play where success is even, until that place is known well enough.

The cells of the suite are a ladder, from the easiest to the hardest. Success on
rung x is taken to have probability 1 / (1 + exp(slope * (x - threshold))), with
a flat prior over thresholds from one rung below the ladder to one above it and
over a few slopes. The next episode is played on the rung whose outcome is
expected to leave the least variance of the threshold, as adaptive tests in
psychometrics do (King-Smith et al., 1994): near the threshold once the slope is
known, further out before. A batch is chosen from the outcomes of the batches
before it alone, so that the number of jobs changes nothing.

On a ladder of 20 rungs on which success falls from 73% to 27% over two rungs or
less, an interval of 1.5 rungs takes less than half the episodes that playing
rung after rung takes; on a shorter ladder less is saved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.bench.episode import Episode
from benchmarks.bench.schema import Threshold, Trace
from benchmarks.bench.suites import Suite
from rla_envs.errors import InputError

_SLOPES = np.array([0.5, 1.0, 2.0, 4.0])
"""Per rung; from one that falls from 73% to 27% over four rungs to one that does so within one."""

_STEP = 0.1
_INTERVAL = (0.025, 0.975)


class Posterior:
    """What is known of the threshold, on a grid.

    Args:
        rungs: How many cells the ladder has.
    """

    def __init__(self, rungs: int) -> None:
        """Start from the prior."""
        self._thresholds = np.arange(-1.0, rungs + _STEP / 2, _STEP)
        self._weights = np.zeros((len(self._thresholds), len(_SLOPES)))

        margins = (self._thresholds - np.arange(rungs)[:, None])[:, :, None] * _SLOPES
        # Log-probability of a win, and of a loss, by rung, threshold and slope.
        self._win, self._lose = -np.logaddexp(0.0, -margins), -np.logaddexp(0.0, margins)
        self._chance = np.exp(self._win)

    def add(self, rung: int, success: bool) -> None:
        """Learn from the outcome of an episode."""
        self._weights += (self._win if success else self._lose)[rung]

    def best(self, count: int, left: Sequence[int]) -> list[int]:
        """Return the rungs to play next.

        Args:
            count: How many; no more than there are tasks.
            left: How many tasks each rung has left.
        """
        weights, tasks, chosen = self._weights.copy(), list(left), list[int]()
        for _ in range(count):
            joint = np.exp(weights - weights.max())
            joint /= joint.sum()
            won = self._chance * joint
            expected = self._variance(won) + self._variance(joint - won)
            expected[np.array(tasks) == 0] = np.inf
            rung = int(np.argmin(expected))
            # The others of the batch are chosen as if this one had ended as it will on average.
            share = float(won[rung].sum())
            weights += share * self._win[rung] + (1 - share) * self._lose[rung]
            tasks[rung] -= 1
            chosen.append(rung)
        return chosen

    def _variance(self, outcome: np.ndarray) -> np.ndarray:
        """Return the variance of the threshold after an outcome, times its probability, by rung."""
        by_threshold = outcome.sum(axis=2)
        chance = by_threshold.sum(axis=1)
        mean = by_threshold @ self._thresholds / np.maximum(chance, np.finfo(float).tiny)
        return np.asarray(by_threshold @ self._thresholds**2 - chance * mean**2)

    def quantiles(self, shares: Sequence[float]) -> list[float]:
        """Return the thresholds below which these shares of the probability lie."""
        weights = np.exp(self._weights - self._weights.max()).sum(axis=1)
        total = np.cumsum(weights) / weights.sum()
        return [float(x) for x in np.interp(shares, total, self._thresholds)]

    @property
    def width(self) -> float:
        """Width of the 95% interval, in rungs."""
        low, high = self.quantiles(_INTERVAL)
        return high - low


class AdaptivePlan:
    """Chooses episodes by success so far.

    Args:
        suite: Its cells are the ladder; ``precision`` and ``batch`` say how narrow the interval must be and
            how many episodes are chosen at once.
        counts: How many tasks each cell has; each is played once.
        limit: At most so many tasks; 0 is all.

    Raises:
        InputError: If there are fewer than three cells, or tasks are to be played more than once.
    """

    def __init__(self, suite: Suite, counts: Sequence[int], limit: int = 0) -> None:
        """Set up; see the class for the arguments."""
        if len(counts) < 3 or suite.attempts != 1:
            raise InputError(
                f"suite {suite.name!r}: an adaptive one has three cells or more and attempts = 1, got "
                f"{len(counts)} cells and attempts = {suite.attempts}"
            )
        self._ladder = tuple(cell.name for cell in suite.cells)
        self._counts, self._precision, self._batch = tuple(counts), suite.precision, suite.batch
        self.most = min(sum(counts), limit or sum(counts))

    def batch(self, played: Mapping[int, Trace]) -> Sequence[Episode]:
        """Return the first batch that is not played yet; none if the threshold is known well enough."""
        posterior, used = Posterior(len(self._ladder)), Counter[int]()
        start = 0
        while start < self.most and (not start or posterior.width > self._precision):
            size = min(self._batch, self.most - start)
            left = [count - used[rung] for rung, count in enumerate(self._counts)]
            batch = []
            for offset, rung in enumerate(posterior.best(size, left)):
                batch.append(Episode(start + offset, rung, used[rung], 0))
                used[rung] += 1
            if any(episode.position not in played for episode in batch):
                return batch
            for episode in batch:
                _learn(posterior, episode.cell, played[episode.position])
            start += size
        return []

    def threshold(self, played: Mapping[int, Trace]) -> Threshold:
        """Return where the agent succeeds half the time, as far as the episodes played tell."""
        posterior = Posterior(len(self._ladder))
        for _, trace in sorted(played.items()):  # in one order: sums of floats depend on it
            _learn(posterior, self._ladder.index(trace.cell), trace)
        low, middle, high = posterior.quantiles((_INTERVAL[0], 0.5, _INTERVAL[1]))
        return Threshold(middle, low, high, len(played), self._ladder)


def _learn(posterior: Posterior, rung: int, trace: Trace) -> None:
    if trace.success is not None:
        posterior.add(rung, trace.success)
