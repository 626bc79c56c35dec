"""Metrics over archives and books made of files."""

from __future__ import annotations

import posixpath
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree, html
from rapidfuzz import fuzz

from rla_envs.errors import InputError, unknown_name
from rla_envs.osworld.metrics.inputs import RejectedResult, read_both, read_expected
from rla_envs.osworld.metrics.packages import MAX_MEMBERS, MAX_UNPACKED_BYTES, opened
from rla_envs.osworld.metrics.pdfs import pdf_text
from rla_envs.osworld.metrics.registry import METRICS
from rla_envs.osworld.metrics.texts import line_similarity

_BY_TYPE = {
    "text": "compare_text_file",
    "pdf": "compare_pdfs",
    "docx": "compare_docx_files",
    "ppt": "compare_pptx_files",
    "image": "compare_images",
    "csv": "compare_csv",
    "table": "compare_table",
}
_SIMILAR_PDF = 0.95
# Lines of a book's tables that differ from one conversion to the next.
_VOLATILE = {"toc.ncx": "navPoint", "content.opf": "dc:identifier"}


def compare_zip_files(result: Any, expected: Any) -> float:
    """Return whether two zip files have the same members: the same bytes, or PDF text alike to 95 percent."""
    mine, reference = read_both(_contents, result, expected)
    if mine.keys() != reference.keys():
        return 0.0
    return float(all(_same_member(name, mine[name], reference[name]) for name in mine))


def compare_archive(
    result: Any, expected: Any, *, file_path: str = "", file_type: str = "text", **options: Any
) -> float:
    """Return the mean score of the files of an archive (zip or tar) that has the reference's files.

    Args:
        result: Path of the agent's archive; with other names in the folder it scores 0.
        expected: Path of the reference.
        file_path: The folder in the archive whose files are compared.
        file_type: What they are: text, pdf, docx, ppt, image, csv or table.
        options: Options of the metric for that type.
    """
    if file_type not in _BY_TYPE:
        raise unknown_name("file_type of compare_archive", file_type, _BY_TYPE)
    metric = METRICS[_BY_TYPE[file_type]]
    metric.check_options(options)

    def folder(path: Path) -> dict[str, bytes]:
        return _folder(_contents(path), file_path)

    mine, reference = read_both(folder, result, expected)
    if not reference:
        raise InputError(f"the reference of compare_archive has no files in {file_path!r}")
    if mine.keys() != reference.keys():
        return 0.0
    with tempfile.TemporaryDirectory(prefix="rla-archive-") as scratch:
        scores = []
        for number, name in enumerate(sorted(mine)):
            # Numbered: the names are the agent's.
            pair = [
                Path(scratch, f"{number}-{side}{Path(name).suffix[:8]}") for side in ("result", "expected")
            ]
            for file, data in zip(pair, (mine[name], reference[name]), strict=True):
                file.write_bytes(data)
            scores.append(metric.score(str(pair[0]), str(pair[1]), options))
    return sum(scores) / len(scores)


def compare_epub(result: Any, expected: Any) -> float:
    """Return the mean share of lines that the files of two electronic books have in common.

    Compared by name are the pages and the two tables of contents, without what identifies a conversion. A
    file that only one book has counts 0.
    """
    mine, reference = read_both(_pages, result, expected)
    if not reference:
        raise InputError("the reference of compare_epub has no pages")
    scores = [line_similarity(mine.get(name, []), reference[name]) for name in reference]
    return sum(scores) / len(mine.keys() | reference.keys())


def _contents(path: Path) -> dict[str, bytes]:
    """Return the bytes of each file of a zip or tar archive."""
    return dict(_tar_members(path) if not zipfile.is_zipfile(path) else _zip_members(path))


def _zip_members(path: Path) -> Iterator[tuple[str, bytes]]:
    with opened(path) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                yield member.filename, archive.read(member)


def _tar_members(path: Path) -> Iterator[tuple[str, bytes]]:
    left = MAX_UNPACKED_BYTES
    with tarfile.open(path, "r:*") as archive:
        for number, member in enumerate(archive):
            left -= member.size
            if left < 0 or number >= MAX_MEMBERS:
                raise ValueError(f"more than {MAX_MEMBERS} members or {MAX_UNPACKED_BYTES} bytes unpacked")
            data = archive.extractfile(member) if member.isreg() else None
            if data is not None:
                yield member.name, data.read()


def _folder(contents: dict[str, bytes], folder: str) -> dict[str, bytes]:
    inside = posixpath.normpath(folder) if folder else ""
    names = {name: posixpath.normpath(name) for name in contents}
    return {
        posixpath.basename(clean): contents[name]
        for name, clean in names.items()
        if posixpath.dirname(clean) == inside
    }


def _same_member(name: str, mine: bytes, reference: bytes) -> bool:
    if mine == reference or not name.lower().endswith(".pdf"):
        return mine == reference
    with tempfile.TemporaryDirectory(prefix="rla-archive-") as scratch:
        files = [Path(scratch, side) for side in ("result.pdf", "expected.pdf")]
        for file, data in zip(files, (mine, reference), strict=True):
            file.write_bytes(data)
        wanted = read_expected(pdf_text, files[1])
        try:
            text = pdf_text(files[0])
        except Exception as error:
            raise RejectedResult(f"{name} cannot be read ({error})") from error
    return fuzz.ratio(text, wanted) / 100 >= _SIMILAR_PDF


def _pages(path: Path) -> dict[str, list[str]]:
    pages = {}
    for name, data in _contents(path).items():
        text = data.decode("utf-8")
        if name in _VOLATILE:
            pages[name] = [line for line in text.splitlines() if _VOLATILE[name] not in line]
        elif name.endswith(".html"):
            page = html.fromstring(text.replace("\n", "").replace("\r", "").encode())
            pages[name] = etree.tostring(
                page, pretty_print=True, encoding="unicode", method="html"
            ).splitlines()
    return pages
