"""Files and folders of the box's user, as OSWorld's server offers them."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Any

from .server import MAX_BODY, Reply, Request, RequestError

_MAX_ENTRIES = 20_000


def read(request: Request) -> Reply:
    """Return a file's content; field ``file_path``, in which ``~`` and variables are replaced."""
    path = _path(request, "file_path")
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            mode = os.fstat(file.fileno())
            if not stat.S_ISREG(mode.st_mode):
                raise RequestError(f"not a file: {path}", 404)
            if mode.st_size > MAX_BODY:
                raise RequestError(
                    f"expected a file of at most {MAX_BODY} bytes, got {mode.st_size}: {path}", 413
                )
            return Reply(file.read(MAX_BODY))
    except OSError as error:
        raise RequestError(f"{error.strerror}: {path}", 404) from error


def write(request: Request, clock_offset: float = 0.0) -> Reply:
    """Write a file, with the folders above it; fields ``file_path`` and ``file_data``.

    Its date is what the session's clock shows, ``clock_offset`` seconds from the machine's.
    """
    path = Path(_path(request, "file_path"))
    data = request.files.get("file_data")
    if data is None:
        raise RequestError("expected a file named file_data")
    beside = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(data)
        now = time.time() + clock_offset
        os.utime(beside, (now, now))
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise RequestError(f"{error.strerror}: {path}", 507) from error
    return Reply("File Uploaded")


def tree(request: Request) -> Reply:
    """Return what is in a folder and below; field ``path``."""
    path = _path(request, "path")
    if not os.path.isdir(path):
        raise RequestError(f"no such folder: {path}", 404)
    left = _MAX_ENTRIES

    def entry(folder: str, name: str) -> dict[str, Any]:
        nonlocal left
        left -= 1
        if not os.path.isdir(folder) or os.path.islink(folder):
            return {"type": "file", "name": name}
        names = sorted(os.listdir(folder)) if left > 0 else []
        return {
            "type": "directory",
            "name": name,
            "children": [entry(os.path.join(folder, child), child) for child in names if left > 0],
        }

    return Reply({"directory_tree": entry(path, os.path.basename(path) or path)})


def desktop_path(request: Request) -> Reply:
    """Return the folder of the user's desktop."""
    return Reply({"desktop_path": os.path.expanduser("~/Desktop")})


def _path(request: Request, field: str) -> str:
    value = request.body.get(field)
    if not isinstance(value, str) or not value or "\0" in value:
        raise RequestError(f"{field}: expected a path, got {value!r}")
    return os.path.join(os.path.expanduser("~"), os.path.expandvars(os.path.expanduser(value)))
