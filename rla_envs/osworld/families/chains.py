"""Work across applications: what one document says goes into another."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from rla_envs.errors import InvalidTaskError
from rla_envs.osworld.families import reading
from rla_envs.osworld.families.base import (
    CALC,
    EDITOR,
    SAVE,
    WRITER,
    Document,
    Family,
    Job,
    Request,
    key,
    steps_of,
    write,
)
from rla_envs.osworld.families.calc import (
    address,
    enter,
    labels,
    position,
    read_sheets,
    sample_rows,
    workbook_job,
)
from rla_envs.osworld.families.documents import Cell, text_document, workbook
from rla_envs.osworld.families.text import CLOSING, as_text, file_check, text_file
from rla_envs.osworld.families.topics import Topic
from rla_envs.osworld.families.writer import (
    REPLACE_HINT,
    SAVE_HINT,
    docx_check,
    replace_all,
    replaced,
    written,
)

_BLANKS = ("FIRST", "SECOND", "THIRD", "FOURTH", "FIFTH", "SIXTH")


class NotesToSheet(Family):
    """Enter numbers that a text file states into a spreadsheet."""

    name = "notes_to_sheet"
    applications = (CALC, EDITOR)
    summary = "enter what a text file says into a spreadsheet"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a table, some of its cells, and numbers for all its rows."""
        rows = sample_rows(topic, 6, 3, rng)
        column = 1 + int(rng.integers(3))
        chosen = sorted(int(i) for i in rng.permutation(6)[:edits])
        values = [int(v) for v in rng.permutation(np.arange(1000, 9000))[:6]]
        return {
            "file": f"{topic.stem}.xlsx",
            "about": topic.about,
            "notes": f"{topic.stem}_notes.txt",
            "sheets": [{"name": "Sheet1", "rows": rows}],
            "column": column + 1,
            "values": values,
            "edits": [{"row": i + 2} for i in chosen],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(
            job, self.name, ("file", "about", "notes", "sheets", "column", "values", "edits")
        )
        sheets = read_sheets(job["sheets"], most=1)
        (sheet, rows), names = next(iter(sheets.items())), list(sheets)
        column = reading.integer(job["column"], "column", 2, len(rows[0])) - 1
        values = [
            reading.integer(v, "values", 0, 1_000_000)
            for v in reading.items(job["values"], "values", len(rows) - 1, len(rows) - 1)
        ]
        end = copy.deepcopy(sheets)
        requests, steps, done = [], [], []
        for entry in reading.items(job["edits"], "edits", 1, 6):
            row = reading.integer(reading.fields(entry, "edit", ("row",))["row"], "row", 2, len(rows)) - 1
            thing, month = labels(rows, row, column)
            value, cell = values[row - 1], address(row, column)
            if rows[row][column] == value:
                raise InvalidTaskError(f"edit of {cell}: expected another value, got {value}")
            end[sheet][row][column] = value
            done.append(row)
            requests.append(
                Request(
                    f"set cell {cell} to the number for {thing}",
                    f"set the value in the row {thing!r} and the column {month!r} to the number for {thing}",
                    f"correct {thing} in {month}",
                    f"cell {cell}",
                )
            )
            steps += enter(0, cell, value, names)
        reading.distinct(done, "edits")
        name = reading.file_name(job["notes"], "notes", ".txt")
        lines = [f"{row[0]}: {value}" for row, value in zip(rows[1:], values, strict=True)]
        notes = Document(f"{folder}/{name}", as_text(lines), EDITOR, f"{job['about']} (the notes)")
        base = {name: job[name] for name in ("file", "about")}
        hints = (SAVE_HINT, "Alt+Tab goes to the other window.")
        made = workbook_job(base, folder, sheets, end, requests, steps, hints)
        return dataclasses.replace(made, documents=(*made.documents, notes))

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The number for another row; another row instead of the last, or besides."""
        rows = [edit["row"] for edit in job["edits"]]
        free = [n for n in range(2, len(job["sheets"][0]["rows"]) + 1) if n not in rows]
        values = list(job["values"])
        values[rows[-1] - 2] += 1
        misses = {
            "wrong row": {"edits": [*rows[:-1], free[0]]},
            "one row too many": {"edits": [*rows, free[-1]]},
        }
        found = {
            wrong: {**job, "edits": [{"row": n} for n in miss["edits"]]} for wrong, miss in misses.items()
        }
        return {**found, "wrong number": {**job, "values": values}}


class SheetToLetter(Family):
    """Fill the blanks of a letter with numbers of a spreadsheet."""

    name = "sheet_to_letter"
    applications = (WRITER, CALC)
    summary = "fill in a letter from a spreadsheet"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a table, and cells of it that the letter lacks."""
        rows = sample_rows(topic, 6, 3, rng)
        chosen = sorted(int(i) for i in rng.permutation(18)[:edits])
        return {
            "file": f"{topic.stem}_letter.docx",
            "about": topic.about,
            "sheet": f"{topic.stem}.xlsx",
            "rows": rows,
            "edits": [{"cell": address(1 + i // 3, 1 + i % 3)} for i in chosen],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("file", "about", "sheet", "rows", "edits"))
        rows = reading.table(job["rows"], "rows")
        lines = [f"Dear members, this is about {reading.text(job['about'], 'about')}."]
        requests, values, cells = [], [], []
        for blank, entry in zip(_BLANKS, reading.items(job["edits"], "edits", 1, 6), strict=False):
            cell = reading.text(reading.fields(entry, "edit", ("cell",))["cell"], "cell", reading.ADDRESS)
            thing, month = labels(rows, *position(cell))
            value = rows[position(cell)[0]][position(cell)[1]]
            if not isinstance(value, int | float):
                raise InvalidTaskError(f"edit of {cell}: expected a cell with a number, got {value!r}")
            lines.append(f"We counted {blank} of {thing} in {month}.")
            cells.append(cell)
            values.append(str(value))
            requests.append(
                Request(
                    f"replace {blank} by the value of cell {cell}",
                    f"replace {blank} by the value in the row {thing!r} and the column {month!r}",
                    f"put the right number in the place of {blank}",
                    f"cell {cell}",
                )
            )
        reading.distinct(cells, "edits")
        words, end = dict(zip(_BLANKS, values, strict=False)), list(lines)
        for blank, value in words.items():
            end = replaced(end, blank, value)
        name = reading.file_name(job["sheet"], "sheet", ".xlsx")
        source = Document(f"{folder}/{name}", workbook({"Sheet1": rows}), CALC, f"{job['about']} (the table)")
        document = written(job, folder, _letter(lines))
        check = docx_check("compare_docx_files", document, _letter(end))
        hints = (SAVE_HINT, REPLACE_HINT)
        return Job((document, source), tuple(requests), CLOSING, hints, (check,), (*replace_all(words), SAVE))

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last number from a row off, a column off, or one too high."""
        row, column = position(job["edits"][-1]["cell"])
        height, width = len(job["rows"]), len(job["rows"][0])
        below = row + 1 if row + 1 < height else 1
        beside = column + 1 if column + 1 < width else 1

        def with_value(value: Cell) -> dict[str, Any]:
            rows = [list(line) for line in job["rows"]]
            rows[row][column] = value
            return {**job, "rows": rows}

        return {
            "value one row off": with_value(job["rows"][below][column]),
            "value one column off": with_value(job["rows"][row][beside]),
            "wrong value": with_value(job["rows"][row][column] + 1),
        }


def _letter(lines: list[str]) -> bytes:
    return text_document([("Normal", line) for line in lines])


class SheetToNotes(Family):
    """Write numbers of a spreadsheet into a text file."""

    name = "sheet_to_notes"
    applications = (EDITOR, CALC)
    summary = "write numbers of a spreadsheet into a text file"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a table, and cells of it that belong into the text."""
        rows = sample_rows(topic, 6, 3, rng)
        chosen = sorted(int(i) for i in rng.permutation(18)[:edits])
        return {
            "file": f"{topic.stem}_notes.txt",
            "about": topic.about,
            "sheet": f"{topic.stem}.xlsx",
            "rows": rows,
            "lines": [f"Notes on {topic.about}"],
            "edits": [{"cell": address(1 + i // 3, 1 + i % 3)} for i in chosen],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("file", "about", "sheet", "rows", "lines", "edits"))
        rows = reading.table(job["rows"], "rows")
        lines = [reading.text(line, "lines") for line in reading.items(job["lines"], "lines", 1, 8)]
        requests, added, cells = [], [], []
        for entry in reading.items(job["edits"], "edits", 1, 6):
            cell = reading.text(reading.fields(entry, "edit", ("cell",))["cell"], "cell", reading.ADDRESS)
            thing, month = labels(rows, *position(cell))
            value = rows[position(cell)[0]][position(cell)[1]]
            cells.append(cell)
            added.append(f"{thing} {month} {value}")
            form = f"'{thing} {month} NUMBER'"
            requests.append(
                Request(
                    f"add a line {form} at the end, with the value of cell {cell} for NUMBER",
                    f"add a line {form} at the end, with the value in the row {thing!r} and the column "
                    f"{month!r}",
                    f"add a line {form} at the end, with the right number",
                    f"cell {cell}",
                )
            )
        reading.distinct(cells, "edits")
        name = reading.file_name(job["sheet"], "sheet", ".xlsx")
        source = Document(f"{folder}/{name}", workbook({"Sheet1": rows}), CALC, f"{job['about']} (the table)")
        document = text_file(job, folder, lines)
        check = file_check(document, as_text([*lines, *added]))
        steps = [steps_of(key("ctrl", "end"), write(text), key("enter")) for text in added]
        hints = (SAVE_HINT, "Alt+Tab goes to the other window.")
        return Job((document, source), tuple(requests), CLOSING, hints, (check,), (*steps, SAVE))

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last line of another cell; its number one too high; one line too many."""
        *others, last = job["edits"]
        row, column = position(last["cell"])
        taken = {edit["cell"] for edit in job["edits"]}
        free = [
            {"cell": address(r, c)}
            for r in range(1, len(job["rows"]))
            for c in range(1, len(job["rows"][0]))
            if address(r, c) not in taken
        ]
        rows = [list(line) for line in job["rows"]]
        rows[row][column] += 1
        return {
            "wrong cell": {**job, "edits": [*others, free[0]]},
            "one line too many": {**job, "edits": [*job["edits"], free[-1]]},
            "wrong number": {**job, "rows": rows},
        }
