"""Work in spreadsheets: cells, totals, sorting, several sheets, bold type."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rla_envs.errors import InvalidTaskError
from rla_envs.osworld.families import reading
from rla_envs.osworld.families.base import (
    CALC,
    SAVE,
    Check,
    Document,
    Family,
    Job,
    Request,
    key,
    pause,
    steps_of,
    write,
)
from rla_envs.osworld.families.documents import Cell, Rows, workbook
from rla_envs.osworld.families.topics import MONTHS, Topic

Sheets = dict[str, list[list[Cell]]]

CLOSING = "Save the file under its name when you are done."
GO_TO_CELL = "Ctrl+Shift+T moves to the Name Box, where a cell's address and Enter go to that cell."
SAVE_HINT = "Ctrl+S saves."


def address(row: int, column: int) -> str:
    """Return a cell's address from its row and column, both from 0."""
    return f"{chr(ord('A') + column)}{row + 1}"


def position(cell: str) -> tuple[int, int]:
    """Return the row and the column of an address, both from 0."""
    return int(cell[1:]) - 1, ord(cell[0]) - ord("A")


def enter(sheet: int, cell: str, value: Cell, sheets: Sequence[str]) -> list[str]:
    """Return the steps that put a value into a cell."""
    # Delete drops what the spreadsheet proposes to complete a text with.
    return [go_to(sheet, cell, sheets), steps_of(write(str(value)), key("delete"), key("enter"))]


def go_to(sheet: int, cells: str, sheets: Sequence[str]) -> str:
    """Return the actions that select a cell or a range (``"A1:C3"``)."""
    place = cells if len(sheets) == 1 else f"{sheets[sheet]}.{cells}"
    return steps_of(key("ctrl", "shift", "t"), pause(0.5), write(place), key("enter"))


def sheet_rules(sheets: Sequence[str]) -> list[dict[str, Any]]:
    """Return OSWorld's rules that say two workbooks have the same sheets with the same data."""
    rules: list[dict[str, Any]] = [{"type": "sheet_name"}]
    for number in range(len(sheets)):
        rules.append({"type": "sheet_data", "sheet_idx0": number, "sheet_idx1": f"EI{number}"})
    return rules


def sample_rows(topic: Topic, rows: int, columns: int, rng: np.random.Generator) -> list[list[Cell]]:
    """Draw a table with things down the side, months along the top and a number in every cell."""
    things = rng.permutation(topic.things)[:rows]
    head: list[Cell] = ["Item", *MONTHS[:columns]]
    numbers = rng.permutation(np.arange(11, 980))[: rows * columns].reshape(rows, columns)
    body: list[list[Cell]] = [[str(t), *map(int, n)] for t, n in zip(things, numbers, strict=True)]
    return [head, *body]


def read_sheets(value: object, most: int = 4) -> Sheets:
    """Return the sheets of a job: a list of objects with a name and rows."""
    sheets: Sheets = {}
    for entry in reading.items(value, "sheets", 1, most):
        sheet = reading.fields(entry, "sheet", ("name", "rows"))
        name = reading.text(sheet["name"], "sheet name", reading.WORD)
        if name in sheets:
            raise InvalidTaskError(f"sheets: expected each name once, got {name!r} twice")
        sheets[name] = reading.table(sheet["rows"], f"rows of {name}")
    return sheets


def workbook_job(
    job: Mapping[str, Any],
    folder: str,
    sheets: Sheets,
    end: Sheets,
    requests: Sequence[Request],
    steps: Sequence[str],
    hints: tuple[str, ...],
) -> Job:
    """Return a job that turns one workbook's sheets into others."""
    document = spreadsheet(job, folder, sheets)
    goal = workbook(end)
    check = Check(
        "compare_table",
        {"type": "vm_file", "path": document.path, "dest": document.name},
        document.data,
        goal,
        reference=goal,
        options={"rules": sheet_rules(list(end))},
    )
    return Job((document,), tuple(requests), CLOSING, hints, (check,), (*steps, SAVE))


