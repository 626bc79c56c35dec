"""Metrics over presentations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pptx.oxml.ns import qn
from pptx.util import Inches

from rla_envs.errors import InputError, unknown_name
from rla_envs.osworld.metrics.inputs import RejectedResult, read_both, read_result, rule
from rla_envs.osworld.metrics.packages import opened, parse_xml
from rla_envs.osworld.metrics.presentation import (
    THEME_COLOR,
    Paragraph,
    Run,
    Shape,
    Slide,
    load_pptx,
    plain_background,
    read_slides,
)

# Where OSWorld's tasks want a shape moved to, in EMU (360,000 a centimetre).
_LOW = 3_600_000
_RIGHT = 4_320_000
_HIGH = 1_980_000


@dataclass(frozen=True)
class _Examined:
    """The options of `compare_pptx_files`."""

    shape: bool
    text: bool
    indent: bool
    font_name: bool
    font_size: bool
    font_bold: bool
    font_italic: bool
    color_rgb: bool
    font_underline: bool
    strike_through: bool
    alignment: bool
    bullets: bool
    background_color: bool
    note: bool
    tolerance: float
    moved: tuple[Callable[[int, Shape, Shape, float], bool], ...]


def compare_pptx_files(
    result: Any,
    expected: Any,
    *,
    examine_number_of_slides: bool = True,
    examine_shape: bool = True,
    examine_text: bool = True,
    examine_indent: bool = True,
    examine_font_name: bool = True,
    examine_font_size: bool = True,
    examine_font_bold: bool = True,
    examine_font_italic: bool = True,
    examine_color_rgb: bool = True,
    examine_font_underline: bool = True,
    examine_strike_through: bool = True,
    examine_alignment: bool = True,
    examine_bullets: bool = True,
    examine_background_color: bool = True,
    examine_note: bool = True,
    examine_title_bottom_position: bool = False,
    examine_table_bottom_position: bool = False,
    examine_right_position: bool = False,
    examine_top_position: bool = False,
    examine_shape_for_shift_size: bool = False,
    examine_image_size: bool = False,
    examine_modify_height: bool = False,
    approximately_tolerance: float = 0.005,
    enable_debug: bool = False,
) -> float:
    """Return whether two presentations agree, slide by slide and shape by shape, in all that is examined.

    As in OSWorld, a colour counts only where neither side names it by its theme, and in tables only colour,
    bold, italics and underlining of text do. Unlike there, the options about these hold in tables too, texts
    of tables count (with ``examine_text``), a colour that is set differs from none, runs of one format count
    as one, and numbered lists count as bullets.

    Args:
        result: Path of the agent's presentation.
        expected: Path of the reference.
        examine_number_of_slides: Whether there must be as many slides.
        examine_shape: Place and size of shapes.
        examine_text: The texts.
        examine_indent: The levels of paragraphs.
        examine_font_name: The fonts.
        examine_font_size: Their sizes.
        examine_font_bold: Bold type.
        examine_font_italic: Italic type.
        examine_color_rgb: Colours of text.
        examine_font_underline: Underlining.
        examine_strike_through: Strike-through.
        examine_alignment: Alignment of paragraphs, and the texts of shapes in groups.
        examine_bullets: Bullets and their levels.
        examine_background_color: Plain backgrounds.
        examine_note: Notes.
        examine_title_bottom_position: The title "Product Comparison" is lower than in the reference, in the
            lower half; shapes with other texts keep their place.
        examine_table_bottom_position: The same of tables on the third slide; other shapes keep their place.
        examine_right_position: Shapes without text on the second slide are farther right, in the right half.
        examine_top_position: Pictures on the second slide are higher, at the top.
        examine_shape_for_shift_size: Place and size of all shapes but one placeholder's.
        examine_image_size: Sizes of pictures, places and sizes of other shapes.
        examine_modify_height: Heights of free forms and shapes without text, places and sizes of others.
        approximately_tolerance: Relative difference up to which places and sizes are the same.
        enable_debug: Accepted as OSWorld has it; without effect.
    """
    mine, reference = read_both(read_slides, result, expected)
    if examine_number_of_slides and len(mine) != len(reference):
        return 0.0
    moves = {
        _title_lowered: examine_title_bottom_position,
        _table_lowered: examine_table_bottom_position,
        _moved_right: examine_right_position,
        _moved_up: examine_top_position,
        _shifted: examine_shape_for_shift_size,
        _picture_sized: examine_image_size,
        _heightened: examine_modify_height,
    }
    examined = _Examined(
        shape=examine_shape,
        text=examine_text,
        indent=examine_indent,
        font_name=examine_font_name,
        font_size=examine_font_size,
        font_bold=examine_font_bold,
        font_italic=examine_font_italic,
        color_rgb=examine_color_rgb,
        font_underline=examine_font_underline,
        strike_through=examine_strike_through,
        alignment=examine_alignment,
        bullets=examine_bullets,
        background_color=examine_background_color,
        note=examine_note,
        tolerance=approximately_tolerance,
        moved=tuple(move for move, asked in moves.items() if asked),
    )
    pairs = enumerate(zip(mine, reference, strict=False), start=1)
    return float(all(_same_slide(number, *pair, examined) for number, pair in pairs))


def check_slide_orientation_Portrait(result: Any) -> float:  # noqa: N802 (OSWorld's name)
    """Return whether slides are higher than wide."""
    width, height = read_result(_size, result)
    return float(width < height)


def check_transition(result: Any, expected: Any) -> float:
    """Return whether the slide ``slide_idx`` (from 0) comes in by the transition ``transition_type``."""
    index, kind = rule(expected, "slide_idx"), rule(expected, "transition_type")

    def transitions(path: Path) -> list[str]:
        slide = load_pptx(path).slides[index]
        return [child.tag for part in slide.element.iter(qn("p:transition")) for child in part]

    return float(qn(f"p:{kind}") in read_result(transitions, result))


def check_page_number_colors(result: Any, expected: Any) -> float:
    """Return whether the slide numbers of the first master have a colour: red, green, blue or black.

    It is that of the last but one plain fill of the master, where LibreOffice keeps it (OSWorld's rule). A
    colour is one of the three where its channel exceeds both others by more than 50, and black where all are
    below 50.
    """
    wanted = rule(expected, "color")
    if wanted not in _COLORS:
        raise unknown_name("colour of check_page_number_colors", wanted, _COLORS)

    def color(path: Path) -> tuple[int, int, int]:
        load_pptx(path)
        with opened(path) as archive:
            master = parse_xml(archive.read("ppt/slideMasters/slideMaster1.xml"))
        fills = [
            each.get("val") for fill in master.iter(qn("a:solidFill")) for each in fill.iter(qn("a:srgbClr"))
        ]
        return _channels(fills[-2])

    return float(_COLORS[wanted](*read_result(color, result)))


def evaluate_presentation_fill_to_rgb_distance(result: Any, expected: Any) -> float:
    """Return how close the slides' backgrounds are to ``rgb``: 1 less their mean distance, black to white 1.

    A background that is no plain colour, or still ``original_rgb``, counts as distance 1.
    """
    wanted, original = rule(expected, "rgb"), expected.get("original_rgb")

    def backgrounds(path: Path) -> list[str | None]:
        return [plain_background(slide) for slide in load_pptx(path).slides]

    def distance(color: str | None) -> float:
        if color is None or color == THEME_COLOR or list(_channels(color)) == original:
            return 1.0
        return math.dist(_channels(color), wanted) / math.dist((0, 0, 0), (255, 255, 255))

    colors = read_result(backgrounds, result)
    return 1 - sum(map(distance, colors)) / len(colors) if colors else 0.0


def check_image_stretch_and_center(result: Any, expected: Any) -> float:
    """Return whether the first slide's picture of the reference fills the slide, within half an inch."""
    mine, reference = read_both(_first_slide, result, expected)
    size, pictures = reference
    if not pictures:
        raise InputError(
            "check_image_stretch_and_center expects a reference with a picture on its first slide"
        )
    boxes = [box for blob, box in mine[1] if blob == pictures[0][0]]
    if not boxes:
        raise RejectedResult("the picture is no longer on the slide")
    left, top, width, height = boxes[-1]
    off = (width - size[0], height - size[1], left - (size[0] - width) / 2, top - (size[1] - height) / 2)
    return float(max(map(abs, off)) <= Inches(0.5))


def _size(path: Path) -> tuple[int, int]:
    file = load_pptx(path)
    return int(file.slide_width or 0), int(file.slide_height or 0)


def _first_slide(path: Path) -> tuple[tuple[int, int], list[tuple[bytes, tuple[int, int, int, int]]]]:
    slide = load_pptx(path).slides[0]
    pictures = [
        (shape.image.blob, (int(shape.left), int(shape.top), int(shape.width), int(shape.height)))
        for shape in slide.shapes
        if shape.element.tag == qn("p:pic")
    ]
    return _size(path), pictures


def _channels(color: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(color)
    return red, green, blue


_COLORS: dict[str, Callable[[int, int, int], bool]] = {
    "red": lambda red, green, blue: red > max(green, blue) + 50,
    "green": lambda red, green, blue: green > max(red, blue) + 50,
    "blue": lambda red, green, blue: blue > max(red, green) + 50,
    "black": lambda red, green, blue: max(red, green, blue) < 50,
}


def _same_slide(number: int, mine: Slide, reference: Slide, examined: _Examined) -> bool:
    if examined.background_color and mine.background != reference.background:
        return False
    if examined.note and mine.notes != reference.notes:
        return False
    if len(mine.shapes) != len(reference.shapes) or len(mine.texts) != len(reference.texts):
        return False
    if examined.bullets and _marks(mine, examined) != _marks(reference, examined):
        return False
    if not all(
        _same_shape(number, *pair, examined) for pair in zip(mine.shapes, reference.shapes, strict=True)
    ):
        return False
    return not examined.alignment or all(
        _same_grouped_text(*pair, examined) for pair in zip(mine.texts, reference.texts, strict=True)
    )


def _marks(slide: Slide, examined: _Examined) -> list[tuple[Any, ...]]:
    return [bullet if examined.text else bullet[:2] for bullet in slide.bullets]


def _same_shape(number: int, mine: Shape, reference: Shape, examined: _Examined) -> bool:
    if examined.shape and not _same_box(mine, reference, examined.tolerance):
        return False
    if not all(move(number, mine, reference, examined.tolerance) for move in examined.moved):
        return False
    if mine.kind == reference.kind == "table" and not _same_table(mine, reference, examined):
        return False
    if mine.paragraphs is None or reference.paragraphs is None:
        return True
    if examined.text and mine.text != reference.text and _stripped(mine) != _stripped(reference):
        return False
    return _same_paragraphs(mine.paragraphs, reference.paragraphs, examined)


def _same_table(mine: Shape, reference: Shape, examined: _Examined) -> bool:
    in_tables = replace(
        examined, alignment=False, indent=False, font_name=False, font_size=False, strike_through=False
    )
    return [len(row) for row in mine.table] == [len(row) for row in reference.table] and all(
        _same_paragraphs(cell, wanted, in_tables)
        for row, wanted_row in zip(mine.table, reference.table, strict=True)
        for cell, wanted in zip(row, wanted_row, strict=True)
    )


def _same_grouped_text(mine: Shape, reference: Shape, examined: _Examined) -> bool:
    first, second = mine.paragraphs or (), reference.paragraphs or ()
    return (not examined.text or _stripped(mine) == _stripped(reference)) and (
        [paragraph.alignment for paragraph in first] == [paragraph.alignment for paragraph in second]
    )


def _stripped(shape: Shape) -> str:
    return (shape.text or "").strip()


def _same_paragraphs(
    mine: tuple[Paragraph, ...], reference: tuple[Paragraph, ...], examined: _Examined
) -> bool:
    return len(mine) == len(reference) and all(
        (not examined.alignment or first.alignment == second.alignment)
        and (not examined.text or first.text == second.text)
        and (not examined.indent or first.level == second.level)
        and _same_runs(first.runs, second.runs, examined)
        for first, second in zip(mine, reference, strict=True)
    )


def _same_runs(mine: tuple[Run, ...], reference: tuple[Run, ...], examined: _Examined) -> bool:
    """Return whether each letter has the same format; programs cut a text into runs at will.

    Texts of different length (possible where texts are not examined) are compared run by run.
    """
    first, second = ([run for run in runs for _ in run.text] for runs in (mine, reference))
    if len(first) != len(second):
        first, second = list(mine), list(reference)
    pairs = {(id(run), id(wanted)): (run, wanted) for run, wanted in zip(first, second, strict=False)}
    return len(first) == len(second) and all(_same_run(*pair, examined) for pair in pairs.values())


def _same_run(mine: Run, reference: Run, examined: _Examined) -> bool:
    colors = {mine.color, reference.color}
    return (
        (not examined.font_name or mine.font_name == reference.font_name)
        and (not examined.font_size or mine.font_size == reference.font_size)
        and (not examined.font_bold or mine.bold == reference.bold)
        and (not examined.font_italic or mine.italic == reference.italic)
        and (not examined.font_underline or mine.underline == reference.underline)
        and (not examined.strike_through or mine.strike == reference.strike)
        and (not examined.color_rgb or len(colors) == 1 or THEME_COLOR in colors)
    )


def _near(first: int | None, second: int | None, tolerance: float) -> bool:
    if first == second:
        return True
    if not first or not second:
        return False
    return abs(first - second) / max(abs(first), abs(second)) <= tolerance


def _same_box(mine: Shape, reference: Shape, tolerance: float) -> bool:
    return all(_near(*sides, tolerance) for sides in zip(mine.box, reference.box, strict=True))


def _title_lowered(number: int, mine: Shape, reference: Shape, tolerance: float) -> bool:
    if mine.text is None or mine.text != reference.text:
        return _same_box(mine, reference, tolerance)
    return mine.text != "Product Comparison" or _lowered(mine, reference)


def _table_lowered(number: int, mine: Shape, reference: Shape, tolerance: float) -> bool:
    if number == 3 and mine.kind == reference.kind == "table":
        return _lowered(mine, reference)
    return _same_box(mine, reference, tolerance)


def _lowered(mine: Shape, reference: Shape) -> bool:
    return (reference.box[1] or 0) < (mine.box[1] or 0) >= _LOW


def _moved_right(number: int, mine: Shape, reference: Shape, tolerance: float) -> bool:
    if number != 2 or mine.text is not None or reference.text is not None:
        return True
    return (reference.box[0] or 0) < (mine.box[0] or 0) >= _RIGHT


def _moved_up(number: int, mine: Shape, reference: Shape, tolerance: float) -> bool:
    if number != 2 or not mine.kind == reference.kind == "picture":
        return True
    return (reference.box[1] or 0) > (mine.box[1] or 0) <= _HIGH


def _shifted(number: int, mine: Shape, reference: Shape, tolerance: float) -> bool:
    prompt = "Elaborate on what you want to discuss."
    return _same_box(mine, reference, tolerance) or mine.text == reference.text == prompt


def _picture_sized(number: int, mine: Shape, reference: Shape, tolerance: float) -> bool:
    if mine.kind == reference.kind == "picture":
        return all(_near(*sides, tolerance) for sides in zip(mine.box[2:], reference.box[2:], strict=True))
    return _same_box(mine, reference, tolerance)


def _heightened(number: int, mine: Shape, reference: Shape, tolerance: float) -> bool:
    without_text = mine.text is None and reference.text is None
    if without_text or mine.kind == reference.kind == "freeform":
        return _near(mine.box[3], reference.box[3], tolerance)
    return _same_box(mine, reference, tolerance)
