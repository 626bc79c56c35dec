"""Read one ``game.tw-pddl`` file, and say what is wrong with it and where."""

from __future__ import annotations

import json
import os
import re
import reprlib
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rla_envs.alfworld.game import GameData
from rla_envs.alfworld.native.trees import PddlError
from rla_envs.errors import InputError, InvalidTaskError

MAX_BYTES = 4 * 2**20
"""Largest file that is read: some thirty times the size of the largest real games, of about 130 kB."""

_TEXTS = ("pddl_domain", "grammar", "pddl_problem")


@dataclass(frozen=True)
class GameFile:
    """The contents of a game file.

    Attributes:
        path: Where it was read.
        data: The game itself.
        solvable: What the file says of that; None if it says nothing.
        walkthrough: Commands that are said to win; empty if there are none.
    """

    path: Path
    data: GameData
    solvable: bool | None = None
    walkthrough: tuple[str, ...] = ()


def read_game_file(path: str | os.PathLike[str]) -> GameFile:
    """Read a game file, and check its form; the game in it may still be one that cannot be played.

    Raises:
        InputError: If it cannot be read, is too large, is not JSON or lacks
            something; names the file, the field, and the line where there is one.
    """
    if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
        raise InputError(f"game_file: expected the path of a game.tw-pddl file, got {reprlib.repr(path)}")
    file = Path(path)
    contents = _json(file, _text(file))
    if not isinstance(contents, dict):
        raise _defect(file, f"expected a JSON object, got {type(contents).__name__}")
    for name in _TEXTS:
        if name not in contents:
            raise _defect(file, f"field {name!r} is missing")
        if not isinstance(contents[name], str):
            raise _defect(file, f"field {name!r}: expected text, got {reprlib.repr(contents[name])}")
    return GameFile(
        path=file,
        data=GameData(
            pddl_domain=contents["pddl_domain"],
            grammar=contents["grammar"],
            pddl_problem=contents["pddl_problem"],
        ),
        solvable=_flag(file, contents.get("solvable")),
        walkthrough=_commands(file, contents.get("walkthrough")),
    )


def defect_of(file: GameFile, error: InvalidTaskError) -> InvalidTaskError:
    """Return an error about a game with its file, and with the field and line of what is wrong, if known."""
    where = ""
    if isinstance(error, PddlError) and error.words:
        problem, domain = file.data["pddl_problem"], file.data["pddl_domain"]
        lines = {"pddl_problem": _line(problem, error), "pddl_domain": _line(domain, error)}
        where = next((f"{name}, line {line}: " for name, line in lines.items() if line), "")
    return InvalidTaskError(f"game file {file.path}: {where}{error}")


_COMMENT = re.compile(r";[^\n]*")


def _line(text: str, error: PddlError) -> int | None:
    """Return the number of the line where the words of an error stand, or None if they do not."""
    code = _COMMENT.sub("", text).lower()
    pattern = r"[\s()]+".join(re.escape(word) for word in error.words)
    places = list(re.finditer(rf"(?<![^\s()]){pattern}(?![^\s()])", code))
    if len(places) < error.occurrence:
        return None
    return code.count("\n", 0, places[error.occurrence - 1].start()) + 1


def _defect(file: Path, what: str) -> InputError:
    return InputError(f"game file {file}: {what}")


def _text(file: Path) -> str:
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would block, and a device may never end
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
            raise _defect(file, f"it cannot be read (it is {kind})")
        if status.st_size > MAX_BYTES:
            raise _defect(file, f"expected a game of at most {MAX_BYTES} bytes, got {status.st_size}")
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise _defect(file, "there is no such file") from None
    except OSError as error:
        raise _defect(file, f"it cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise _defect(file, f"byte {error.start}: expected UTF-8 text") from error


def _json(file: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise _defect(
            file, f"line {error.lineno}, column {error.colno}: expected JSON ({error.msg})"
        ) from error
    except (RecursionError, ValueError) as error:  # nested without end, or a number of a million digits
        raise _defect(file, "expected JSON of a few levels, got more than can be read") from error


def _flag(file: Path, value: Any) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise _defect(file, f"field 'solvable': expected true or false, got {reprlib.repr(value)}")
    return value


def _commands(file: Path, value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(command, str) for command in value):
        raise _defect(file, f"field 'walkthrough': expected a list of commands, got {reprlib.repr(value)}")
    return tuple(value)
