"""Carries out what a person does at the desktop: the pointer, the wheel and the keys."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from Xlib import X
from Xlib.ext import xtest

from .applications import Applications
from .event_checks import BUTTONS, find_problem
from .key_names import KEYSYMS, TEXT_KEYS, char_keysym, key_keysym
from .keyboard import Keyboard, NoSpareKeyError, Stroke

_WHEEL_UP, _WHEEL_DOWN, _WHEEL_LEFT, _WHEEL_RIGHT = 4, 5, 6, 7
_PRESS_MILLISECONDS = 1
"""How long a key or button stays down: the server's clock must tell its release from its press."""

_HANDLED_SECONDS = 1.0
"""Longest wait for an application to handle a key that moves something, before the next key.

LibreOffice moves by a message to itself, which text that follows at once overtakes.
"""

_ANSWER_SECONDS = 2.0
"""Longest wait for an application to read keys before a spare key is given to another character."""

_LONGEST_SECONDS = 60.0
"""Longest time that one call may take besides its pauses; half of what the host waits for an answer.

An agent that asks for more must be told so: were its desktop lost, it would not be scored.
"""
_LOOK_CHARACTERS = 16
"""Characters after which the server, which takes them more slowly than they are sent, is waited for."""

_DOUBLE_CLICK_SECONDS = 0.5
_DOUBLE_CLICK_PIXELS = 5
"""Presses nearer than these are one double click to applications (GTK: 0.4 s and 5 pixels; xterm: 0.25 s)."""


class OutOfTimeError(Exception):
    """A call took too long; the message says what was left out."""


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
        self._is_moving = False
        self._deadline = math.inf
        xtest.grab_control(display, True)
        display.change_keyboard_control(auto_repeat_mode=X.AutoRepeatModeOff)
        display.sync()

    def perform(self, events: Sequence[Mapping[str, Any]]) -> str:
        """Carry out events in order: all of them, or none if one of them makes no sense.

        What takes more than a minute besides its pauses is left unfinished.
        Keys and buttons that the events release are released in any case.

        Each release comes later than its press by the server's clock. A text
        is typed exactly, also while Shift or Caps Lock is on; Ctrl and Alt held
        down stay so. A press in the same place as the last call's does not
        become a double click with it.

        Args:
            events: As :func:`rla_envs.osworld.actions.events.to_json` writes them.

        Returns:
            Why an event was not carried out, in one line; empty if all were.
        """
        screen, problem = self._display.screen(), ""
        for event in events:
            problem = find_problem(event, screen.width_in_pixels, screen.height_in_pixels)
            if problem:
                return problem
        self._applications.events(0.0)  # nobody waits for them; kept unread they would pile up
        self._keyboard.read()
        pauses = sum(event["seconds"] for event in events if event["type"] == "pause")
        self._deadline = time.monotonic() + pauses + _LONGEST_SECONDS
        is_first_press = True
        for number, event in enumerate(events):
            if event["type"] == "button" and event["down"]:
                self._press_apart(may_join=not is_first_press)
                is_first_press = False
            try:
                self._check_time("")
                getattr(self, f"_do_{event['type']}")(event)
            except NoSpareKeyError:
                what = event[event["type"]]
                problem = f"cannot type {what!r:.100}: the layout leaves no key free for what is not on it"
            except OutOfTimeError as late:
                problem = f"took longer than {_LONGEST_SECONDS:g} s and was left unfinished{late}"
            if problem:
                for rest in events[number:]:
                    if rest.get("down") is False:
                        getattr(self, f"_do_{rest['type']}")(rest)
                break
        self._display.sync()
        return problem

    def close(self) -> None:
        """Release what is held and give the spare keys back."""
        for keycode in self._down.values():
            self._fake(X.KeyRelease, keycode)
        self._down.clear()
        self._keyboard.restore()
        self._applications.close()

    def _do_move(self, event: Mapping[str, Any]) -> None:
        self._fake(X.MotionNotify, x=event["x"], y=event["y"])

    def _do_button(self, event: Mapping[str, Any]) -> None:
        kind = X.ButtonPress if event["down"] else X.ButtonRelease
        self._fake(kind, BUTTONS[event["button"]], delay=0 if event["down"] else _PRESS_MILLISECONDS)

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
            assert keysym is not None, "checked by find_problem"
            stroke = self._keyboard.find_alone(keysym, self._await_applications)
            shifts = self._keyboard.shift_keycodes
            needs_shift = stroke.shift and not any(keycode in shifts for keycode in self._down.values())
            if needs_shift:
                self._fake(X.KeyPress, shifts[0])
            self._finish_moving()
            self._fake(X.KeyPress, stroke.keycode)
            self._is_moving = keysym in _MOVING_KEYSYMS
            if needs_shift:
                self._fake(X.KeyRelease, shifts[0], delay=_PRESS_MILLISECONDS)
            self._down[key] = stroke.keycode
            self._keyboard.held.add(stroke.keycode)

    def _do_text(self, event: Mapping[str, Any]) -> None:
        keysyms = [_text_keysym(char) for char in event["text"]]
        self._keyboard.read()  # the events before may have changed it
        held_shifts = [k for k in self._down.values() if k in self._keyboard.shift_keycodes]
        lock = None
        if self._keyboard.state & X.LockMask:
            lock = self._keyboard.find_alone(KEYSYMS["capslock"], self._await_applications)
        for keycode in held_shifts:
            self._fake(X.KeyRelease, keycode, delay=_PRESS_MILLISECONDS)
        if lock is not None:
            self._tap(lock)
        done = 0
        try:
            while done < len(keysyms):
                count = self._keyboard.prepare(keysyms[done:], self._await_applications)
                ready = done + count
                while done < ready:
                    self._check_time(f": {done} of {len(keysyms)} characters were typed")
                    part = keysyms[done : min(done + _LOOK_CHARACTERS, ready)]
                    self._type(part)
                    self._display.sync()
                    done += len(part)
        finally:
            if lock is not None:
                self._tap(lock)
            for keycode in held_shifts:
                self._fake(X.KeyPress, keycode)

    def _check_time(self, left_out: str) -> None:
        if time.monotonic() > self._deadline:
            raise OutOfTimeError(left_out)

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
            self._finish_moving()
            self._tap(stroke)
            self._is_moving = keysym in _MOVING_KEYSYMS
        if is_shifted:
            self._fake(X.KeyRelease, shift)

    def _tap(self, stroke: Stroke) -> None:
        self._fake(X.KeyPress, stroke.keycode)
        self._fake(X.KeyRelease, stroke.keycode, delay=_PRESS_MILLISECONDS)

    def _fake(self, kind: int, detail: int = 0, delay: int = 0, x: int = 0, y: int = 0) -> None:
        """Have the server make an event, ``delay`` milliseconds after the one before."""
        xtest.fake_input(self._display, kind, detail, time=delay, x=x, y=y)

    def _finish_moving(self) -> None:
        """If the last key moved something, have the application do so before another key comes."""
        if self._is_moving:
            self._is_moving = False
            self._display.sync()
            self._applications.wait_until_idle(_HANDLED_SECONDS)

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


_MOVING_KEYSYMS = frozenset(
    KEYSYMS[name]
    for name in ("enter", "tab", "escape", "up", "down", "left", "right", "home", "end", "pageup", "pagedown")
) | frozenset(TEXT_KEYS.values())
"""Keys that move the cursor or the focus and write nothing."""


def _text_keysym(char: str) -> int:
    keysym = TEXT_KEYS.get(char) or char_keysym(char)
    assert keysym is not None, "checked by find_problem"
    return keysym
