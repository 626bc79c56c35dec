"""Parts of the agent's documents that getters return: a slide's picture or sound, a sheet's last row."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from rla_envs.osworld.metrics.packages import opened, parse_xml
from rla_envs.osworld.metrics.workbook import load_book, sheet_values

_PRESENTATION = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_EMBED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed"


def slide_media(presentation: Path, slide: int, kind: str) -> bytes | str | None:
    """Return the sound or the background picture of a slide.

    Args:
        presentation: A PowerPoint file, which the agent may have made.
        slide: Number of the slide, from 0.
        kind: ``"audio"`` or ``"image"`` (the picture of the slide's background).

    Returns:
        The content, if the presentation holds it; the path on the desktop, if
        it points to a file; None if there is none, or the file cannot be read.
    """
    try:
        with opened(presentation) as archive:
            relations = parse_xml(archive.read(f"ppt/slides/_rels/slide{slide + 1}.xml.rels"))
            wanted = None
            if kind == "image":
                wanted = _background(parse_xml(archive.read(f"ppt/slides/slide{slide + 1}.xml")))
                if wanted is None:
                    return None
            for relation in relations:
                if kind in relation.get("Type", "") and wanted in (None, relation.get("Id")):
                    target = relation.get("Target", "")
                    if target.startswith("file://"):
                        return unquote(target.removeprefix("file://"))
                    return archive.read(posixpath.normpath(posixpath.join("/ppt/slides", target))[1:])
    except Exception:  # Whatever the agent's file makes a reader raise, it has no such part.
        return None
    return None


def _background(slide: Any) -> str | None:
    """Return the identifier of the picture that fills a slide's background."""
    for background in slide.iter(f"{_PRESENTATION}bgPr"):
        for picture in background.iter(f"{_DRAWING}blip"):
            return str(picture.get(_EMBED))
    return None


def last_row(workbook: Path) -> list[str] | None:
    """Return the last row of a workbook's first sheet as texts; None if it cannot be read.

    As in OSWorld, the row below which nothing stands; an empty cell in it is
    ``"nan"``, as pandas writes it.
    """
    try:
        values = sheet_values(load_book(workbook).worksheets[0])
    except Exception:  # As above.
        return None
    if not values:
        return None
    last, width = max(row for row, _ in values), max(column for _, column in values)
    return [str(values.get((last, column), "nan")) for column in range(1, width + 1)]
