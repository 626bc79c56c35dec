"""The page of a benchmark run: one self-contained HTML file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import tyro

from benchmarks.bench.compare import Comparison, compare_runs
from benchmarks.bench.results import (
    Results,
    clustered_interval,
    counted,
    figure,
    percent,
    read_results,
    wilson_interval,
)
from benchmarks.bench.schema import Config, Step, Success, Trace
from benchmarks.bench.screenshots import inline
from rla_agents.command_line import parse
from rla_agents.files import write_atomic
from rla_agents.report.charts import Bar, rate_chart
from rla_agents.report.difficulty import difficulty_map
from rla_agents.report.page import render, value_names
from rla_agents.report.run import Row
from rla_agents.report.screenshots import safe_name
from rla_agents.report.sections import Card
from rla_agents.report.trajectories import LIMIT, Selection, ValueNames, goal_of, named_values, shown_text

_GALLERY = 6
_KINDS = {
    "agent_error": "The agent failed (counted as lost)",
    "infrastructure": "The machinery failed (not scored)",
    "failed": "Ended unsolved",
    "budget": "Ran out of steps",
}
_OUTCOMES = {"solved": "won", "agent_error": "failed", "infrastructure": "broken"}


class Failure(NamedTuple):
    """An episode of the gallery."""

    place: int
    goal: str
    task: str
    where: str
    cause: str
    last: str


class Failures(NamedTuple):
    """Failures of one kind: how many there are, and some of them."""

    title: str
    total: int
    shown: list[Failure]


class CellRow(NamedTuple):
    """A row of the table of success, as text."""

    name: str
    success: str
    wilson: str
    clustered: str
    agent_errors: int
    broken: int


@dataclass(frozen=True)
class ReportArguments:
    """Make the page of a benchmark run again: RUN/report.html."""

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of the run."""
    against: str | None = None
    """Folder of a run of the same suite to compare it with."""


def report(words: Sequence[str]) -> int:
    """Make the page that a command line asks for, print its path, and return the exit code 0."""
    arguments = parse(ReportArguments, words, prog="rla bench report")
    print(write_report(arguments.run, arguments.against))  # noqa: T201
    return 0


def write_report(
    folder: str | Path, against: str | Path | None = None, out: str | Path | None = None
) -> Path:
    """Make the page of a benchmark run and return its path.

    The page is one file: no request leaves it, it works from ``file://``, and
    what agents and environments said stays text.

    Args:
        folder: Folder of the run, finished or not.
        against: Folder of a run of the same suite to compare it with.
        out: File to write; ``report.html`` in the run's folder if None.

    Raises:
        InputError: If a folder is not that of a benchmark run, or the suites differ.
        StorageError: If the page cannot be written.
    """
    results = read_results(folder)
    comparison = None if against is None else compare_runs(against, folder)
    page = Path(folder, "report.html") if out is None else Path(out)
    # Text from an agent may hold lone surrogates, which no file can.
    write_atomic(page, _page(results, comparison).encode("utf-8", "replace"))
    return page


def _page(results: Results, comparison: Comparison | None) -> str:
    traces = results.run.traces
    names = {env: value_names(env) for env in dict.fromkeys(trace.env_id for trace in traces)}
    merged = {name: values for found in names.values() for name, values in found.items()}
    cells = results.summary.cells
    return render(
        "bench.html",
        "benchmarks.bench",
        group="Cell",
        results=results,
        facts=[
            *run_facts(results.config, results.summary.episodes_played, results.summary.episodes_planned),
            ("Tasks", f"hash {results.summary.tasks_hash[:12]}"),
        ],
        stamps="\n".join(f"{name}: {value}" for name, value in results.config.stamps.items()),
        notes=results.notes,
        cards=_cards(results),
        chart=rate_chart("Success by cell", [_bar(name, cell) for name, cell in cells.items() if cell.n]),
        cells=[_row("All", results.summary.success), *(_row(name, cell) for name, cell in cells.items())],
        comparison=comparison,
        pairs=[("All", comparison.overall), *comparison.cells.items()] if comparison else [],
        threshold=_threshold(results),
        difficulty=difficulty_map(traces, merged),
        costs=[("All", results.cost()), *((cell, results.cost(cell)) for cell in cells)],
        failures=_failures(traces),
        selection=_selection(results.run.folder, traces, merged),
        percent=percent,
        figure=figure,
    )


def run_facts(config: Config, played: int, planned: int) -> list[tuple[str, str]]:
    """Return what is run, as names and values.

    Args:
        config: What is run.
        played: How many episodes have ended.
        planned: How many there should be.
    """
    return [
        ("Suite", f"{config.suite}, version {config.suite_version}, hash {config.suite_hash[:12]}"),
        ("Agent", f"{config.agent} ({config.agent_kind})"),
        ("Protocol", config.protocol),
        ("Episodes", f"{played} of {planned}"),
        ("Attempts a task", str(config.attempts)),
        ("Seed", str(config.seed)),
        ("Limits", f"{config.step_seconds:g} s a step, {config.episode_seconds:g} s an episode"),
    ]


def _cards(results: Results) -> list[Card]:
    success, cost = results.summary.success, results.cost()
    written = cost.completion_tokens
    tokens = "the agent counts no tokens" if written is None else f"{figure(written, 0)} tokens written"
    within = f"95%: {wilson_interval(success)}, by task {clustered_interval(success)}"
    cards = [
        Card("Success", percent(success.rate), f"{success.wins} of {success.n} scored episodes; {within}"),
        Card(
            "Agent errors",
            str(success.agent_errors),
            "counted as lost",
            "bad" if success.agent_errors else "",
        ),
        Card(
            "Not scored",
            str(success.infrastructure_errors),
            "the machinery failed",
            "bad" if success.infrastructure_errors else "",
        ),
        Card("Steps an episode", figure(cost.steps), tokens),
        Card("Seconds an episode", figure(cost.agent_seconds, 2), "of the agent alone"),
    ]
    if results.false_claims:
        note = "lost episodes that the agent calls solved; never counted"
        cards.append(Card("False claims", str(results.false_claims), note, "bad"))
    return cards


