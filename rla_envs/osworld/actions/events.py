"""What a person does at a desktop: move, press, type, wait. Every kind of action becomes a list of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

BUTTONS = ("left", "middle", "right")
"""Names of the pointer's buttons."""


@dataclass(frozen=True)
class Move:
    """Move the pointer to a pixel, counted from the top left corner of the screen."""

    x: int
    y: int


@dataclass(frozen=True)
class Button:
    """Press (``down``) or release a button of the pointer, one of :data:`BUTTONS`."""

    button: str
    down: bool


@dataclass(frozen=True)
class Scroll:
    """Turn the wheel: clicks to the right (``dx``) and up (``dy``); negative ones go left and down."""

    dx: int
    dy: int


@dataclass(frozen=True)
class Key:
    """Press (``down``) or release a key, by its pyautogui name (``"ctrl"``, ``"a"``, ``"f5"``)."""

    key: str
    down: bool


@dataclass(frozen=True)
class Text:
    """Type a text exactly: any Unicode character, in whatever keyboard layout is in force.

    A line feed is the Enter key and a tab the Tab key.
    """

    text: str


@dataclass(frozen=True)
class Pause:
    """Wait before the next event, from 0 to 60 seconds; time in which the desktop goes on."""

    seconds: float


Event: TypeAlias = Move | Button | Scroll | Key | Text | Pause


def to_json(event: Event) -> dict[str, object]:
    """Return an event as JSON: ``{"type": "move", "x": 1, "y": 2}``."""
    return {"type": type(event).__name__.lower(), **vars(event)}
