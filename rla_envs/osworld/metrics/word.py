"""Opening text documents (docx, odt)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docx import Document
from docx.document import Document as WordDocument

from rla_envs.osworld.metrics.packages import check_document, opened, parse_xml

ODF_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_MAX_SPACES = 10_000


def load_docx(path: Path) -> WordDocument:
    """Open a docx file; raises `ValueError` for hostile ones and anything else for what is none."""
    check_document(path)
    return Document(str(path))


def load_odt(path: Path) -> Any:
    """Return the root element of an odt file's content."""
    check_document(path)
    with opened(path) as archive:
        return parse_xml(archive.read("content.xml"))


def paragraph_texts(path: Path) -> list[str]:
    """Return the text of each paragraph of a docx file's body (tables excluded), or of an odt file."""
    if path.suffix == ".odt":
        return [_odt_text(part) for part in load_odt(path).iter(f"{ODF_TEXT}p", f"{ODF_TEXT}h")]
    return [paragraph.text for paragraph in load_docx(path).paragraphs]


def _odt_text(element: Any) -> str:
    parts = [element.text or ""]
    for child in element:
        if child.tag == f"{ODF_TEXT}s":
            parts.append(" " * min(int(child.get(f"{ODF_TEXT}c", 1)), _MAX_SPACES))
        elif child.tag in (f"{ODF_TEXT}tab", f"{ODF_TEXT}line-break"):
            parts.append("\t" if child.tag.endswith("tab") else "\n")
        elif child.tag not in (f"{ODF_TEXT}note", f"{ODF_TEXT}p"):
            parts.append(_odt_text(child))
        parts.append(child.tail or "")
    return "".join(parts)
