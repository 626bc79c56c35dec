"""JSON values as text: how arguments and expected results are stored, read and compared."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from rla_envs.errors import InputError

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
        InputError: If the text is not JSON, or holds NaN or an infinity.
    """
    try:
        return json.loads(text, parse_int=_parse_int, parse_constant=_refuse_constant)
    except (ValueError, TypeError, RecursionError) as error:
        shown = text if len(text) <= 60 else text[:57] + "..."
        raise InputError(f"expected a JSON value, got {shown!r} ({error})") from error


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
            raise InputError(f"expected string keys, got {bad[0]!r} of type {type(bad[0]).__name__}")
        return "{" + ", ".join(f"{json.dumps(key)}: {_dump(item)}" for key, item in value.items()) + "}"
    raise InputError(
        f"expected a JSON value (null, number, string, list or object), got {value!r} "
        f"of type {type(value).__name__}; convert it first"
    )


def _parse_int(digits: str) -> int:
    return int(digits) if len(digits) <= _SHORT_DIGITS else int(Decimal(digits))


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
