"""Frozen dataclasses from TOML tables and back, with errors that name the key."""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

import tomli_w

from rla_envs.errors import InputError, UnknownNameError

ConfigT = TypeVar("ConfigT")
"""A frozen dataclass whose fields are plain values, tuples, mappings or further such dataclasses."""

Table = Mapping[str, object]

_NONE = "none"
_WORDS: dict[object, str] = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}


def read_toml(path: Path | Traversable) -> dict[str, object]:
    """Return the tables of a TOML file.

    Raises:
        InputError: If the file cannot be read or is not TOML; names file and place.
    """
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise InputError(f"config {path}: cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"config {path}: not valid TOML ({reason})") from error


def update(config: ConfigT, table: Table, source: str, prefix: str = "") -> ConfigT:
    """Return ``config`` with the values that ``table`` names replaced.

    Sub-tables are merged key by key; a mapping field is replaced as a whole.

    Args:
        config: The values that hold where the table says nothing.
        table: TOML tables, nested as the dataclasses are.
        source: Where the table came from, for errors.
        prefix: Path of this table in the file, ending in a dot; empty at the top.

    Raises:
        InputError: On an unknown key (with the closest known one) or a value of
            the wrong type; names the key's full path.
    """
    hints = typing.get_type_hints(type(config))
    names = [field.name for field in dataclasses.fields(config)]  # type: ignore[arg-type]
    changes: dict[str, object] = {}
    for key, value in table.items():
        if key not in names:
            raise _unknown_key(prefix + key, names, prefix, source)
        changes[key] = _convert(hints[key], getattr(config, key), value, source, prefix + key)
    try:
        return dataclasses.replace(config, **changes)  # type: ignore[type-var]
    except InputError as error:
        where = f"{source}: {prefix.rstrip('.')}" if prefix else source
        raise InputError(f"{where}: {error}") from error


def dump_toml(config: object) -> str:
    """Return a configuration as TOML text; None, which TOML lacks, is written ``"none"``."""
    return tomli_w.dumps(_plain(config))


def key_paths(cls: type[Any], prefix: str = "") -> Iterator[str]:
    """Yield the dotted path of every key that a configuration class knows."""
    for name, hint in typing.get_type_hints(cls).items():
        if dataclasses.is_dataclass(hint):
            yield from key_paths(typing.cast(type[Any], hint), f"{prefix}{name}.")
        else:
            yield prefix + name


def _unknown_key(path: str, names: list[str], prefix: str, source: str) -> UnknownNameError:
    here = [prefix + name for name in names]
    close = difflib.get_close_matches(path, here, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return UnknownNameError(f"{source}: unknown key {path!r}.{hint} Known: {', '.join(here)}.")


def _convert(hint: object, current: object, value: object, source: str, path: str) -> object:
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise _wrong_type(source, path, "a table", value)
        return update(current, value, source, f"{path}.")
    try:
        return parse_value(hint, value)
    except TypeError as error:
        raise _wrong_type(source, path, str(error), value) from error


def _wrong_type(source: str, path: str, expected: str, value: object) -> InputError:
    return InputError(f"{source}: {path}: expected {expected}, got {value!r}")


def parse_value(hint: object, value: object) -> object:
    """Return a TOML value as the type that a field declares.

    Raises:
        TypeError: If it is of another type; the message is what was expected, in words.
    """
    if hint is Any:
        return value
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType or origin is typing.Union:
        return _parse_union(arguments, value)
    if origin is tuple:
        return _parse_tuple(arguments, value)
    if origin is typing.Literal:
        if value not in arguments:
            raise TypeError("one of " + ", ".join(map(repr, arguments)))
        return value
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _parse_mapping(arguments[1], value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    # bool is a subclass of int, so isinstance would let `tasks = true` through.
    if type(value) is not hint:
        raise TypeError(_WORDS[hint])
    return value


def _parse_union(options: tuple[object, ...], value: object) -> object:
    if types.NoneType in options and value == _NONE:
        return None
    for option in options:
        # The exact type first: in `int | float`, 1 stays an integer.
        if type(value) is option:
            return value
    expected = []
    for option in options:
        if option is types.NoneType:
            continue
        try:
            return parse_value(option, value)
        except TypeError as error:
            expected.append(str(error))
    raise TypeError(" or ".join(expected))


def _parse_tuple(items: tuple[object, ...], value: object) -> object:
    any_length = items[-1] is Ellipsis
    words = "a list of values" if any_length else f"a list of {len(items)} numbers"
    if not isinstance(value, list | tuple):
        raise TypeError(words)
    if any_length:
        items = items[:1] * len(value)
    if len(value) != len(items):
        raise TypeError(words)
    try:
        return tuple(parse_value(item, element) for item, element in zip(items, value, strict=True))
    except TypeError as error:
        raise TypeError(words) from error


def _parse_mapping(item: object, value: object) -> object:
    if not isinstance(value, Mapping):
        raise TypeError("a table of names and values")
    parsed = {}
    for key, element in value.items():
        try:
            parsed[str(key)] = parse_value(item, element)
        except TypeError as error:
            raise TypeError(f"{error} for {key!r}") from error
    return parsed


def _plain(value: object) -> Any:
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if value is None:
        return _NONE
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
