"""Model output in pyautogui's language means what pyautogui does, and nothing else is ever run."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rla_envs.osworld.actions import Action, ActionError
from rla_envs.osworld.actions.events import Button, Key, Move, Pause, Scroll, Text
from rla_envs.osworld.actions.pyautogui_text import MAX_LENGTH, parse, split

SCREEN = (1280, 720)


def events(text, pointer=None):
    return list(parse(text, SCREEN, pointer).events)


def held(key, *happened):
    return [Key(key, True), *happened, Key(key, False)]


def clicks(button="left", count=1):
    return [Button(button, True), Button(button, False)] * count


def taps(*keys):
    return [Key(key, down) for key in keys for down in (True, False)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pyautogui.click(100, 200)", [Move(100, 200), *clicks()]),
        ("pyautogui.click()", clicks()),
        ("pyautogui.click((3, 4))", [Move(3, 4), *clicks()]),
        ("pyautogui.click(y=9, x=8, button='right')", [Move(8, 9), *clicks("right")]),
        ("pyautogui.click(1, 2, 2, 0.0, 'middle')", [Move(1, 2), *clicks("middle", 2)]),
        ("pyautogui.click(1, 2, clicks=2, interval=0.5)", [Move(1, 2), *clicks(), Pause(0.5), *clicks()]),
        ("pyautogui.click(button=pyautogui.SECONDARY)", clicks("right")),
        ("pyautogui.click(button=2)", clicks("middle")),
        ("pyautogui.doubleClick(5, 6)", [Move(5, 6), *clicks(count=2)]),
        ("pyautogui.tripleClick(x=5, y=6, button='left')", [Move(5, 6), *clicks(count=3)]),
        ("pyautogui.rightClick(5, 6, duration=0.3)", [Move(5, 6), *clicks("right")]),
        ("pyautogui.middleClick()", clicks("middle")),
        ("pyautogui.moveTo(7, 8, 1.5, pyautogui.easeInOutQuad)", [Move(7, 8)]),
        ("pyautogui.mouseDown(1, 2, 'left')", [Move(1, 2), Button("left", True)]),
        ("pyautogui.mouseUp(button='right')", [Button("right", False)]),
        ("pyautogui.scroll(-3)", [Scroll(0, -3)]),
        ("pyautogui.vscroll(clicks=4, x=1, y=2)", [Move(1, 2), Scroll(0, 4)]),
        ("pyautogui.hscroll(5)", [Scroll(5, 0)]),
        ("pyautogui.press('enter')", taps("enter")),
        ("pyautogui.press('Enter', presses=2)", taps("enter", "enter")),
        ("pyautogui.press(['left', 'right'], presses=2)", taps("left", "right", "left", "right")),
        ("pyautogui.press('A', interval=1)", taps("A")),
        ("pyautogui.press('é')", taps("é")),
        ("pyautogui.keyDown('shift')", [Key("shift", True)]),
        ("pyautogui.keyUp(key='shift')", [Key("shift", False)]),
        ("pyautogui.write('Ab<é\\n', interval=0.1)", [Text("Ab<é\n")]),
        ("pyautogui.typewrite(message='x')", [Text("x")]),
        ("pyautogui.write(['a', 'left', 'enter'])", taps("a", "left", "enter")),
        ("pyautogui.write('')", []),
        ("pyautogui.sleep(1)", [Pause(1.0)]),
        ("time.sleep(0.25)", [Pause(0.25)]),
        ("import pyautogui", []),
        ("import pyautogui as pg, time as t\npg.press('a'); t.sleep(1)", [*taps("a"), Pause(1.0)]),
        (
            "from time import sleep\nfrom pyautogui import press as p\np('b'); sleep(2)",
            [*taps("b"), Pause(2.0)],
        ),
        ("pyautogui.PAUSE = 0.1\npyautogui.FAILSAFE = False", []),
        ("# only a comment above\npyautogui.press('a')  # and here", taps("a")),
        ("x = 3\ny = x * 2 + 1\npyautogui.moveTo(x, y)", [Move(3, 7)]),
        ("x, y = 3, 4\npyautogui.moveTo(x, y)", [Move(3, 4)]),
        ("pyautogui.moveTo(10 - 2 * 3, -(-9) / 2)", [Move(4, 5)]),
        ("for i in range(2):\n    pyautogui.moveTo(10 * i, 5)", [Move(0, 5), Move(10, 5)]),
        ("for i in range(3, 0, -2): pyautogui.moveTo(i, 0)", [Move(3, 0), Move(1, 0)]),
        ("with pyautogui.hold('shift'):\n    pyautogui.press('left')", held("shift", *taps("left"))),
    ],
)
def test_a_call_becomes_the_events_that_pyautogui_would_make(text, expected):
    assert events(text) == expected


@pytest.mark.parametrize("call", ["hotkey('ctrl', 'shift', 's')", "hotkey(['ctrl', 'shift', 's'])"])
def test_a_hotkey_is_released_in_the_opposite_order(call):
    down = [Key(key, True) for key in ("ctrl", "shift", "s")]
    up = [Key(key, False) for key in ("s", "shift", "ctrl")]
    assert events(f"pyautogui.{call}") == down + up


def test_relative_moves_start_at_the_pointer_and_follow_it():
    text = "pyautogui.moveRel(10, -5); pyautogui.move(0, 1); pyautogui.moveTo(None, 7)"
    assert events(text, pointer=(100, 50)) == [Move(110, 45), Move(110, 46), Move(110, 7)]
    with pytest.raises(ActionError, match="needs a place first"):
        parse("pyautogui.moveRel(1, 1)", SCREEN)


@pytest.mark.parametrize("text", ["pyautogui.dragTo(300, 100, button='left')", "pyautogui.dragRel(200, 0)"])
def test_a_drag_holds_the_button_from_its_start_to_its_end(text):
    happened = events(text, pointer=(100, 100))
    moves = [event for event in happened if isinstance(event, Move)]
    assert happened[0] == Button("left", True)
    assert happened[-1] == Button("left", False)
    assert moves[-1] == Move(300, 100)
    assert [move.x for move in moves] == sorted({move.x for move in moves})
    assert 0 < sum(event.seconds for event in happened if isinstance(event, Pause)) < 0.5


@pytest.mark.parametrize("place", [(0, 0), (1279, 0), (0, 719), (1279, 719), (640, 360)])
def test_corners_are_ordinary_places(place):
    assert events(f"pyautogui.click({place[0]}, {place[1]})")[0] == Move(*place)


@pytest.mark.parametrize(
    ("x", "pixel"),
    [("12.7", 13), ("3.2", 3), ("0.5", 1), ("1.5", 2), ("2.5", 3), ("-0.4", 0), ("1279.4", 1279)],
)
def test_fractions_are_rounded_to_the_nearest_pixel_halves_up(x, pixel):
    assert events(f"pyautogui.moveTo({x}, 0)") == [Move(pixel, 0)]


@pytest.mark.parametrize(
    "x", ["1280", "-5", "10**9", "1000000000", "1e400", "-1e400", "1279.5", "nan", "True", "'5'"]
)
def test_a_place_off_the_screen_is_an_action_error_that_names_the_range(x):
    with pytest.raises(ActionError) as caught:
        parse(f"pyautogui.click({x}, 10)", SCREEN)
    assert "\n" not in str(caught.value)
    if x not in ("10**9", "nan", "'5'", "-1e400"):
        assert "from 0 to 1279" in str(caught.value)


def test_one_wrong_call_leaves_nothing_of_the_action():
    with pytest.raises(ActionError, match="^line 3: expected y from 0 to 719"):
        parse("pyautogui.press('a')\n\npyautogui.click(1, 720)", SCREEN)


REFUSED = """
__import__('os').system('touch /tmp/x')
open('/etc/passwd')
import os
from os import system
import pyautogui.os
from pyautogui import *
eval('1')
exec('1')
pyautogui.__class__
pyautogui.click.__globals__['os']
pyautogui.alert('x')
pyautogui.screenshot()
(lambda: 1)()
while True: pass
if 1: pass
def f(): pass
class A: pass
[x for x in range(9)]
x += 1
del x
global x
assert 0
raise x
return
x = y = 1
print('a')
pyautogui.write(f'{1}')
pyautogui.write('a' * 10**9)
pyautogui.write(b'a')
pyautogui.click(*[1, 2])
pyautogui.click(**{'x': 1})
pyautogui.click(x=1 if 1 else 2)
pyautogui.click(1 // 2, 3)
pyautogui.click(10**10**10, 0)
pyautogui.click(1 << 9999999999, 0)
pyautogui.click(1/0, 0)
pyautogui.click('button.png')
pyautogui.click(1e308 * 1e308, 0)
pyautogui.hold('shift')
with pyautogui.hold('shift') as s: pass
with open('x'): pass
for i in [1]: pass
for i in range(1.5): pass
for i in range(1, 2, 0): pass
for i in range(10**9): pass
for i in range(999999999): pass
for i in range(2000): pyautogui.press('a')
pyautogui.press(1)
pyautogui.press('crtl')
pyautogui.press([])
pyautogui.press(['a'] , presses=0)
pyautogui.press()
pyautogui.press('a', presses=1e9)
pyautogui.hotkey()
pyautogui.hotkey('ctrl', 3)
pyautogui.write(5)
pyautogui.scroll()
pyautogui.scroll('up')
pyautogui.scroll(10**6)
pyautogui.scroll(1000000)
pyautogui.scroll(1.5)
pyautogui.click(1, 2, button='botton')
pyautogui.click(1, 2, clicks='two')
pyautogui.click(1, 2, x=3)
pyautogui.click(1, 2, where=3)
pyautogui.click(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
pyautogui.click([1, 2, 3])
time.sleep(-1)
time.sleep(61)
time.sleep('a')
time.sleep(40); time.sleep(40)
time.time()
pyautogui.sleep()
DONE now
Done
click(1, 2)
I would click the button.
pyautogui.write('a'
pyautogui
pyautogui.LEFT
pyautogui.click(pyautogui)
a, b = 1
a, b = 1, 2, 3
pyautogui.click = 5
pyautogui.write(x)
"""
REFUSED_TOO = [
    "try:\n pass\nexcept: pass",
    "pyautogui.write('\\x00')",
    "pyautogui.write('\\ud800')",
    "",
    "   \n ",
    "\x00",
    "DONE\npyautogui.press('a')",
]


@pytest.mark.parametrize("text", [*REFUSED.strip().splitlines(), *REFUSED_TOO])
def test_whatever_is_not_in_the_grammar_is_an_action_error_in_one_line(text):
    with pytest.raises(ActionError) as caught:
        parse(text, SCREEN)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 320


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("pyautogui.clik(1, 2)", "did you mean 'pyautogui.click'?"),
        ("pyautogui.press('crtl')", "did you mean 'ctrl'?"),
        ("pyautogui.click(1, 2, botton='left')", "did you mean 'button'?"),
        ("pyautogui.click(1, 2, button='letf')", "did you mean 'left'?"),
        ("pyautogui.write('a\\x07b')", r"U\+0007"),
    ],
)
def test_an_error_names_what_was_probably_meant(text, hint):
    with pytest.raises(ActionError, match=f"^line 1: .*{hint}"):
        parse(text, SCREEN)


@pytest.mark.parametrize(
    "text",
    [
        "-" * 60_000 + "1",
        "(" * 60_000,
        "[" * 60_000,
        "a" + ".a" * 30_000,
        "1" + "+1" * 30_000,
        "f(" * 20_000,
        "x=" * 30_000 + "1",
        "not " * 15_000 + "1",
        "a if 1 else " * 5_000 + "1",
        "lambda:" * 9_000 + "1",
        "9" * 60_000,
        "x = " + "9" * 4_000,
        "pyautogui.click(0x" + "f" * 60_000 + ", 0)",
        "f'{" * 20_000,
        "if 1:\n" + "".join(" " * i + "if 1:\n" for i in range(1, 300)),
        "a" * (10 << 20),
        "```\n" * 16_000,
        "x = [1]\n" + "x = [x, x]\n" * 5_000 + "pyautogui.press(x)",
        "`" * 60_000,
        "```" + " " * 60_000 + "x",
        "for i in range(999999):\n    x = [" + "1, " * 20_000 + "]",
        "pyautogui.write('" + "a" * 20_000 + "')",
        "x = 1000000\n" + "x = x * x\n" * 100 + "pyautogui.click(x, 0)",
        "for a in range(99999):\n for b in range(99999):\n  for c in range(99999):\n   pass",
    ],
)
def test_hostile_texts_are_refused_at_once(text):
    if text.startswith("x = 999"):
        assert events(text) == []
        text += "\npyautogui.click(x, 0)"
    with pytest.raises(ActionError) as caught:
        parse(text, SCREEN)
    assert len(str(caught.value)) < 320


@pytest.mark.parametrize(
    ("text", "program", "special"),
    [
        ("DONE", "", "DONE"),
        ("  WAIT \n", "", "WAIT"),
        ("```FAIL```", "", "FAIL"),
        ("```\nDONE\n```", "", "DONE"),
        ("pyautogui.press('a')\nDONE", "pyautogui.press('a')", "DONE"),
        ("I press a.\n```python\npyautogui.press('a')\n```", "pyautogui.press('a')", ""),
        ("```python\npyautogui.press('a')\n```\nDONE", "pyautogui.press('a')", "DONE"),
        (
            "```\npyautogui.press('a')\n```\nand\n```py\npyautogui.press('b')\n```\nThat is it.",
            "pyautogui.press('a')\npyautogui.press('b')",
            "",
        ),
        ("```python\npyautogui.press('a')", "pyautogui.press('a')", ""),
        ("    ```python\n    pyautogui.press('a')\n    ```", "pyautogui.press('a')", ""),
        ("    pyautogui.press('a')\n    import time", "pyautogui.press('a')\nimport time", ""),
        ("pyautogui.write('```')", "pyautogui.write('```')", ""),
        ("pyautogui.write('DONE')", "pyautogui.write('DONE')", ""),
    ],
)
def test_fences_and_special_actions_are_found_as_models_write_them(text, program, special):
    found, ending = split(text)
    assert [line for line in found.splitlines() if line.strip()] == program.splitlines()
    assert ending == special
    assert parse(text, SCREEN).special == special


def test_lines_inside_fences_keep_their_numbers():
    with pytest.raises(ActionError, match="^line 5: "):
        parse("I see.\n\n```python\npyautogui.press('a')\npyautogui.clik(1, 2)\n```", SCREEN)
    with pytest.raises(ActionError, match="^line 6: "):
        parse("```\npyautogui.press('a')\n```\nthen\n```\npyautogui.clik(1, 2)\n```", SCREEN)


def test_an_action_with_an_unknown_escape_raises_no_warning():
    assert events(r"pyautogui.write('C:\data')") == [Text("C:\\data")]


def test_carriage_returns_are_the_enter_key_once():
    assert events("pyautogui.write('a\\r\\nb\\rc')") == [Text("a\nb\nc")]


@given(st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_typed_text_is_exact_for_all_of_unicode_or_an_error(text):
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if any(unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t" for c in plain):
        with pytest.raises(ActionError, match=r"U\+"):
            parse(f"pyautogui.write({text!r})", SCREEN)
    else:
        assert events(f"pyautogui.write({text!r})") == ([Text(plain)] if plain else [])


@given(st.text(alphabet="pyautogui.click()[]{}'\"0123456789,=-+*/\n :fornge`", max_size=120))
@settings(max_examples=100, deadline=None)
def test_any_text_gives_an_action_or_an_action_error(text):
    try:
        assert isinstance(parse(text, SCREEN, (0, 0)), Action)
    except ActionError:
        assert len(text) <= MAX_LENGTH


@pytest.mark.parametrize("value", [None, 5, b"x", ["pyautogui.click(1, 2)"], {"action_type": "WAIT"}])
def test_what_is_no_text_is_an_action_error(value):
    with pytest.raises(ActionError, match="expected the action as text"):
        parse(value, SCREEN)
