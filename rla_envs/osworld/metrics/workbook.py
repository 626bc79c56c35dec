"""Reading spreadsheets (xlsx) into plain values; formulas are not computed, their stored values are read."""

from __future__ import annotations

import datetime
import warnings
from pathlib import Path
from typing import Any

from lxml import etree
from openpyxl import Workbook, load_workbook
from openpyxl.utils.cell import range_boundaries
from openpyxl.utils.datetime import to_excel
from openpyxl.worksheet.worksheet import Worksheet

from rla_envs.osworld.metrics.packages import opened, parse_xml, sheet_parts, xml_parts

MAX_SPANNED_CELLS = 200_000
"""Cells in all merged and linked ranges of a workbook; openpyxl makes an object of each."""

Coordinate = tuple[int, int]
"""Row and column, from 1."""

_SPARKLINE = "{http://schemas.microsoft.com/office/spreadsheetml/2009/9/main}sparkline"
_FORMULA = "{http://schemas.microsoft.com/office/excel/2006/main}f"
_PLACE = "{http://schemas.microsoft.com/office/excel/2006/main}sqref"


def load_book(path: Path) -> Workbook:
    """Open a workbook.

    Raises:
        ValueError: It is larger than OSWorld's tasks can make sensible.
        Exception: Whatever openpyxl raises for a file that is no workbook.
    """
    spanned = 0
    with opened(path) as archive:
        for data in xml_parts(archive):
            if b"mergeCell" in data or b"hyperlink" in data:
                spanned += sum(map(_area, parse_xml(data).iter("{*}mergeCell", "{*}hyperlink")))
    if spanned > MAX_SPANNED_CELLS:
        raise ValueError(f"merged and linked ranges of {spanned} cells, more than {MAX_SPANNED_CELLS}")
    # Opened here because openpyxl leaves the file open where it fails.
    with path.open("rb") as file, warnings.catch_warnings():
        # It warns of what it would lose in saving.
        warnings.simplefilter("ignore")
        return load_workbook(file, data_only=True)


def sheet_names(book: Workbook) -> list[str]:
    """Return the titles of the sheets with cells, in their order."""
    return [sheet.title for sheet in book.worksheets]


def sheet_values(sheet: Worksheet) -> dict[Coordinate, Any]:
    """Return the value of each cell that has one: numbers, texts, booleans, dates."""
    return {at: cell.value for at, cell in cells(sheet).items() if cell.value not in (None, "")}


def cells(sheet: Worksheet) -> dict[Coordinate, Any]:
    """Return the cells that the file holds; going through rows would make every cell of a far-flung range."""
    held: dict[Coordinate, Any] = sheet._cells
    return held


def stored_value(sheet: Worksheet, coordinate: str) -> Any:
    """Return the value of one cell (``"E3"``) as the file stores it: a date is a number of days."""
    column, row, *_ = range_boundaries(coordinate)
    return plain(sheet_values(sheet).get((row, column)))


def plain(value: Any) -> Any:
    """Return a cell's value with dates as numbers of days and all numbers as floats."""
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time, datetime.timedelta)):
        return float(to_excel(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def sparklines(path: Path, name: str) -> dict[str, str]:
    """Return the source range of each sparkline on a sheet by its place: ``{"F3": "Sheet1!C3:E3"}``."""
    with opened(path) as archive:
        root = parse_xml(archive.read(sheet_parts(archive)[name]))
    return {line.findtext(_PLACE): line.findtext(_FORMULA) for line in root.iter(_SPARKLINE)}


def _area(element: etree._Element) -> int:
    left, top, right, bottom = range_boundaries(element.get("ref"))
    return int((right - left + 1) * (bottom - top + 1))
