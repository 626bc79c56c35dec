"""Metrics over PDF files."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

from pypdf import PdfReader
from rapidfuzz import fuzz

from rla_envs.errors import InputError, unknown_name
from rla_envs.osworld.metrics.inputs import RejectedResult, paths, read_expected, read_result, rule

MAX_PAGES = 2_000
_RELATIONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}


def compare_pdfs(result: Any, expected: Any) -> float:
    """Return the similarity of the text of two PDF files, or the mean over pairs of them.

    Args:
        result: Path of the agent's file, or one for each reference; a missing or unreadable one counts 0.
        expected: Path of the reference, or several.
    """
    references = [read_expected(pdf_text, path) for path in paths(expected)]
    if not references:
        raise InputError("compare_pdfs expects a reference or several, got none")
    scores = []
    for file, reference in zip(paths(result), references, strict=False):
        try:
            scores.append(fuzz.ratio(read_result(pdf_text, file), reference) / 100)
        except RejectedResult:
            scores.append(0.0)
    return sum(scores) / len(references)


def check_pdf_pages(result: Any, expected: Any) -> float:
    """Return whether the number of pages stands in ``relation`` (``eq ne lt le gt ge``) to ``ref_value``."""
    relation, wanted = rule(expected, "relation"), rule(expected, "ref_value")
    if relation not in _RELATIONS:
        raise unknown_name("relation of check_pdf_pages", relation, _RELATIONS)
    return float(_RELATIONS[relation](read_result(lambda path: len(_reader(path).pages), result), wanted))


def pdf_text(path: Path) -> str:
    """Return the text of all pages."""
    return "".join(page.extract_text() + "\n" for page in _reader(path).pages).strip()


def _reader(path: Path) -> PdfReader:
    reader = PdfReader(path)
    if len(reader.pages) > MAX_PAGES:
        raise ValueError(f"a PDF of {len(reader.pages)} pages, more than {MAX_PAGES}")
    return reader
