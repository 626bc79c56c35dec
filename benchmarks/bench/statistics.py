"""What two runs of one suite say about each other, and how success depends on difficulty."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.bench.schema import Trace
from benchmarks.bench.summary import unvaried_interval
from rla_agents.report.stats import Rate, wilson
from rla_envs.errors import InputError

_RESAMPLES = 2000
_MOST_VALUES = 8
_BINS = 5

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


class Level(NamedTuple):
    """Success at one value, or range of values, of a difficulty parameter."""

    label: str
    rate: Rate


def by_difficulty(
    traces: Sequence[Trace], names: Mapping[str, Mapping[int, str]] | None = None
) -> dict[str, list[Level]]:
    """Return success at each level of every difficulty parameter that varies, over the scored episodes.

    Numbers of more than eight values are cut into five ranges with about
    equally many episodes each; bounds are inclusive.

    Args:
        traces: Episodes.
        names: By parameter, the names of its values, where they have some.
    """
    scored = [trace for trace in traces if trace.success is not None]
    parameters = dict.fromkeys(name for trace in scored for name in trace.difficulty)
    found = {}
    for parameter in parameters:
        rows = [(t.difficulty[parameter], bool(t.success)) for t in scored if parameter in t.difficulty]
        levels = _levels(rows, (names or {}).get(parameter, {}))
        if len(levels) > 1:
            found[parameter] = levels
    return found


def _levels(rows: Sequence[tuple[int | float | str, bool]], names: Mapping[int, str]) -> list[Level]:
    numbers = [(float(value), won) for value, won in rows if not isinstance(value, str)]
    if len(numbers) < len(rows):
        return _each(rows, str)
    if len({value for value, _ in rows}) <= _MOST_VALUES:
        return _each(rows, lambda value: _number(value, names))
    numbers.sort(key=lambda row: row[0])
    levels = []
    for part in np.array_split(np.arange(len(numbers)), _BINS):
        values = [numbers[index] for index in part]
        label = f"{values[0][0]:.3g} to {values[-1][0]:.3g}"
        levels.append(Level(label, wilson(sum(won for _, won in values), len(values))))
    return levels


def _each(
    rows: Sequence[tuple[int | float | str, bool]], label: Callable[[int | float | str], str]
) -> list[Level]:
    outcomes: dict[int | float | str, list[bool]] = defaultdict(list)
    for value, won in rows:
        outcomes[value].append(won)
    return [
        Level(label(value), wilson(sum(won), len(won)))
        for value, won in sorted(outcomes.items(), key=lambda item: (isinstance(item[0], str), item[0]))
    ]


def _number(value: int | float | str, names: Mapping[int, str]) -> str:
    return names.get(value, str(value)) if isinstance(value, int) else f"{value:.3g}"
