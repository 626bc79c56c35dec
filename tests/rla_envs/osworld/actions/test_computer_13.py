"""OSWorld's action objects mean the same events as the pyautogui calls that OSWorld makes of them."""

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import data_equivalence

from rla_envs.osworld.actions import ActionError, Computer13, make_action_space, pyautogui_text
from rla_envs.osworld.actions.computer_13 import KINDS, from_action, parse

SCREEN = (1280, 720)


@pytest.mark.parametrize(
    ("kind", "parameters", "call"),
    [
        ("MOVE_TO", {"x": 5, "y": 6.5}, "moveTo(5, 6.5)"),
        ("CLICK", {}, "click()"),
        ("CLICK", {"x": 5, "y": 6}, "click(x=5, y=6)"),
        ("CLICK", {"button": "right", "num_clicks": 2}, "click(button='right', clicks=2)"),
        ("CLICK", {"button": "middle", "x": 1, "y": 2, "num_clicks": 3}, "click(1, 2, 3, button='middle')"),
        ("MOUSE_DOWN", {}, "mouseDown()"),
        ("MOUSE_UP", {"button": "right"}, "mouseUp(button='right')"),
        ("RIGHT_CLICK", {"x": 0, "y": 0}, "rightClick(x=0, y=0)"),
        ("DOUBLE_CLICK", {}, "doubleClick()"),
        ("DRAG_TO", {"x": 90, "y": 80}, "dragTo(90, 80, duration=1.0, button='left', mouseDownUp=True)"),
        ("SCROLL", {"dx": 0, "dy": -4}, "vscroll(-4)"),
        ("SCROLL", {"dx": 3}, "hscroll(3)"),
        ("TYPING", {"text": "a<é'\\\n"}, 'typewrite("a<é\'\\\\\\n")'),
        ("PRESS", {"key": "Enter"}, "press('enter')"),
        ("PRESS", {"key": "\n"}, "press('enter')"),
        ("KEY_DOWN", {"key": "shift"}, "keyDown('shift')"),
        ("KEY_UP", {"key": "shift"}, "keyUp('shift')"),
        ("HOTKEY", {"keys": ["ctrl", "s"]}, "hotkey('ctrl', 's')"),
    ],
)
def test_both_forms_give_the_events_of_the_call_that_osworld_makes(kind, parameters, call):
    expected = pyautogui_text.parse(f"pyautogui.{call}", SCREEN, (7, 7))
    assert parse({"action_type": kind, "parameters": parameters}, SCREEN, (7, 7)) == expected
    assert parse({"action_type": kind, **parameters}, SCREEN, (7, 7)) == expected


@pytest.mark.parametrize("special", ["WAIT", "DONE", "FAIL"])
def test_special_actions_come_as_objects_and_as_words(special):
    assert parse({"action_type": special}, SCREEN).special == special
    assert parse({"action_type": special, "parameters": {}}, SCREEN).special == special
    assert parse(f" {special}\n", SCREEN) == parse({"action_type": special}, SCREEN)


