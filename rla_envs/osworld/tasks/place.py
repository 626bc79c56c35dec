"""Names of files and commands as a task file writes them, and what they mean on the desktop."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Sequence

from rla_envs.errors import InputError
from rla_envs.osworld.desktop.base import Desktop

HOME = "/home/user"
"""The home on every desktop of OSWorld; its task files name it."""

PASSWORD = "password"
"""What ``{CLIENT_PASSWORD}`` in a command stands for: the password of OSWorld's own virtual machines."""


def absolute(path: str) -> str:
    """Return the absolute path of a file: a relative one, and one from ``~``, begin in the home."""
    if path == "~" or path.startswith("~/"):
        path = path[2:]
    return posixpath.normpath(posixpath.join(HOME, path))


def filled_in(desktop: Desktop, command: str | Sequence[str]) -> str | list[str]:
    """Return a command with the screen's size and the password in place of OSWorld's placeholders."""
    width, height = desktop.screen_size
    values = {
        "{CLIENT_PASSWORD}": PASSWORD,
        "{SCREEN_WIDTH_HALF}": str(width // 2),
        "{SCREEN_HEIGHT_HALF}": str(height // 2),
        "{SCREEN_WIDTH}": str(width),
        "{SCREEN_HEIGHT}": str(height),
    }

    def fill(text: str) -> str:
        for placeholder, value in values.items():
            text = text.replace(placeholder, value)
        return text

    return fill(command) if isinstance(command, str) else [fill(word) for word in command]


def words(command: str | Sequence[str], shell: bool) -> str | list[str]:
    """Return a command as a desktop takes it: a line for the shell, or a program and its arguments.

    As in OSWorld, a line that is not for the shell is split as the shell would,
    and ``~/`` at the start of an argument is the home.

    Raises:
        InputError: If such a line has a quote without its other.
    """
    if shell:
        return command if isinstance(command, str) else list(command)
    try:
        parts = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as cause:
        raise InputError(f"expected a command, got {command!r} ({cause})") from None
    return [absolute(part) if part.startswith("~/") else part for part in parts]
