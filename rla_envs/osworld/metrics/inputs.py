"""Reading what a metric compares: files of the agent, which may be hostile, and references, which are ours.

A metric reads each file into plain values first and compares values then, so that whatever goes wrong while
reading can be blamed on the side the file came from.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from rla_envs.errors import InfrastructureError, InputError

Value = TypeVar("Value")

MAX_FILE_BYTES = 256 * 2**20
"""Largest file that is opened at all."""

MAX_TEXT_BYTES = 32 * 2**20
"""Largest file that is read as text."""


class RejectedResult(Exception):  # noqa: N818 (not an error: the result scores 0)
    """What the agent made is missing or cannot be read as what the task asks for: it scores 0."""


class RejectedExpected(InputError):  # noqa: N818 (as RejectedResult)
    """The reference of a task is missing or unreadable; no score can be given."""


def read_result(reader: Callable[[Path], Value], path: object) -> Value:
    """Read a file the agent made.

    Args:
        reader: Turns the file into plain values; it may raise anything.
        path: Local path as OSWorld's getters give it; None where the desktop had no such file.

    Raises:
        RejectedResult: There is no such file, or ``reader`` cannot make sense of it.
        InfrastructureError: This machine could not read it.
    """
    return _read(reader, path, RejectedResult)


def read_expected(reader: Callable[[Path], Value], path: object) -> Value:
    """Read a reference file; as `read_result`, but an unusable one raises `RejectedExpected`."""
    return _read(reader, path, RejectedExpected)


def read_both(reader: Callable[[Path], Value], result: object, expected: object) -> tuple[Value, Value]:
    """Read the agent's file and the reference; a bad reference shows even without a result."""
    reference = read_expected(reader, expected)
    return read_result(reader, result), reference


def read_text(path: Path) -> str:
    r"""Return a text file with ``\n`` at line ends: UTF-8 or UTF-16 by its mark, else Latin-1."""
    if path.stat().st_size > MAX_TEXT_BYTES:
        raise ValueError(f"a text of more than {MAX_TEXT_BYTES} bytes")
    data = path.read_bytes()
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def result_text(result: object) -> str:
    """Return a result that must be text (a command's output).

    Raises:
        RejectedResult: It is not text.
    """
    if not isinstance(result, str):
        raise RejectedResult(f"expected text, got {type(result).__name__}")
    return result


def rule(rules: object, key: str) -> Any:
    """Return one entry of a metric's rules (OSWorld's ``expected: {"type": "rule", "rules": ...}``).

    Raises:
        InputError: The rules are no object or lack the entry.
    """
    if not isinstance(rules, dict) or key not in rules:
        came = f"keys {sorted(rules)}" if isinstance(rules, dict) else type(rules).__name__
        raise InputError(f"expected rules with {key!r}, got {came}; correct the task's 'expected'")
    return rules[key]


def paths(value: object) -> list[Any]:
    """Return one path or a list of paths as a list."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _read(
    reader: Callable[[Path], Value],
    path: object,
    rejected: type[RejectedResult] | type[RejectedExpected],
) -> Value:
    file = _regular_file(path, rejected)
    try:
        return reader(file)
    except (InputError, InfrastructureError):
        raise
    except Exception as error:
        # A malformed file makes libraries raise nearly anything. The operating system's own failures carry a
        # number (Pillow's "truncated file" is an OSError without one) and say nothing about the file.
        if isinstance(error, OSError) and error.errno is not None:
            raise InfrastructureError(f"cannot read {file}: {error}") from error
        raise rejected(f"{file.name} cannot be read ({type(error).__name__}: {error})") from error


def _regular_file(path: object, rejected: type[RejectedResult] | type[RejectedExpected]) -> Path:
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise rejected(f"expected a file, got {path!r}")
    file = Path(path)
    try:
        status = file.lstat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise rejected(f"there is no file {file.name}") from None
    except OSError as error:
        raise InfrastructureError(f"cannot read {file}: {error}") from error
    if not stat.S_ISREG(status.st_mode):
        raise rejected(f"{file.name} is no regular file (links are not followed)")
    if status.st_size > MAX_FILE_BYTES:
        raise rejected(f"{file.name} has {status.st_size} bytes, more than {MAX_FILE_BYTES}")
    return file
