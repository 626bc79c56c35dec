"""The live view of a benchmark run."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.bench.report import run_facts, viewer_episode
from benchmarks.bench.results import figure, interval, percent
from benchmarks.bench.schema import SUMMARY, TIMINGS, TRACES, Timing, Trace, parse_record, read_config
from rla_agents.live.tail import Tail
from rla_agents.live.view import Page, Polled, Votes, rate_bar, unreadable_notes
from rla_agents.report.alarms import Alarm
from rla_agents.report.charts import Series, line_chart, rate_chart
from rla_agents.report.difficulty import difficulty_map
from rla_agents.report.page import value_names
from rla_agents.report.run import Row
from rla_agents.report.sections import Card, Chart
from rla_agents.report.stats import Rate, wilson
from rla_agents.report.trajectories import ValueNames
from rla_envs.errors import InputError

_POINTS = 60
"""Most points of a line over the episodes."""

_LEAST_WINDOW = 10
"""Least episodes over which success is averaged."""

_ALARMS = {
    "infrastructure": "The machinery broke {} episode(s); they are not scored",
    "agent_error": "The agent failed in {} episode(s), which count as lost",
}


_ENDINGS = {
    "solved": "solved",
    "failed": "failed",
    "budget": "out of steps",
    "agent_error": "agent failed",
    "infrastructure": "machinery failed",
}


class BenchView:
    """A benchmark run's folder, read as it grows.

    Args:
        folder: The run folder, with its config.toml.

    Raises:
        InputError: If its config.toml is not that of a benchmark run.
    """

    def __init__(self, folder: Path) -> None:
        """Read the settings; see the class for the arguments."""
        self._config = read_config(folder)
        self._summary = folder / SUMMARY
        self._traces_tail, self._timings_tail = Tail(folder / TRACES), Tail(folder / TIMINGS)
        self._names: dict[str, ValueNames] = {}
        # In the order in which they ended, without their steps: those of a long run would fill the memory.
        self._traces: list[Trace] = []
        self._timings: dict[int, Timing] = {}
        self._votes = Votes()
        self._wrong: Counter[str] = Counter()
        self._finished = False

    def poll(self) -> Polled:
        """Read what is new."""
        # An episode's timing is written before its trace, so it is read after it.
        traces, timings = self._traces_tail.read(), self._timings_tail.read()
        if traces.replaced or timings.replaced:
            return Polled(True, replaced=True)
        episodes = [shown for row in traces.rows if (shown := self._add(row)) is not None]
        for row in timings.rows:
            try:
                timing = parse_record(Timing, row, TIMINGS)
            except InputError:
                self._wrong[TIMINGS] += 1
                continue
            self._timings[timing.position] = timing
        finished, self._finished = self._finished, self._summary.exists()
        changed = bool(traces.rows or timings.rows) or finished != self._finished
        return Polled(changed, episodes, more=traces.more or timings.more)

    def page(self) -> Page:
        """Return what the page shows now."""
        names = {name: values for found in self._names.values() for name, values in found.items()}
        unreadable = {
            TRACES: self._traces_tail.unreadable + self._wrong[TRACES],
            TIMINGS: self._timings_tail.unreadable + self._wrong[TIMINGS],
        }
        return Page(
            facts=run_facts(self._config, len(self._traces), self._config.episodes),
            notes=unreadable_notes(unreadable),
            cards=self._cards(),
            alarms=self._alarms(),
            charts={
                "success": self._success(),
                "difficulty": difficulty_map(self._traces, names),
                "votes": self._votes.charts(),
                "throughput": self._throughput(),
                "health": self._endings(),
            },
        )

    def _add(self, row: Row) -> Row | None:
        try:
            trace = parse_record(Trace, row, TRACES)
        except InputError:
            self._wrong[TRACES] += 1
            return None
        if trace.env_id not in self._names:
            self._names[trace.env_id] = value_names(trace.env_id)
        shown = viewer_episode(trace, self._names[trace.env_id])
        if trace.success is not None:
            for step in shown["steps"]:
                self._votes.add(trace.success, step["votes"])
        self._traces.append(dataclasses.replace(trace, steps=()))
        return shown

    def _cards(self) -> list[Card]:
        rate = _rate(self._traces)
        played, planned = len(self._traces), self._config.episodes
        shown = percent(rate.rate if rate.n else None)
        within = f"; 95%: {interval(rate.low, rate.high)}" if rate.n else ""
        most = "at most " if self._config.protocol == "adaptive" else ""
        cards = [
            Card("Success", shown, f"{rate.wins} of {rate.n} scored episodes{within}"),
            Card("Episodes", f"{played:,}", "finished" if self._finished else f"of {most}{planned:,}"),
        ]
        seconds = sum(t.agent_seconds + t.env_seconds for t in self._timings.values())
        if seconds:
            each = len(self._timings) / seconds
            cards.append(Card("Episodes a second", figure(each, 2), "of one job"))
        written, agent = self._tokens(), sum(t.agent_seconds for t in self._timings.values())
        if written and agent:
            cards.append(Card("Tokens a second", figure(written / agent), "written, of the agent's time"))
        return cards

    def _tokens(self) -> int:
        return sum(trace.completion_tokens for trace in self._traces if trace.position in self._timings)

    def _alarms(self) -> list[Alarm]:
        found = []
        for stop, title in _ALARMS.items():
            causes = Counter(trace.error for trace in self._traces if trace.stop == stop)
            if causes:
                cause, times = causes.most_common(1)[0]
                when = f"the most frequent cause, {times} times" if times > 1 else "the first cause"
                found.append(Alarm(title.format(sum(causes.values())), when, cause[:600]))
        claims = sum(trace.claim is True and trace.success is False for trace in self._traces)
        if claims:
            title = f"The agent calls {claims} lost episode(s) solved"
            found.append(Alarm(title, "its claims are never counted", over=True))
        return found

    def _success(self) -> list[Chart]:
        scored = [trace.success for trace in self._traces if trace.success is not None]
        if not scored:
            return []
        wins = np.concatenate([[0], np.cumsum(scored)])
        ends = _ends(len(scored))
        window = max(_LEAST_WINDOW, len(scored) // 10)
        starts = np.maximum(ends - window, 0)
        lines = [
            Series("so far", list(map(float, wins[ends] / ends)), "s0"),
            Series(
                f"last {window}", list(map(float, (wins[ends] - wins[starts]) / (ends - starts))), "s1 faint"
            ),
        ]
        title = "Success as episodes end"
        picture = line_chart(
            title, list(map(float, ends)), lines, bounds=(0, 1), percent=True, over="episode"
        )
        cells: dict[str, list[Trace]] = {}
        for trace in self._traces:
            cells.setdefault(trace.cell, []).append(trace)
        rates = {cell: _rate(traces) for cell, traces in cells.items()}
        bars = [rate_bar(cell, rate.wins, rate.n) for cell, rate in rates.items() if rate.n]
        return [Chart(title, picture), Chart("Success by cell", rate_chart("Success by cell", bars))]

    def _endings(self) -> list[Chart]:
        counts = Counter(trace.stop for trace in self._traces)
        bars = [rate_bar(_ENDINGS[stop], n, len(self._traces)) for stop, n in counts.most_common()]
        title = "How episodes ended"
        return [Chart(title, rate_chart(title, bars, width=560))] if bars else []

    def _throughput(self) -> list[Chart]:
        timed = [trace for trace in self._traces if trace.position in self._timings]
        if not timed:
            return []
        ends = _ends(len(timed))
        agent = _sums([self._timings[trace.position].agent_seconds for trace in timed], ends)
        env = _sums([self._timings[trace.position].env_seconds for trace in timed], ends)
        counts = np.diff(ends, prepend=0)
        tokens = _sums([trace.completion_tokens for trace in timed], ends)
        columns = {"Episodes per second of one job": _ratio(counts, agent + env)}
        if tokens.any():
            columns["Tokens written per second of the agent"] = _ratio(tokens, agent)
        return [
            Chart(title, line_chart(title, xs, [Series(title, values)], size=(480, 200), over="episode"))
            for xs in [list(map(float, ends))]
            for title, values in columns.items()
        ]


def _rate(traces: Sequence[Trace]) -> Rate:
    return wilson(
        sum(trace.success is True for trace in traces), sum(trace.success is not None for trace in traces)
    )


def _ends(count: int) -> np.ndarray:
    """Return after how many episodes a line has its points: evenly spaced, the last at the end."""
    return np.unique(np.linspace(1, count, min(count, _POINTS)).astype(np.int64))


def _sums(values: Sequence[float], ends: np.ndarray) -> np.ndarray:
    """Return the sum of the values between each two ends."""
    sums: np.ndarray = np.diff(np.cumsum(values)[ends - 1], prepend=0)
    return sums


def _ratio(counts: np.ndarray, seconds: np.ndarray) -> list[float | None]:
    return [float(n / s) if s > 0 else None for n, s in zip(counts, seconds, strict=True)]