def _bar(name: str, success: Success) -> Bar:
    note = f"{percent(success.rate)}  ({success.wins}/{success.n})"
    return Bar(name, success.rate or 0.0, success.low, success.high, note)


def _row(name: str, success: Success) -> CellRow:
    return CellRow(
        name,
        counted(success),
        wilson_interval(success),
        clustered_interval(success),
        success.agent_errors,
        success.infrastructure_errors,
    )


def _threshold(results: Results) -> str:
    found = results.summary.threshold
    if found is None:
        return ""
    ladder = ", ".join(found.ladder)
    return (
        f"The agent succeeds half the time at place {found.value:.2f} (95%: {found.low:.2f} to "
        f"{found.high:.2f}) of the ladder, counted from 0: {ladder}; found in {found.episodes} episodes."
    )


def _failures(traces: Sequence[Trace]) -> list[Failures]:
    kinds = []
    for stop, title in _KINDS.items():
        found = [trace for trace in traces if trace.stop == stop]
        if found:
            kinds.append(Failures(title, len(found), [_failure(trace) for trace in found[:_GALLERY]]))
    return kinds


def _failure(trace: Trace) -> Failure:
    action = _action(trace.steps[-1]) if trace.steps else ""
    return Failure(
        place=trace.position,
        goal=_goal(trace),
        task=trace.task_id,
        where=f"{trace.cell}, {len(trace.steps)} steps, attempt {trace.attempt + 1}",
        cause=trace.error[:600],
        last=action[:300],
    )


def _selection(folder: Path, traces: Sequence[Trace], names: ValueNames) -> Selection:
    """Return the episodes to embed: all, or those of the gallery and an equal share of each cell."""
    if len(traces) <= LIMIT:
        chosen, rule = set(range(len(traces))), "All of them are shown."
    else:
        gallery = [
            index
            for stop in _KINDS
            for index in [i for i, trace in enumerate(traces) if trace.stop == stop][:_GALLERY]
        ]
        chosen = set(gallery)
        for index in _in_turn(traces):
            if len(chosen) == LIMIT:
                break
            chosen.add(index)
        rule = (
            f"{len(chosen)} of {len(traces)} are shown: those of the gallery above, and from each cell "
            "equally many, successes and failures in turn."
        )
    episodes = [viewer_episode(traces[index], names) for index in sorted(chosen)]
    return Selection(episodes, len(traces), rule + inline(folder, episodes))


def _in_turn(traces: Sequence[Trace]) -> list[int]:
    """Return all places: cells take turns, and in each successes and failures."""
    groups: dict[tuple[str, bool], list[int]] = {}
    for index, trace in enumerate(traces):
        groups.setdefault((trace.cell, trace.success is True), []).append(index)
    return [index for turn in zip_longest(*groups.values()) for index in turn if index is not None]


def viewer_episode(trace: Trace, names: ValueNames) -> Row:
    """Return an episode as the viewer's script reads it."""
    after = [*(step.observation for step in trace.steps), trace.final][1:]
    screens = [
        safe_name(name) for name in (*(step.screenshot for step in trace.steps), trace.final_screenshot)
    ]
    difficulty = named_values(trace.difficulty, names)
    return {
        "place": trace.position,
        "phase": trace.cell,
        "env": trace.env_id,
        "task": trace.task_id,
        "seed": trace.seed,
        "goal": _goal(trace),
        "drawn": _drawn(trace),
        "type": difficulty.get("task_type", ""),
        "difficulty": difficulty,
        "outcome": _OUTCOMES.get(trace.stop, "lost"),
        "stop": trace.stop,
        "error": shown_text(trace.error),
        "retries": trace.retries,
        "optimal": trace.optimal_length,
        "tokens": trace.completion_tokens,
        "prompt": shown_text(_prompt(trace)),
        "screenshot": screens[0],
        "steps": [
            _step(step, seen, screen)
            for step, seen, screen in zip(trace.steps, after, screens[1:], strict=True)
        ],
    }


def _step(step: Step, seen: str, screen: str) -> Row:
    details = _flat(step.details)
    votes = details.pop("votes", None)
    return {
        "action": shown_text(_action(step)),
        "next": shown_text(seen),
        "screenshot": screen,
        "error": shown_text(step.error),
        "votes": [vote for vote in votes if vote in (-1, 0, 1)] if isinstance(votes, list) else [],
        "oracle": None,
        "reward": step.reward if math.isfinite(step.reward) else None,
        "advantage": None,
        "verdict": shown_text(
            "\n".join(f"{name}: {_value(value)}" for name, value in details.items() if value != "")
        ),
    }


def _flat(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the environment reports, without the name of the environment around it."""
    flat: dict[str, Any] = {}
    for name, value in details.items():
        flat |= value if isinstance(value, Mapping) else {name: value}
    return flat


def _drawn(trace: Trace) -> bool:
    """Say whether observations are drawings in characters: those of environments that take no text."""
    return any(not isinstance(step.action, str) for step in trace.steps)


def _goal(trace: Trace) -> str:
    return trace.task_id if _drawn(trace) else goal_of(_prompt(trace))


def _prompt(trace: Trace) -> str:
    return trace.steps[0].observation if trace.steps else trace.final


def _action(step: Step) -> str:
    return _value(step.action)


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
