"""How success depends on difficulty: the outcomes at each value of each difficulty parameter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from rla_agents.report.charts import Bar, rate_chart
from rla_agents.report.run import Row, Run
from rla_agents.report.sections import Chart
from rla_agents.report.stats import Rate, wilson

_MOST_VALUES = 8
_BINS = 5


class Played(Protocol):
    """What is looked at of an episode."""

    @property
    def success(self) -> bool | None:
        """The verdict; None if the machinery failed, and nothing is to be counted."""

    @property
    def difficulty(self) -> Mapping[str, int | float | str]:
        """The task's difficulty parameters."""


class Outcome(NamedTuple):
    """What :class:`Played` asks for, of a training episode."""

    success: bool | None
    difficulty: Mapping[str, int | float | str]


class Level(NamedTuple):
    """Success at one value, or range of values, of a difficulty parameter."""

    label: str
    rate: Rate


def by_difficulty(
    episodes: Iterable[Played], names: Mapping[str, Mapping[int, str]] | None = None
) -> dict[str, list[Level]]:
    """Return success at each level of every difficulty parameter that varies, over the scored episodes.

    Numbers of more than eight values are cut into five ranges with about
    equally many episodes each; bounds are inclusive.

    Args:
        episodes: Episodes, of a benchmark or of a training run.
        names: By parameter, the names of its values, where they have some.
    """
    scored = [episode for episode in episodes if episode.success is not None]
    parameters = dict.fromkeys(name for episode in scored for name in episode.difficulty)
    found = {}
    for parameter in parameters:
        rows = [(e.difficulty[parameter], bool(e.success)) for e in scored if parameter in e.difficulty]
        levels = _levels(rows, (names or {}).get(parameter, {}))
        if len(levels) > 1:
            found[parameter] = levels
    return found


def difficulty_map(
    episodes: Iterable[Played], names: Mapping[str, Mapping[int, str]] | None = None
) -> list[Chart]:
    """Return a chart of rates with 95% Wilson intervals per parameter; see :func:`by_difficulty`."""
    charts = []
    for parameter, levels in by_difficulty(episodes, names).items():
        bars = [
            Bar(
                level.label,
                rate.rate,
                rate.low,
                rate.high,
                f"{100 * rate.rate:.1f}%  ({rate.wins}/{rate.n})",
            )
            for level in levels
            for rate in (level.rate,)
        ]
        charts.append(Chart(parameter, rate_chart(f"Success by {parameter}", bars, width=560)))
    return charts


def training_outcome(row: Row) -> Outcome | None:
    """Return what a row of ``traces.jsonl`` of a training run counts for; None if it counts for nothing."""
    if row.get("phase") != "train" or row.get("stop") == "error":
        return None
    difficulty = row.get("difficulty")
    known = difficulty.items() if isinstance(difficulty, dict) else ()
    values = {str(name): value for name, value in known if isinstance(value, int | float | str)}
    return Outcome(bool(row.get("success")), values)


def named_map(run: Run, names: Mapping[str, Mapping[int, str]]) -> list[Chart]:
    """Return training success at each value of the parameters whose values have names, which have no mean."""
    if not names:
        return []
    outcomes = (training_outcome(row) for _, row in run.rows("traces.jsonl"))
    kept = [
        Outcome(found.success, {name: v for name, v in found.difficulty.items() if name in names})
        for found in outcomes
        if found is not None
    ]
    return difficulty_map(kept, names)


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
