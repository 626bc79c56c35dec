"""What happens on a grid by itself: gusts of wind, and the goal's walk; fixed by the task's seed."""

from __future__ import annotations

import numpy as np

from rla_envs.gridnav.grid import STEPS, Grid

_CHUNK = 64


class Weather:
    """The gusts and the goal's places, step by step, as far as they were asked for.

    Three numbers of the seed's stream belong to each step: whether there is a
    gust, whether the goal tries to move, and where to. The stream is PCG64's raw
    output, which NumPy promises not to change (NEP 19), so a task stays
    the same episode over releases.

    Args:
        grid: Where it happens.
        wind: Probability of a gust at a step.
        goal_moving: Probability that the goal tries to move at a step; it
            stays where a wall is in its way.

    Attributes:
        gusts: For every step, whether the robot is pushed after its own move.
        goals: Number of the goal's cell before every step, and after the last.
    """

    def __init__(self, grid: Grid, wind: float, goal_moving: float) -> None:
        """Begin with no step; see the class for the arguments."""
        self.gusts: list[bool] = []
        self.goals = [grid.goal.number]
        self._grid, self._wind, self._goal_moving = grid, wind, goal_moving
        self._stream: np.random.PCG64 | None = None

    def extend(self, steps: int) -> None:
        """Make it known for at least this many steps."""
        while (missing := steps - len(self.gusts)) > 0:
            if self._wind == self._goal_moving == 0.0:
                self.gusts += [False] * missing
                self.goals += [self.goals[0]] * missing
            else:
                self._extend_by_chunk()

    def _extend_by_chunk(self) -> None:
        if self._stream is None:
            self._stream = np.random.PCG64(self._grid.seed)
        raw = self._stream.random_raw(3 * _CHUNK).reshape(_CHUNK, 3)
        uniform = (raw[:, :2] >> np.uint64(11)) * 2.0**-53  # as NumPy makes a float64 of 64 bits
        self.gusts += (uniform[:, 0] < self._wind).tolist()
        moves = (uniform[:, 1] < self._goal_moving).tolist()
        directions = (raw[:, 2] >> np.uint64(62)).tolist()
        cell, walls = self.goals[-1], self._grid.wall_bytes
        for moving, direction in zip(moves, directions, strict=True):
            if moving and not walls[cell + STEPS[direction]]:
                cell += STEPS[direction]
            self.goals.append(cell)
