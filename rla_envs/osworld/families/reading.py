"""Take values out of jobs from outside: everything is checked, and refused in one line."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

from rla_envs.errors import InvalidTaskError, unknown_name
from rla_envs.osworld.families.documents import Cell

HOME = "/home/user"

WORD = re.compile(r"[A-Za-z][A-Za-z0-9]{0,29}")
"""A name without spaces: of a sheet, a folder, a setting."""
PHRASE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ,.:%()-]{0,118}[A-Za-z0-9.)%])?")
"""A line of plain text: nothing that a shell, a spreadsheet or a window would take as more than text."""
ADDRESS = re.compile(r"[A-H](?:[1-9]|[1-3][0-9])")
"""A cell of a spreadsheet."""
_FOLDER = re.compile(HOME + r"(?:/[A-Za-z0-9][A-Za-z0-9_-]{0,29}){1,4}")
_LARGEST = 1_000_000
_CELL = "null, a plain text, or a number of at most two decimals up to 1000000"


def fields(value: object, where: str, names: Sequence[str]) -> dict[str, Any]:
    """Return an object with exactly these fields.

    Raises:
        InvalidTaskError: If it is none, or a field is missing or unknown.
    """
    if not isinstance(value, Mapping):
        raise _expected(where, f"an object with {', '.join(names)}", value)
    for name in value:
        if name not in names:
            raise InvalidTaskError(str(unknown_name(f"field of {where}:", str(name)[:80], names)))
    for name in names:
        if name not in value:
            raise InvalidTaskError(f"{where}: expected a field {name!r}, got {reprlib.repr(dict(value))}")
    return dict(value)


def items(value: object, where: str, least: int, most: int) -> list[Any]:
    """Return a list of a permitted length."""
    if not isinstance(value, list | tuple) or not least <= len(value) <= most:
        raise _expected(where, f"a list of {least} to {most}", value)
    return list(value)


def integer(value: object, where: str, low: int, high: int) -> int:
    """Return an integer of a range."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _expected(where, f"an integer from {low} to {high}", value)
    return value


def text(value: object, where: str, pattern: re.Pattern[str] = PHRASE) -> str:
    """Return a text that matches a pattern as a whole."""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise _expected(where, f"a text of the form {pattern.pattern}", value)
    return value


def choice(value: object, where: str, known: Sequence[str]) -> str:
    """Return one of several names."""
    if not isinstance(value, str) or value not in known:
        raise InvalidTaskError(str(unknown_name(f"{where}:", reprlib.repr(value), known)))
    return value


def file_name(value: object, where: str, ending: str) -> str:
    """Return the name of a file with an ending (``".txt"``)."""
    return text(value, where, re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}" + re.escape(ending)))


def folder(value: object, where: str) -> str:
    """Return the absolute path of a folder below the user's home."""
    return text(value, where, _FOLDER)


def cell(value: object, where: str) -> Cell:
    """Return what a cell may hold: a number, a plain text, or nothing."""
    if value is None or (isinstance(value, str) and PHRASE.fullmatch(value) and not _number_like(value)):
        return value
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= _LARGEST:
        raise _expected(where, _CELL, value)
    if round(value, 2) != value:
        raise _expected(where, _CELL, value)
    return value


def table(value: object, where: str) -> list[list[Cell]]:
    """Return rows of cells, all of one length, at most 12 by 8."""
    rows = [items(row, where, 1, 8) for row in items(value, where, 2, 12)]
    if len({len(row) for row in rows}) != 1:
        raise InvalidTaskError(f"{where}: expected rows of one length, got {[len(row) for row in rows]}")
    return [[cell(entry, where) for entry in row] for row in rows]


def distinct(values: Sequence[Any], where: str) -> None:
    """Refuse a list in which something comes twice."""
    if len(set(values)) != len(values):
        raise InvalidTaskError(f"{where}: expected each once, got {reprlib.repr(list(values))}")


def _number_like(value: str) -> bool:
    # A spreadsheet would make a number or a date of it.
    return value[0].isdigit()


def _expected(where: str, what: str, got: object) -> InvalidTaskError:
    return InvalidTaskError(f"{where}: expected {what}, got {reprlib.repr(got)}")
