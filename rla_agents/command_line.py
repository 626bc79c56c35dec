"""Read command lines with tyro, and turn its refusals into errors of one line."""

from __future__ import annotations

import contextlib
import io
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias, TypeVar

import tyro

from rla_envs.errors import InputError

T = TypeVar("T")

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FRAME = re.compile(r"[╭╮╰╯│]")
_RULE = re.compile(r"^[─-]*$")
# How Python words what it could not read, against what a user needs to hear.
_REWORDED = (
    (re.compile(r"invalid literal for int\(\) with base 10: "), "expected an integer, got "),
    (re.compile(r"could not convert string to float: "), "expected a number, got "),
    (re.compile(r"^Error parsing (?:(?=--)|config\.|\w+: )"), ""),
)


class UsageError(InputError):
    """A command line that cannot be understood."""


def parse(what: Callable[..., T], args: Sequence[str], *, prog: str, default: T | None = None) -> T:
    """Return an instance of the dataclass ``what``, filled from a command line.

    Args:
        what: The dataclass.
        args: The words after the program's name.
        prog: Name to show in the help.
        default: Values of everything the command line does not name; the
            class's own defaults if None.

    Raises:
        UsageError: Names the option that was refused, and the closest known one.
        SystemExit: With code 0, after ``--help``.
    """
    options: dict[str, Any] = {} if default is None else {"default": default}
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            filled: T = tyro.cli(what, prog=prog, args=list(args), **options)
    except SystemExit as stop:
        if not stop.code:
            raise
        raise UsageError(f"{_one_line(complaint.getvalue())}; see {prog} --help") from None
    return filled


def parse_arguments(words: Sequence[str]) -> dict[str, bool | int | float | str]:
    """Return the mapping that words of the form ``name=value`` spell.

    Values read as true or false, a number, or else text.

    Raises:
        UsageError: On a word of another form, or a name given twice.
    """
    return {name: _value(text) for name, text in _split(words).items()}


def _split(words: Sequence[str]) -> dict[str, str]:
    arguments: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not name or not equals:
            raise UsageError(f"expected NAME=VALUE, got {word!r}")
        if name in arguments:
            raise UsageError(f"{name!r} is given twice")
        arguments[name] = text
    return arguments


def parse_keywords(words: Sequence[str]) -> dict[str, Any]:
    """Return the mapping that words of the form ``name=value`` spell; lists and tables as in TOML.

    Raises:
        UsageError: As :func:`parse_arguments`, and on a list or table that is not TOML.
    """
    return {name: _toml_value(name, text) for name, text in _split(words).items()}


def _toml_value(name: str, text: str) -> Any:
    if not text.startswith(("[", "{")):
        return _value(text)
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: expected a list or table as in TOML, got {text!r} ({error})") from error


def _toml_text(value: object) -> str:
    """Return a value as :func:`parse_keywords` reads it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml_item(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml_item, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _toml_item(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else _toml_text(value)


def _value(text: str) -> bool | int | float | str:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _one_line(box: str) -> str:
    """Return what tyro drew as a box of several sections: the complaint, then the closest option."""
    sections: list[list[str]] = [[]]
    for line in _COLOUR.sub("", box).splitlines():
        text = _FRAME.sub("", line).strip()
        if _RULE.match(text):
            sections.append([])
        elif not line.startswith("╭"):
            sections[-1].append(text)
    found = [section for section in sections if section]
    if "╭" not in box:
        # Where the terminal has no box characters, the title is a section of its own.
        found = found[1:]
    complaint = " ".join(" ".join(found[0]).split()).rstrip(".") if found else ""
    for section in found[1:]:
        close = next((word for line in section[1:] for word in line.split() if word.startswith("--")), "")
        if close and section[0].startswith("Perhaps you meant"):
            complaint += f". Did you mean {close.rstrip(',')}?"
    for pattern, words in _REWORDED:
        complaint = pattern.sub(words, complaint)
    return complaint or "the command line could not be read"


def parse_choices(words: Sequence[str]) -> dict[str, tuple[bool | int | float | str, ...]]:
    """Return the mapping that words of the form ``name=value,value`` spell; see :func:`parse_arguments`."""
    return {name: tuple(_value(item) for item in text.split(",")) for name, text in _split(words).items()}


Arguments: TypeAlias = Annotated[
    Mapping[str, bool | int | float | str],
    tyro.constructors.PrimitiveConstructorSpec(
        nargs="*",
        metavar="NAME=VALUE ...",
        instance_from_str=parse_arguments,
        is_instance=lambda value: isinstance(value, Mapping),
        str_from_instance=lambda value: [f"{name}={item}" for name, item in value.items()],
    ),
]
"""A mapping of names to plain values; ``--key a=1 b=c`` on the command line replaces all of it."""

Keywords: TypeAlias = Annotated[
    Mapping[str, Any],
    tyro.constructors.PrimitiveConstructorSpec(
        nargs="*",
        metavar="NAME=VALUE ...",
        instance_from_str=parse_keywords,
        is_instance=lambda value: isinstance(value, Mapping),
        str_from_instance=lambda value: [f"{name}={_toml_text(item)}" for name, item in value.items()],
    ),
]
"""A mapping of names to values that may be lists and tables: ``--key a=1 'b={c = [1, 2]}'``."""

Choices: TypeAlias = Annotated[
    Mapping[str, tuple[bool | int | float | str, ...]],
    tyro.constructors.PrimitiveConstructorSpec(
        nargs="*",
        metavar="NAME=VALUE,VALUE ...",
        instance_from_str=parse_choices,
        is_instance=lambda value: isinstance(value, Mapping),
        str_from_instance=lambda value: [
            f"{name}={','.join(map(str, items))}" for name, items in value.items()
        ],
    ),
]
"""A mapping of names to several values each; ``--key a=1,2 b=c`` replaces all of it."""
