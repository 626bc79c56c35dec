"""Write files whole or not at all, and keep logs of JSON lines that survive a kill."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rla_envs.errors import InputError, RLAError

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_RUST_OS_ERROR = re.compile(r"\(os error (\d+)\)")


class StorageError(RLAError, OSError):
    """A file could not be written or read; the message names it and the reason."""


class DiskFullError(StorageError):
    """There was no room left for a file; what had been there before is untouched."""


def storage_error(path: str | os.PathLike[str], cause: BaseException) -> StorageError | None:
    """Return the one-line error for a failed write, or None if it was no matter of storage.

    Args:
        path: What was being written.
        cause: What was raised. Libraries that write through Rust (safetensors)
            raise no ``OSError`` but name its number in their message.
    """
    if isinstance(cause, StorageError):
        return cause
    found = _RUST_OS_ERROR.search(str(cause))
    if isinstance(cause, OSError) and cause.errno is not None:
        code = cause.errno
    elif found:
        code = int(found.group(1))
    else:
        return None
    if code in _NO_ROOM:
        return DiskFullError(
            f"disk full: cannot write {os.fspath(path)} ({os.strerror(code)}); free space and run it again"
        )
    return StorageError(f"cannot write {os.fspath(path)}: {os.strerror(code)}")


@contextlib.contextmanager
def storing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn failures of the storage inside the block into a :class:`StorageError` that names ``path``."""
    try:
        yield
    except Exception as cause:
        error = storage_error(path, cause)
        if error is None or error is cause:
            raise
        raise error from cause


def sync(path: str | os.PathLike[str]) -> None:
    """Make a file's bytes, or a folder's entries, reach the disk before returning."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomic(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file so that a reader, a kill or a full disk never meets half of it.

    The bytes go to a temporary file in the same folder, reach the disk, and
    only then take the name. A symbolic link is followed, not replaced.

    Args:
        path: The file; its folder must exist.
        content: Text (written as UTF-8, newlines as they are) or bytes.

    Raises:
        DiskFullError: There was no room; the previous content is still there.
        StorageError: The file cannot be written for another reason.
    """
    data = content.encode() if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    with storing(path):
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            try:
                _write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        sync(target.parent)


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
                _write_all(descriptor, data)
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


def _write_all(descriptor: int, data: bytes) -> None:
    """Write everything: one call to the system, or more where it takes less at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


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
