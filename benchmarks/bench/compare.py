"""`rla bench compare`: two runs of one suite, task by task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import tyro

from benchmarks.bench.results import Results, counted, figure, percent, read_results
from benchmarks.bench.statistics import Paired, paired
from rla_agents.command_line import parse
from rla_envs.errors import InputError


@dataclass(frozen=True)
class CompareArguments:
    """Compare two runs of one suite over the tasks that both played."""

    first: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="A")]
    """Folder of a run."""
    second: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="B")]
    """Folder of the run to compare with it."""
    html: str | None = None
    """Also write the page of B with this comparison in it."""


class Comparison(NamedTuple):
    """Two runs of one suite.

    Attributes:
        first: The one compared with.
        second: The one compared.
        overall: Over all pairs.
        cells: By cell that has pairs.
    """

    first: Results
    second: Results
    overall: Paired
    cells: dict[str, Paired]


def compare(words: Sequence[str]) -> int:
    """Print the comparison that a command line asks for, and return the exit code 0."""
    arguments = parse(CompareArguments, words, prog="rla bench compare")
    found = compare_runs(arguments.first, arguments.second)
    print("\n".join(in_text(found)))  # noqa: T201
    if arguments.html:
        from benchmarks.bench.report import write_report

        print(write_report(arguments.second, against=arguments.first, out=arguments.html))  # noqa: T201
    return 0


def compare_runs(first: str | Path, second: str | Path) -> Comparison:
    """Pair the episodes of two runs by task and attempt.

    Raises:
        InputError: If a run cannot be read, the suites differ, or there is no pair.
    """
    a, b = read_results(first), read_results(second)
    if a.config.suite_hash != b.config.suite_hash:
        raise InputError(
            f"cannot compare runs of different suites: {first} is of {_suite(a)}, {second} of {_suite(b)}; "
            "run both agents on one suite"
        )
    overall = paired(a.run.traces, b.run.traces)
    cells = {}
    for cell in a.summary.cells:
        sides = [[trace for trace in side.run.traces if trace.cell == cell] for side in (a, b)]
        try:
            cells[cell] = paired(*sides)
        except InputError:
            continue  # a cell that one of the runs has not reached yet has nothing to say
    return Comparison(a, b, overall, cells)


def in_text(comparison: Comparison) -> list[str]:
    """Return the comparison as lines for a terminal."""
    a, b, overall = comparison.first, comparison.second, comparison.overall
    lines = [f"Suite {_suite(a)}: {overall.episodes} paired episodes of {overall.tasks} tasks"]
    for letter, side in (("A", a), ("B", b)):
        success, steps = side.summary.success, figure(side.cost().steps)
        errors = f"{success.agent_errors} agent errors, {success.infrastructure_errors} not scored"
        state = "" if side.summary.complete else ", INCOMPLETE"
        lines.append(
            f"{letter}  {_one_line(side.config.agent)}: {counted(success)}, {errors}, {steps} steps{state}"
        )
    lines += [
        f"B - A  {difference(overall)}",
        *(f"  {_one_line(cell)}: {difference(p)}" for cell, p in comparison.cells.items()),
    ]
    return lines


def difference(found: Paired) -> str:
    """Return a paired difference in points with its interval and the tasks won by each."""
    return (
        f"{100 * found.difference:+.1f} points ({100 * found.low:+.1f} to {100 * found.high:+.1f}), "
        f"{percent(found.first)} to {percent(found.second)}; "
        f"tasks: {found.second_better} better, {found.first_better} worse, {found.equal} equal"
    )


def _suite(results: Results) -> str:
    config = results.config
    return f"{_one_line(config.suite)} v{config.suite_version} ({config.suite_hash[:8]})"


def _one_line(text: str) -> str:
    """Return text without what would move a terminal's cursor."""
    return "".join(c if c.isprintable() else " " for c in text)
