"""Where the files that task files point to on the web are found without the web."""

from __future__ import annotations

import base64
import binascii
import os
import re
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from rla_envs.errors import InputError

CACHE_VARIABLE = "RLA_OSWORLD_CACHE"
"""Environment variable that names the folder with the files of tasks."""

MAX_FILE_BYTES = 2**30
"""Largest file that is handed to a desktop."""


def cache_folder(files: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder with the files of tasks: the given one, else :data:`CACHE_VARIABLE`'s, else None."""
    named = files if files is not None else os.environ.get(CACHE_VARIABLE) or None
    return None if named is None else Path(named).expanduser()


def candidates(url: str) -> tuple[str, ...]:
    """Return the places inside the folder where the file of a web address is looked for, in order.

    Two layouts work. A snapshot of the dataset that holds nearly all of
    them, where the place is what follows ``/resolve/<revision>/`` in the
    address::

        hf download xlangai/ubuntu_osworld_file_cache --repo-type dataset --local-dir FOLDER

    And a mirror, where the place is the host followed by the path::

        wget --force-directories --directory-prefix=FOLDER URL...

    In each, names are looked for as a person reads them (``a b.xlsx``), and
    then as the address writes them (``a%20b.xlsx``).

    Raises:
        InputError: If the address leads out of the folder.
    """
    parts = urlsplit(url)
    raw = parts.path.lstrip("/") + (f"?{parts.query}" if parts.query else "")
    host = parts.netloc.rpartition("@")[2].partition(":")[0]
    resolved = re.search(r"(?:^|/)resolve/[^/]+/(.+)$", raw)
    places: dict[str, None] = {}
    for path in ([resolved.group(1)] if resolved else []) + [f"{host}/{raw}"]:
        for place in (unquote(path), path):
            if ".." in PurePosixPath(place).parts or place.startswith("/") or "\0" in place:
                raise InputError(
                    f"expected the address of a file, got one that leads out of a folder: {url!r}"
                )
            places[place] = None
    return tuple(places)


def find(url: str, folder: Path | None) -> Path | None:
    """Return the file of a web address in the folder; None if it is not there."""
    if folder is not None:
        for place in candidates(url):
            if (folder / place).is_file():
                return folder / place
    return None


def wanted(url: str, folder: Path | None) -> str:
    """Say which file is missing, and where it is looked for first."""
    place = candidates(url)[0]
    where = folder / place if folder is not None else f"${CACHE_VARIABLE}/{place}"
    return f"{url} (looked for at {where})"


def embedded(url: str) -> bytes | None:
    """Return the content of a ``data:`` address (RFC 2397); None for any other.

    Raises:
        InputError: If what should be base64 is not.
    """
    if not url.startswith("data:"):
        return None
    head, _, body = url.removeprefix("data:").partition(",")
    content = unquote_to_bytes(body)
    if not head.endswith(";base64"):
        return content
    try:
        return base64.b64decode(content, validate=True)
    except binascii.Error as cause:
        raise InputError(f"expected base64 after 'data:{head},', got something else ({cause})") from None


def content(url: str, folder: Path | None) -> bytes:
    """Return the file of an address.

    Raises:
        FileNotFoundError: If it is not in the folder.
        InputError: If it is larger than :data:`MAX_FILE_BYTES`.
    """
    inside = embedded(url)
    if inside is not None:
        return inside
    path = find(url, folder)
    if path is None:
        raise FileNotFoundError(wanted(url, folder))
    if path.stat().st_size > MAX_FILE_BYTES:
        raise InputError(f"{path}: expected at most {MAX_FILE_BYTES} bytes, got {path.stat().st_size}")
    return path.read_bytes()
