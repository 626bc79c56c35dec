"""Decide whether what a program gave is what was expected: text for stdin problems, values for functions."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

_INTEGER = re.compile(r"[+-]?[0-9]++")
_NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]{1,4})?")
"""A word reads in one way or in none: a program may print megabytes of digits, and trying several costs
the square of their number."""

_RELATIVE = 1e-9
"""Difference of two floats, relative to the larger, that is rounding; double precision has 16 digits."""

_ABSOLUTE = 1e-12
"""The same near zero."""

_LONGEST_KEY_BITS = 12_000
"""Integers of more bits may have more decimal digits (4300) than CPython writes."""

_ROUNDED_PLACES = 5
"""Expected results of so many decimals are rounded ones (LeetCode prints 5), and half a unit off is equal."""


def same_text(output: str, expected: str) -> bool:
    """Return whether a printed output is the expected one.

    Lines are compared without the blanks around them, blank lines at either end
    left out, and must be as many. A line is equal if all its words are: as
    text, or as numbers of equal value. An expected number with a fraction also
    takes one that differs by rounding only (see :func:`same_number`).
    """
    given, wanted = _stripped(output), _stripped(expected)
    # Counted before they are taken apart: a wrong output may be millions of lines.
    return given.count("\n") == wanted.count("\n") and all(
        map(_same_line, given.split("\n"), wanted.split("\n"))
    )


def same_number(token: str, expected: str) -> bool:
    """Return whether two words are numbers of the same value.

    ``6.0`` is ``6``, but two integers must be written alike: ``007`` is a wrong
    answer where ``7`` is expected. An expected number that is written with a
    fraction or an exponent takes any that differs by at most 1e-9 of it, and if
    it has five decimals or more, by half a unit of the last.

    Example:
        >>> same_number("0.30000000000000004", "0.3"), same_number("0.31", "0.3")
        (True, False)
    """
    if not (_NUMBER.fullmatch(token) and _NUMBER.fullmatch(expected)):
        return False
    exact = _INTEGER.fullmatch(expected) is not None
    if exact and _INTEGER.fullmatch(token):
        return token == expected
    if Decimal(token) == Decimal(expected):
        return True
    return not exact and _close(float(token), expected)


def same_value(value: Any, expected: Any) -> bool:
    """Return whether a returned value is the expected JSON value.

    Both are made of Python's own types only. Tuples count as lists at any
    depth, a number equals another of the same value whatever its type (True is
    1, as in Python), keys of a mapping may be the numbers that JSON writes as
    strings, and an expected float takes what :func:`same_number` takes.
    """
    if isinstance(expected, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(expected)
            and all(map(same_value, value, expected))
        )
    if isinstance(expected, Mapping):
        if not isinstance(value, Mapping) or len(value) != len(expected):
            return False
        named = {_key(key): item for key, item in value.items()}
        return set(named) == set(expected) and all(same_value(named[k], expected[k]) for k in expected)
    if isinstance(value, list | tuple | Mapping):
        return False
    if isinstance(expected, float) and isinstance(value, int | float):
        return bool(value == expected) or _close_value(value, expected)
    return bool(value == expected)


def livebench_same_text(output: str, expected: str) -> bool:
    """Return LiveBench's own verdict on a printed output.

    Text and lines are stripped and must be as many; a line must be equal, or be
    the same list of decimal numbers, without tolerance.
    """
    given = [line.strip() for line in output.strip().split("\n")]
    wanted = [line.strip() for line in expected.strip().split("\n")]
    if len(given) != len(wanted):
        return False
    return all(one == other or _same_decimals(one, other) for one, other in zip(given, wanted, strict=True))


def _stripped(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _same_line(line: str, expected: str) -> bool:
    line, expected = line.strip(), expected.strip()
    if line == expected:
        return True
    wanted = expected.split()
    words = line.split(None, len(wanted))
    return len(words) == len(wanted) and all(
        word == other or same_number(word, other) for word, other in zip(words, wanted, strict=True)
    )


def _same_decimals(line: str, expected: str) -> bool:
    try:
        return [Decimal(word) for word in line.split()] == [Decimal(word) for word in expected.split()]
    except InvalidOperation:
        return False


def _close(value: float, expected: str) -> bool:
    wanted = float(expected)
    if not (math.isfinite(value) and math.isfinite(wanted)):
        return False
    places = 0 if "e" in expected.lower() else len(expected.partition(".")[2])
    slack = 0.5000001 * 10.0**-places if places >= _ROUNDED_PLACES else _ABSOLUTE
    return math.isclose(value, wanted, rel_tol=_RELATIVE, abs_tol=slack)


def _close_value(value: float, expected: float) -> bool:
    try:
        return _close(float(value), repr(expected))
    except OverflowError:
        return False  # an integer beyond every float


def _key(key: Any) -> Any:
    """Return a mapping's key as JSON writes it."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool) or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    if isinstance(key, int) and key.bit_length() <= _LONGEST_KEY_BITS:
        return str(key)
    return repr(key) if isinstance(key, float) else key  # else JSON has no such key
