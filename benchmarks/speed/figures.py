"""A figure: ours and a peer's, measured in turn over several rounds, and how many times faster ours is."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rla_envs.errors import InfrastructureError, RLAError

Unit = Literal["time", "rate", "memory"]
"""How a figure is shown: seconds, things a second (kept as seconds a thing), or bytes."""

Measure = Callable[[int], Mapping[str, float]]
"""Called with the round's number, from 0; returns figures by name, in seconds or bytes. Less is better."""


@dataclass(frozen=True)
class Spread:
    """Several measurements of one thing.

    Attributes:
        median: Their median.
        low: The least.
        high: The greatest.
    """

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Figure:
    """One line of the suite.

    Attributes:
        name: What was measured.
        unit: How it is shown.
        rounds: How often both sides were measured.
        ours: Seconds or bytes; None if either side failed.
        peer: The peer's, likewise.
        times: How many times better ours is, round by round; likewise.
        failure: Which side failed in which round, and how; empty if none did.
    """

    name: str
    unit: Unit
    rounds: int
    ours: Spread | None = None
    peer: Spread | None = None
    times: Spread | None = None
    failure: str = ""


def spread(values: Sequence[float]) -> Spread:
    """Return the median and range of one value or more."""
    return Spread(statistics.median(values), min(values), max(values))


def side_by_side(
    prefix: str, rounds: int, ours: Measure, peer: Measure, unit: Unit = "time"
) -> Iterator[Figure]:
    """Measure both sides in turn, and yield a figure for each name that ours returns.

    The side that goes first changes with every round. A failed measurement has
    no figure: one failure of either side, in any round, and none of the names
    has one; what failed is said instead.

    Args:
        prefix: What stands before each name.
        rounds: How often, at least 1.
        ours: Measures ours.
        peer: Measures the peer; must return every name that ours does.
        unit: How the figures are shown.
    """
    sides: dict[str, Measure] = {"ours": ours, "the peer": peer}
    measured: dict[str, list[Mapping[str, float]]] = {side: [] for side in sides}
    failure = ""
    for number in range(rounds):
        for side in sorted(sides, reverse=bool(number % 2)):
            try:
                measured[side].append(_checked(sides[side](number)))
            except Exception as error:
                failure = f"{side} failed in round {number + 1}: {_one_line(error)}"
                break
        if failure:
            break
    for name in measured["ours"][0] if measured["ours"] else [""]:
        label = f"{prefix} {name}".strip()
        if failure:
            yield Figure(label, unit, rounds, failure=failure)
            continue
        left, right = ([values[name] for values in measured[side]] for side in sides)
        times = [theirs / own for own, theirs in zip(left, right, strict=True)]
        yield Figure(label, unit, rounds, spread(left), spread(right), spread(times))


def _checked(values: Mapping[str, float]) -> Mapping[str, float]:
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise InfrastructureError(f"expected a positive figure for {name or 'it'}, got {value!r}")
    return values


def _one_line(error: Exception) -> str:
    said = " ".join(str(error).split())
    return said if isinstance(error, RLAError) else f"{type(error).__name__}: {said}"


def shown(value: float, unit: Unit) -> str:
    """Return a figure with its unit."""
    if unit == "rate":
        return f"{_digits(1 / value)}/s"
    scales = ((1e6, "MB"), (1e3, "kB")) if unit == "memory" else ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
    size, name = next((scale for scale in scales if value >= scale[0]), scales[-1])
    return f"{_digits(value / size)} {name}"


def _digits(value: float) -> str:
    """Return a number with three digits that count, and commas."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def lines(figures: Sequence[Figure]) -> Iterator[str]:
    """Return figures as a table: ours, the peer's, and the ratio with its range."""
    width = max((len(figure.name) for figure in figures), default=0)
    for figure in figures:
        name = f"  {figure.name:<{width}}"
        if figure.ours is None or figure.peer is None or figure.times is None:
            yield f"{name}  no figure: {figure.failure}"
            continue
        ours, peer = (shown(side.median, figure.unit) for side in (figure.ours, figure.peer))
        low, high = _digits(figure.times.low), _digits(figure.times.high)
        yield f"{name}  {ours:>10}  {peer:>10}  {_digits(figure.times.median):>8}x ({low} to {high})"


def as_json(figure: Figure) -> dict[str, Any]:
    """Return a figure as JSON values; one that failed has no numbers."""
    sides = {"ours": figure.ours, "peer": figure.peer, "times": figure.times}
    numbers = {name: vars(side) for name, side in sides.items() if side is not None}
    said = {"failure": figure.failure} if figure.failure else {}
    return {"name": figure.name, "unit": figure.unit, "rounds": figure.rounds, **numbers, **said}
