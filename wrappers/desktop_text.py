"""Play a desktop in words: its accessibility tree as numbered lines, and a list of commands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, SupportsFloat, cast

import gymnasium as gym
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from rla_envs.errors import InputError
from rla_envs.osworld.elements import Element, list_elements
from rla_envs.spaces import Unicode
from wrappers.curricula.base import check_number

KEYS = ("enter", "tab", "escape", "delete", "ctrl+a", "ctrl+s", "ctrl+end")
"""Keys that can be pressed by a listed command."""

_QUOTED = re.compile(
    r"\"([^\"\n]{1,80})\"|'([^'\n]{1,80})'|“([^”\n]{1,80})”|(?<![\w.])(-?\d+(?:\.\d+)?)(?![\w.])"
)
_LONGEST = 1 << 20


class DesktopText(gym.Wrapper[str, str, dict[str, Any], str], RecordConstructorArgs):
    """Turn a desktop into a text environment that lists its commands.

    **Observations** are text: the instruction, then one numbered line for
    every element that can be clicked (``3 menu "File"``), with its text where
    it has some. An element keeps its number for the whole episode. After the
    first observation only lines that are new or changed are shown, and the
    numbers of those that are gone: a model's context holds the rest.

    **Actions** are commands: ``click 3``, ``double-click 3``, ``type TEXT``,
    ``press ctrl+s``, ``wait``, ``done``, ``fail``. Anything else is passed on
    as it is, so that pyautogui's language works too.
    ``info["admissible_commands"]`` lists what an agent that chooses can
    choose: clicks on every element shown, keys of :data:`KEYS`, and typing of
    what the instruction quotes or counts.

    Args:
        env: An environment with OSWorld's observations (with
            ``"accessibility_tree"``) and actions in pyautogui's language.
        max_elements: Most elements that are listed, in the order of the tree;
            1 to 1000.

    Raises:
        InputError: If the environment's observations or actions are others.

    Example:
        >>> import gymnasium, rla_envs
        >>> from wrappers import DesktopText
        >>> env = DesktopText(gymnasium.make("RLA/OSWorld-v0", observation=["accessibility_tree"]))
        >>> env.action_space.contains("click 3")
        True
    """

    def __init__(self, env: gym.Env[dict[str, Any], str], max_elements: int = 60) -> None:
        """Wrap ``env``; see the class for the arguments."""
        RecordConstructorArgs.__init__(self, max_elements=max_elements)
        super().__init__(cast("gym.Env[str, str]", env))  # Gymnasium gives the argument the outer types
        check_number("max_elements", max_elements, 1, 1000, integer=True)
        space = env.observation_space
        if not isinstance(space, spaces.Dict) or not {"instruction", "accessibility_tree"} <= space.keys():
            raise InputError(
                "DesktopText needs observations with 'instruction' and 'accessibility_tree', got "
                f"{space}; make the environment with observation=['accessibility_tree']"
            )
        if not isinstance(env.action_space, Unicode):
            raise InputError(f"DesktopText needs text actions, got {env.action_space}")
        self.max_elements = max_elements
        self.observation_space = Unicode(_LONGEST)
        self.action_space = Unicode(_LONGEST)
        self._numbers: dict[tuple[str, str, int], int] = {}
        self._shown: dict[int, Element] = {}
        self._texts: tuple[str, ...] = ()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode; all elements are shown."""
        observation: Any
        observation, info = self.env.reset(seed=seed, options=options)
        self._numbers, self._shown = {}, {}
        instruction = str(observation["instruction"])
        self._texts = tuple(
            dict.fromkeys(next(filter(None, match)) for match in _QUOTED.findall(instruction))
        )
        return f"{instruction}\n{self._look(observation)}", self._with_commands(info)

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """Carry out a command, or anything in pyautogui's language."""
        if not isinstance(action, str):
            raise InputError(f"action: expected a text, got {type(action).__name__}")
        meant, error = self._meant(action.strip())
        observation: Any
        observation, reward, terminated, truncated, info = self.env.step(meant)
        if error:
            info = {**info, "rla": {**info["rla"], "last_action_error": error}}
        told = info["rla"]["last_action_error"]
        text = self._look(observation)
        return f"{told}\n{text}" if told else text, reward, terminated, truncated, self._with_commands(info)

    def _meant(self, command: str) -> tuple[str, str]:
        """Return a command in pyautogui's language, and what is wrong with it."""
        word, _, rest = command.partition(" ")
        if word in ("done", "fail", "wait") and not rest:
            return word.upper(), ""
        if word == "type" and rest:
            return f"pyautogui.write({rest!r})", ""
        if word == "press" and rest:
            return f"pyautogui.hotkey({', '.join(map(repr, rest.split('+')))})", ""
        if word in ("click", "double-click") and rest:
            element = (
                self._shown.get(int(rest)) if rest.isascii() and rest.isdigit() and len(rest) < 6 else None
            )
            if element is None:
                return "WAIT", f"{command}: there is no element {rest}"
            name = "click" if word == "click" else "doubleClick"
            return f"pyautogui.{name}({element.x}, {element.y})", ""
        return command, ""

    def _look(self, observation: Mapping[str, Any]) -> str:
        """Number what is on the screen; return the lines that are new or changed."""
        before, self._shown = self._shown, {}
        for element in list_elements(str(observation["accessibility_tree"]), self.max_elements):
            number = self._numbers.setdefault(element.key, len(self._numbers) + 1)
            self._shown[number] = element
        lines = [
            f"{number} {element.line}"
            for number, element in self._shown.items()
            if number not in before or before[number].line != element.line
        ]
        gone = [str(number) for number in before if number not in self._shown]
        if gone:
            lines.append(f"gone: {' '.join(gone)}")
        return "\n".join(lines) or "nothing changed"

    def _with_commands(self, info: dict[str, Any]) -> dict[str, Any]:
        commands = [f"click {number}" for number in self._shown]
        commands += [f"type {text}" for text in self._texts]
        commands += [f"press {key}" for key in KEYS]
        return {**info, "admissible_commands": (*commands, "done", "fail")}


def make_text(
    env_id: str, max_elements: int = 60, render_mode: str | None = None, **env_kwargs: Any
) -> gym.Env[str, str]:
    """Make a desktop environment that is played in words; the entry point of the ``-Text`` ids.

    Args:
        env_id: Registered id of the environment to wrap.
        max_elements: See :class:`DesktopText`.
        render_mode: Passed to the environment.
        **env_kwargs: Everything else, passed to the environment.
    """
    kwargs = {"observation": ["accessibility_tree"], **env_kwargs}
    env = gym.make(env_id, disable_env_checker=True, render_mode=render_mode, **kwargs)
    return DesktopText(env, max_elements=max_elements)
