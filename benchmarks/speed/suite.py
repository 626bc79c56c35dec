"""Measure how fast things here are, side by side with what they replace.

``python -m benchmarks.speed`` runs every part, ``python -m benchmarks.speed
alfworld`` one. Ours and the peer are measured in turn over several rounds; shown
are medians, and how many times faster ours is, with the range over the rounds.
A part that lacks a package is skipped with the reason. Where either side fails
there is no figure, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from benchmarks.progress import tracked
from benchmarks.running import exit_code, machine
from benchmarks.speed.figures import Figure, as_json, lines
from rla_envs.errors import InputError, MissingExtraError, unknown_name
from rla_envs.files import write_atomic

PARTS: Mapping[str, str] = {
    "alfworld": "benchmarks.speed.alfworld",
    "coding": "benchmarks.speed.coding",
    "gridnav": "benchmarks.speed.gridnav",
    "osworld": "benchmarks.speed.osworld",
}
"""Every part and the module that measures it, which is a :class:`Part`."""


class Part(Protocol):
    """What the module of a part offers."""

    TITLE: str
    """What stands beside what, and how time is taken."""

    def why_missing(self) -> str:
        """Return why this part cannot be measured here, in a line; empty if it can."""
        ...

    def measurements(self, rounds: int, quick: bool) -> Sequence[Iterator[Figure]]:
        """Return what yields the figures, piece by piece, so that progress can be shown.

        Args:
            rounds: How often each side of a figure is measured.
            quick: Measure next to nothing: to see that it runs.
        """
        ...


class Result(NamedTuple):
    """What came of a part.

    Attributes:
        title: Its title.
        skipped: Why it was skipped; empty if it was not.
        figures: Its figures; none if it was skipped.
    """

    title: str
    skipped: str
    figures: tuple[Figure, ...]


def run_part(name: str, rounds: int, quick: bool, quiet: bool) -> Result:
    """Measure a part, or say why it is skipped."""
    try:
        part: Part = import_module(PARTS[name])
        skipped = part.why_missing()
    except MissingExtraError as error:
        return Result(name, str(error), ())
    if skipped:
        return Result(part.TITLE, skipped, ())
    pieces = part.measurements(rounds, quick)
    found = [figure for piece in tracked(pieces, name, len(pieces), quiet) for figure in piece]
    return Result(part.TITLE, "", tuple(found))


def _text(name: str, result: Result) -> Iterator[str]:
    yield f"{name}: {result.title}"
    if result.skipped:
        yield f"  skipped: {result.skipped}"
    yield from lines(result.figures)


def _json(result: Result) -> dict[str, Any]:
    if result.skipped:
        return {"title": result.title, "skipped": result.skipped}
    return {"title": result.title, "figures": [as_json(figure) for figure in result.figures]}


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all unless given")
    parser.add_argument("--json", metavar="FILE", help="write all numbers, in seconds and bytes, to a file")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--rounds", type=int, default=5, help="how often both sides are measured (5)")
    parser.add_argument("--quick", action="store_true", help="next to nothing, to see that it runs")
    options = parser.parse_args(argv)
    for name in options.parts:
        if name not in PARTS:
            raise unknown_name("part", name, PARTS)
    if options.rounds < 1:
        raise InputError(f"--rounds: expected 1 or more, got {options.rounds}")
    return options


def _run(argv: Sequence[str]) -> int:
    options = _options(argv)
    results = {}
    for name in options.parts or PARTS:
        results[name] = run_part(name, options.rounds, options.quick, options.quiet)
        sys.stdout.write("\n".join(_text(name, results[name])) + "\n")
        sys.stdout.flush()
    if options.json:
        parts = {name: _json(result) for name, result in results.items()}
        numbers = {"machine": machine(), "quick": options.quick, "parts": parts}
        write_atomic(Path(options.json), json.dumps(numbers, indent=2) + "\n")
    return int(any(figure.failure for result in results.values() for figure in result.figures))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the suite; return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    return exit_code(lambda: _run(words))
