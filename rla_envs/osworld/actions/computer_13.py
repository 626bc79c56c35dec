"""OSWorld's ``computer_13`` actions: JSON objects that name one gesture each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rla_envs.osworld.actions.action import SPECIALS, Action, ActionError, shown, unknown
from rla_envs.osworld.actions.events import Button, Key, Move, Scroll, Text
from rla_envs.osworld.actions.gestures import Gestures

MAX_LENGTH = 65_536
"""Most characters of an action written as text."""

_MOST_CLICKS = 3


@dataclass(frozen=True)
class Kind:
    """One type of action.

    Attributes:
        act: Does it, given the fields that came.
        required: Fields that must be there.
        optional: Fields that may be.
    """

    act: Callable[[Gestures, Mapping[str, Any]], None]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


def parse(action: object, screen_size: tuple[int, int], pointer: tuple[int, int] | None = None) -> Action:
    """Return what an action does.

    Args:
        action: ``{"action_type": "CLICK", "parameters": {"x": 1, "y": 2}}``, or
            the flat form ``{"action_type": "CLICK", "x": 1, "y": 2}``, or
            either as JSON text; ``"WAIT"``, ``"DONE"`` and ``"FAIL"`` alone, too.
        screen_size: Width and height of the screen, in pixels.
        pointer: Where the pointer is, if known: a drag starts there.

    Raises:
        ActionError: If it is not one of :data:`KINDS` with its fields, out of
            range or beyond a bound of :mod:`rla_envs.osworld.actions.gestures`.
    """
    if isinstance(action, str):
        action = _read(action)
    if not isinstance(action, Mapping):
        raise ActionError(f"expected an action as an object with 'action_type', got {shown(action)}")
    name = action.get("action_type")
    if not isinstance(name, str) or name not in KINDS:
        raise unknown("action_type", name, KINDS)
    fields = _fields(action)
    kind = KINDS[name]
    for field in fields:
        if field not in (*kind.required, *kind.optional):
            raise _in(name, unknown("field", field, (*kind.required, *kind.optional)))
    for field in kind.required:
        if field not in fields:
            raise ActionError(f"{name}: expected the field {field!r}, got none")
    gestures = Gestures(screen_size, pointer)
    try:
        kind.act(gestures, fields)
    except ActionError as error:
        raise _in(name, error) from error
    return Action(tuple(gestures.events), name if name in SPECIALS else "")


def _read(text: str) -> object:
    plain = text.strip()
    if plain in SPECIALS:
        return {"action_type": plain}
    if len(plain) > MAX_LENGTH:
        raise ActionError(f"expected a text of at most {MAX_LENGTH} characters, got {len(plain)}")
    try:
        return json.loads(plain)
    except (ValueError, RecursionError) as error:
        raise ActionError(f"expected an action as one JSON object, got {shown(plain)}") from error


def _fields(action: Mapping[str, Any]) -> Mapping[str, Any]:
    flat = {name: value for name, value in action.items() if name not in ("action_type", "parameters")}
    nested = action.get("parameters")
    if nested is None:
        return flat
    if not isinstance(nested, Mapping):
        raise ActionError(f"expected 'parameters' as an object, got {shown(nested)}")
    if flat:
        raise ActionError(
            f"expected every field inside 'parameters', got {shown(next(iter(flat)))} beside it"
        )
    return nested


def _in(name: str, error: ActionError) -> ActionError:
    return ActionError(f"{name}: {error}")


def _place(hand: Gestures, fields: Mapping[str, Any]) -> None:
    if ("x" in fields) != ("y" in fields):
        raise ActionError("expected both 'x' and 'y', or none of them")
    hand.move_to(fields.get("x"), fields.get("y"))


def _click(hand: Gestures, fields: Mapping[str, Any]) -> None:
    clicks = fields.get("num_clicks", 1)
    if isinstance(clicks, int) and clicks > _MOST_CLICKS:
        raise ActionError(f"expected 'num_clicks' from 1 to {_MOST_CLICKS}, got {shown(clicks)}")
    _place(hand, fields)
    hand.click(fields.get("button", "left"), clicks)


def _right_click(hand: Gestures, fields: Mapping[str, Any]) -> None:
    _place(hand, fields)
    hand.click("right")


def _double_click(hand: Gestures, fields: Mapping[str, Any]) -> None:
    _place(hand, fields)
    hand.click("left", 2)


def _scroll(hand: Gestures, fields: Mapping[str, Any]) -> None:
    hand.scroll(fields.get("dx", 0), fields.get("dy", 0))


def _nothing(hand: Gestures, fields: Mapping[str, Any]) -> None:
    """Do nothing: what the action means is up to the environment."""


KINDS: dict[str, Kind] = {
    "MOVE_TO": Kind(_place, ("x", "y")),
    "CLICK": Kind(_click, (), ("button", "x", "y", "num_clicks")),
    "MOUSE_DOWN": Kind(lambda hand, fields: hand.button(fields.get("button", "left"), True), (), ("button",)),
    "MOUSE_UP": Kind(lambda hand, fields: hand.button(fields.get("button", "left"), False), (), ("button",)),
    "RIGHT_CLICK": Kind(_right_click, (), ("x", "y")),
    "DOUBLE_CLICK": Kind(_double_click, (), ("x", "y")),
    "DRAG_TO": Kind(lambda hand, fields: hand.drag_to(fields["x"], fields["y"]), ("x", "y")),
    "SCROLL": Kind(_scroll, (), ("dx", "dy")),
    "TYPING": Kind(lambda hand, fields: hand.type(fields["text"]), ("text",)),
    "PRESS": Kind(lambda hand, fields: hand.press(fields["key"]), ("key",)),
    "KEY_DOWN": Kind(lambda hand, fields: hand.key(fields["key"], True), ("key",)),
    "KEY_UP": Kind(lambda hand, fields: hand.key(fields["key"], False), ("key",)),
    "HOTKEY": Kind(lambda hand, fields: hand.hotkey(fields["keys"]), ("keys",)),
    **{name: Kind(_nothing) for name in SPECIALS},
}
"""OSWorld's action types (``desktop_env/actions.py``), 13 and the three special ones."""


