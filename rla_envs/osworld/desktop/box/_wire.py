"""Just enough of the D-Bus wire format to make thousands of small calls at once.

A tree of a spreadsheet takes some two thousand calls. Marshalling them in a
general library costs more than the applications take to answer, so the calls
that reading a tree needs are put together and taken apart here; connecting
and authenticating stays with jeepney. Format: D-Bus specification 0.41,
"Message Protocol". Both ends run on one machine, so everything is
little-endian as on every machine that this runs on.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Reference = tuple[str, str]
"""An object on the bus: the name of the connection that has it, and its path."""

METHOD_CALL, METHOD_RETURN, ERROR, SIGNAL = 1, 2, 3, 4
_REPLY_SERIAL = 5
_FIXED = struct.Struct("<BBBBIII")
_U32 = struct.Struct("<I")
_DOUBLE = struct.Struct("<d")
_EXTENTS = struct.Struct("<iiii")
_SCALARS = {"i": struct.Struct("<i"), "u": _U32, "d": _DOUBLE, "b": _U32}

Decoder = Callable[[bytes, int], Any]
"""Reads a value from a message at a position."""


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity: a quick key
class Method:
    """A method of an interface: the signature of what it takes, and how to read what it returns."""

    interface: str
    member: str
    signature: str
    decode: Decoder


def _string_field(code: int, kind: bytes, value: bytes) -> bytes:
    field = bytes((code, 1)) + kind + b"\0" + _U32.pack(len(value)) + value + b"\0"
    return field + b"\0" * (-len(field) % 8)


def call_prefix(destination: str, method: Method) -> bytes:
    """Return the header fields of a call that do not depend on the object; a multiple of 8 bytes."""
    fields = _string_field(2, b"s", method.interface.encode())
    fields += _string_field(3, b"s", method.member.encode())
    fields += _string_field(6, b"s", destination.encode())
    if method.signature:
        signature = method.signature.encode()
        field = b"\x08\x01g\0" + bytes((len(signature),)) + signature + b"\0"
        fields += field + b"\0" * (-len(field) % 8)
    return fields


def method_call(prefix: bytes, path: str, serial: int, body: bytes) -> bytes:
    """Return the message of a call on the object at ``path``, with the fields of :func:`call_prefix`."""
    raw = path.encode()
    fields = prefix + b"\x01\x01o\0" + _U32.pack(len(raw)) + raw + b"\0"
    fixed = _FIXED.pack(0x6C, METHOD_CALL, 0, 1, len(body), serial, len(fields))
    return fixed + fields + b"\0" * (-len(fields) % 8) + body


def string(message: bytes, position: int) -> str:
    """Read a string."""
    return _string(message, position)[0]


def states(message: bytes, position: int) -> int:
    """Read an array of 32-bit words as one number, the first word lowest (AT-SPI's sets of states)."""
    count = _U32.unpack_from(message, position)[0] // 4
    return sum(_U32.unpack_from(message, position + 4 + 4 * index)[0] << 32 * index for index in range(count))


def extents(message: bytes, position: int) -> tuple[int, int, int, int]:
    """Read a rectangle: x, y, width, height."""
    x, y, width, height = _EXTENTS.unpack_from(message, position)
    return x, y, width, height


def number(message: bytes, position: int) -> int:
    """Read an unsigned integer of 32 bits."""
    return int(_U32.unpack_from(message, position)[0])


def reference(message: bytes, position: int) -> Reference:
    """Read a reference to an object."""
    return _strings(message, _aligned(position, 8), 2)[0]  # type: ignore[return-value]


def references(message: bytes, position: int) -> list[Reference]:
    """Read an array of references."""
    return _tuples(message, position, 2)


def pairs(message: bytes, position: int) -> dict[str, str]:
    """Read a dictionary of strings."""
    return dict(_tuples(message, position, 2))


def triples(message: bytes, position: int) -> list[tuple[str, str, str]]:
    """Read an array of triples of strings."""
    return _tuples(message, position, 3)


def strings(message: bytes, position: int) -> list[str]:
    """Read an array of strings."""
    end = position + 4 + _U32.unpack_from(message, position)[0]
    position += 4
    values = []
    while position < end:
        value, position = _string(message, _aligned(position, 4))
        values.append(value)
    return values


def variant(message: bytes, position: int) -> Any:
    """Read a variant that holds a string or a number; None if it holds anything else."""
    return _variant(message, position)[0]


def properties(message: bytes, position: int) -> dict[str, Any]:
    """Read a dictionary of variants, up to the first that is neither a string nor a number."""
    end = _aligned(position + 4, 8) + _U32.unpack_from(message, position)[0]
    position = _aligned(position + 4, 8)
    values: dict[str, Any] = {}
    while position < end:
        name, position = _string(message, _aligned(position, 8))
        value, position = _variant(message, position)
        if value is None:
            break
        values[name] = value
    return values


def nothing(message: bytes, position: int) -> bool:
    """Read no value; the reply itself is the answer."""
    return True


def _aligned(position: int, boundary: int) -> int:
    return position + -position % boundary


def _string(message: bytes, position: int) -> tuple[str, int]:
    start = position + 4
    end = start + _U32.unpack_from(message, position)[0]
    return message[start:end].decode("utf-8", "replace"), end + 1


def _strings(message: bytes, position: int, count: int) -> tuple[tuple[str, ...], int]:
    values = []
    for _ in range(count):
        value, position = _string(message, _aligned(position, 4))
        values.append(value)
    return tuple(values), position


def _tuples(message: bytes, position: int, width: int) -> list[Any]:
    length = _U32.unpack_from(message, position)[0]
    position = _aligned(position + 4, 8)
    end = position + length
    values = []
    while position < end:
        value, position = _strings(message, _aligned(position, 8), width)
        values.append(value)
    return values


def _variant(message: bytes, position: int) -> tuple[Any, int]:
    kind = message[position + 1 : position + 1 + message[position]].decode()
    position += message[position] + 2
    if kind == "s":
        return _string(message, _aligned(position, 4))
    scalar = _SCALARS.get(kind)
    if scalar is None:
        return None, position
    position = _aligned(position, scalar.size)
    return scalar.unpack_from(message, position)[0], position + scalar.size


class Splitter:
    """Cuts the bytes that a bus sends into messages."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, int, bytes, int]]:
        """Take bytes in, and return each message that is now whole.

        Returns:
            For each: its type, the serial of the call that it answers (0 for
            none), the message, and the position of its body.
        """
        buffer = self._data
        buffer += data
        messages = []
        start = 0
        while len(buffer) - start >= 16:
            _, kind, _, _, body, _, fields = _FIXED.unpack_from(buffer, start)
            head = 16 + _aligned(fields, 8)
            if len(buffer) - start < head + body:
                break
            message = bytes(buffer[start : start + head + body])
            messages.append((kind, _reply_serial(message, 16 + fields), message, head))
            start += head + body
        del buffer[:start]
        return messages


def _reply_serial(message: bytes, end: int) -> int:
    position = 16
    while position < end:
        position = _aligned(position, 8)
        code, kind = message[position], message[position + 2]
        position += 4
        if kind == 0x67:  # "g", a signature, has its length in one byte
            position += message[position] + 2
            continue
        value = int(_U32.unpack_from(message, position)[0])
        if code == _REPLY_SERIAL:
            return value
        position += 4 if kind == 0x75 else 4 + value + 1  # "u" is a number, the others are strings
    return 0
