"""The action spaces: pyautogui's language as text, and OSWorld's ``computer_13`` objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import gymnasium as gym
import numpy as np

from rla_envs.errors import unknown_name
from rla_envs.osworld.actions import computer_13, pyautogui_text
from rla_envs.osworld.actions.action import Action, ActionError
from rla_envs.osworld.actions.events import BUTTONS
from rla_envs.osworld.actions.keys import CHARACTER_KEYS, NAMED_KEYS
from rla_envs.spaces import Unicode

Parser = Callable[[Any, tuple[int, int], tuple[int, int] | None], Action]

PARSERS: dict[str, Parser] = {"pyautogui": pyautogui_text.parse, "computer_13": computer_13.parse}
"""How the actions of each space are read: given one, the screen's size and the pointer's place."""

_KEYS = (*CHARACTER_KEYS, *NAMED_KEYS)
_MODIFIERS = ("ctrl", "alt", "shift", "ctrlright", "shiftright")
_MOST_SCROLLED = 10


def make_action_space(name: str, screen_size: tuple[int, int]) -> gym.Space[Any]:
    """Return the space of actions.

    Args:
        name: ``"pyautogui"``: any text, of which what is not pyautogui is
            answered with an error; or ``"computer_13"``.
        screen_size: Width and height of the screen, in pixels.

    Raises:
        UnknownNameError: If there is no such space.
    """
    if name not in PARSERS:
        raise unknown_name("action space", name, PARSERS)
    return Unicode(pyautogui_text.MAX_LENGTH) if name == "pyautogui" else Computer13(screen_size)


class Computer13(gym.Space[dict[str, Any]]):
    """All ``computer_13`` actions that can be understood on a screen of this size.

    A member is ``{"action_type": str, "parameters": {...}}`` or the flat form;
    see :data:`rla_envs.osworld.actions.computer_13.KINDS` for the types and
    their fields. Texts have no largest size of use, so the space cannot be
    flattened into numbers: for a numeric policy, map its outputs to objects
    with a :class:`gymnasium.wrappers.TransformAction`.

    :meth:`sample` draws the type uniformly from all 16, so that two actions in
    sixteen end the episode (``DONE`` and ``FAIL``).

    Args:
        screen_size: Width and height of the screen, in pixels.
        seed: Seed of :meth:`sample`.

    Example:
        >>> Computer13((1280, 720)).contains({"action_type": "CLICK", "x": 5, "y": 9})
        True
    """

    def __init__(self, screen_size: tuple[int, int], seed: int | np.random.Generator | None = None) -> None:
        """Make the space; see the class for the arguments."""
        self.screen_size = (int(screen_size[0]), int(screen_size[1]))
        super().__init__(shape=None, dtype=None, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False: a text has no fixed-size numeric form."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> dict[str, Any]:
        """Return a random action of a random type, with values for all of its fields."""
        if mask is not None or probability is not None:
            raise ValueError("Computer13.sample takes neither a mask nor probabilities")
        names = tuple(computer_13.KINDS)
        kind = computer_13.KINDS[name := names[self._integer(len(names))]]
        return {
            "action_type": name,
            "parameters": {f: self._field(f) for f in (*kind.required, *kind.optional)},
        }

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is such an action."""
        if not isinstance(x, dict):
            return False
        try:
            computer_13.parse(x, self.screen_size)
        except ActionError:
            return False
        return True

    def to_jsonable(self, sample_n: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the actions as a list; they are JSON already."""
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[dict[str, Any]]:
        """Return the actions read back from :meth:`to_jsonable`."""
        return [dict(sample) for sample in sample_n]

    def __repr__(self) -> str:
        """Return the constructor call."""
        return f"Computer13({self.screen_size})"

    def __eq__(self, other: object) -> bool:
        """Equal spaces accept the same actions."""
        return isinstance(other, Computer13) and other.screen_size == self.screen_size

    def __hash__(self) -> int:
        """Hash consistently with equality."""
        return hash((Computer13, self.screen_size))

    def _integer(self, count: int) -> int:
        return int(self.np_random.integers(count))

    def _field(self, name: str) -> Any:
        """Draw a value for a field; its name says what it is, whatever the type of action."""
        if name in ("x", "y"):
            return self._integer(self.screen_size[name == "y"])
        if name in ("dx", "dy"):
            return self._integer(2 * _MOST_SCROLLED + 1) - _MOST_SCROLLED
        if name == "num_clicks":
            return 1 + self._integer(3)
        if name == "button":
            return BUTTONS[self._integer(len(BUTTONS))]
        if name == "text":
            return self._text()
        if name == "keys":
            return [_MODIFIERS[self._integer(len(_MODIFIERS))], self._field("key")]
        return _KEYS[self._integer(len(_KEYS))]

    def _text(self) -> str:
        return "".join(CHARACTER_KEYS[self._integer(len(CHARACTER_KEYS))] for _ in range(self._integer(17)))
