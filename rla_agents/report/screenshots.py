"""Screenshots beside a run's trajectories: which file a trace means, and a small copy for a page."""

from __future__ import annotations

import base64
import io
import re
import warnings
from pathlib import Path

from PIL import Image

_NAME = re.compile(r"screenshots/[A-Za-z0-9_-]{1,64}/[A-Za-z0-9_-]{1,64}\.(png|jpg|jpeg|webp)")
_LARGEST = (960, 960)
_QUALITY, _METHOD = 60, 2
_MOST_PIXELS = 64_000_000
_TYPES = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "webp": "image/webp"}


def safe_name(name: str) -> str:
    """Return a screenshot's name as a trace has it, or "" if it may not be shown.

    A trace may come from anybody: only ``screenshots/*/*`` with the ending of a picture is taken.
    """
    return name if _NAME.fullmatch(name) else ""


def screenshot_file(folder: Path, name: str) -> Path | None:
    """Return the file that a trace names, or None if it may not be shown or is not there.

    Neither a name that :func:`safe_name` refuses nor a link that leads out of the run folder is followed.

    Args:
        folder: The run folder.
        name: As in the trace, relative to it.
    """
    if not safe_name(name):
        return None
    path = (folder / name).resolve()
    return path if path.is_file() and path.is_relative_to(folder.resolve()) else None


def media_type(name: str) -> str:
    """Return the media type of a screenshot's file name."""
    return _TYPES[name.rpartition(".")[2]]


def small_copy(path: Path) -> str | None:
    """Return a picture as a data URI, at most 960 pixels wide and high; None if it cannot be read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=("PNG", "JPEG", "WEBP")) as picture:
                if picture.width * picture.height > _MOST_PIXELS:
                    return None
                small = picture.convert("RGB")
        small.thumbnail(_LARGEST)
        data = io.BytesIO()
        small.save(data, "WEBP", quality=_QUALITY, method=_METHOD)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning):
        return None
    return f"data:image/webp;base64,{base64.b64encode(data.getvalue()).decode()}"
