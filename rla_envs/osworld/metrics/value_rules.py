"""Rules of the form ``{"method": ..., "ref": ...}`` that a value must obey."""

from __future__ import annotations

import operator
import re
from typing import Any

from rla_envs.errors import InputError, unknown_name
from rla_envs.osworld.metrics.inputs import rule
from rla_envs.osworld.metrics.patterns import found

_RELATIONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_FLAGS = {"I": re.I, "IGNORECASE": re.I, "M": re.M, "MULTILINE": re.M, "S": re.S, "DOTALL": re.S, "X": re.X}
_METHODS = (*_RELATIONS, "re", "approx", "range", "spreadsheet_range", "str_list_eq", "str_set_eq")


def obeys(value: Any, value_rule: Any) -> bool:
    """Return whether a value obeys a rule of OSWorld's.

    Args:
        value: A value out of a result, of any type; one that cannot be compared does not obey.
        value_rule: ``ref`` and a ``method``: ``eq ne lt le gt ge``; ``re`` with flags (``re.I``): the pattern
            is found in the text; ``approx:T``: a number no farther than T; ``range.te``: between the two
            refs, each end exclusive (t) or inclusive (e); ``spreadsheet_range``: cell ranges that include the
            first and lie within the second; ``str_list_eq``, ``str_set_eq``: a quoted, comma-separated list.

    Raises:
        InputError: The rule is malformed.
    """
    method, ref = rule(value_rule, "method"), rule(value_rule, "ref")
    name, _, argument = str(method).replace(":", ".", 1).partition(".")
    if name not in _METHODS:
        raise unknown_name("method of a value rule", method, _METHODS)
    tolerance = _number(argument, method) if name == "approx" else 0.0
    flags = _flags(argument, method) if name == "re" else 0
    ends = _ends(argument, ref, method) if name == "range" else ()
    try:
        if name in _RELATIONS:
            return bool(_RELATIONS[name](value, ref))
        if name == "approx":
            return bool(abs(float(value) - ref) <= tolerance)
        if name == "range":
            return bool(ends[0](ref[0], value) and ends[1](value, ref[1]))
        if name == "spreadsheet_range":
            return _covers(value, ref)
        if name == "re":
            return isinstance(value, str) and found(ref, value, flags)
        items = value.strip("\"'").split(",")
        return bool(set(items) == set(ref) if name == "str_set_eq" else items == list(ref))
    except (TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        return False


def _number(text: str, method: object) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"expected a number after the colon, got the method {method!r}") from None


def _ends(ends: str, ref: Any, method: object) -> tuple[Any, ...]:
    if len(ends) != 2 or not set(ends) <= set("te") or not isinstance(ref, list) or len(ref) != 2:
        raise InputError(
            f"expected 'range.' with two of 't' and 'e' and two refs, got {method!r} and {ref!r}"
        )
    return tuple(_RELATIONS["l" + end] for end in ends)


def _flags(names: str, method: object) -> int:
    flags = 0
    for name in filter(None, names.split(".")):
        if name not in _FLAGS:
            raise unknown_name(f"flag in the method {method!r}", name, _FLAGS)
        flags |= int(_FLAGS[name])
    return flags


def _covers(ranges: Any, ref: Any) -> bool:
    from openpyxl.worksheet.cell_range import MultiCellRange

    least, most = MultiCellRange(ref[0]), MultiCellRange(ref[1])
    return all(part in ranges for part in least.ranges) and all(part in most for part in ranges.ranges)
