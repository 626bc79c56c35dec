"""How the cells of a sheet look, conditional formats included where they need no formula."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from openpyxl.cell.cell import Cell, MergedCell
from openpyxl.styles.colors import COLOR_INDEX
from openpyxl.worksheet.worksheet import Worksheet

from rla_envs.errors import unknown_name
from rla_envs.osworld.metrics.workbook import Coordinate, cells, plain

Rule = dict[str, Any]
NO_FILL = "00000000"
"""The background of a cell without one."""


def styles(sheet: Worksheet, rules: Rule) -> dict[Coordinate, list[Any]]:
    """Return the styles ``props`` of each cell where one differs from that of an untouched cell.

    A conditional format that holds overrides a cell's own style. Those that compare the cell with a constant
    or look for a text are understood; those with formulas, which this package never computes, are left out
    (OSWorld computes them).
    """
    names = rules.get("props", [])
    for name in names:
        if name not in STYLES:
            raise unknown_name("style of a cell", name, STYLES)
    overriding = _conditional(sheet)
    found = {
        at: [STYLES[name](cell, overriding.get(at)) for name in names] for at, cell in cells(sheet).items()
    }
    return {at: values for at, values in found.items() if any(value not in _UNTOUCHED for value in values)}


def style(sheet: Worksheet, coordinate: str, name: str) -> Any:
    """Return one style of one cell, without conditional formats."""
    if name not in STYLES:
        raise unknown_name("property of a cell", name, STYLES)
    return STYLES[name](sheet[coordinate], None)


def _color(color: Any) -> Any:
    """Return a colour as aRGB text (``"FFFF0000"``), or what names it in the workbook's theme."""
    if color is None:
        return None
    if color.type == "indexed":
        return COLOR_INDEX[color.indexed] if color.indexed < len(COLOR_INDEX) else None
    return color.rgb if color.type == "rgb" else (color.type, color.value, color.tint)


def _background(cell: Cell, format_: Any) -> Any:
    # A conditional format keeps the colour of a plain fill where a cell keeps that of the pattern's lines.
    if format_ is not None and format_.fill is not None:
        return _color(format_.fill.bgColor)
    return _color(cell.fill.fgColor) if cell.fill.fill_type else NO_FILL


def _font(read: Callable[[Any], Any]) -> Callable[[Cell, Any], Any]:
    def of(cell: Cell, format_: Any) -> Any:
        if cell.value is None:
            return None
        override = read(format_.font) if format_ is not None and format_.font is not None else None
        return read(cell.font) if override is None else override

    return of


def _number_format(cell: Cell, format_: Any) -> Any:
    if cell.value is None or cell.data_type != "n":
        return None
    override = format_.numFmt.formatCode if format_ is not None and format_.numFmt is not None else None
    return override or cell.number_format


STYLES: dict[str, Callable[[Any, Any], Any]] = {
    "number_format": _number_format,
    "font_name": _font(lambda font: font.name),
    "font_family": _font(lambda font: font.family),
    "font_color": _font(lambda font: _color(font.color)),
    "font_bold": _font(lambda font: font.bold),
    "font_italic": _font(lambda font: font.italic),
    "font_underline": _font(lambda font: font.underline),
    "font_size": _font(lambda font: font.size),
    "fill_type": lambda cell, format_: cell.fill.tagname,
    "bgcolor": _background,
    "fgcolor": _background,
    "hyperlink": lambda cell, format_: (
        cell.hyperlink.target if cell.value is not None and cell.hyperlink else None
    ),
    "merge": lambda cell, format_: isinstance(cell, MergedCell),
}
"""The styles by OSWorld's names, of a cell and the conditional format that holds for it.

Those of the font are None for a cell without a value. ``bgcolor`` and ``fgcolor`` are both the fill's;
``merge`` is true for all but the first cell of a merged range.
"""

_UNTOUCHED: tuple[Any, ...] = (None, False, NO_FILL, "patternFill")
_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "equal": operator.eq,
    "notEqual": operator.ne,
    "lessThan": operator.lt,
    "lessThanOrEqual": operator.le,
    "greaterThan": operator.gt,
    "greaterThanOrEqual": operator.ge,
}
_TEXT: dict[str, Callable[[str, str], bool]] = {
    "containsText": operator.contains,
    "notContainsText": lambda text, part: part not in text,
    "beginsWith": str.startswith,
    "endsWith": str.endswith,
}


def _conditional(sheet: Worksheet) -> dict[Coordinate, Any]:
    """Return the conditional format that holds for each cell with a value; earlier priorities win."""
    holding: dict[Coordinate, tuple[int, Any]] = {}
    for formatting in sheet.conditional_formatting:
        for condition in formatting.rules:
            if condition.dxf is None:
                continue
            for at, cell in cells(sheet).items():
                if cell.value is None or (at in holding and holding[at][0] <= condition.priority):
                    continue
                if any(cell.coordinate in part for part in formatting.cells.ranges) and _holds(
                    condition, cell
                ):
                    holding[at] = (condition.priority, condition.dxf)
    return {at: format_ for at, (_, format_) in holding.items()}


def _holds(condition: Any, cell: Cell) -> bool:
    value: Any = plain(cell.value)
    if condition.type in _TEXT and condition.text is not None:
        return isinstance(value, str) and bool(_TEXT[condition.type](value.lower(), condition.text.lower()))
    if condition.type != "cellIs":
        return False
    try:
        references = [ast.literal_eval(constant.strip()) for constant in condition.formula]
        if condition.operator in ("between", "notBetween"):
            within = bool(min(references) <= value <= max(references))
            return within is (condition.operator == "between")
        return bool(_RELATIONS[condition.operator](value, references[0]))
    except (TypeError, ValueError, SyntaxError, LookupError):
        return False
