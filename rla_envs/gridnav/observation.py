"""What the robot sees, as numbers: the walls around it, where the goal is, and the wind."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rla_envs.errors import unknown_name
from rla_envs.gridnav.grid import MAX_RADIUS, WIDTH

KINDS = ("box", "dict")

VIEW = 2 * MAX_RADIUS + 1
"""Side of the square of cells that an observation has room for."""

GOAL, WIND = VIEW * VIEW, VIEW * VIEW + 2
"""Where the goal's and the wind's two numbers begin in a ``"box"`` observation."""

LENGTH = WIND + 2
UNSEEN, OPEN, WALL = -1.0, 0.0, 1.0

Vector: TypeAlias = NDArray[np.float32]
Observation: TypeAlias = Vector | dict[str, Vector]

OFFSETS = np.add.outer(
    np.arange(-MAX_RADIUS, MAX_RADIUS + 1) * WIDTH, np.arange(-MAX_RADIUS, MAX_RADIUS + 1)
).ravel()
"""What to add to the robot's cell number for each cell of the view."""


def make_space(kind: str) -> spaces.Space[Any]:
    """Return the observation space.

    Args:
        kind: ``"box"`` for one vector, or ``"dict"`` for its parts by name.

    Raises:
        UnknownNameError: On another kind.
    """
    if kind not in KINDS:
        raise unknown_name("observation", kind, KINDS)
    if kind == "box":
        return spaces.Box(-1.0, 1.0, (LENGTH,), np.float32)
    return spaces.Dict(
        {
            "view": spaces.Box(-1.0, 1.0, (VIEW, VIEW), np.float32),
            "goal": spaces.Box(-1.0, 1.0, (2,), np.float32),
            "wind": spaces.Box(-1.0, 1.0, (2,), np.float32),
        }
    )


def shaped(kind: str, vectors: Vector) -> Observation:
    """Return ``"box"`` observations, one or a batch of them, as the kind that was asked for."""
    if kind == "box":
        return vectors
    return {
        "view": vectors[..., :GOAL].reshape(*vectors.shape[:-1], VIEW, VIEW),
        "goal": vectors[..., GOAL:WIND],
        "wind": vectors[..., WIND:],
    }


def blank(wind: float, wind_step: int) -> Vector:
    """Return a vector without the things that change from step to step: nothing seen, the wind filled in."""
    vector = np.zeros(LENGTH, np.float32)
    vector[:GOAL] = UNSEEN
    rows = (wind_step > 1) - (wind_step < -1)
    vector[WIND:] = wind * rows, wind * (wind_step - rows * WIDTH)
    return vector


def in_view(radius: int) -> NDArray[np.bool_]:
    """Return which cells of the view lie within a radius, as a flat mask."""
    near = np.abs(np.arange(-MAX_RADIUS, MAX_RADIUS + 1)) <= radius
    return np.logical_and.outer(near, near).ravel()