def test_an_action_may_come_as_json_text():
    assert parse('{"action_type": "PRESS", "key": "a"}', SCREEN) == parse(
        {"action_type": "PRESS", "key": "a"}, SCREEN
    )


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ({"action_type": "CLIK"}, "did you mean 'CLICK'?"),
        ({"action_type": "click"}, "unknown action_type 'click'"),
        ({"action_type": None}, "unknown action_type"),
        ({}, "unknown action_type"),
        ({"action_type": ["CLICK"]}, "unknown action_type"),
        ({"action_type": "CLICK", "buton": "left"}, "CLICK: unknown field 'buton'; did you mean 'button'"),
        ({"action_type": "CLICK", "parameters": {"x": 1}}, "CLICK: expected both 'x' and 'y'"),
        ({"action_type": "CLICK", "parameters": {}, "x": 1}, "beside it"),
        ({"action_type": "CLICK", "parameters": [1]}, "expected 'parameters' as an object"),
        ({"action_type": "CLICK", "num_clicks": 4}, "from 1 to 3"),
        ({"action_type": "CLICK", "num_clicks": 0}, "CLICK: "),
        ({"action_type": "CLICK", "button": ["left"]}, "unknown button"),
        ({"action_type": "MOVE_TO", "x": 5}, "MOVE_TO: expected the field 'y'"),
        ({"action_type": "MOVE_TO", "x": 1280, "y": 0}, "x from 0 to 1279"),
        ({"action_type": "MOVE_TO", "x": float("nan"), "y": 0}, "x from 0 to 1279"),
        ({"action_type": "MOVE_TO", "x": 0, "y": 10**5000}, "y from 0 to 719"),
        ({"action_type": "MOVE_TO", "x": "5", "y": 0}, "x from 0 to 1279"),
        ({"action_type": "SCROLL", "dx": 10**5000, "dy": 0}, "wheel clicks"),
        ({"action_type": "SCROLL", "dx": float("inf"), "dy": 0}, "expected a number"),
        ({"action_type": "TYPING", "text": 5}, "expected a text"),
        ({"action_type": "TYPING", "text": "a\x00"}, r"U\+0000"),
        ({"action_type": "TYPING", "text": "a" * 10_001}, "at most 10000 characters"),
        ({"action_type": "PRESS", "key": "entr"}, "did you mean 'enter'?"),
        ({"action_type": "PRESS", "key": ""}, "unknown key"),
        ({"action_type": "HOTKEY", "keys": []}, "expected the name of a key"),
        ({"action_type": "HOTKEY", "keys": ["ctrl", None]}, "expected the name of a key"),
        ({"action_type": "HOTKEY", "keys": ["a"] * 5000}, "at most 2000 events"),
        ({"action_type": "DONE", "x": 1}, "DONE: unknown field"),
        ("[" * 60_000, "one JSON object"),
        ("click the button", "one JSON object"),
        ("a" * 70_000, "at most 65536"),
        (None, "object with 'action_type'"),
        (7, "object with 'action_type'"),
    ],
)
def test_a_wrong_action_is_an_action_error_that_says_what_is_wrong(action, message):
    with pytest.raises(ActionError, match=message) as caught:
        parse(action, SCREEN)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_every_sample_of_the_space_is_a_member_and_all_types_come_up():
    space = Computer13(SCREEN, seed=0)
    samples = [space.sample() for _ in range(600)]
    assert {sample["action_type"] for sample in samples} == set(KINDS)
    assert all(space.contains(sample) for sample in samples)
    assert space.from_jsonable(space.to_jsonable(samples)) == samples


def test_samples_follow_the_seed():
    first, second = Computer13(SCREEN, seed=3), Computer13(SCREEN, seed=3)
    assert data_equivalence([first.sample() for _ in range(20)], [second.sample() for _ in range(20)])


@pytest.mark.parametrize("value", [{"action_type": "CLICK", "x": 1280, "y": 0}, {}, "WAIT", None, 3])
def test_what_cannot_be_understood_is_no_member(value):
    assert not Computer13(SCREEN).contains(value)


def test_spaces_are_made_by_name():
    assert isinstance(make_action_space("pyautogui", SCREEN), gym.Space)
    assert make_action_space("computer_13", SCREEN) == Computer13(SCREEN)
    with pytest.raises(ValueError, match="Did you mean 'pyautogui'"):
        make_action_space("pyautogi", SCREEN)


@pytest.mark.parametrize(
    "text",
    [
        "pyautogui.hotkey('ctrl', 'shift', 's')",
        "pyautogui.press(['a', 'b'], presses=2); pyautogui.write('x<y')",
        "pyautogui.click(5, 6, 2, button='right'); pyautogui.scroll(-3); pyautogui.hscroll(2)",
        "pyautogui.keyDown('alt'); pyautogui.press(['tab', 'tab']); pyautogui.keyUp('alt')",
        "with pyautogui.hold('shift'):\n    pyautogui.click(1, 1)",
        "pyautogui.write('a')\nDONE",
    ],
)
def test_an_action_in_pyautogui_can_be_said_in_objects(text):
    action = pyautogui_text.parse(text, SCREEN)
    said = [parse(part, SCREEN) for part in from_action(action)]
    assert tuple(event for part in said for event in part.events) == action.events
    assert [part.special for part in said if part.special] == ([action.special] if action.special else [])


def test_shortcuts_and_taps_are_one_object_each():
    action = pyautogui_text.parse("pyautogui.hotkey('ctrl', 'shift', 's'); pyautogui.press('a')", SCREEN)
    assert from_action(action) == [
        {"action_type": "HOTKEY", "keys": ["ctrl", "shift", "s"]},
        {"action_type": "PRESS", "key": "a"},
    ]
