"""Metrics over how text documents look: fonts, spacing, tabs, colours, breaks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docx.enum.text import WD_PARAGRAPH_ALIGNMENT, WD_TAB_ALIGNMENT
from docx.oxml.ns import qn
from docx.text.run import Run

from rla_envs.errors import InputError
from rla_envs.osworld.metrics.colors import color_difference
from rla_envs.osworld.metrics.documents import compare_docx_files
from rla_envs.osworld.metrics.inputs import read_both, read_result, rule
from rla_envs.osworld.metrics.word import load_docx, load_odt

_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_RED, _BLUE = (255, 0, 0), (0, 0, 255)


def contains_page_break(result: Any, expected: Any) -> float:
    """Return whether a document has ``page_break_count`` page breaks among its text; without it, any."""
    count = expected.get("page_break_count") if isinstance(expected, dict) else None

    def breaks(path: Path) -> int:
        runs = (run for paragraph in load_docx(path).paragraphs for run in paragraph.runs)
        return sum(part.get(qn("w:type")) == "page" for run in runs for part in run._r.iter(qn("w:br")))

    found = read_result(breaks, result)
    return float(found > 0 and count in (None, found))


def compare_font_names(result: Any, expected: Any) -> float:
    """Return whether all text of a document, of which there must be some, is in the font ``font_name``."""
    wanted = rule(expected, "font_name")

    def fonts(path: Path) -> set[str | None]:
        return {run.font.name for part in load_docx(path).paragraphs for run in part.runs if run.text}

    return float(read_result(fonts, result) == {wanted})


def compare_line_spacing(result: Any, expected: Any) -> float:
    """Return whether two documents have the same text, and the same spacing of lines in each paragraph."""

    def spacing(path: Path) -> list[Any]:
        return [paragraph.paragraph_format.line_spacing for paragraph in load_docx(path).paragraphs]

    mine, reference = read_both(spacing, result, expected)
    return float(mine == reference and _same_text(result, expected))


def compare_subscript_contains(result: Any, expected: Any) -> float:
    """Return whether some run, at the same place in both documents, is a subscript."""

    def places(path: Path) -> set[tuple[int, int]]:
        return {
            (number, index)
            for number, paragraph in enumerate(load_docx(path).paragraphs)
            for index, run in enumerate(paragraph.runs)
            if run.font.subscript
        }

    mine, reference = read_both(places, result, expected)
    return float(bool(mine & reference))


def compare_contains_image(result: Any, expected: Any) -> float:
    """Return whether two documents have drawings in the same paragraphs."""

    def drawings(path: Path) -> list[bool]:
        return [
            next(part._p.iter(qn("a:graphicData")), None) is not None for part in load_docx(path).paragraphs
        ]

    mine, reference = read_both(drawings, result, expected)
    return float(mine == reference)


def has_page_numbers_in_footers(result: Any) -> float:
    """Return whether each section's footer has a digit in its first paragraph or a field for the page."""

    def numbered(path: Path) -> list[bool]:
        footers = [section.footer for section in load_docx(path).sections]
        return [
            any(letter.isdigit() for part in footer.paragraphs[:1] for letter in part.text)
            or any("PAGE" in (field.text or "") for field in footer._element.iter(qn("w:instrText")))
            or any(
                "PAGE" in field.get(qn("w:instr"), "") for field in footer._element.iter(qn("w:fldSimple"))
            )
            for footer in footers
        ]

    found = read_result(numbered, result)
    return float(bool(found) and all(found))


def is_first_line_centered(result: Any) -> float:
    """Return whether the first paragraph of a document is centred."""

    def alignment(path: Path) -> Any:
        return load_docx(path).paragraphs[0].paragraph_format.alignment

    return float(read_result(alignment, result) == WD_PARAGRAPH_ALIGNMENT.CENTER)


