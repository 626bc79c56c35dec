"""JSON values as text: how arguments and expected results are stored, read and compared."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sized
from decimal import Decimal
from typing import Any

from rla_envs.errors import InputError

MAX_DEPTH = 199
"""Most levels of nesting of an argument or result: what the sandbox takes, in its list of arguments."""

_SHORT_DIGITS = 4000
"""Integers of fewer digits are safe for ``int`` and ``str``; CPython refuses more than 4300."""


def dump_value(value: object) -> str:
    """Return a value as one line of JSON; tuples are written as lists.

    Integers of any size are written out, past CPython's limit of 4300 digits.

    Raises:
        InputError: If it is not made of null, booleans, finite numbers,
            strings, lists and mappings with string keys.
    """
    try:
        return _dump(value)
    except RecursionError as error:
        raise InputError("expected a JSON value of a few levels, got more than can be written") from error


def load_value(text: str) -> Any:
    """Return the value that one JSON text stands for, integers of any size included.

    Raises:
        InputError: If the text is not JSON, holds NaN or an infinity (or a number
            too large for a float), or is nested more than :data:`MAX_DEPTH` levels deep.
    """
    try:
        value = json.loads(
            text, parse_int=_parse_int, parse_float=_parse_float, parse_constant=_refuse_constant
        )
        if text.count("[") + text.count("{") > MAX_DEPTH:  # else it cannot be; this is cheaper
            _refuse_depth(value, MAX_DEPTH)
        return value
    except (ValueError, TypeError, RecursionError) as error:
        shown = text if len(text) <= 60 else text[:57] + "..."
        raise InputError(f"expected a JSON value, got {shown!r} ({error})") from error


def show_value(value: object, longest: int) -> str:
    """Return a value for people, as JSON where it is: at most ``longest`` characters of it.

    Takes whatever a program may return, and time in proportion to what is shown.
    """
    shown, size = [], 0
    for piece in _pieces(value, longest):
        shown.append(piece)
        size += len(piece)
        if size > longest:
            return "".join(shown)[: longest - 1] + "…"
    return "".join(shown)


def _pieces(value: object, longest: int) -> Iterator[str]:
    if isinstance(value, str):
        yield json.dumps(value[: longest + 1])
    elif isinstance(value, bool) or value is None:
        yield json.dumps(value)
    elif isinstance(value, int) and value.bit_length() >= _SHORT_DIGITS * 3:
        yield f"<integer of {value.bit_length()} bits>"
    elif isinstance(value, int | float):
        yield repr(value)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield ", " if number else "["
            yield from _pieces(item, longest)
        yield "]" if value else "[]"
    elif isinstance(value, Mapping):
        for number, (key, item) in enumerate(value.items()):
            yield ", " if number else "{"
            yield from _pieces(key, longest)
            yield ": "
            yield from _pieces(item, longest)
        yield "}" if value else "{}"
    else:  # a set has no order that is the same every time
        size = f" of {len(value)}" if isinstance(value, Sized) else ""
        yield f"<{type(value).__name__}{size}>"


def _dump(value: object) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value) if abs(value).bit_length() < _SHORT_DIGITS * 3 else str(Decimal(value))
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"expected a finite number, got {value!r}; JSON has no such value")
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_dump, value)) + "]"
    if isinstance(value, Mapping):
        bad = [key for key in value if not isinstance(key, str)]
        if bad:
            raise InputError(
                f"expected string keys, got {show_value(bad[0], 60)} of type {type(bad[0]).__name__}"
            )
        return "{" + ", ".join(f"{json.dumps(key)}: {_dump(item)}" for key, item in value.items()) + "}"
    raise InputError(
        f"expected a JSON value (null, number, string, list or object), got {show_value(value, 60)} "
        f"of type {type(value).__name__}; convert it first"
    )


def _parse_int(digits: str) -> int:
    return int(digits) if len(digits) <= _SHORT_DIGITS else int(Decimal(digits))


def _parse_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:30]} is larger than any float")
    return number


def _refuse_depth(value: object, levels: int) -> None:
    if isinstance(value, list | dict):
        if levels == 0:
            raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
        for item in value.values() if isinstance(value, dict) else value:
            _refuse_depth(item, levels - 1)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
