"""Metrics over spreadsheets: `compare_table` with its rules, CSV files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from rla_envs.errors import InputError, unknown_name
from rla_envs.osworld.metrics import table_rules
from rla_envs.osworld.metrics.inputs import paths, read_expected, read_result, read_text, rule
from rla_envs.osworld.metrics.workbook import load_book, sheet_names

Facts = TypeVar("Facts")


def compare_table(result: Any, expected: Any = None, *, rules: list[dict[str, Any]]) -> float:
    """Check a workbook by rules, all of which must hold.

    A rule's ``type`` says what it checks (`table_rules.RULES`); ``sheet_idx`` or ``sheet_idx0`` and
    ``sheet_idx1`` say on which sheets: ``0`` or ``"RI0"`` (index in the result), ``"RNName"`` (by name),
    ``"EI0"``, ``"ENName"`` (in the reference).

    Args:
        result: Path of the agent's workbook.
        expected: Path of the reference workbook; None where no rule refers to it.
        rules: As above.

    Raises:
        InputError: A rule is malformed or refers to what is not in the reference.
    """
    if not isinstance(rules, list) or not rules:
        raise InputError(f"compare_table expects a list of rules, got {rules!r}")
    kinds = [rule(each, "type") for each in rules]
    for kind in kinds:
        if kind not in table_rules.RULES:
            raise unknown_name("type of rule of compare_table", kind, table_rules.RULES)
    books = Books(result, expected)
    return float(all(table_rules.RULES[kind](books, each) for kind, each in zip(kinds, rules, strict=True)))


def compare_csv(result: Any, expected: Any, *, strict: bool = True, ignore_case: bool = False) -> float:
    """Return whether a CSV file has the lines of the reference, or of one of several.

    Args:
        result: Path of the agent's file.
        expected: Path of the reference, or several.
        strict: Whether blanks at the ends of lines count.
        ignore_case: Whether capitals are all the same.
    """

    def lines(path: Path) -> list[str]:
        text = read_text(path).lower() if ignore_case else read_text(path)
        return [line if strict else line.strip() for line in text.splitlines()]

    references = [read_expected(lines, path) for path in paths(expected)]
    return float(read_result(lines, result) in references)


def compare_conference_city_in_order(result: Any, expected: Any) -> float:
    """Return whether C2, C3, ... of the active sheet name the cities ``expected["expected"]`` in order.

    A city given as a list may be named in any of these ways.
    """
    cities = rule(expected, "expected")

    def column(path: Path) -> list[str]:
        sheet = load_book(path).active
        return [str(sheet.cell(row, 3).value or "") for row in range(2, 2 + len(cities))]

    named = read_result(column, result)
    return float(
        all(any(way in name for way in paths(city)) for city, name in zip(cities, named, strict=True))
    )


class Books:
    """The workbooks of one comparison, opened once; whatever goes wrong in one is blamed on its side.

    Args:
        result: Path of the agent's workbook.
        expected: Path of the reference or None.
    """

    def __init__(self, result: Any, expected: Any) -> None:
        """Open both; see the class for the arguments."""
        self._expected = None if expected is None else read_expected(_opened, expected)
        self._result = read_result(_opened, result)

    def ask(self, sheet: Any, question: Callable[[Worksheet], Facts]) -> Facts:
        """Return what ``question`` answers about the sheet a rule refers to."""
        return self._read(sheet, lambda path, book, name: question(book[name]))

    def ask_file(self, sheet: Any, question: Callable[[Path, str], Facts]) -> Facts:
        """Return what ``question`` answers about the workbook's path and the sheet's name."""
        return self._read(sheet, lambda path, book, name: question(path, name))

    def exported(self, sheet: Any) -> str:
        """Return the text of the sheet's export to CSV, which lies beside the workbook."""
        read = read_expected if _parsed(sheet)[0] else read_result
        return read(
            read_text, self.ask_file(sheet, lambda path, name: path.with_name(f"{path.stem}-{name}.csv"))
        )

    def names(self) -> tuple[list[str], list[str]]:
        """Return the names of the sheets of the result and of the reference."""
        return sheet_names(self._result[1]), sheet_names(self._reference()[1])

    def _read(self, sheet: Any, question: Callable[[Path, Workbook, str], Facts]) -> Facts:
        in_reference, by_index, which = _parsed(sheet)
        path, book = self._reference() if in_reference else self._result
        read = read_expected if in_reference else read_result
        return read(
            lambda _: question(path, book, sheet_names(book)[int(which)] if by_index else which), path
        )

    def _reference(self) -> tuple[Path, Workbook]:
        if self._expected is None:
            raise InputError("a rule of compare_table refers to the expected file, but the task names none")
        return self._expected


def _opened(path: Path) -> tuple[Path, Workbook]:
    return path, load_book(path)


def _parsed(sheet: Any) -> tuple[bool, bool, str]:
    """Return whether a sheet is the reference's, whether it is named by its index, and the index or name."""
    if isinstance(sheet, int):
        return False, True, str(sheet)
    book, kind, which = str(sheet)[:1], str(sheet)[1:2], str(sheet)[2:]
    if book not in "RE" or kind not in "IN" or not which or (kind == "I" and not which.isdecimal()):
        raise InputError(f"expected a sheet such as 0, 'RI0', 'RNSheet1' or 'EI0', got {sheet!r}")
    return book == "E", kind == "I", which
