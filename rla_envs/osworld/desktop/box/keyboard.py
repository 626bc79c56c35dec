"""Which key gives which character, in whatever layout is in force; characters beyond it get a spare key."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from Xlib import X

from .key_names import char_keysym

_FIRST_KEYCODE = 8
_FUNCTION_KEYSYMS = range(0xFD00, 0x10000)
"""Symbols of keys that give no character of their own: arrows, modifiers, the keypad."""

_ALT_R, _ALT_GR = 0xFFEA, 0xFE03
"""Symbols of the right Alt key, in layouts without and with a third level."""

_GROUP_SHIFT = 13
"""Place of the layout group in an X modifier state (XKB protocol, section 2.2.2)."""


class NoSpareKeyError(Exception):
    """A symbol is on no key, and the layout leaves no key empty that could take it."""


@dataclass(frozen=True)
class Stroke:
    """The key to press for a symbol, and whether Shift has to be held meanwhile."""

    keycode: int
    shift: bool = False


class Keyboard:
    """The keyboard's current layout, and spare keys for what is not on it.

    Only keys that the layout leaves empty are ever bound to symbols, and they
    stay bound after use: an application looks a key up when it handles the
    event, so that unbinding a key at once would change what was typed. The
    layout itself, and what ``setxkbmap -query`` says of it, are not touched. A
    layout that is set later may empty the spare keys again; that is noticed,
    since the layout is read again before every use.

    Args:
        display: Connection to the X server (an ``Xlib.display.Display``).
    """

    def __init__(self, display: Any) -> None:
        """Read the layout in force."""
        self._display = display
        self._bound: OrderedDict[int, tuple[int, int]] = OrderedDict()  # the one unused for longest first
        self._layout: dict[int, Stroke] = {}
        self._spare: list[int] = []
        self.held: set[int] = set()
        self.state = 0
        self.read()

    def read(self) -> None:
        """Read the layout, its group and the state of the modifiers as they are now."""
        while self._display.pending_events():  # notices of changes; the changes themselves are read below
            self._display.next_event()
        last = self._display.display.info.max_keycode
        rows = self._display.get_keyboard_mapping(_FIRST_KEYCODE, last - _FIRST_KEYCODE + 1)
        symbols = {_FIRST_KEYCODE + i: tuple(row) for i, row in enumerate(rows)}
        modifiers = [list(keycodes) for keycodes in self._display.get_modifier_mapping()]
        self.state = self._display.screen().root.query_pointer().mask
        self.shift_keycodes = [keycode for keycode in modifiers[X.ShiftMapIndex] if keycode]
        in_use = {keycode for keycodes in modifiers for keycode in keycodes}
        for keycode, pair in list(self._bound.items()):
            if symbols[keycode][:2] != pair:
                del self._bound[keycode]
        self._spare = [
            k for k, row in symbols.items() if k not in in_use and (k in self._bound or not any(row))
        ]
        self._layout = _strokes(symbols, self.state >> _GROUP_SHIFT & 3, set(self._bound))

    def find(self, keysym: int) -> Stroke | None:
        """Return the stroke that gives a symbol as things are; None if no key does."""
        stroke = self._layout.get(keysym)
        if stroke is None:
            for keycode, pair in self._bound.items():
                if keysym in pair:
                    self._bound.move_to_end(keycode)
                    return Stroke(keycode, shift=pair[0] != keysym)
        return stroke

    def find_alone(self, keysym: int, before_reuse: Callable[[], None]) -> Stroke:
        """Return a stroke for a key that is pressed by name, where Shift would change the meaning.

        Args:
            keysym: The symbol.
            before_reuse: Called before a spare key that may have been pressed gets another symbol.
        """
        stroke = self._layout.get(keysym)
        if stroke is None:
            for keycode, pair in self._bound.items():
                if pair == (keysym, keysym):
                    self._bound.move_to_end(keycode)
                    return Stroke(keycode)
            self._bind([(keysym, keysym)], set(), before_reuse)
            stroke = Stroke(next(reversed(self._bound)))
        return stroke

    def prepare(self, keysyms: Sequence[int], before_reuse: Callable[[], None]) -> int:
        """Give spare keys to as many symbols as there is room for, so that :meth:`find` finds them.

        Args:
            keysyms: The symbols, in the order in which they are to be typed.
            before_reuse: As for :meth:`find_alone`.

        Returns:
            How many symbols from the front can be typed now; at least one.

        Raises:
            NoSpareKeyError: If not even the first one can be.
        """
        holders = {keysym: keycode for keycode, pair in self._bound.items() for keysym in pair}
        keep: set[int] = set()
        new: dict[int, None] = {}
        room = len(self._spare) - len(self.held & set(self._spare))
        count = 0
        for keysym in keysyms:
            if keysym not in self._layout and keysym not in new:
                is_bound = keysym in holders
                extra_kept = is_bound and holders[keysym] not in keep
                if len(keep) + extra_kept + (len(new) + (not is_bound) + 1) // 2 > room:
                    break
                if is_bound:
                    keep.add(holders[keysym])
                else:
                    new[keysym] = None
            count += 1
        if count == 0:
            raise NoSpareKeyError
        symbols = list(new)
        pairs = [(first, second) for first, second in zip(symbols[::2], symbols[1::2], strict=False)]
        if len(symbols) % 2:
            pairs.append((symbols[-1], symbols[-1]))
        self._bind(pairs, keep, before_reuse)
        return count

    def _bind(
        self, pairs: Sequence[tuple[int, int]], keep: set[int], before_reuse: Callable[[], None]
    ) -> None:
        empty = [keycode for keycode in self._spare if keycode not in self._bound]
        reused = [keycode for keycode in self._bound if keycode not in keep | self.held]
        if len(pairs) > len(empty) + len(reused):
            raise NoSpareKeyError
        if len(pairs) > len(empty):
            before_reuse()
        for pair, keycode in zip(pairs, empty + reused, strict=False):
            # Both levels are always set: to a single capital letter the server would add its small one.
            self._display.change_keyboard_mapping(keycode, [pair])
            self._bound.pop(keycode, None)
            self._bound[keycode] = pair

    def restore(self) -> None:
        """Empty the spare keys again."""
        for keycode in self._bound:
            self._display.change_keyboard_mapping(keycode, [(X.NoSymbol, X.NoSymbol)])
        self._bound.clear()
        self._display.sync()


def _strokes(symbols: dict[int, tuple[int, ...]], group: int, leave_out: set[int]) -> dict[int, Stroke]:
    """Return the strokes that give the symbols of a layout in one of its groups.

    The core protocol lists plain and shifted symbols of the first two groups;
    what else a layout has (AltGr, further groups) is reached by spare keys.
    """
    strokes: dict[int, Stroke] = {}
    for shift in (False, True):
        for keycode, row in symbols.items():
            if keycode in leave_out or len(row) < 4:
                continue
            keysym = row[2 * group + shift if group < 2 else shift]
            if keysym == X.NoSymbol:
                continue
            if keysym in _FUNCTION_KEYSYMS:
                if shift:  # what Shift does to such a key differs from key to key (Print, Tab, the keypad)
                    continue
            elif group >= 2:
                continue
            strokes.setdefault(_canonical(keysym), Stroke(keycode, shift))
    if _ALT_GR in strokes:
        strokes.setdefault(_ALT_R, strokes[_ALT_GR])
    return strokes


@cache
def _canonical(keysym: int) -> int:
    """Return the one symbol by which this module calls a character, for the many that X has for it."""
    if keysym in _FUNCTION_KEYSYMS:
        return keysym
    code = _xkbcommon().xkb_keysym_to_utf32(keysym)
    return (char_keysym(chr(code)) if code else None) or keysym


@cache
def _xkbcommon() -> ctypes.CDLL:
    """Return the library that every GTK and Qt program uses to read keys."""
    library = ctypes.CDLL("libxkbcommon.so.0")
    library.xkb_keysym_to_utf32.argtypes = [ctypes.c_uint32]
    library.xkb_keysym_to_utf32.restype = ctypes.c_uint32
    return library
