"""A desktop in words: what is on the screen is numbered, and commands mean what they say."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from rla_envs.spaces import Unicode
from wrappers import DesktopText

STATE = "https://accessibility.ubuntu.example.org/ns/state"
PLACE = "https://accessibility.ubuntu.example.org/ns/component"


def node(role, name, place, size, text="", **states):
    flags = "".join(f' st:{state}="{value}"' for state, value in {"showing": "true", **states}.items())
    return f'<{role} name="{name}"{flags} cp:screencoord="{place}" cp:size="{size}">{text}</{role}>'


def tree(*nodes):
    return f'<desktop-frame xmlns:st="{STATE}" xmlns:cp="{PLACE}">{"".join(nodes)}</desktop-frame>'


FIRST = tree(
    node("menu", "File", (10, 20), (40, 20)),
    node("menu", "Edit", (50, 20), (40, 20)),
    node("menu-item", "Hidden", (50, 40), (40, 20), showing="false"),
    node("panel", "Nothing to click", (0, 0), (100, 100)),
    node("push-button", "", (0, 0), (10, 10)),
    node("push-button", "Gone", (0, 0), (0, 0)),
    node("text", "", (0, 40), (200, 101), "hello", focused="true"),
    node("push-button", "OK", (0, 200), (20, 20)),
    node("push-button", "OK", (100, 200), (20, 20)),
)
SECOND = tree(
    node("push-button", "OK", (0, 200), (20, 20)),
    node("push-button", "OK", (110, 210), (20, 20)),
    node("menu", "File", (10, 20), (40, 20)),
    node("text", "", (0, 40), (200, 101), "hello you", focused="true"),
    node("check-box", "Wrap", (0, 300), (20, 20), checked="true"),
)


class Scripted(gym.Env):
    """Shows one tree after the other, and keeps the actions."""

    observation_space = spaces.Dict({"instruction": Unicode(1000), "accessibility_tree": Unicode(100000)})
    action_space = Unicode(1000)

    def __init__(self, *trees, instruction="Write \"Good day\" 3 times; call it 'a b.txt'."):
        self.trees, self.instruction, self.actions = trees, instruction, []

    def _observation(self):
        shown = self.trees[min(len(self.actions), len(self.trees) - 1)]
        return {"instruction": self.instruction, "accessibility_tree": shown}

    def reset(self, seed=None, options=None):
        self.actions = []
        return self._observation(), {"rla": {"last_action_error": ""}}

    def step(self, action):
        self.actions.append(action)
        return self._observation(), 0.0, False, False, {"rla": {"last_action_error": ""}}


def test_the_first_observation_has_the_instruction_and_every_element_that_can_be_clicked():
    observation, _ = DesktopText(Scripted(FIRST)).reset()
    assert observation.splitlines() == [
        "Write \"Good day\" 3 times; call it 'a b.txt'.",
        '1 menu "File"',
        '2 menu "Edit"',
        "3 text: hello (focused)",
        '4 push-button "OK"',
        '5 push-button "OK"',
    ]


def test_later_ones_have_what_changed_under_the_same_numbers():
    env = DesktopText(Scripted(FIRST, SECOND))
    env.reset()
    observation, *_ = env.step("click 1")
    assert observation.splitlines() == [
        "3 text: hello you (focused)",
        '6 check-box "Wrap" (checked)',
        "gone: 2",
    ]
    observation, *_ = env.step("click 1")
    assert observation == "nothing changed"


def test_commands_are_listed_with_what_the_instruction_quotes():
    _, info = DesktopText(Scripted(FIRST)).reset()
    commands = info["admissible_commands"]
    assert commands[:5] == ("click 1", "click 2", "click 3", "click 4", "click 5")
    assert [command for command in commands if command.startswith("type")] == [
        "type Good day",
        "type 3",
        "type a b.txt",
    ]
    assert "press ctrl+s" in commands
    assert commands[-2:] == ("done", "fail")


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("click 1", "pyautogui.click(30, 30)"),
        ("double-click 5", "pyautogui.doubleClick(110, 210)"),
        ('type it\'s "x"\\n', "pyautogui.write('it\\'s \"x\"\\\\n')"),
        ("press ctrl+s", "pyautogui.hotkey('ctrl', 's')"),
        ("press enter", "pyautogui.hotkey('enter')"),
        ("done", "DONE"),
        ("fail", "FAIL"),
        ("wait", "WAIT"),
        ("pyautogui.moveTo(1, 2)", "pyautogui.moveTo(1, 2)"),
    ],
)
def test_a_command_means_this_in_pyautoguis_language(command, meant):
    env = DesktopText(Scripted(FIRST))
    env.reset()
    env.step(command)
    assert env.unwrapped.actions == [meant]


def test_a_click_follows_an_element_that_moved():
    env = DesktopText(Scripted(FIRST, SECOND))
    env.reset()
    env.step("click 5")
    env.step("click 5")
    assert env.unwrapped.actions == ["pyautogui.click(110, 210)", "pyautogui.click(120, 220)"]


@pytest.mark.parametrize("number", ["9", "0", "-1", "x", "²", "99999999999999999999"])
def test_a_click_on_nothing_costs_a_step_and_says_so(number):
    env = DesktopText(Scripted(FIRST))
    env.reset()
    observation, _, _, _, info = env.step(f"click {number}")
    assert env.unwrapped.actions == ["WAIT"]
    assert info["rla"]["last_action_error"] == f"click {number}: there is no element {number}"
    assert info["rla"]["last_action_error"] in observation


def test_no_more_elements_than_allowed_are_listed():
    observation, _ = DesktopText(Scripted(FIRST), max_elements=2).reset()
    assert observation.splitlines()[1:] == ['1 menu "File"', '2 menu "Edit"']


def test_what_is_no_desktop_is_refused():
    class Pixels(Scripted):
        observation_space = spaces.Box(0, 255, (3, 3), np.uint8)

    class Numbers(Scripted):
        action_space = spaces.Discrete(3)

    with pytest.raises(ValueError, match="observation=\\['accessibility_tree'\\]"):
        DesktopText(Pixels(FIRST))
    with pytest.raises(ValueError, match="needs text actions"):
        DesktopText(Numbers(FIRST))
    with pytest.raises(ValueError, match="max_elements: expected an integer"):
        DesktopText(Scripted(FIRST), max_elements=0)
    env = DesktopText(Scripted("no xml"))
    with pytest.raises(ValueError, match="accessibility_tree: expected XML"):
        env.reset()
