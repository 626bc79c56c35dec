"""Write files whole or not at all, and keep logs of JSON lines that survive a kill."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rla_envs.errors import InputError
from rla_envs.files import (
    DiskFullError,
    StorageError,
    storage_error,
    storing,
    sync,
    write_all,
    write_atomic,
)

__all__ = [
    "DiskFullError",
    "StorageError",
    "append_jsonl",
    "read_jsonl",
    "storage_error",
    "storing",
    "sync",
    "truncate_jsonl",
    "write_atomic",
]


def append_jsonl(path: str | os.PathLike[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Append rows to a file of JSON lines: all of them or, if the disk is full, none.

    The rows go out in one write and reach the disk before this returns. A line
    that an earlier kill cut short is removed first, so that no row is glued to it.

    Args:
        path: The file; it is created if missing, its folder must exist.
        rows: JSON objects, one line each.

    Raises:
        InputError: A row holds NaN or infinity, which JSON does not have.
        DiskFullError: There was no room; the file is as it was.
    """
    data = "".join(_json_line(path, row) for row in rows).encode()
    if not data:
        return
    with storing(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            size = _end_of_whole_lines(descriptor)
            os.ftruncate(descriptor, size)
            try:
                write_all(descriptor, data)
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, size)
                raise
        finally:
            os.close(descriptor)


def read_jsonl(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read a file of JSON lines; a last line that a kill cut short is left out.

    Raises:
        InputError: The file is missing, or a line other than a cut last one is
            not a JSON object.
    """
    return [row for _, row in _parsed_lines(path)]


def truncate_jsonl(path: str | os.PathLike[str], keep: Callable[[dict[str, Any]], bool]) -> int:
    """Drop rows from a file of JSON lines, in one step; the kept lines stay byte for byte.

    This is how a resumed run forgets what was logged after its checkpoint. A
    missing file has nothing to drop.

    Args:
        path: The file.
        keep: Says of a row whether it stays.

    Returns:
        How many whole rows were dropped.
    """
    if not os.path.exists(path):
        return 0
    lines = list(_parsed_lines(path))
    kept = [line for line, row in lines if keep(row)]
    data = b"".join(kept)
    if len(data) != os.path.getsize(path):
        write_atomic(path, data)
    return len(lines) - len(kept)


def _json_line(path: str | os.PathLike[str], row: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(row), allow_nan=False) + "\n"
    except ValueError as cause:
        raise InputError(
            f"a row for {os.fspath(path)} is not JSON ({cause}); write null for a figure that does not exist"
        ) from cause


def _end_of_whole_lines(descriptor: int, block: int = 1 << 16) -> int:
    """Return the size of an open file up to and including its last newline."""
    end = os.fstat(descriptor).st_size
    while end:
        start = max(0, end - block)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _parsed_lines(path: str | os.PathLike[str]) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yield each whole line with its row; a line counts as whole once its newline is there."""
    try:
        data = Path(path).read_bytes()
    except OSError as cause:
        raise InputError(f"cannot read {os.fspath(path)}: {cause.strerror}") from cause
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        try:
            row = json.loads(line)
        except ValueError as cause:
            raise InputError(f"{os.fspath(path)}, line {number}: expected a JSON object ({cause})") from cause
        if not isinstance(row, dict):
            raise InputError(f"{os.fspath(path)}, line {number}: expected a JSON object, got {line[:40]!r}")
        yield line + b"\n", row
