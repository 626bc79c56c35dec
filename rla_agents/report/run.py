"""Read a run folder, forgiving what a kill or an unfinished run leaves out."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rla_envs.errors import InputError

Row = dict[str, Any]
"""One JSON object, as it was logged."""


@dataclass
class Run:
    """What a run folder holds.

    Attributes:
        folder: The folder.
        config: Its config.toml, as tables.
        config_text: The same as text, for reading.
        metrics: One row per iteration.
        events: The curriculum's edits.
        evaluation: The held-out grid before and after; empty if there is none yet.
        versions: Package versions it ran with; empty if they were not recorded.
        notes: What is missing or could not be read, in sentences for the reader.
    """

    folder: Path
    config: Row = field(default_factory=dict)
    config_text: str = ""
    metrics: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    evaluation: Row = field(default_factory=dict)
    versions: Row = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def setting(self, section: str, name: str, default: object = None) -> Any:
        """Return one value of the config, or ``default`` where it has none."""
        table = self.config.get(section)
        return table.get(name, default) if isinstance(table, dict) else default

    def rows(self, name: str) -> Iterator[tuple[int, Row]]:
        """Yield each whole JSON line of a file in the run with its byte offset.

        A last line without its end is what a kill leaves: it is passed over, as
        the resumed run does. Any other unreadable line is counted in ``notes``.
        """
        path = self.folder / name
        if not path.is_file():
            self.notes.append(f"{name} is missing.")
            return
        offset, broken = 0, 0
        with path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    row = parse_row(line)
                    if row is not None:
                        yield offset, row
                    elif line.strip():
                        broken += 1
                offset += len(line)
        if broken:
            self.notes.append(f"{broken} unreadable line(s) of {name} were left out.")

    def row_at(self, name: str, offset: int) -> Row:
        """Return the JSON line that starts at a byte offset which :meth:`rows` gave."""
        with (self.folder / name).open("rb") as file:
            file.seek(offset)
            return parse_row(file.readline()) or {}


def read_run(folder: str | Path) -> Run:
    """Return what a run folder holds, all but the traces.

    Raises:
        InputError: If it is no run folder.
    """
    run = Run(Path(folder))
    if not run.folder.is_dir():
        raise InputError(f"run {run.folder}: expected the folder of a run, there is none")
    if not any((run.folder / name).is_file() for name in ("config.toml", "metrics.jsonl")):
        raise InputError(f"run {run.folder}: expected config.toml or metrics.jsonl in it, found neither")
    try:
        run.config_text = (run.folder / "config.toml").read_text(encoding="utf-8")
        run.config = tomllib.loads(run.config_text)
    except (OSError, ValueError) as error:
        run.notes.append(f"config.toml could not be read ({error}).")
    if "suite_hash" in run.config:
        raise InputError(
            f"run {run.folder}: expected the folder of a training run, got a benchmark's; see rla bench"
        )
    run.metrics = [row for _, row in run.rows("metrics.jsonl") if isinstance(row.get("iteration"), int)]
    # Only curricula that rewrite tasks have events.
    if (run.folder / "events.jsonl").is_file():
        run.events = [row for _, row in run.rows("events.jsonl")]
    run.evaluation = _json_file(run, "evaluation.json", "The held-out evaluation is not there yet.")
    run.versions = _json_file(run, "versions.json", "")
    return run


def _json_file(run: Run, name: str, absent: str) -> Row:
    path = run.folder / name
    if not path.is_file():
        if absent:
            run.notes.append(absent)
        return {}
    row = parse_row(path.read_bytes())
    if row is None:
        run.notes.append(f"{name} could not be read.")
    return row or {}


def parse_row(line: bytes) -> Row | None:
    """Return the JSON object that a line holds, or None if it holds none."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None
