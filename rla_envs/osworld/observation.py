"""What an agent sees: the instruction, the screen, and the accessibility tree."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces

from rla_envs.errors import InputError, unknown_name
from rla_envs.osworld.desktop.base import View
from rla_envs.spaces import Unicode

Observation: TypeAlias = dict[str, Any]

PARTS = ("screenshot", "accessibility_tree")
"""What can be seen besides the instruction."""

_LONGEST_INSTRUCTION = 1 << 16
_LONGEST_TREE = 1 << 24


def check_parts(observation: object) -> tuple[str, ...]:
    """Return the parts to be seen, in the order of :data:`PARTS`.

    Raises:
        UnknownNameError: On an unknown part.
        InputError: If it is no list of names.
    """
    if not isinstance(observation, list | tuple) or not all(isinstance(part, str) for part in observation):
        raise InputError(f"observation: expected a list of {' and '.join(PARTS)}, got {observation!r}")
    for part in observation:
        if part not in PARTS:
            raise unknown_name("part of the observation", part, PARTS)
    return tuple(part for part in PARTS if part in observation)


def make_observation_space(parts: tuple[str, ...], screen_size: tuple[int, int]) -> spaces.Dict:
    """Return the space of observations with these parts on a screen of this width and height."""
    width, height = screen_size
    every: dict[str, spaces.Space[Any]] = {
        "screenshot": spaces.Box(0, 255, (height, width, 3), np.uint8),
        "accessibility_tree": Unicode(_LONGEST_TREE),
    }
    return spaces.Dict(
        {"instruction": Unicode(_LONGEST_INSTRUCTION), **{part: every[part] for part in parts}}
    )


def make_observation(instruction: str, view: View, parts: tuple[str, ...]) -> Observation:
    """Return what is seen, without the parts left out."""
    return {"instruction": instruction, **{part: getattr(view, part) for part in parts}}
