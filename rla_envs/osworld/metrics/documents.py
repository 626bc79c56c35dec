"""Metrics over the content of text documents: paragraphs, tables, pictures, references."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz

from rla_envs.errors import InputError
from rla_envs.osworld.metrics.inputs import read_both, read_expected, read_result, rule
from rla_envs.osworld.metrics.pictures import open_picture
from rla_envs.osworld.metrics.word import load_docx, paragraph_texts

_BLANKS = re.compile(r"\s+")


def compare_docx_files(
    result: Any,
    expected: Any,
    *,
    ignore_blanks: bool = True,
    ignore_case: bool = False,
    ignore_order: bool = False,
    content_only: bool = False,
    fuzzy_match: bool = False,
    delete_empty_lines: bool = False,
) -> float:
    """Compare the paragraphs of two text documents of one kind, docx or odt.

    Args:
        result: Path of the agent's document; of another kind than the reference, it scores 0.
        expected: Path of the reference.
        ignore_blanks: Compare the texts as wholes in which any run of blanks, line ends included, is one.
        ignore_case: Whether capitals are all the same.
        ignore_order: Whether paragraphs may come in any order.
        content_only: Return the similarity of the texts, blanks ignored.
        fuzzy_match: Return the similarity: of the texts, or the mean of the paragraphs' (without
            ``ignore_blanks``, and only where there are as many).
        delete_empty_lines: Whether empty paragraphs do not count.
    """

    def texts(path: Path) -> list[str]:
        found = [text.lower() if ignore_case else text for text in paragraph_texts(path)]
        found = sorted(found) if ignore_order else found
        return [text for text in found if text.strip()] if delete_empty_lines else found

    mine, reference = _paragraphs(result, expected, texts)
    if content_only or ignore_blanks:
        whole, wanted = _one_line(mine), _one_line(reference)
        return fuzz.ratio(whole, wanted) / 100 if content_only or fuzzy_match else float(whole == wanted)
    if len(mine) != len(reference):
        return 0.0
    if not fuzzy_match:
        return float(mine == reference)
    return _mean([fuzz.ratio(*pair) / 100 for pair in zip(mine, reference, strict=True)])


def compare_docx_files_and_ignore_new_lines(
    result: Any, expected: Any, *, ignore_blanks: bool = True
) -> float:
    """Return whether two documents have the same paragraphs, empty ones aside.

    Args:
        result: Path of the agent's document.
        expected: Path of the reference.
        ignore_blanks: Whether any run of blanks, line ends included, counts as one.
    """
    mine, reference = (
        [text for text in texts if text] for texts in _paragraphs(result, expected, paragraph_texts)
    )
    return float(_one_line(mine) == _one_line(reference) if ignore_blanks else mine == reference)


def compare_docx_lines(result: Any, expected: Any) -> float:
    """Return whether two documents have the same set of paragraphs, blanks at their ends and order aside."""
    mine, reference = (_lines(texts) for texts in _paragraphs(result, expected, paragraph_texts))
    return float(set(mine) == set(reference))


def compare_init_lines(result: Any, expected: Any) -> float:
    """Return whether two documents agree in their first paragraphs, as many as the shorter one has.

    A result without any paragraph text scores 0 where the reference has some.
    """
    mine, reference = _paragraphs(result, expected, paragraph_texts)
    if any(reference) and not any(mine):
        return 0.0
    return float(all(text == wanted for text, wanted in zip(mine, reference, strict=False)))


def compare_docx_tables(result: Any, expected: Any) -> float:
    """Return whether two documents have the same tables: the texts of their cells, row by row."""
    mine, reference = read_both(_tables, result, expected)
    return float(mine == reference)


def compare_docx_images(result: Any, expected: Any) -> float:
    """Return whether two documents hold the same pictures, to the pixel, in order of their names."""
    mine, reference = read_both(_pictures, result, expected)
    return float(mine == reference)


def compare_references(
    result: Any,
    expected: Any,
    *,
    reference_indicator: str = "References",
    reference_base_result: float = 0.5,
    content_only: bool = True,
) -> float:
    """Return how far the entries after the heading "References" exceed a base of similarity.

    Args:
        result: Path of the agent's document.
        expected: Path of the reference.
        reference_indicator: The heading's text.
        reference_base_result: Mean similarity of the untouched document: it scores 0, as does whatever is
            not at least 0.01 better; 1 is the reference's own.
        content_only: Accepted as task files have it; without effect, as in OSWorld.
    """
    if not 0 <= reference_base_result < 1:
        raise InputError(f"expected reference_base_result in [0, 1), got {reference_base_result!r}")
    mine, wanted = (
        _after(texts, reference_indicator) for texts in _paragraphs(result, expected, paragraph_texts)
    )
    if mine is None or wanted is None:
        return float(mine is wanted)
    if len(mine) != len(wanted):
        return 0.0
    similarity = _mean([fuzz.ratio(*pair) / 100 for pair in zip(mine, wanted, strict=True)])
    if similarity < reference_base_result + 0.01:
        return 0.0
    return (similarity - reference_base_result) / (1 - reference_base_result)


def compare_unique_train_records(result: Any, expected: Any) -> float:
    """Return whether just one record of each train was kept of a list.

    A record is a line of four fields between commas, the second of which is the train.

    Args:
        result: Path of the agent's document: its lines are lines of the first document, as many as in the
            reference, each train once, and the reference's trains.
        expected: Paths of the reference and of the document before.
    """
    if not isinstance(expected, list) or len(expected) < 2:
        raise InputError(f"expected the paths of the reference and of the first document, got {expected!r}")
    reference, before = (_lines(read_expected(paragraph_texts, path)) for path in expected[:2])
    mine = _lines(read_result(paragraph_texts, result))
    trains = _trains(mine)
    return float(
        set(mine) <= set(before)
        and len(trains) == len(set(trains))
        and set(trains) == set(_trains(reference))
        and len(mine) == len(reference)
    )


def fuzzy_place_math(result: Any, expected: Any) -> float:
    """Return the mean similarity of three words of a document to the closest of ``expected["expected"]``.

    A document with more or fewer words (parts between blanks) scores 0.
    """
    places = rule(expected, "expected")
    words = " ".join(read_result(paragraph_texts, result)).split()
    if len(words) != 3:
        return 0.0
    return _mean([max(fuzz.ratio(word, place) / 100 for place in places) for word in words])


def _paragraphs(result: Any, expected: Any, texts: Any) -> tuple[list[str], list[str]]:
    reference: list[str] = read_expected(texts, expected)

    def of_that_kind(path: Path) -> list[str]:
        kind = Path(expected).suffix
        if path.suffix != kind:
            raise ValueError(f"expected a {kind} file")
        found: list[str] = texts(path)
        return found

    return read_result(of_that_kind, result), reference


def _one_line(texts: list[str]) -> str:
    return _BLANKS.sub(" ", "\n".join(texts)).strip()


def _lines(texts: list[str]) -> list[str]:
    return [text.strip() for text in texts if text.strip()]


def _mean(scores: list[float]) -> float:
    return sum(scores) / len(scores) if scores else 1.0


def _tables(path: Path) -> list[list[list[str]]]:
    # Cells as the file has them: python-docx repeats a merged cell as often as it says it spans columns.
    return [
        [["\n".join(_cell_paragraphs(cell)).strip() for cell in row.tc_lst] for row in table._tbl.tr_lst]
        for table in load_docx(path).tables
    ]


def _cell_paragraphs(cell: Any) -> list[str]:
    return [paragraph.text for paragraph in cell.p_lst]


def _pictures(path: Path) -> list[tuple[tuple[int, int], bytes]]:
    relations = load_docx(path).part.rels.values()
    blobs = [
        (str(relation.target_part.partname), relation.target_part.blob)
        for relation in relations
        if "image" in relation.reltype and not relation.is_external
    ]
    pictures = [open_picture(blob).convert("RGBA") for _, blob in sorted(blobs)]
    return [(picture.size, picture.tobytes()) for picture in pictures]


def _after(texts: list[str], heading: str) -> list[str] | None:
    if heading not in texts:
        return None
    return [text for text in texts[texts.index(heading) + 1 :] if text.strip()]


def _trains(lines: list[str]) -> list[str]:
    return [fields[1].strip() for fields in (line.split(",") for line in lines) if len(fields) == 4]
