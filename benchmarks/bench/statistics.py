"""What two runs of one suite say about each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from benchmarks.bench.schema import Trace
from benchmarks.bench.summary import unvaried_interval
from rla_envs.errors import InputError

_RESAMPLES = 2000

EpisodeKey = tuple[str, int]
"""What makes episodes of two runs a pair: the task's hash and the attempt."""


class Paired(NamedTuple):
    """Two runs on the tasks that both played.

    Attributes:
        tasks: How many tasks.
        episodes: How many pairs of episodes: the same task and attempt, scored in both.
        first: Success rate of the first run over these pairs.
        second: That of the second.
        difference: Second less first.
        low: Lower end of the difference's 95% interval.
        high: Upper end.
        first_better: Tasks that the first run won more often.
        second_better: Tasks that the second run won more often.
        equal: Tasks that both won equally often.
    """

    tasks: int
    episodes: int
    first: float
    second: float
    difference: float
    low: float
    high: float
    first_better: int
    second_better: int
    equal: int

    @property
    def decided(self) -> bool:
        """Whether the interval leaves out no difference at all."""
        return self.low > 0 or self.high < 0


def paired(first: Iterable[Trace], second: Iterable[Trace]) -> Paired:
    """Compare two runs over the pairs of episodes that both played and no machinery broke.

    The interval is a 95% percentile bootstrap that draws tasks, each with all its
    pairs, from a fixed seed. Where all tasks differ by the same amount (two equal
    runs, say), see :func:`benchmarks.bench.summary.unvaried_interval`.

    Raises:
        InputError: If there is no such pair.
    """
    ours, theirs = _verdicts(first), _verdicts(second)
    pairs = sorted(ours.keys() & theirs.keys())
    if not pairs:
        raise InputError("the two runs have no scored episode of the same task and attempt; finish both runs")
    # Per task: wins of the first, wins of the second, pairs.
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for key in pairs:
        for column, value in enumerate((ours[key], theirs[key], True)):
            counts[key[0]][column] += value
    table = np.array(list(counts.values()), dtype=np.int64)
    gains = table[:, 1] - table[:, 0]
    wins_first, wins_second, episodes = (int(total) for total in table.sum(axis=0))
    difference = (wins_second - wins_first) / episodes
    low, high = _bootstrap(table, difference)
    return Paired(
        tasks=len(table),
        episodes=episodes,
        first=wins_first / episodes,
        second=wins_second / episodes,
        difference=difference,
        low=low,
        high=high,
        first_better=int((gains < 0).sum()),
        second_better=int((gains > 0).sum()),
        equal=int((gains == 0).sum()),
    )


def _verdicts(traces: Iterable[Trace]) -> dict[EpisodeKey, bool]:
    return {(t.task_hash, t.attempt): t.success for t in traces if t.success is not None}


def _bootstrap(table: np.ndarray, difference: float) -> tuple[float, float]:
    tasks = len(table)
    shares = (table[:, 1] - table[:, 0]) / table[:, 2]
    if (shares == shares[0]).all():
        return unvaried_interval(difference, tasks, -1.0)
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(tasks, np.full(tasks, 1 / tasks), size=_RESAMPLES) @ table
    low, high = np.quantile((drawn[:, 1] - drawn[:, 0]) / drawn[:, 2], (0.025, 0.975))
    return float(low), float(high)
