"""Read values out of a task file, refusing what is not as it should be with the file and the field."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from rla_envs.errors import InputError, UnknownNameError, unknown_name

MAX_SLEEP = 600.0
"""Longest time, in seconds, that a step may ask to wait."""


@dataclass(frozen=True)
class Field:
    """A value as a JSON reader returned it, and where it stands.

    Attributes:
        value: What came.
        file: The task file, as messages name it.
        name: The way to the value inside the file: ``evaluator.result[1].path``.
    """

    value: Any
    file: str
    name: str = ""

    def __getitem__(self, key: str | int) -> Field:
        """Return what stands under a key or at a place; its value is None if there is nothing."""
        if isinstance(key, int):
            return Field(self.value[key], self.file, f"{self.name}[{key}]")
        return Field(self.value.get(key), self.file, f"{self.name}.{key}" if self.name else key)

    def error(self, expected: str) -> InputError:
        """Return the error that something else was expected."""
        shown = repr(self.value) if len(repr(self.value)) <= 80 else repr(self.value)[:77] + "..."
        came = "it is missing" if self.value is None else f"got {shown}"
        return InputError(f"{self.file}: {self.name or 'the file'}: expected {expected}, {came}")

    def unknown(self, kind: str, known: Iterable[str]) -> UnknownNameError:
        """Return the error that a name is not known, with the closest one that is."""
        return UnknownNameError(f"{self.file}: {self.name}: {unknown_name(kind, self.value, known)}")

    def object(self, expected: str = "an object") -> dict[str, Any]:
        """Return the value, a JSON object."""
        if not isinstance(self.value, dict):
            raise self.error(expected)
        return self.value

    def items(self, expected: str = "a list") -> list[Field]:
        """Return the members of a list."""
        if not isinstance(self.value, list):
            raise self.error(expected)
        return [self[index] for index in range(len(self.value))]

    def one_or_more(self) -> list[Field]:
        """Return the members of a list, or the value itself as the only one."""
        return self.items() if isinstance(self.value, list) else [self]

    def only(self, kind: str, known: Iterable[str]) -> None:
        """Refuse keys that are not known; those that begin with an underscore are remarks."""
        names = list(known)
        for key in self.object():
            if key not in names and not key.startswith("_"):
                raise UnknownNameError(f"{self.file}: {self.name}: {unknown_name(kind, key, names)}")


def text(field: Field) -> str:
    """Return a text that is not empty and that a file name or an argument can hold."""
    value = field.value
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise field.error("a text that is not empty")
    return value


def any_text(field: Field) -> str:
    """Return a text, which may be empty."""
    if not isinstance(field.value, str):
        raise field.error("a text")
    return field.value


def flag(field: Field) -> bool:
    """Return true or false; OSWorld's files also write them as texts."""
    if isinstance(field.value, bool):
        return field.value
    if field.value in ("true", "false"):
        return bool(field.value == "true")
    raise field.error("true or false")


def index(field: Field) -> int:
    """Return a whole number from 0."""
    value = field.value
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise field.error("a whole number from 0")
    return value


def indices(field: Field) -> tuple[int, ...]:
    """Return whole numbers from 0."""
    return tuple(index(member) for member in field.items("a list of whole numbers from 0"))


def seconds(field: Field) -> float:
    """Return a time in seconds, up to :data:`MAX_SLEEP`."""
    value = field.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise field.error(f"seconds from 0 to {MAX_SLEEP:g}")
    if not 0 <= value <= MAX_SLEEP:
        raise field.error(f"seconds from 0 to {MAX_SLEEP:g}")
    return float(value)


def command(field: Field) -> str | tuple[str, ...]:
    """Return a command: a line, or a program and its arguments."""
    if isinstance(field.value, list) and field.value:
        return (text(field[0]), *(any_text(member) for member in field.items()[1:]))
    if isinstance(field.value, str) and field.value.strip():
        return text(field)
    raise field.error("a command, as a text or as a list of texts")


def texts(field: Field) -> tuple[str, ...]:
    """Return texts of which none is empty."""
    return tuple(text(member) for member in field.items("a list of texts"))


def one_or_more_texts(field: Field) -> tuple[str, ...]:
    """Return one text, or those of a list that is not empty."""
    members = field.one_or_more()
    if not members:
        raise field.error("a text or a list of texts")
    return tuple(text(member) for member in members)


def relative_name(field: Field) -> str:
    """Return the name of a file inside a folder of ours: no way leads out of it."""
    name = text(field)
    parts = PurePosixPath(name).parts
    if name.startswith(("/", "~")) or "\\" in name or ".." in parts or not parts:
        raise field.error(
            "the name of a file inside the folder of the episode (no '/' at the start, no '..')"
        )
    return name


def relative_names(field: Field) -> tuple[str, ...]:
    """Return one name of a file inside a folder of ours, or several."""
    members = field.one_or_more()
    if not members:
        raise field.error("a name or a list of names")
    return tuple(relative_name(member) for member in members)


def url(field: Field) -> str:
    """Return a web address, or a ``data:`` address that holds the file itself."""
    value = text(field)
    if not re.match(r"(https?://[^/\s]+/\S|data:[^,]*,)", value):
        raise field.error("an http, https or data address of a file")
    return value


def urls(field: Field) -> tuple[str, ...]:
    """Return one address of a file, or several."""
    members = field.one_or_more()
    if not members:
        raise field.error("an address or a list of addresses")
    return tuple(url(member) for member in members)


def anything(field: Field) -> Any:
    """Return whatever stands there, if anything does."""
    if field.value is None:
        raise field.error("a value")
    return field.value


def mapping(field: Field) -> dict[str, Any]:
    """Return an object."""
    return field.object()


def records(**parts: Callable[[Field], Any]) -> Callable[[Field], tuple[dict[str, Any], ...]]:
    """Return the reader of a list of objects, each with exactly these parts."""

    def read(field: Field) -> tuple[dict[str, Any], ...]:
        return tuple(_record(member) for member in field.items("a list of objects"))

    def _record(field: Field) -> dict[str, Any]:
        field.object(f"an object with {', '.join(parts)}")
        field.only("key", parts)
        return {name: reader(field[name]) for name, reader in parts.items()}

    return read


@dataclass(frozen=True)
class Form:
    """The parameters that one kind of step or getter takes.

    Attributes:
        required: Readers by name of parameters that must be there.
        optional: Readers by name of parameters that may be.
    """

    required: Mapping[str, Callable[[Field], Any]]
    optional: Mapping[str, Callable[[Field], Any]]

    def read(self, field: Field, besides: Iterable[str] = ()) -> dict[str, Any]:
        """Return the parameters in an object, checked; ``besides`` names keys that are no parameters."""
        given = field.object()
        field.only("parameter", [*self.required, *self.optional, *besides])
        values = {name: reader(field[name]) for name, reader in self.required.items()}
        for name, reader in self.optional.items():
            if given.get(name) is not None:
                values[name] = reader(field[name])
        return values


def form(
    required: Mapping[str, Callable[[Field], Any]] | None = None, **optional: Callable[[Field], Any]
) -> Form:
    """Return a form from the required readers and, by keyword, the optional ones."""
    return Form(required or {}, optional)
