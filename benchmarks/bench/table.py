"""`rla bench table`: runs side by side, as Markdown, CSV or HTML."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from benchmarks.bench.results import (
    Results,
    clustered_interval,
    counted,
    figure,
    read_results,
    wilson_interval,
)
from rla_agents.command_line import parse
from rla_envs.errors import InputError, unknown_name

COLUMNS: Mapping[str, Callable[[Results], str]] = {
    "suite": lambda r: f"{r.config.suite} v{r.config.suite_version}",
    "agent": lambda r: r.config.agent,
    "kind": lambda r: r.config.agent_kind,
    "seed": lambda r: str(r.config.seed),
    "success": lambda r: counted(r.summary.success),
    "95% Wilson": lambda r: wilson_interval(r.summary.success),
    "95% by task": lambda r: clustered_interval(r.summary.success),
    "agent errors": lambda r: str(r.summary.success.agent_errors),
    "not scored": lambda r: str(r.summary.success.infrastructure_errors),
    "false claims": lambda r: str(r.false_claims),
    "complete": lambda r: "yes" if r.summary.complete else "INCOMPLETE",
    "steps": lambda r: figure(r.cost().steps),
    "tokens read": lambda r: figure(r.cost().prompt_tokens, 0),
    "tokens written": lambda r: figure(r.cost().completion_tokens, 0),
    "agent s": lambda r: figure(r.cost().agent_seconds, 2),
    "half-way point": lambda r: _threshold(r),
    "run": lambda r: r.name,
}
"""Columns of the table and what they say of a run; costs are means over scored episodes."""

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~#&])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")


@dataclass(frozen=True)
class TableArguments:
    """Show benchmark runs side by side, by suite, the best first."""

    runs: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folders of runs."""
    format: Annotated[str, tyro.conf.arg(metavar="{md,csv,html}")] = "md"
    """How to write it."""


def table(words: Sequence[str]) -> int:
    """Print the table that a command line asks for, and return the exit code 0."""
    arguments = parse(TableArguments, words, prog="rla bench table")
    if not arguments.runs:
        raise InputError("expected the folder of at least one run, got none; see rla bench table --help")
    if arguments.format not in FORMATS:
        raise unknown_name("format", arguments.format, FORMATS)
    print(FORMATS[arguments.format](table_rows(map(read_results, arguments.runs))), end="")  # noqa: T201
    return 0


def table_rows(results: Sequence[Results] | map[Results]) -> list[list[str]]:
    """Return the header and a row a run: runs of one suite together, the best first."""
    ordered = sorted(
        results, key=lambda r: (r.config.suite, r.config.suite_hash, -(r.summary.success.rate or 0.0), r.name)
    )
    return [list(COLUMNS), *([show(r) for show in COLUMNS.values()] for r in ordered)]


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table; markup in them stays text."""
    header, *rest = [[_MARKDOWN.sub(r"\\\1", _CONTROL.sub(" ", cell)) for cell in row] for row in rows]
    lines = [header, ["---"] * len(header), *rest]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def comma_separated(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as CSV; text that a spreadsheet would take for a formula is quoted with an apostrophe."""
    out = io.StringIO()
    safe = [
        [f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell for cell in row]
        for row in rows
    ]
    csv.writer(out, lineterminator="\n").writerows(safe)
    return out.getvalue()


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as one HTML table element."""
    header, *rest = [[html.escape(cell) for cell in row] for row in rows]
    head = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rest)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


FORMATS = {"md": markdown, "csv": comma_separated, "html": html_table}
"""How a table can be written."""


def _threshold(results: Results) -> str:
    found = results.summary.threshold
    if found is None:
        return "–"
    return f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f}) in {found.episodes} episodes"
