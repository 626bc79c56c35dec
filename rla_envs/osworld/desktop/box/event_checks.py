"""Whether an event can be carried out at all, said before anything is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .key_names import TEXT_KEYS, char_keysym, key_keysym, unknown_key

BUTTONS = {"left": 1, "middle": 2, "right": 3}
"""The pointer's buttons by name, and their numbers in X."""

_MAX_WHEEL_CLICKS = 10_000
_MAX_PAUSE_SECONDS = 60

_FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    "move": {"x": (int,), "y": (int,)},
    "button": {"button": (str,), "down": (bool,)},
    "scroll": {"dx": (int,), "dy": (int,)},
    "key": {"key": (str,), "down": (bool,)},
    "text": {"text": (str,)},
    "pause": {"seconds": (int, float)},
}


def find_problem(event: object, width: int, height: int) -> str:
    """Return why an event cannot be carried out, in one line; empty if it can.

    Args:
        event: As :func:`rla_envs.osworld.actions.events.to_json` writes it, if it is right.
        width: Width of the screen in pixels.
        height: Height of the screen in pixels.
    """
    if not isinstance(event, Mapping) or event.get("type") not in _FIELDS:
        return f"unknown event {event!r:.100}: expected a type of {', '.join(_FIELDS)}"
    for name, types in _FIELDS[event["type"]].items():
        if not isinstance(event.get(name), types):
            return f"{event['type']}: expected {name} as {types[0].__name__}, got {event.get(name)!r:.100}"
    return _problem_of(event, width, height)


def _problem_of(event: Mapping[str, Any], width: int, height: int) -> str:
    problem = ""
    match event["type"]:
        case "move" if not (0 <= event["x"] < width and 0 <= event["y"] < height):
            place = f"({event['x']}, {event['y']})"
            problem = f"{place} is off the screen: x is 0 to {width - 1}, y 0 to {height - 1}"
        case "button" if event["button"] not in BUTTONS:
            problem = f"unknown button {event['button']!r:.100}: expected one of {', '.join(BUTTONS)}"
        case "scroll" if max(abs(event["dx"]), abs(event["dy"])) > _MAX_WHEEL_CLICKS:
            problem = f"cannot scroll by ({event['dx']}, {event['dy']}): at most {_MAX_WHEEL_CLICKS} clicks"
        case "key" if key_keysym(event["key"]) is None:
            problem = unknown_key(event["key"])
        case "text":
            problem = _text_problem(event["text"])
        case "pause" if not 0 <= event["seconds"] <= _MAX_PAUSE_SECONDS:
            problem = f"cannot pause for {event['seconds']} s: expected 0 to {_MAX_PAUSE_SECONDS}"
    return problem


def _text_problem(text: str) -> str:
    for char in text:
        if char not in TEXT_KEYS and char_keysym(char) is None:
            return f"cannot type the character U+{ord(char):04X}: no key stands for it"
    return ""
