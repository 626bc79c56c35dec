"""Screenshots of episodes: taken from observations, kept beside the traces, shown in the page."""

from __future__ import annotations

import io
import shutil
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from PIL import Image

from rla_agents.files import storing, write_atomic
from rla_agents.report.run import Row
from rla_agents.report.screenshots import screenshot_file, small_copy

MOST_INLINE = 120
"""Most screenshots inside a page: a few megabytes."""

_FOLDER = "screenshots"
_KEY = "screenshot"


def picture_of(observation: object) -> bytes:
    """Return the screenshot of an observation as a PNG file, b"" if it has none.

    An observation has one if it is a mapping whose ``"screenshot"`` is a uint8
    array of height x width x 3.
    """
    if not isinstance(observation, Mapping):
        return b""
    pixels = observation.get(_KEY)
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8:
        return b""
    if pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
        return b""
    data = io.BytesIO()
    # The quickest level: a desktop's picture is hardly smaller at the others.
    Image.fromarray(pixels).save(data, "PNG", compress_level=1)
    return data.getvalue()


def file_name(position: int, index: int) -> str:
    """Return the name, relative to the run folder, of the screenshot before an action of an episode."""
    return f"{_FOLDER}/{position:06d}/{index:04d}.png"


def write_screenshots(folder: Path, position: int, pictures: Mapping[str, bytes]) -> None:
    """Write an episode's screenshots, in place of those of an earlier try at it.

    Raises:
        StorageError: If a file cannot be written.
    """
    place = folder / _FOLDER / f"{position:06d}"
    with storing(place):
        if place.exists():
            shutil.rmtree(place)
        if pictures:
            place.mkdir(parents=True)
    for name, data in pictures.items():
        write_atomic(folder / name, data)


def inline(folder: Path, episodes: Sequence[Row]) -> str:
    """Put small copies of screenshots into the episodes of a page, and return what was done, in a sentence.

    The last and the first screenshot of each episode come first, then the
    others in order. The rest stay names of files, which the page links.
    """
    screens = [
        [place for place in (episode, *episode["steps"]) if place["screenshot"]] for episode in episodes
    ]
    lasts, firsts = ([found[end] for found in screens if found] for end in (-1, 0))
    others = [place for found in screens for place in found[1:-1]]
    total = sum(map(len, screens))
    done: set[int] = set()
    for place in chain(lasts, firsts, others):
        if len(done) == MOST_INLINE:
            break
        path = screenshot_file(folder, place["screenshot"]) if id(place) not in done else None
        copy = small_copy(path) if path else None
        if copy:
            place["screenshot"] = copy
            done.add(id(place))
    if not total:
        return ""
    if len(done) == total:
        return " Screenshots are small copies."
    return (
        f" {len(done)} of {total} screenshots are small copies; the others are links into the run's folder."
    )