def check_tabstops(
    result: Any, expected: Any, *, word_number_split_by_tabstop: int | None = None, index: int = 0
) -> float:
    """Return how close the tab stops of two documents are: 1 less the mean distance per paragraph.

    Distances are shares of the text's width. Other numbers or kinds of tab stops, or of paragraphs with text,
    score 0.

    Args:
        result: Path of the agent's document.
        expected: Path of the reference.
        word_number_split_by_tabstop: How many words the part ``index`` of each paragraph, cut at tabs, must
            have.
        index: See there.
    """

    def tabs(path: Path) -> tuple[int, list[tuple[str, list[tuple[Any, int]]]]]:
        file = load_docx(path)
        section = file.sections[0]
        width = (section.page_width or 0) - (section.left_margin or 0) - (section.right_margin or 0)
        return width, [
            (paragraph.text, _tab_stops(paragraph)) for paragraph in file.paragraphs if paragraph.text.strip()
        ]

    (_, mine), (width, reference) = read_both(tabs, result, expected)
    if len(mine) != len(reference) or not reference:
        return 0.0
    if word_number_split_by_tabstop is not None:
        for text, _ in mine:
            parts = text.split("\t")
            if len(parts) <= index or len(parts[index].split()) != word_number_split_by_tabstop:
                return 0.0
    distance = 0.0
    for (_, stops), (_, wanted) in zip(mine, reference, strict=True):
        if [kind for kind, _ in stops] != [kind for kind, _ in wanted]:
            return 0.0
        distance += sum(abs(a - b) for (_, a), (_, b) in zip(stops, wanted, strict=True)) / width
    return max(0.0, 1 - distance / len(mine))


def check_highlighted_words(result: Any, expected: Any) -> float:
    """Return whether an odt document has the reference's text and none of it is highlighted in yellow."""

    def highlighted(path: Path) -> bool:
        root = load_odt(path)
        yellow = {
            style.get(f"{_STYLE}name")
            for style in root.iter(f"{_STYLE}style")
            if any(part.get(f"{_FO}background-color") == "#ffff00" for part in style)
        }
        return any(span.get(f"{_TEXT}style-name") in yellow for span in root.iter(f"{_TEXT}span"))

    return float(_same_text(result, expected) and not read_result(highlighted, result))


def evaluate_strike_through_last_paragraph(result: Any, expected: Any) -> float:
    """Return whether a document has the reference's text and all of its last paragraph is struck through."""

    def struck(path: Path) -> bool:
        runs = [run for run in load_docx(path).paragraphs[-1].runs if run.text.strip()]
        return bool(runs) and all(run.font.strike for run in runs)

    return float(_same_text(result, expected) and read_result(struck, result))


def check_italic_font_size_14(result: Any, expected: Any) -> float:
    """Return whether a document has the reference's text and all in italics is of size 14."""

    def sizes(path: Path) -> set[float | None]:
        runs = (run for part in load_docx(path).paragraphs for run in part.runs if run.italic)
        return {run.font.size.pt if run.font.size is not None else None for run in runs}

    return float(_same_text(result, expected) and read_result(sizes, result) <= {14.0})


def evaluate_colored_words_in_tables(result: Any, expected: Any, *, threshold: float = 3.5) -> float:
    """Return whether words in tables that begin with a vowel are red and all others blue.

    Args:
        result: Path of the agent's document; it must have the reference's text.
        expected: Path of the reference.
        threshold: Largest difference to the pure colours, by CIEDE2000.
    """

    def words(path: Path) -> list[tuple[str, tuple[int, int, int] | None]]:
        document = load_docx(path)
        tables = [table._tbl for table in document.tables]
        runs = [Run(element, document) for table in tables for element in table.iter(qn("w:r"))]
        return [(run.text, _rgb(run)) for run in runs]

    if threshold < 0:
        raise InputError(f"expected a threshold of at least 0, got {threshold!r}")
    return float(
        _same_text(result, expected)
        and all(_colored(text, color, threshold) for text, color in read_result(words, result))
    )


def _same_text(result: Any, expected: Any) -> bool:
    return compare_docx_files(result, expected) == 1.0


def _tab_stops(paragraph: Any) -> list[tuple[Any, int]]:
    """Return the kind and place of the tab stops set, without cleared ones and the one at the margin."""
    return [
        (stop.alignment, int(stop.position))
        for stop in paragraph.paragraph_format.tab_stops
        if stop.alignment != WD_TAB_ALIGNMENT.CLEAR
        and not (stop.alignment == WD_TAB_ALIGNMENT.LEFT and stop.position == 0)
    ]


def _rgb(run: Run) -> tuple[int, int, int] | None:
    color = run.font.color.rgb
    return None if color is None else (color[0], color[1], color[2])


def _colored(text: str, color: tuple[int, int, int] | None, threshold: float) -> bool:
    if not text:
        return True
    wanted = _RED if text[0].lower() in "aeiou" else _BLUE
    return color is not None and color_difference(color, wanted) <= threshold
