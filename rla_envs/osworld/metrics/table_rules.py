"""The rules of `compare_table`: what each asks of the sheets it names."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from openpyxl.worksheet.cell_range import MultiCellRange
from openpyxl.worksheet.worksheet import Worksheet
from rapidfuzz import fuzz

from rla_envs.errors import InputError, unknown_name
from rla_envs.osworld.metrics import table_objects, table_styles
from rla_envs.osworld.metrics.inputs import paths, rule
from rla_envs.osworld.metrics.value_rules import obeys
from rla_envs.osworld.metrics.workbook import Coordinate, plain, sheet_values, sparklines, stored_value

if TYPE_CHECKING:
    from rla_envs.osworld.metrics.table import Books

Rule = dict[str, Any]
_FUZZY_TYPES = ("exact_match", "includes", "included_by", "fuzzy_match")
_MAX_FUZZY_CELLS = 100_000


def sheet_name(books: Books, rules: Rule) -> bool:
    """The sheets have the same names in the same order."""
    names, reference = books.names()
    return names == reference


def sheet_data(books: Books, rules: Rule) -> bool:
    """The cells hold the same values.

    Numbers are equal when they are after rounding to ``precision`` decimal digits (4 unless given). A column
    (below the first row) all of whose texts read as numbers is one of numbers, as pandas has it, which
    OSWorld compares with. Unlike there, it makes no difference whether a column of numbers has fractions
    elsewhere, and "N/A" and error values are not the same as nothing.
    """
    first, second = _pair(books, rules, sheet_values)
    precision = int(rules.get("precision", 4))
    first, second = _numeric_columns(first), _numeric_columns(second)
    return first.keys() == second.keys() and all(
        _same_value(first[at], second[at], precision) for at in first
    )


def sheet_print(books: Books, rules: Rule) -> bool:
    """The sheets, exported to CSV beside the workbook as ``<workbook>-<sheet>.csv``, have the same lines.

    Blanks at the ends of lines and blank lines at the end do not count; nor do capitals with ``ignore_case``.
    """

    def lines(sheet: Any) -> list[str]:
        text = books.exported(sheet).rstrip()
        return [
            line.strip() for line in (text.lower() if rules.get("ignore_case", False) else text).splitlines()
        ]

    reference = lines(rule(rules, "sheet_idx1"))
    return lines(rule(rules, "sheet_idx0")) == reference


def sheet_fuzzy(books: Books, rules: Rule) -> bool:
    """The texts of some ranges match, each range (``range``) by its own rule.

    ``type``: ``exact_match``; ``includes`` (the first sheet's text has the second's), ``included_by``, or
    ``fuzzy_match`` (similarity of at least ``threshold`` percent, 85 unless given). Texts are changed before
    by ``normalization`` (pairs to replace), ``trim_leadings`` and ``trim_trailings`` (characters to strip),
    ``ignore_chars`` and ``ignore_case``. A number reads as with ``str(float)``.
    """
    for part in rule(rules, "rules"):
        kind, ranges = rule(part, "type"), MultiCellRange(_joined(rule(part, "range")))
        if kind not in _FUZZY_TYPES:
            raise unknown_name("type of rule of sheet_fuzzy", kind, _FUZZY_TYPES)
        if sum(each.size["rows"] * each.size["columns"] for each in ranges.ranges) > _MAX_FUZZY_CELLS:
            raise InputError(f"sheet_fuzzy expects ranges of at most {_MAX_FUZZY_CELLS} cells, got {ranges}")
        first, second = _pair(books, rules, sheet_values)
        for at in (at for each in ranges.ranges for at in each.cells):
            mine, reference = (_fuzzy_text(values.get(at), part) for values in (first, second))
            if not _fuzzy_same(mine, reference, kind, part):
                return False
    return True


def sparkline(books: Books, rules: Rule) -> bool:
    """The sheets have the same sparklines: places and sources."""
    references = books.ask_file(rule(rules, "sheet_idx1"), sparklines)
    return books.ask_file(rule(rules, "sheet_idx0"), sparklines) == references


def freeze(books: Books, rules: Rule) -> bool:
    """The sheets have as many rows and columns frozen, wherever the rest is scrolled to."""

    def frozen(sheet: Worksheet) -> tuple[int, int]:
        pane = sheet.sheet_view.pane
        if pane is None or pane.state not in ("frozen", "frozenSplit"):
            return 0, 0
        return int(pane.ySplit or 0), int(pane.xSplit or 0)

    first, second = _pair(books, rules, frozen)
    return bool(first == second)


def zoom(books: Books, rules: Rule) -> bool:
    """The zoom of a sheet, in percent, obeys the rule."""
    return obeys(
        books.ask(rule(rules, "sheet_idx"), lambda sheet: sheet.sheet_view.zoomScale or 100.0), rules
    )


def data_validation(books: Books, rules: Rule) -> bool:
    """Each validation of a sheet is one of those described (``dv_props``), and each of these is there.

    (OSWorld lets one validation stand for two descriptions if there are enough others of the same kind.)
    """
    described = rule(rules, "dv_props")
    found = books.ask(rule(rules, "sheet_idx"), lambda sheet: list(sheet.data_validations.dataValidation))

    def fits(validation: Any, wanted: Rule) -> bool:
        return all(obeys(getattr(validation, name, None), each) for name, each in wanted.items())

    return all(any(fits(validation, wanted) for wanted in described) for validation in found) and all(
        any(fits(validation, wanted) for validation in found) for wanted in described
    )


def check_cell(books: Books, rules: Rule) -> bool:
    """Properties of one cell obey rules: ``value``, and those of `table_styles.STYLES`."""
    coordinate = rule(rules, "coordinate")

    def properties(sheet: Worksheet) -> dict[str, Any]:
        return {
            name: stored_value(sheet, coordinate)
            if name == "value"
            else table_styles.style(sheet, coordinate, name)
            for name in rule(rules, "props")
        }

    values = books.ask(rule(rules, "sheet_idx"), properties)
    return all(obeys(values[name], each) for name, each in rules["props"].items())


def _compared(facts: Callable[[Worksheet, Rule], Any], doc: str) -> Callable[[Books, Rule], bool]:
    """Return the rule that two sheets agree in some facts."""

    def same(books: Books, rules: Rule) -> bool:
        first, second = _pair(books, rules, lambda sheet: facts(sheet, rules))
        return bool(first == second)

    same.__doc__ = doc
    return same


RULES: Mapping[str, Callable[[Any, Rule], bool]] = MappingProxyType(
    {
        "sheet_name": sheet_name,
        "sheet_data": sheet_data,
        "sheet_print": sheet_print,
        "sheet_fuzzy": sheet_fuzzy,
        "sparkline": sparkline,
        "chart": _compared(table_objects.charts, "The charts agree in their sources and ``chart_props``."),
        "style": _compared(table_styles.styles, "The cells agree in the styles ``props``."),
        "freeze": freeze,
        "zoom": zoom,
        "data_validation": data_validation,
        "row_props": _compared(table_objects.rows, "The rows agree in ``props``."),
        "col_props": _compared(table_objects.columns, "The columns agree in ``props``."),
        "filter": _compared(table_objects.filters, "The automatic filters agree."),
        "pivot_table": _compared(table_objects.pivots, "The pivot tables agree in ``pivot_props``."),
        "check_cell": check_cell,
    }
)
"""Each type of rule: called with the `Books` and the rule, it says whether that holds."""


def _pair(books: Books, rules: Rule, question: Callable[[Worksheet], Any]) -> tuple[Any, Any]:
    second = books.ask(rule(rules, "sheet_idx1"), question)
    return books.ask(rule(rules, "sheet_idx0"), question), second


def _numeric_columns(values: dict[Coordinate, Any]) -> dict[Coordinate, Any]:
    mixed = {at[1] for at, value in values.items() if at[0] > 1 and _number(value) is None}
    return {at: value if at[0] == 1 or at[1] in mixed else _number(value) for at, value in values.items()}


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in str(value) else None


def _same_value(first: Any, second: Any, precision: int) -> bool:
    numbers = [isinstance(value, (int, float)) and not isinstance(value, bool) for value in (first, second)]
    if all(numbers):
        return round(first, precision) == round(second, precision) or math.isclose(
            first, second, rel_tol=1e-9
        )
    dates = [
        isinstance(value, (datetime.date, datetime.time, datetime.timedelta)) for value in (first, second)
    ]
    if all(dates):
        return bool(first == second)
    return type(first) is type(second) and bool(first == second)


def _joined(ranges: Any) -> str:
    return " ".join(paths(ranges))


def _fuzzy_text(value: Any, part: Rule) -> str:
    text = str(plain(value))
    for old, new in part.get("normalization", []):
        text = text.replace(old, new)
    if "trim_leadings" in part:
        text = text.lstrip(part["trim_leadings"])
    if "trim_trailings" in part:
        text = text.rstrip(part["trim_trailings"])
    text = "".join(letter for letter in text if letter not in part.get("ignore_chars", ""))
    return text.lower() if part.get("ignore_case", False) else text


def _fuzzy_same(first: str, second: str, kind: str, part: Rule) -> bool:
    if kind == "fuzzy_match":
        return fuzz.ratio(first, second) >= float(part.get("threshold", 85.0))
    if kind == "exact_match":
        return first == second
    return second in first if kind == "includes" else first in second
