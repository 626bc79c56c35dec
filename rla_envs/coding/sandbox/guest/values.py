"""Values as strict JSON: what a called function returns, made of exactly the built-in types.

The box encodes, the parent decodes. JSON's own null, booleans, finite numbers,
strings and arrays stand for themselves (arrays for lists); everything else is
``{"t": kind, "v": content}``.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

MAX_DEPTH = 200
"""Most levels of nesting that are taken."""

_SMALL = 1 << 8000
"""Integers above are written in base 16: CPython limits decimal ones to 4300 digits (about 2**14284)."""

_MOST_COLLISIONS = 1000
_GROUPS: tuple[Any, ...] = (tuple, set, frozenset)
_JSON = json.JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":"))


class ValueFormError(ValueError):
    """A value has no such form, or a text is not one; the message says why."""


def encode(value: object) -> bytes:
    """Return a value as JSON.

    Subclasses of the built-in types (``defaultdict``, ``IntEnum``, named
    tuples) are taken for the type that they extend.

    Raises:
        ValueFormError: If it is nested too deeply, or holds something else.
    """
    return _JSON.encode(_plain(value, MAX_DEPTH)).encode("ascii")


def _plain(value: Any, depth: int) -> Any:
    """Return what JSON can hold, through the base types' own methods: a subclass may lie."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int:
        return value if -_SMALL < value < _SMALL else {"t": "int", "v": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"t": "float", "v": repr(value)}
    if depth == 0:
        raise ValueFormError(f"expected a value nested at most {MAX_DEPTH} levels deep")
    if isinstance(value, list):
        return [_plain(item, depth - 1) for item in list.__iter__(value)]
    for base in _GROUPS:
        if isinstance(value, base):
            return {"t": base.__name__, "v": [_plain(item, depth - 1) for item in base.__iter__(value)]}
    if isinstance(value, dict):
        pairs = [[_plain(key, depth - 1), _plain(item, depth - 1)] for key, item in dict.items(value)]
        return {"t": "dict", "v": pairs}
    if isinstance(value, bytes):
        return {"t": "bytes", "v": bytes.hex(value)}
    if isinstance(value, int):
        return _plain(int.__add__(value, 0), depth)
    if isinstance(value, float):
        return _plain(float.__add__(value, 0.0), depth)
    if isinstance(value, str):
        return str.__str__(value)
    raise ValueFormError(f"expected a plain value (number, string, list, dict ...), got a {kind.__name__}")


def decode(data: bytes) -> Any:
    """Return the value that such JSON stands for; runs no code but this.

    Raises:
        ValueFormError: If it is anything else.
    """
    try:
        return _value(json.loads(data.decode("ascii"), parse_constant=_refuse), MAX_DEPTH)
    except ValueFormError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ValueFormError(f"expected an encoded value, got something else ({error})") from error


def _refuse(name: str) -> None:
    raise ValueFormError(f"expected strict JSON, got {name}")


def _value(tree: Any, depth: int) -> Any:
    if type(tree) not in (list, dict):
        return tree
    if depth < 0:
        raise ValueFormError(f"expected a value nested at most {MAX_DEPTH} levels deep")
    if type(tree) is list:
        return [_value(item, depth - 1) for item in tree]
    kind, content = tree["t"], tree["v"]
    if kind == "int":
        return int(content, 16)
    if kind == "float":
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[content]
    if kind == "bytes":
        return bytes.fromhex(content)
    items = [_value(item, depth - 1) for item in content]
    if kind == "tuple":
        return tuple(items)
    if kind == "dict":
        _refuse_collisions([key for key, _ in items])
        return {key: item for key, item in items}  # noqa: C416 - refuses what is not a pair
    if kind in ("set", "frozenset"):
        _refuse_collisions(items)
        return set(items) if kind == "set" else frozenset(items)
    raise ValueFormError(f"expected a known kind of value, got {kind!r}")


def _refuse_collisions(keys: list[Any]) -> None:
    """Refuse keys chosen to have one hash: a set of them takes the square of their number to build."""
    if len(keys) > _MOST_COLLISIONS and Counter(map(hash, keys)).most_common(1)[0][1] > _MOST_COLLISIONS:
        raise ValueFormError(f"expected keys with different hashes, got over {_MOST_COLLISIONS} with one")
