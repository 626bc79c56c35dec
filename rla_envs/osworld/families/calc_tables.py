"""Work on whole tables of spreadsheets: totals, sorting, several sheets, bold type."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rla_envs.errors import InvalidTaskError
from rla_envs.osworld.families import reading
from rla_envs.osworld.families.base import (
    CALC,
    SAVE,
    Check,
    Family,
    Job,
    Request,
    key,
    pause,
    repeated,
    steps_of,
)
from rla_envs.osworld.families.calc import (
    CLOSING,
    GO_TO_CELL,
    SAVE_HINT,
    address,
    enter,
    go_to,
    labels,
    position,
    read_sheets,
    sample_rows,
    sheet_rules,
    spreadsheet,
    workbook_job,
)
from rla_envs.osworld.families.documents import Cell, workbook
from rla_envs.osworld.families.topics import PLACES, Topic

_FUNCTIONS: dict[str, tuple[str, Callable[[Sequence[float]], float]]] = {
    "sum": ("SUM", sum),
    "average": ("AVERAGE", lambda values: sum(values) / len(values)),
    "maximum": ("MAX", max),
    "minimum": ("MIN", min),
}


def _sheets(rows: Mapping[str, list[list[Cell]]]) -> list[dict[str, Any]]:
    return [{"name": name, "rows": table} for name, table in rows.items()]


class CalcTotals(Family):
    """Compute totals, averages and extremes of columns below a table."""

    name = "calc_totals"
    applications = (CALC,)
    summary = "compute totals and averages of a spreadsheet"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a table, and a function of a column for every edit."""
        rows, columns = 6, 5
        table = sample_rows(topic, rows, columns, rng)
        chosen = rng.permutation(columns)[:edits]
        kinds = [list(_FUNCTIONS)[int(i)] for i in rng.integers(len(_FUNCTIONS), size=edits)]
        letters = [address(0, 1 + int(column))[0] for column in chosen]
        return {
            "file": f"{topic.stem}.xlsx",
            "about": topic.about,
            "sheets": _sheets({"Sheet1": table}),
            "edits": [
                {"into": f"{letter}{rows + 3}", "function": kind, "first": 2, "last": rows + 1}
                for letter, kind in zip(letters, kinds, strict=True)
            ],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("file", "about", "sheets", "edits"))
        sheets = read_sheets(job["sheets"], most=1)
        (sheet, rows), names = next(iter(sheets.items())), list(sheets)
        values: dict[str, float] = {}
        requests, steps = [], []
        for entry in reading.items(job["edits"], "edits", 1, 6):
            edit = reading.fields(entry, "edit", ("into", "function", "first", "last"))
            into = reading.text(edit["into"], "into", reading.ADDRESS)
            kind = reading.choice(edit["function"], "function", list(_FUNCTIONS))
            first = reading.integer(edit["first"], "first", 2, len(rows))
            last = reading.integer(edit["last"], "last", first, len(rows))
            row, column = position(into)
            if not len(rows) <= row < len(rows) + 4 or into in values:
                raise InvalidTaskError(
                    f"into: expected different cells in the rows below the table, got {into!r}"
                )
            cells = f"{into[0]}{first}:{into[0]}{last}"
            _, month = labels(rows, 1, column)
            function, compute = _FUNCTIONS[kind]
            values[into] = compute(_numbers(rows, column, first, last))
            part = "" if (first, last) == (2, len(rows)) else f" in the rows {first} to {last}"
            requests.append(
                Request(
                    f"put the {kind} of {cells} into cell {into}",
                    f"put the {kind} of the column {month!r}{part} into row {row + 1} of that column",
                    f"work out the {kind} of {month}{part}, in its column, in row {row + 1}",
                    cells,
                )
            )
            steps += enter(0, into, f"={function}({cells})", names)
        end = {sheet: _with_values(rows, values)}
        hints = (SAVE_HINT, "A formula such as =SUM(B2:B5) computes a value.")
        return workbook_job(job, folder, sheets, end, requests, steps, hints)

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last range one row short; the wrong function; the wrong cell."""
        *others, last = job["edits"]
        other = "sum" if last["function"] != "sum" else "maximum"
        into = f"{last['into'][0]}{int(last['into'][1:]) + 1}"
        misses = {
            "range one row short": {**last, "first": last["first"] + 1, "function": "sum"},
            "wrong function": {**last, "function": other},
            "wrong cell": {**last, "into": into},
        }
        if last["function"] == "sum":
            misses["range one row short"]["last"] = last["last"]
        return {wrong: {**job, "edits": [*others, edit]} for wrong, edit in misses.items()}


def _numbers(rows: Sequence[Sequence[Cell]], column: int, first: int, last: int) -> list[float]:
    values = [row[column] for row in rows[first - 1 : last]]
    if not all(isinstance(value, int | float) for value in values):
        raise InvalidTaskError(f"expected numbers in the rows {first} to {last}, got {values}")
    return [value for value in values if isinstance(value, int | float)]


def _with_values(rows: Sequence[Sequence[Cell]], values: Mapping[str, float]) -> list[list[Cell]]:
    last = max(position(cell)[0] for cell in values)
    end = [list(row) for row in rows]
    end += [[None] * len(rows[0]) for _ in range(last + 1 - len(rows))]
    for cell, value in values.items():
        row, column = position(cell)
        end[row][column] = value
    return end


class CalcSort(Family):
    """Sort the tables of one or more sheets by a column."""

    name = "calc_sort"
    applications = (CALC,)
    summary = "sort tables of a spreadsheet"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a sheet for every edit, with the column to sort it by."""
        names = [str(name) for name in rng.permutation(PLACES)[:edits]]
        return {
            "file": f"{topic.stem}.xlsx",
            "about": topic.about,
            "sheets": _sheets({name: _unsorted_rows(topic, rng) for name in names}),
            "edits": [
                {
                    "sheet": name,
                    "column": str(rng.choice(("B", "C", "D"))),
                    "descending": bool(rng.integers(2)),
                }
                for name in names
            ],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("file", "about", "sheets", "edits"))
        sheets = read_sheets(job["sheets"], most=6)
        end, names = copy.deepcopy(sheets), list(sheets)
        requests, steps, done = [], [], []
        for entry in reading.items(job["edits"], "edits", 1, 6):
            edit = reading.fields(entry, "edit", ("sheet", "column", "descending"))
            sheet = reading.choice(edit["sheet"], "sheet", names)
            column = position(reading.text(f"{edit['column']}1", "column", reading.ADDRESS))[1]
            rows = sheets[sheet]
            _, head = labels(rows, 1, column)
            down = edit["descending"] is True
            _numbers(rows, column, 2, len(rows))
            end[sheet][1:] = sorted(rows[1:], key=lambda row: row[column], reverse=down)  # type: ignore[arg-type, return-value]
            if end[sheet] == rows:
                raise InvalidTaskError(f"edit of {sheet}: expected a table that is not sorted so yet")
            done.append(sheet)
            order = "largest first" if down else "smallest first"
            last = address(len(rows) - 1, len(rows[0]) - 1)
            requests.append(
                Request(
                    f"sort the rows A2:{last} of the sheet {sheet} by column {edit['column']}, {order}",
                    f"sort the table of the sheet {sheet} by {head!r}, {order}",
                    f"let the table of {sheet} begin with the {'largest' if down else 'smallest'} {head} "
                    "and go on in this order",
                    f"A2:{last}",
                )
            )
            steps += _sort_steps(names.index(sheet), f"A2:{last}", column, down, names)
        reading.distinct(done, "edits")
        hints = (SAVE_HINT, "Data > Sort sorts the selected rows; Tab moves within a selection.")
        return workbook_job(job, folder, sheets, end, requests, steps, hints)

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last table in the other order, by another column, or the last not sorted at all."""
        *others, last = job["edits"]
        other = "C" if last["column"] != "C" else "B"
        third = "D" if last["column"] != "D" else "B"
        misses = {
            "other order": {**last, "descending": not last["descending"]},
            "other column": {**last, "column": other},
            "another column": {**last, "column": third},
        }
        return {wrong: {**job, "edits": [*others, edit]} for wrong, edit in misses.items()}


def _unsorted_rows(topic: Topic, rng: np.random.Generator) -> list[list[Cell]]:
    """Draw a table that no column is in order of."""
    while True:
        rows = sample_rows(topic, 5, 3, rng)
        columns = [list(column) for column in zip(*rows[1:], strict=True)][1:]
        if not any(column in (sorted(column), sorted(column, reverse=True)) for column in columns):
            return rows


def _sort_steps(sheet: int, cells: str, column: int, down: bool, names: Sequence[str]) -> list[str]:
    return [
        steps_of(go_to(sheet, cells, names), pause(0.3), repeated("tab", column)),
        # The menu "Data" begins with Sort, Sort Ascending, Sort Descending.
        steps_of(key("alt", "d"), pause(0.5), repeated("down", 2 if down else 1), key("enter")),
    ]


class CalcSheets(Family):
    """Copy values of several sheets into a summary sheet."""

    name = "calc_sheets"
    applications = (CALC,)
    summary = "collect values of several sheets in a summary"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a sheet for each of some places, a summary, and what goes into it."""
        names = [str(name) for name in rng.permutation(PLACES)[: max(2, edits)]]
        sheets = {name: sample_rows(topic, 4, 3, rng) for name in names}
        summary: list[list[Cell]] = [["Place", "Value"]]
        summary += [[name, None] for name in names]
        return {
            "file": f"{topic.stem}.xlsx",
            "about": topic.about,
            "sheets": _sheets({"Summary": summary, **sheets}),
            "edits": [
                {
                    "sheet": name,
                    "cell": address(1 + int(rng.integers(4)), 1 + int(rng.integers(3))),
                    "into": f"B{row + 2}",
                }
                for row, name in enumerate(names[:edits])
            ],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("file", "about", "sheets", "edits"))
        sheets = read_sheets(job["sheets"], most=7)
        end, names = copy.deepcopy(sheets), list(sheets)
        summary = names[0]
        requests, steps, done = [], [], []
        for entry in reading.items(job["edits"], "edits", 1, 6):
            edit = reading.fields(entry, "edit", ("sheet", "cell", "into"))
            sheet = reading.choice(edit["sheet"], "sheet", names[1:])
            cell = reading.text(edit["cell"], "cell", reading.ADDRESS)
            into = reading.text(edit["into"], "into", reading.ADDRESS)
            thing, month = labels(sheets[sheet], *position(cell))
            place, head = labels(sheets[summary], *position(into))
            value = sheets[sheet][position(cell)[0]][position(cell)[1]]
            row, column = position(into)
            if value is None or sheets[summary][row][column] == value:
                raise InvalidTaskError(f"edit of {into}: expected another value, got {value!r}")
            end[summary][row][column] = value
            done.append(into)
            requests.append(
                Request(
                    f"copy the value of {sheet}.{cell} into {summary}.{into}",
                    f"copy {month!r} of {thing!r} on the sheet {sheet} into {head!r} of {place!r} on the "
                    f"sheet {summary}",
                    f"fill in the {summary.lower()}, for {place}, what {sheet} has for {thing} in {month}",
                    f"{sheet}.{cell}",
                )
            )
            steps += enter(0, into, value, names)
        reading.distinct(done, "edits")
        hints = (SAVE_HINT, "Ctrl+Page Down shows the next sheet.")
        return workbook_job(job, folder, sheets, end, requests, steps, hints)

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last value of the cell below or beside; or of the right cell of another sheet."""
        *others, last = job["edits"]
        row, column = position(last["cell"])
        height, width = len(job["sheets"][1]["rows"]), len(job["sheets"][1]["rows"][0])
        below = address(row + 1 if row + 1 < height else row - 1, column)
        beside = address(row, column + 1 if column + 1 < width else column - 1)
        names = [sheet["name"] for sheet in job["sheets"][1:] if sheet["name"] != last["sheet"]]
        misses = {
            "cell one row off": {**last, "cell": below},
            "cell one column off": {**last, "cell": beside},
            "wrong sheet": {**last, "sheet": names[0]},
        }
        return {wrong: {**job, "edits": [*others, edit]} for wrong, edit in misses.items()}


class CalcBold(Family):
    """Make rows or columns of a table bold."""

    name = "calc_bold"
    applications = (CALC,)
    summary = "make cells of a spreadsheet bold"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a table and some of its rows."""
        table = sample_rows(topic, 7, 3, rng)
        rows = sorted(int(i) for i in rng.permutation(len(table))[:edits])
        return {
            "file": f"{topic.stem}.xlsx",
            "about": topic.about,
            "sheets": _sheets({"Sheet1": table}),
            "edits": [{"row": row + 1} for row in rows],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("file", "about", "sheets", "edits"))
        sheets = read_sheets(job["sheets"], most=1)
        (sheet, rows), names = next(iter(sheets.items())), list(sheets)
        document = spreadsheet(job, folder, sheets)
        requests, steps, bold, done = [], [], [], []
        for entry in reading.items(job["edits"], "edits", 1, 6):
            number = reading.integer(reading.fields(entry, "edit", ("row",))["row"], "row", 1, len(rows))
            first, last = address(number - 1, 0), address(number - 1, len(rows[0]) - 1)
            bold += [(sheet, address(number - 1, column)) for column in range(len(rows[0]))]
            done.append(number)
            what = "the heads of the columns" if number == 1 else f"the row {str(rows[number - 1][0])!r}"
            requests.append(
                Request(
                    f"make the cells {first}:{last} bold",
                    f"make all cells of {what} bold",
                    f"let {what} stand out in bold type",
                    f"{first}:{last}",
                )
            )
            steps += [go_to(0, f"{first}:{last}", names), key("ctrl", "b")]
        reading.distinct(done, "edits")
        goal = workbook(sheets, bold)
        style = {"type": "style", "sheet_idx0": 0, "sheet_idx1": "EI0", "props": ["font_bold"]}
        check = Check(
            "compare_table",
            {"type": "vm_file", "path": document.path, "dest": document.name},
            document.data,
            goal,
            reference=goal,
            options={"rules": [*sheet_rules(names), style]},
        )
        hints = (GO_TO_CELL, "Ctrl+B makes the selected cells bold.")
        return Job((document,), tuple(requests), CLOSING, hints, (check,), (*steps, SAVE))

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last row one off; one row too many; one of the rows not."""
        rows = [edit["row"] for edit in job["edits"]]
        free = [n for n in range(1, len(job["sheets"][0]["rows"]) + 1) if n not in rows]
        misses = {
            "wrong row": [*rows[:-1], free[0]],
            "one row too many": [*rows, free[-1]],
            "another row": [*rows[:-1], free[-1]],
        }
        return {wrong: {**job, "edits": [{"row": n} for n in found]} for wrong, found in misses.items()}
