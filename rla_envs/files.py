"""Write files whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path

from rla_envs.errors import RLAError

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
                write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        sync(target.parent)


def write_all(descriptor: int, data: bytes) -> None:
    """Write everything: one call to the system, or more where it takes less at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
