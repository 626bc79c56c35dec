"""Names of keys, as pyautogui and OSWorld spell them."""

from __future__ import annotations

import unicodedata

from rla_envs.osworld.actions.action import ActionError, shown, unknown

_NAMES = """
    accept add alt altleft altright apps backspace browserback browserfavorites browserforward browserhome
    browserrefresh browsersearch browserstop capslock clear command convert ctrl ctrlleft ctrlright decimal
    del delete divide down end enter esc escape execute f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12 f13 f14 f15
    f16 f17 f18 f19 f20 f21 f22 f23 f24 final fn hanguel hangul hanja help home insert junja kana kanji
    launchapp1 launchapp2 launchmail launchmediaselect left modechange multiply nexttrack nonconvert num0
    num1 num2 num3 num4 num5 num6 num7 num8 num9 numlock option optionleft optionright pagedown pageup pause
    pgdn pgup playpause prevtrack print printscreen prntscrn prtsc prtscr return right scrolllock select
    separator shift shiftleft shiftright sleep space stop subtract tab up volumedown volumemute volumeup win
    winleft winright yen
"""
NAMED_KEYS = tuple(_NAMES.split())
"""Every key with a name of more than one character: pyautogui.KEYBOARD_KEYS (0.9.54)."""

CHARACTER_KEYS = tuple(chr(code) for code in range(ord(" "), ord("~") + 1))
"""The printable characters of ASCII, each of which is a key."""

_CONTROLS = {"\n": "enter", "\r": "enter", "\t": "tab", "\b": "backspace", "\x1b": "escape"}
"""Control characters that X keyboards have a key for."""


def key_name(value: object) -> str:
    """Return the name of a key.

    Args:
        value: A name of :data:`NAMED_KEYS`, in upper or lower case, or a
            single character (which may be any that can be printed).

    Raises:
        ActionError: If there is no such key; suggests the closest one.
    """
    if not isinstance(value, str):
        raise ActionError(f"expected the name of a key, got {shown(value)}")
    if len(value) == 1:
        return _CONTROLS.get(value) or _printable(value)
    name = value.lower()
    if name not in NAMED_KEYS:
        raise unknown("key", value, NAMED_KEYS)
    return name


def typable(text: object) -> str:
    r"""Return a text that can be typed, its line ends as ``\n``.

    Raises:
        ActionError: If it is no text, or holds a character that no keyboard
            types (a control character other than tab and line feed, or half of
            a surrogate pair); names the character.
    """
    if not isinstance(text, str):
        raise ActionError(f"expected a text to type, got {shown(text)}")
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    for character in set(plain) - {"\n", "\t"}:
        _printable(character)
    return plain


def _printable(character: str) -> str:
    if unicodedata.category(character) in ("Cc", "Cs"):
        raise ActionError(f"no key types the character U+{ord(character):04X}")
    return character