def spreadsheet(job: Mapping[str, Any], folder: str, sheets: Mapping[str, Rows]) -> Document:
    """Return the document of a job with a ``file`` and what it is ``about``."""
    name = reading.file_name(job["file"], "file", ".xlsx")
    return Document(f"{folder}/{name}", workbook(sheets), CALC, reading.text(job["about"], "about"))


def labels(rows: Rows, row: int, column: int) -> tuple[str, str]:
    """Return what stands at the head of a cell's row and column.

    Raises:
        InvalidTaskError: If there is no such cell below and right of the heads.
    """
    if not (1 <= row < len(rows) and 1 <= column < len(rows[0])):
        last = address(len(rows) - 1, len(rows[0]) - 1)
        raise InvalidTaskError(f"expected a cell from B2 to {last}, got {address(row, column)}")
    return str(rows[row][0]), str(rows[0][column])


class CalcCells(Family):
    """Set cells of a spreadsheet to given numbers."""

    name = "calc_cells"
    applications = (CALC,)
    summary = "set cells of a spreadsheet"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a table and as many of its cells as there are edits."""
        rows, columns = 6, 3
        table = sample_rows(topic, rows, columns, rng)
        chosen = rng.permutation(rows * columns)[:edits]
        values = rng.permutation(np.arange(1000, 2000))[:edits]
        return {
            "file": f"{topic.stem}.xlsx",
            "about": topic.about,
            "sheets": [{"name": "Sheet1", "rows": table}],
            "edits": [
                {"cell": address(1 + int(c) // columns, 1 + int(c) % columns), "value": int(v)}
                for c, v in zip(chosen, values, strict=True)
            ],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("file", "about", "sheets", "edits"))
        sheets = read_sheets(job["sheets"], most=1)
        (sheet, rows), names = next(iter(sheets.items())), list(sheets)
        end = copy.deepcopy(sheets)
        requests, steps, cells = [], [], []
        for entry in reading.items(job["edits"], "edits", 1, 6):
            edit = reading.fields(entry, "edit", ("cell", "value"))
            cell = reading.text(edit["cell"], "cell", reading.ADDRESS)
            value = reading.cell(edit["value"], "value")
            row, column = position(cell)
            thing, month = labels(rows, row, column)
            if value is None or rows[row][column] == value:
                raise InvalidTaskError(f"edit of {cell}: expected another value, got {value!r}")
            end[sheet][row][column] = value
            cells.append(cell)
            requests.append(
                Request(
                    f"set cell {cell} to {value}",
                    f"set the value in the row {thing!r} and the column {month!r} to {value}",
                    f"change {thing} in {month} to {value}",
                    cell,
                )
            )
            steps += enter(0, cell, value, names)
        reading.distinct(cells, "edits")
        return workbook_job(job, folder, sheets, end, requests, steps, (SAVE_HINT, GO_TO_CELL))

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last edit one row off, or its value one off; or one more cell changed."""
        *others, last = job["edits"]
        column = position(last["cell"])[1]
        rows = job["sheets"][0]["rows"]
        taken = {edit["cell"] for edit in job["edits"]}
        free = [
            address(r, c)
            for c in [column, *range(1, len(rows[0]))]
            for r in range(1, len(rows))
            if address(r, c) not in taken
        ]
        misses: dict[str, list[Any]] = {"wrong value": [*others, {**last, "value": _other(last["value"])}]}
        if free:
            misses["wrong cell"] = [*others, {**last, "cell": free[0]}]
            misses["one cell too many"] = [*job["edits"], {"cell": free[-1], "value": 7777}]
        return {wrong: {**job, "edits": edits} for wrong, edits in misses.items()}


def _other(value: Any) -> Any:
    return value + 1 if isinstance(value, int | float) else f"{value}s"
