"""Messages between the parent and a box: a JSON header and blobs of bytes, with their lengths first."""

from __future__ import annotations

import json
import marshal
import os
import struct
from collections.abc import Callable, Sequence
from typing import Any

MAX_HEADER = 1 << 16
MAX_BLOBS = 1 << 30
"""Longest header, and most bytes of blobs together, that are taken; more is a broken stream."""


class BrokenStreamError(Exception):
    """The other side is gone, or sends what is no message."""


def pack(header: dict[str, Any], sizes: Sequence[int] = ()) -> bytes:
    """Return the beginning of a message, up to its blobs of these sizes."""
    text = json.dumps({**header, "blobs": list(sizes)}).encode("ascii")
    return struct.pack("<I", len(text)) + text


def unpack(read: Callable[[int], bytes]) -> tuple[dict[str, Any], list[int]]:
    """Read a message up to its blobs, with a function that returns exactly so many bytes.

    Returns:
        The header, and the sizes of the blobs that follow.

    Raises:
        BrokenStreamError: If it is no message.
    """
    (length,) = struct.unpack("<I", read(4))
    if length > MAX_HEADER:
        raise BrokenStreamError(f"expected a header of at most {MAX_HEADER} bytes, got {length}")
    try:
        header = json.loads(read(length))
        sizes = header.pop("blobs")
        if not all(type(size) is int and size >= 0 for size in sizes) or sum(sizes) > MAX_BLOBS:
            raise ValueError(f"bad blob sizes {sizes}")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise BrokenStreamError(f"expected a message, got something else ({error})") from error
    return header, sizes


def read_exactly(fd: int, size: int) -> bytes:
    """Return ``size`` bytes from a file descriptor.

    Raises:
        BrokenStreamError: If it ends before.
    """
    data = os.read(fd, min(size, 1 << 20)) if size else b""
    if len(data) == size:
        return data
    parts = bytearray(data)
    while data and len(parts) < size:
        data = os.read(fd, min(size - len(parts), 1 << 20))
        parts += data
    if len(parts) < size:
        raise BrokenStreamError("the other side is gone")
    return bytes(parts)


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes to a file descriptor."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_job(fd: int, header: dict[str, Any]) -> None:
    """Write a header from the supervisor to a process of its own."""
    data = marshal.dumps(header)
    write_all(fd, struct.pack("<I", len(data)) + data)


def read_job(fd: int) -> dict[str, Any]:
    """Read such a header; raises BrokenStreamError if the supervisor is gone."""
    (length,) = struct.unpack("<I", read_exactly(fd, 4))
    header: dict[str, Any] = marshal.loads(read_exactly(fd, length))
    return header
