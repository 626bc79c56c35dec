"""What an engine answers to a command."""

from __future__ import annotations

from typing import NamedTuple


class Reply(NamedTuple):
    """What an engine answers to a command.

    Attributes:
        text: The observation, as the engine wrote it.
        commands: Admissible commands, sorted.
        won: Whether the goal holds.
    """

    text: str
    commands: tuple[str, ...]
    won: bool
