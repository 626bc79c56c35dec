"""Reading presentations (pptx) into plain values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pptx import Presentation
from pptx.enum.dml import MSO_FILL
from pptx.oxml.ns import qn
from pptx.presentation import Presentation as PresentationFile

from rla_envs.osworld.metrics.packages import check_document

THEME_COLOR = "theme"
"""Stands for any colour that a file names instead of giving it."""


@dataclass(frozen=True)
class Run:
    """Text of one format; a format that is not set is None, and False where that is the same."""

    text: str
    font_name: str | None
    font_size: int | None
    bold: bool
    italic: bool
    underline: str
    strike: str
    color: str | None


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; ``alignment`` is DrawingML's (``"l"`` unless set)."""

    text: str
    alignment: str
    level: int
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Shape:
    """A shape with its place and size in EMU; None where it has none of its own nor from its layout.

    Attributes:
        kind: "picture", "table", "freeform", "group" or "other".
        box: Left, top, width, height.
        paragraphs: None for a shape that takes no text.
        table: The paragraphs of each cell, row by row.
    """

    kind: str
    box: tuple[int | None, ...]
    paragraphs: tuple[Paragraph, ...] | None
    table: tuple[tuple[tuple[Paragraph, ...], ...], ...] = ()

    @property
    def text(self) -> str | None:
        """The text, or None for a shape that takes none."""
        return None if self.paragraphs is None else "\n".join(part.text for part in self.paragraphs)


@dataclass(frozen=True)
class Slide:
    """A slide.

    Attributes:
        background: ``"RRGGBB"``, "theme", or None for one that is no plain colour.
        notes: The text of its notes.
        shapes: The shapes on it, in their order.
        texts: The shapes with text, those in groups included.
        bullets: Level, bullet and text of each paragraph that is not empty.
    """

    background: str | None
    notes: str
    shapes: tuple[Shape, ...]
    texts: tuple[Shape, ...]
    bullets: tuple[tuple[int, str, str], ...]


def load_pptx(path: Path) -> PresentationFile:
    """Open a pptx file; raises `ValueError` for hostile ones and anything else for what is none."""
    check_document(path)
    return Presentation(str(path))


def read_slides(path: Path) -> list[Slide]:
    """Return what is on each slide of a presentation."""
    return [_slide(slide) for slide in load_pptx(path).slides]


def plain_background(slide: Any) -> str | None:
    """Return the colour of a slide's background: its own, or the master's where it has none."""
    fill = slide.background.fill
    if fill.type == MSO_FILL.BACKGROUND:
        fill = slide.slide_layout.slide_master.background.fill
    if fill.type != MSO_FILL.SOLID:
        return None
    return _given_color(fill._xPr.find(qn("a:solidFill")))


def _slide(slide: Any) -> Slide:
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    return Slide(
        background=plain_background(slide),
        notes=notes.text.strip() if notes is not None else "",
        shapes=tuple(map(_shape, slide.shapes)),
        texts=tuple(_shape(shape) for shape in _leaves(slide.shapes) if shape.has_text_frame),
        bullets=tuple(_bullets(slide.element.iter(qn("a:p")))),
    )


def _leaves(shapes: Any) -> Iterable[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _leaves(shape.shapes)
        else:
            yield shape


def _shape(shape: Any) -> Shape:
    texts = _paragraphs(shape.text_frame) if shape.has_text_frame else None
    table: tuple[tuple[tuple[Paragraph, ...], ...], ...] = ()
    if getattr(shape, "has_table", False):
        table = tuple(tuple(_paragraphs(cell.text_frame) for cell in row.cells) for row in shape.table.rows)
    return Shape(_kind(shape), (shape.left, shape.top, shape.width, shape.height), texts, table)


def _kind(shape: Any) -> str:
    if getattr(shape, "has_table", False):
        return "table"
    if shape.element.tag == qn("p:pic"):
        return "picture"
    if hasattr(shape, "shapes"):
        return "group"
    # A free form is the shape drawn by its own path instead of by a name.
    return "freeform" if shape.element.find(f"{qn('p:spPr')}/{qn('a:custGeom')}") is not None else "other"


def _paragraphs(frame: Any) -> tuple[Paragraph, ...]:
    return tuple(
        Paragraph(paragraph.text, _alignment(paragraph), paragraph.level, tuple(map(_run, paragraph.runs)))
        for paragraph in frame.paragraphs
    )


def _alignment(paragraph: Any) -> str:
    properties = paragraph._p.pPr
    return "l" if properties is None else properties.get("algn", "l")


def _run(run: Any) -> Run:
    properties = run._r.rPr
    given = {} if properties is None else properties.attrib
    latin = None if properties is None else properties.find(qn("a:latin"))
    return Run(
        text=run.text,
        font_name=None if latin is None else latin.get("typeface"),
        font_size=int(given["sz"]) if "sz" in given else None,
        bold=given.get("b") in ("1", "true"),
        italic=given.get("i") in ("1", "true"),
        underline=given.get("u", "none"),
        strike=given.get("strike", "noStrike"),
        color=None if properties is None else _given_color(properties.find(qn("a:solidFill"))),
    )


def _given_color(fill: Any) -> str | None:
    if fill is None or not len(fill):
        return None
    color = fill.find(qn("a:srgbClr"))
    return THEME_COLOR if color is None else color.get("val").upper()


def _bullets(paragraphs: Iterable[Any]) -> Iterable[tuple[int, str, str]]:
    for paragraph in paragraphs:
        text = "".join(part.text or "" for part in paragraph.iter(qn("a:t")))
        if not text.strip():
            continue
        properties = paragraph.find(qn("a:pPr"))
        if properties is None:
            yield 0, "", text
            continue
        character, number = properties.find(qn("a:buChar")), properties.find(qn("a:buAutoNum"))
        bullet = "" if character is None else character.get("char", "")
        bullet = bullet if number is None else f"number {number.get('type')}"
        yield int(properties.get("lvl", 0)), bullet, text
