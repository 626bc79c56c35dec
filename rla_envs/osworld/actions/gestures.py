"""Turn what a hand does (a double click, a drag, a shortcut) into single events, within bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rla_envs.osworld.actions.action import ActionError, is_number, shown, unknown
from rla_envs.osworld.actions.events import BUTTONS, Button, Event, Key, Move, Pause, Scroll, Text
from rla_envs.osworld.actions.keys import key_name, typable

MAX_EVENTS = 2000
"""Most events of one action."""
MAX_TYPED = 10_000
"""Most characters that one action types."""
MAX_PAUSE = 60.0
"""Longest time that one action may wait in all, in seconds."""
MAX_SCROLL = 1000
"""Most clicks of the wheel in one gesture."""

_DRAG_STEPS = 8
_DRAG_PAUSE = 0.02
# A program takes a press for a drag only after some motion, and asks the target before it accepts a drop.
_DROP_PAUSE = 0.1


class Gestures:
    """Collects the events of one action.

    Places are pixels of the screen, counted from its top left corner, from
    (0, 0) to (width - 1, height - 1). A fraction is rounded to the nearest
    pixel, halves up. Every other place is an error: nothing is clamped, so a
    model that counts in other units hears of it.

    Args:
        screen_size: Width and height in pixels.
        pointer: Where the pointer is, if known; relative movements start there.

    Attributes:
        events: The events so far.

    Every method raises :class:`ActionError` on a value that means nothing or
    goes beyond a bound.
    """

    def __init__(self, screen_size: tuple[int, int], pointer: tuple[int, int] | None = None) -> None:
        """Start with no events; see the class for the arguments."""
        self.events: list[Event] = []
        self._screen_size = screen_size
        self._pointer = pointer
        self._paused = 0.0
        self._typed = 0

    def move_to(self, x: object = None, y: object = None) -> None:
        """Move the pointer to a place; a coordinate that is None stays as it is."""
        if x is not None or y is not None:
            self._move(*self._place(x, y))

    def move_by(self, dx: object, dy: object) -> None:
        """Move the pointer by so many pixels, right and down."""
        x, y = self._here()
        self.move_to(x + _number("the x offset", dx), y + _number("the y offset", dy))

    def click(self, button: object = "left", clicks: object = 1, interval: object = 0.0) -> None:
        """Click where the pointer is, so many times, ``interval`` seconds apart."""
        name, count, gap = _button(button), _count("clicks", clicks), _seconds("interval", interval)
        for number in range(count):
            if number:
                self.pause(gap)
            self.button(name, True)
            self.button(name, False)

    def button(self, button: object, down: bool) -> None:
        """Press or release a button."""
        self._add(Button(_button(button), down))

    def drag_to(self, x: object, y: object, button: object = "left") -> None:
        """Press a button, move to a place in steps, and release it there."""
        start, (end_x, end_y) = self._pointer, self._place(x, y)
        self.button(button, True)
        if start is not None:
            for step in range(1, _DRAG_STEPS):
                self._move(
                    start[0] + (end_x - start[0]) * step // _DRAG_STEPS,
                    start[1] + (end_y - start[1]) * step // _DRAG_STEPS,
                )
                self.pause(_DRAG_PAUSE)
        self._move(end_x, end_y)
        self.pause(_DROP_PAUSE)
        self.button(button, False)

    def drag_by(self, dx: object, dy: object, button: object = "left") -> None:
        """Drag by so many pixels, right and down."""
        x, y = self._here()
        self.drag_to(x + _number("the x offset", dx), y + _number("the y offset", dy), button)

    def scroll(self, dx: object = 0, dy: object = 0) -> None:
        """Turn the wheel: whole clicks to the right and up."""
        clicks = [_number("the clicks of the wheel", value) for value in (dx, dy)]
        for value in clicks:
            if abs(value) > MAX_SCROLL or value != int(value):
                raise ActionError(
                    f"expected a whole number of wheel clicks from -{MAX_SCROLL} to {MAX_SCROLL}, got "
                    f"{shown(value)}"
                )
        if any(clicks):
            self._add(Scroll(int(clicks[0]), int(clicks[1])))

    def key(self, key: object, down: bool) -> None:
        """Press or release a key."""
        self._add(Key(key_name(key), down))

    def press(self, keys: object, presses: object = 1, interval: object = 0.0) -> None:
        """Tap a key, or several one after the other, so many times, ``interval`` seconds apart."""
        names, count, gap = _keys(keys), _count("presses", presses), _seconds("interval", interval)
        for number in range(count):
            if number:
                self.pause(gap)
            for name in names:
                self.key(name, True)
                self.key(name, False)

    def hotkey(self, keys: object, interval: object = 0.0) -> None:
        """Press keys in order and release them in the opposite order."""
        names, gap = _keys(keys), _seconds("interval", interval)
        for name in names:
            self.key(name, True)
            self.pause(gap)
        for name in reversed(names):
            self.key(name, False)
            self.pause(gap)

    def type(self, text: object) -> None:
        """Type a text."""
        plain = typable(text)
        self._typed += len(plain)
        if self._typed > MAX_TYPED:
            raise ActionError(f"expected at most {MAX_TYPED} characters to type in one action, got more")
        if plain:
            self._add(Text(plain))

    def pause(self, seconds: object) -> None:
        """Wait so many seconds."""
        wait = _seconds("a pause", seconds)
        self._paused += wait
        if self._paused > MAX_PAUSE:
            raise ActionError(f"expected pauses of at most {MAX_PAUSE:g} seconds in one action, got more")
        if wait:
            self._add(Pause(wait))

    def _here(self) -> tuple[int, int]:
        if self._pointer is None:
            raise ActionError("a movement from where the pointer is needs a place first; name x and y")
        return self._pointer

    def _place(self, x: object, y: object) -> tuple[int, int]:
        old_x, old_y = self._here() if x is None or y is None else (0, 0)
        width, height = self._screen_size
        return _pixel("x", old_x if x is None else x, width), _pixel("y", old_y if y is None else y, height)

    def _move(self, x: int, y: int) -> None:
        self._pointer = (x, y)
        self._add(Move(x, y))

    def _add(self, event: Event) -> None:
        if len(self.events) >= MAX_EVENTS:
            raise ActionError(f"expected at most {MAX_EVENTS} events in one action, got more")
        self.events.append(event)


def _pixel(name: str, value: object, size: int) -> int:
    number = value if is_number(value) else math.nan
    # Compared before it is rounded: a huge number stays cheap.
    if isinstance(number, int | float) and -1 < number < size:
        pixel = math.floor(number + 0.5)
        if 0 <= pixel < size:
            return pixel
    raise ActionError(f"expected {name} from 0 to {size - 1} (pixels of the screen), got {shown(value)}")


def _number(what: str, value: object) -> int | float:
    if not isinstance(value, int | float) or not is_number(value):
        raise ActionError(f"expected a number for {what}, got {shown(value)}")
    return value


def _seconds(what: str, value: object) -> float:
    number = _number(f"{what} in seconds", value)
    if not 0 <= number <= MAX_PAUSE:
        raise ActionError(f"expected {what} from 0 to {MAX_PAUSE:g} seconds, got {shown(value)}")
    return float(number)


def _count(what: str, value: object) -> int:
    number = _number(what, value)
    if number != int(number) or not 1 <= number <= MAX_EVENTS:
        raise ActionError(f"expected {what} as a whole number from 1 to {MAX_EVENTS}, got {shown(value)}")
    return int(number)


def _button(value: object) -> str:
    aliases = {"primary": "left", "secondary": "right", 1: "left", 2: "middle", 3: "right"}
    name = value.lower() if isinstance(value, str) else value
    if isinstance(name, str | int) and not isinstance(name, bool):
        name = aliases.get(name, name)
    if name not in BUTTONS:
        raise unknown("button", value, BUTTONS)
    return str(name)


def _keys(value: object) -> list[str]:
    if isinstance(value, str):
        return [key_name(value)]
    if not isinstance(value, Sequence) or not value:
        raise ActionError(f"expected the name of a key or a list of them, got {shown(value)}")
    return [key_name(item) for item in value]
