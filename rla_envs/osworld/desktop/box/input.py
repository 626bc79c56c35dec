"""Carries out what a person does at the desktop: the pointer, the wheel and the keys."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from Xlib import X
from Xlib.ext import xtest

from .applications import Applications
from .key_names import KEYSYMS, char_keysym, key_keysym, unknown_key
from .keyboard import Keyboard, Stroke

_BUTTONS = {"left": 1, "middle": 2, "right": 3}
_WHEEL_UP, _WHEEL_DOWN, _WHEEL_LEFT, _WHEEL_RIGHT = 4, 5, 6, 7
_MAX_WHEEL_CLICKS = 10_000
_MAX_PAUSE_SECONDS = 60.0
_PRESS_MILLISECONDS = 1
"""How long a key or button stays down: the server's clock must tell its release from its press."""

_ANSWER_SECONDS = 2.0
"""Longest wait for an application to read keys before a spare key is given to another character."""

_DOUBLE_CLICK_SECONDS = 0.5
_DOUBLE_CLICK_PIXELS = 5
"""Presses nearer than these are one double click to applications (GTK: 0.4 s and 5 pixels; xterm: 0.25 s)."""

_CONTROL_KEYS = {char: KEYSYMS[char] for char in "\n\r\t"}


class Input:
    """The pointer and the keyboard.

    Args:
        display: Connection to the X server (an ``Xlib.display.Display``), for this object alone.
    """

    def __init__(self, display: Any) -> None:
        """Turn off the repetition of held keys, which depends on how fast a machine is."""
        self._display = display
        self._applications = Applications(display.get_display_name())
        self._keyboard = Keyboard(display)
        self._down: dict[str, int] = {}
        self._last_press = (0.0, 0, 0)
        xtest.grab_control(display, True)
        display.change_keyboard_control(auto_repeat_mode=X.AutoRepeatModeOff)
        display.sync()

    def perform(self, events: Sequence[Mapping[str, Any]]) -> str:
        """Carry out events in order: all of them, or none if one cannot be.

        Each release comes later than its press by the server's clock. A text
        is typed exactly, also while Shift or Caps Lock is on; Ctrl and Alt held
        down stay so. A press in the same place as the last call's does not
        become a double click with it.

        Args:
            events: As :func:`rla_envs.osworld.actions.events.to_json` writes them.

        Returns:
            Why nothing was done, in one line; empty if all was done.
        """
        for event in events:
            problem = self._problem(event)
            if problem:
                return problem
        self._applications.events(0.0)  # nobody waits for them; kept unread they would pile up
        self._keyboard.read()
        is_first_press = True
        for event in events:
            if event["type"] == "button" and event["down"]:
                self._press_apart(may_join=not is_first_press)
                is_first_press = False
            getattr(self, f"_do_{event['type']}")(event)
        self._display.sync()
        return ""

    def close(self) -> None:
        """Release what is held and give the spare keys back."""
        for keycode in self._down.values():
            self._fake(X.KeyRelease, keycode)
        self._down.clear()
        self._keyboard.restore()
        self._applications.close()

    def _problem(self, event: Mapping[str, Any]) -> str:
        """Return why an event cannot be carried out; empty if it can."""
        kind = event.get("type")
        if kind == "move":
            screen = self._display.screen()
            width, height = screen.width_in_pixels, screen.height_in_pixels
            if not (0 <= event["x"] < width and 0 <= event["y"] < height):
                place = f"({event['x']}, {event['y']})"
                return f"{place} is off the screen: x is 0 to {width - 1}, y 0 to {height - 1}"
        elif kind == "button":
            if event["button"] not in _BUTTONS:
                return f"unknown button {event['button']!r}: expected one of {', '.join(_BUTTONS)}"
        elif kind == "scroll":
            if max(abs(event["dx"]), abs(event["dy"])) > _MAX_WHEEL_CLICKS:
                return f"cannot scroll by ({event['dx']}, {event['dy']}): at most {_MAX_WHEEL_CLICKS} clicks"
        elif kind == "key":
            if key_keysym(event["key"]) is None:
                return unknown_key(event["key"])
        elif kind == "text":
            return _text_problem(event["text"])
        elif kind == "pause":
            if not 0 <= event["seconds"] <= _MAX_PAUSE_SECONDS:
                return f"cannot pause for {event['seconds']} s: expected 0 to {_MAX_PAUSE_SECONDS:g}"
        else:
            return f"unknown event {kind!r}: expected move, button, scroll, key, text or pause"
        return ""

    def _do_move(self, event: Mapping[str, Any]) -> None:
        self._fake(X.MotionNotify, x=event["x"], y=event["y"])

    def _do_button(self, event: Mapping[str, Any]) -> None:
        kind = X.ButtonPress if event["down"] else X.ButtonRelease
        self._fake(kind, _BUTTONS[event["button"]], delay=0 if event["down"] else _PRESS_MILLISECONDS)

    def _do_scroll(self, event: Mapping[str, Any]) -> None:
        for clicks, back, forth in (
            (event["dy"], _WHEEL_DOWN, _WHEEL_UP),
            (event["dx"], _WHEEL_LEFT, _WHEEL_RIGHT),
        ):
            for _ in range(abs(clicks)):
                button = forth if clicks > 0 else back
                self._fake(X.ButtonPress, button)
                self._fake(X.ButtonRelease, button)

    def _do_pause(self, event: Mapping[str, Any]) -> None:
        self._display.sync()
        time.sleep(event["seconds"])

    def _do_key(self, event: Mapping[str, Any]) -> None:
        key = event["key"] if len(event["key"]) == 1 else event["key"].lower()
        if not event["down"]:
            keycode = self._down.pop(key, None)
            if keycode is not None:
                self._keyboard.held.discard(keycode)
                self._fake(X.KeyRelease, keycode, delay=_PRESS_MILLISECONDS)
        elif key not in self._down:
            keysym = key_keysym(key)
            assert keysym is not None, "checked by _problem"
            stroke = self._keyboard.find_alone(keysym, self._await_applications)
            shifts = self._keyboard.shift_keycodes
            needs_shift = stroke.shift and not any(keycode in shifts for keycode in self._down.values())
            if needs_shift:
                self._fake(X.KeyPress, shifts[0])
            self._fake(X.KeyPress, stroke.keycode)
            if needs_shift:
                self._fake(X.KeyRelease, shifts[0], delay=_PRESS_MILLISECONDS)
            self._down[key] = stroke.keycode
            self._keyboard.held.add(stroke.keycode)

    def _do_text(self, event: Mapping[str, Any]) -> None:
        keysyms = [_text_keysym(char) for char in event["text"]]
        held_shifts = [k for k in self._down.values() if k in self._keyboard.shift_keycodes]
        lock = self._keyboard.lock_keycodes[0] if self._keyboard.state & X.LockMask else None
        for keycode in held_shifts:
            self._fake(X.KeyRelease, keycode, delay=_PRESS_MILLISECONDS)
        if lock is not None:
            self._tap(Stroke(lock))
        while keysyms:
            count = self._keyboard.prepare(keysyms, self._await_applications)
            self._type(keysyms[:count])
            keysyms = keysyms[count:]
        if lock is not None:
            self._tap(Stroke(lock))
        for keycode in held_shifts:
            self._fake(X.KeyPress, keycode)

    def _type(self, keysyms: Sequence[int]) -> None:
        """Type symbols that keys are ready for, with Shift held through runs of those that need it."""
        shift = self._keyboard.shift_keycodes[0]
        is_shifted = False
        for keysym in keysyms:
            stroke = self._keyboard.find(keysym)
            assert stroke is not None, "prepared by the caller"
            if stroke.shift != is_shifted:
                self._fake(X.KeyPress if stroke.shift else X.KeyRelease, shift)
                is_shifted = stroke.shift
            self._tap(stroke)
        if is_shifted:
            self._fake(X.KeyRelease, shift)

    def _tap(self, stroke: Stroke) -> None:
        self._fake(X.KeyPress, stroke.keycode)
        self._fake(X.KeyRelease, stroke.keycode, delay=_PRESS_MILLISECONDS)

    def _fake(self, kind: int, detail: int = 0, delay: int = 0, x: int = 0, y: int = 0) -> None:
        """Have the server make an event, ``delay`` milliseconds after the one before."""
        xtest.fake_input(self._display, kind, detail, time=delay, x=x, y=y)

    def _await_applications(self) -> None:
        """Wait until the applications have looked up the keys that they were sent."""
        self._display.sync()
        self._applications.wait(_ANSWER_SECONDS)

    def _press_apart(self, may_join: bool) -> None:
        """Let the time of a double click pass if this press would join the last call's."""
        pointer = self._display.screen().root.query_pointer()
        then, x, y = self._last_press
        is_near = max(abs(pointer.root_x - x), abs(pointer.root_y - y)) <= _DOUBLE_CLICK_PIXELS
        if is_near and not may_join:
            time.sleep(max(0.0, then + _DOUBLE_CLICK_SECONDS - time.monotonic()))
        self._last_press = (time.monotonic(), pointer.root_x, pointer.root_y)


def _text_keysym(char: str) -> int:
    keysym = _CONTROL_KEYS.get(char) or char_keysym(char)
    assert keysym is not None, "checked by _problem"
    return keysym


def _text_problem(text: str) -> str:
    for char in text:
        if char not in _CONTROL_KEYS and char_keysym(char) is None:
            return f"cannot type the character U+{ord(char):04X}: no key can stand for it"
    return ""