def from_action(action: Action) -> list[dict[str, Any]]:
    """Return objects that do what an action does, one for each movement, tap, text or turn of the wheel.

    Pauses are left out: the desktop is waited for after every object.
    """
    objects: list[dict[str, Any]] = []
    for event in action.events:
        match event:
            case Move(x, y):
                objects.append({"action_type": "MOVE_TO", "x": x, "y": y})
            case Button(button, down):
                objects.append({"action_type": "MOUSE_DOWN" if down else "MOUSE_UP", "button": button})
            case Scroll(dx, dy):
                objects.append({"action_type": "SCROLL", "dx": dx, "dy": dy})
            case Key(key, down):
                objects.append({"action_type": "KEY_DOWN" if down else "KEY_UP", "key": key})
            case Text(text):
                objects.append({"action_type": "TYPING", "text": text})
        _join(objects)
    if action.special:
        objects.append({"action_type": action.special})
    return objects


def _join(objects: list[dict[str, Any]]) -> None:
    """Make one object of a key that is pressed and released, alone or around others that are."""
    if len(objects) >= 2 and _around(objects[-2], objects[-1]):
        objects[-2:] = [{"action_type": "PRESS", "key": objects[-1]["key"]}]
    elif len(objects) >= 3 and _around(objects[-3], objects[-1]):
        inner = objects[-2]
        keys = {"PRESS": [inner.get("key")], "HOTKEY": inner.get("keys")}.get(inner["action_type"])
        if keys is not None:
            objects[-3:] = [{"action_type": "HOTKEY", "keys": [objects[-1]["key"], *keys]}]


def _around(first: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
    kinds = (first["action_type"], last["action_type"])
    return kinds == ("KEY_DOWN", "KEY_UP") and first["key"] == last["key"]
