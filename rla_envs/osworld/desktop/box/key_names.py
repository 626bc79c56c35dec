"""The names of keys, as pyautogui spells them, and the X key symbols that they stand for."""

from __future__ import annotations

import difflib

from Xlib import XK

for _group in ("miscellany", "latin1", "xf86", "korean"):
    XK.load_keysym_group(_group)

_NAMES = {
    "\t": "Tab",
    "\n": "Return",
    "\r": "Return",
    "accept": "Execute",
    "add": "KP_Add",
    "alt": "Alt_L",
    "altleft": "Alt_L",
    "altright": "Alt_R",
    "apps": "Menu",
    "backspace": "BackSpace",
    "browserback": "XF86_Back",
    "browserfavorites": "XF86_Favorites",
    "browserforward": "XF86_Forward",
    "browserhome": "XF86_HomePage",
    "browserrefresh": "XF86_Refresh",
    "browsersearch": "XF86_Search",
    "browserstop": "XF86_Stop",
    "capslock": "Caps_Lock",
    "clear": "Clear",
    "command": "Super_L",
    "convert": "Henkan_Mode",
    "ctrl": "Control_L",
    "ctrlleft": "Control_L",
    "ctrlright": "Control_R",
    "decimal": "KP_Decimal",
    "del": "Delete",
    "delete": "Delete",
    "divide": "KP_Divide",
    "down": "Down",
    "end": "End",
    "enter": "Return",
    "esc": "Escape",
    "escape": "Escape",
    "execute": "Execute",
    "hanguel": "Hangul",
    "hangul": "Hangul",
    "hanja": "Hangul_Hanja",
    "help": "Help",
    "home": "Home",
    "insert": "Insert",
    "junja": "Hangul_Jeonja",
    "kana": "Kana_Lock",
    "kanji": "Kanji",
    "launchapp1": "XF86_MyComputer",
    "launchapp2": "XF86_Calculator",
    "launchmail": "XF86_Mail",
    "launchmediaselect": "XF86_AudioMedia",
    "left": "Left",
    "modechange": "Mode_switch",
    "multiply": "KP_Multiply",
    "nexttrack": "XF86_AudioNext",
    "nonconvert": "Muhenkan",
    "numlock": "Num_Lock",
    "option": "Alt_L",
    "optionleft": "Alt_L",
    "optionright": "Alt_R",
    "pagedown": "Next",
    "pageup": "Prior",
    "pause": "Pause",
    "pgdn": "Next",
    "pgup": "Prior",
    "playpause": "XF86_AudioPlay",
    "prevtrack": "XF86_AudioPrev",
    "print": "Print",
    "printscreen": "Print",
    "prntscrn": "Print",
    "prtsc": "Print",
    "prtscr": "Print",
    "return": "Return",
    "right": "Right",
    "scrolllock": "Scroll_Lock",
    "select": "Select",
    "separator": "KP_Separator",
    "shift": "Shift_L",
    "shiftleft": "Shift_L",
    "shiftright": "Shift_R",
    "sleep": "XF86_Sleep",
    "space": "space",
    "stop": "XF86_AudioStop",
    "subtract": "KP_Subtract",
    "tab": "Tab",
    "up": "Up",
    "volumedown": "XF86_AudioLowerVolume",
    "volumemute": "XF86_AudioMute",
    "volumeup": "XF86_AudioRaiseVolume",
    "win": "Super_L",
    "winleft": "Super_L",
    "winright": "Super_R",
    "yen": "yen",
    **{f"f{i}": f"F{i}" for i in range(1, 25)},
    **{f"num{i}": f"KP_{i}" for i in range(10)},
}

KEYSYMS = {name: int(XK.string_to_keysym(symbol)) for name, symbol in _NAMES.items()}
"""The key symbol of every named key; the name of any other key is the character on it."""

TEXT_KEYS = {char: KEYSYMS[char] for char in "\n\r\t"}
"""The control characters that a text may hold, and the keys that they stand for."""

_UNICODE = 0x01000000


def char_keysym(char: str) -> int | None:
    """Return the key symbol of a character; None for one that no key can stand for.

    Those are the control characters, lone surrogates and the 66 code points
    that Unicode sets aside as noncharacters.
    """
    code = ord(char)
    if code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000:
        return None
    if 0xFDD0 <= code < 0xFDF0 or code & 0xFFFE == 0xFFFE:
        return None
    # The X protocol's rule for key symbols of characters (appendix A): Latin-1 by itself, all others offset.
    return code if code < 0x100 else _UNICODE | code


def key_keysym(key: str) -> int | None:
    """Return the key symbol of a key by its name, in upper or lower case, or by its character."""
    keysym = KEYSYMS.get(key.lower())
    if keysym is None and len(key) == 1:
        keysym = char_keysym(key)
    return keysym


def unknown_key(key: str) -> str:
    """Return the line that tells of a key that does not exist, with the nearest names."""
    near = difflib.get_close_matches(key.lower(), KEYSYMS, n=3)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"unknown key {key!r}: expected a character or a name such as 'enter' or 'ctrl'{hint}"
