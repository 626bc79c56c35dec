"""Desktops for agents that read or draw lots: an observation as a message, and random actions on it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, TypeGuard

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from benchmarks.bench.screenshots import picture_of
from rla_envs.osworld.elements import describe_elements, list_elements
from rla_envs.spaces import Unicode

INSTRUCTIONS = (
    "You work on a computer's desktop until a task is done. Each message tells the task and what is on the "
    'screen: a line for each element that can be clicked, as (x, y) role "name": text, with its middle in '
    "pixels from the top left corner. Act in pyautogui's language, such as pyautogui.click(640, 360), "
    "pyautogui.doubleClick(30, 50), pyautogui.write('text'), pyautogui.hotkey('ctrl', 's'), "
    "pyautogui.press('enter') or pyautogui.scroll(-5, x=640, y=360); WAIT lets a second pass. Say DONE once "
    "the task is done, and FAIL if it cannot be done. First think in a sentence or two, then write one "
    "action on a line of its own:\nThought: ...\nAction: ..."
)
"""What a language model is told that plays a desktop."""

MOST_ELEMENTS = 200
"""Most elements of a screen that a model is told of."""

_KEYS = ("enter", "tab", "escape", "backspace", "delete", "up", "down", "left", "right", "home", "end")
_TOGETHER = (("ctrl", "a"), ("ctrl", "c"), ("ctrl", "v"), ("ctrl", "s"), ("ctrl", "z"), ("alt", "f4"))
_WORDS = ("a", "7", "42", "report", "total", "hello world")
_SIZE = (1280, 720)
_SHARES = (0.5, 0.12, 0.14, 0.1, 0.12, 0.02)
"""Chosen so that a walk of fifteen steps, OSWorld's limit, mostly runs its course."""


def is_desktop(
    observation_space: gym.Space[Any] | None, action_space: gym.Space[Any]
) -> TypeGuard[spaces.Dict]:
    """Return whether a task is one on a desktop, acted on in pyautogui's language."""
    return (
        isinstance(observation_space, spaces.Dict)
        and "instruction" in observation_space.spaces
        and bool({"accessibility_tree", "screenshot"} & observation_space.spaces.keys())
        and isinstance(action_space, Unicode)
    )


def described(observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
    """Return what a desktop shows as text: the task, what was wrong with the last action, the elements."""
    parts = [str(observation["instruction"])]
    error = info.get("rla", {}).get("last_action_error", "")
    if error:
        parts.append(f"Your last action: {error}")
    tree = str(observation.get("accessibility_tree", ""))
    if tree:
        parts.append(describe_elements(tree, MOST_ELEMENTS) or "Nothing on the screen can be clicked.")
    return "\n\n".join(parts)


def data_uri(observation: Mapping[str, Any]) -> str:
    """Return the screenshot as a data URI of a PNG file; "" if the observation has none."""
    picture = picture_of(observation)
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}" if picture else ""


def random_action(
    observation: Mapping[str, Any], observation_space: spaces.Dict, rng: np.random.Generator
) -> str:
    """Draw an action: mostly clicks, half of them on an element, else keys and words; now and then an end.

    Args:
        observation: What is seen now.
        observation_space: Of the environment; says how large the screen is.
        rng: Source of all randomness.
    """
    kind = str(rng.choice(["click", "doubleClick", "press", "hotkey", "write", "end"], p=_SHARES))
    if kind in ("click", "doubleClick"):
        x, y = _place(observation, observation_space, rng)
        return f"pyautogui.{kind}({x}, {y})"
    if kind == "end":
        return ("DONE", "FAIL")[int(rng.integers(2))]
    if kind == "hotkey":
        return f"pyautogui.hotkey{_TOGETHER[int(rng.integers(len(_TOGETHER)))]}"
    chosen = _KEYS if kind == "press" else _WORDS
    return f"pyautogui.{kind}({chosen[int(rng.integers(len(chosen)))]!r})"


def _place(
    observation: Mapping[str, Any], observation_space: spaces.Dict, rng: np.random.Generator
) -> tuple[int, int]:
    screen = observation_space.spaces.get("screenshot")
    width, height = (screen.shape[1], screen.shape[0]) if screen is not None and screen.shape else _SIZE
    tree = str(observation.get("accessibility_tree", ""))
    shown = [e for e in list_elements(tree, MOST_ELEMENTS) if e.x < width and e.y < height] if tree else []
    if shown and rng.random() < 0.5:
        element = shown[int(rng.integers(len(shown)))]
        return element.x, element.y
    return int(rng.integers(width)), int(rng.integers(height))
