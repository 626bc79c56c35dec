"""Make the documents of generated tasks: the same content gives the same bytes, on every day and machine."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from rla_envs.errors import missing_extra

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook

Cell: TypeAlias = str | int | float | None
"""What a cell of a spreadsheet holds; None is an empty one."""

Rows: TypeAlias = Sequence[Sequence[Cell]]

_TITLE_AND_CONTENT, _TITLE_ONLY = 1, 5
"""Layouts of python-pptx's own template, by their number."""

_MOMENT = "2025-01-06T09:00:00Z"
_ZIP_MOMENT = (2025, 1, 6, 9, 0, 0)
_STAMP = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*(<)")


def workbook(sheets: Mapping[str, Rows], bold: Sequence[tuple[str, str]] = ()) -> bytes:
    """Return an xlsx file.

    Args:
        sheets: Rows of every sheet, by the sheet's name, in order.
        bold: Cells in bold type, each as its sheet's name and its address (``"B3"``).
    """
    try:
        import openpyxl
        from openpyxl.styles import Font
    except ImportError as error:
        raise missing_extra("spreadsheets of OSWorld tasks", "osworld", error) from error
    book: Workbook = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    for name, address in bold:
        book[name][address].font = Font(bold=True)
    return _saved(book)


def text_document(
    paragraphs: Sequence[tuple[str, str]], table: Rows = (), line_spacing: Mapping[int, float] | None = None
) -> bytes:
    """Return a docx file.

    Args:
        paragraphs: Style (``"Title"``, ``"Heading 1"``, ``"Normal"``) and text of each.
        table: Rows of a table after the last paragraph; none if empty.
        line_spacing: Line spacing of some paragraphs, in lines, by their number from 0.
    """
    try:
        import docx
    except ImportError as error:
        raise missing_extra("text documents of OSWorld tasks", "osworld", error) from error
    document = docx.Document()
    for number, (style, text) in enumerate(paragraphs):
        paragraph = document.add_paragraph(text, style=style)
        if line_spacing and number in line_spacing:
            paragraph.paragraph_format.line_spacing = line_spacing[number]
    if table:
        grid = document.add_table(rows=len(table), cols=len(table[0]), style="Table Grid")
        for row, values in enumerate(table):
            for column, value in enumerate(values):
                grid.cell(row, column).text = "" if value is None else str(value)
    return _saved(document)


def presentation(slides: Sequence[tuple[str, str]]) -> bytes:
    """Return a pptx file of slides, each a title and a text below it; with no text, a title alone."""
    try:
        import pptx
    except ImportError as error:
        raise missing_extra("presentations of OSWorld tasks", "osworld", error) from error
    deck = pptx.Presentation()
    for title, text in slides:
        layout = deck.slide_layouts[_TITLE_AND_CONTENT if text else _TITLE_ONLY]
        shapes = deck.slides.add_slide(layout).placeholders
        shapes[0].text_frame.text = title
        if text:
            shapes[1].text_frame.text = text
    return _saved(deck)


def _saved(document: Any) -> bytes:
    raw = io.BytesIO()
    document.save(raw)
    fixed = io.BytesIO()
    with zipfile.ZipFile(raw) as source, zipfile.ZipFile(fixed, "w") as target:
        for name in source.namelist():
            entry = zipfile.ZipInfo(name, _ZIP_MOMENT)
            data = source.read(name)
            # openpyxl stamps the moment of saving, whatever it is told.
            if name == "docProps/core.xml":
                data = _STAMP.sub(rb"\g<1>" + _MOMENT.encode() + rb"\g<2>", data)
            target.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return fixed.getvalue()
