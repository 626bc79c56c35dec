"""What a run itself says is wrong with it: its events and figures, put into a sentence each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rla_agents.report.run import Row, Run

_MEANINGS = {
    "stalled": "The curriculum stalled: nearly no group of episodes teaches anything",
    "critic_ignored": "The critic is ignored: its votes do not tell won from lost episodes",
}
_ENDINGS = {"stalled": ("recovered",), "critic_ignored": ("critic_trusted", "critic_unproven")}
_LEARNERS = {"policy": "policy's", "critic": "critic's"}


class Alarm(NamedTuple):
    """Something that is or was wrong.

    Attributes:
        title: What it is, in a sentence.
        when: When it was, in words.
        detail: What the run says of it; empty if nothing.
        over: Whether it has ended.
    """

    title: str
    when: str
    detail: str = ""
    over: bool = False


def training_alarms(run: Run) -> list[Alarm]:
    """Return what is or was wrong with a training run, what still lasts first.

    - The curriculum's events ``stalled`` (until ``recovered``) and ``critic_ignored`` (until
      the critic is no longer), see :class:`wrappers.curricula.adaptive.AdaptiveCurriculum`;
      several times of the same are one alarm.
    - Episodes that the machinery broke for good.
    - Updates that were left out because loss or gradient was not finite, and figures that are not.
    """
    found = [alarm for kind in _MEANINGS for alarm in _lasting(run.events, kind)]
    broken = _at(run.metrics, "infrastructure_errors")
    if broken:
        title = f"The machinery broke {_total(broken)} episode(s) for good; they are not scored"
        found.append(Alarm(title, _when(broken, run), over=broken[-1][0] != _last(run)))
    for role, whose in _LEARNERS.items():
        skipped = _at(run.metrics, f"{role}/skipped")
        if skipped:
            title = (
                f"{_total(skipped)} of the {whose} updates left out: the loss or its gradient was not finite"
            )
            found.append(Alarm(title, _when(skipped, run), over=skipped[-1][0] != _last(run)))
    strange = [row["iteration"] for row in run.metrics if any(map(_not_finite, row.values()))]
    if strange:
        names = sorted({name for row in run.metrics for name, value in row.items() if _not_finite(value)})
        found.append(
            Alarm(
                "Figures that are not finite",
                _iterations(strange),
                ", ".join(names),
                over=strange[-1] != _last(run),
            )
        )
    return sorted(found, key=lambda alarm: alarm.over)


def _lasting(events: Sequence[Row], kind: str) -> list[Alarm]:
    """Return one alarm for all times that an event began; it is over if the last of them ended."""
    begun: list[Row] = []
    ended: Row | None = None
    for event in events:
        if event.get("event") == kind:
            begun.append(event)
            ended = None
        elif event.get("event") in _ENDINGS[kind] and begun:
            ended = event
    if not begun:
        return []
    when = f"since iteration {begun[-1].get('iteration', '?')}"
    if ended is not None:
        when = f"iteration {begun[-1].get('iteration', '?')} to {ended.get('iteration', '?')}"
    if len(begun) > 1:
        when += f"; the {len(begun)} times so far began in {_iterations([e.get('iteration') for e in begun])}"
    return [Alarm(_MEANINGS[kind], when, str(begun[-1].get("reason", ""))[:600], ended is not None)]


def _at(metrics: Sequence[Row], name: str) -> list[tuple[int, int]]:
    """Return iteration and count of every row that counts any."""
    counts = ((row["iteration"], row.get(name)) for row in metrics)
    return [(iteration, count) for iteration, count in counts if isinstance(count, int) and count > 0]


def _total(counts: Sequence[tuple[int, int]]) -> int:
    return sum(count for _, count in counts)


def _when(counts: Sequence[tuple[int, int]], run: Run) -> str:
    return f"{_iterations([iteration for iteration, _ in counts])}; the last is {_last(run)}"


def _last(run: Run) -> int | None:
    return run.metrics[-1]["iteration"] if run.metrics else None


def _iterations(numbers: Sequence[object]) -> str:
    """Return iterations in words, the latest of many."""
    shown = ", ".join(map(str, numbers[-8:]))
    return f"iteration {shown}" if len(numbers) <= 8 else f"{len(numbers)} iterations, the latest {shown}"


def _not_finite(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
