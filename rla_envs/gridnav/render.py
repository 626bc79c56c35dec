"""Draw a grid as text or as a picture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rla_envs.gridnav.grid import DIRECTIONS, Cell, cell_at
from rla_envs.gridnav.level import Level

_PIXELS, _CAPTION = 24, 240
_WALL, _OPEN, _LINE = (52, 58, 70), (246, 244, 238), (222, 218, 208)
_ROBOT, _GOAL, _WIND, _INK = (33, 102, 172), (26, 152, 80), (178, 110, 30), (40, 40, 40)
_DIM = 0.55
"""How much of its brightness a cell out of view keeps."""


class Scene(NamedTuple):
    """A moment of an episode.

    Attributes:
        level: What is played.
        cell: Number of the robot's cell.
        step: Steps taken so far.
        solved: Whether the task is solved.
    """

    level: Level
    cell: int
    step: int
    solved: bool

    @property
    def robot(self) -> Cell:
        """Where the robot is."""
        return cell_at(self.cell)

    @property
    def goal(self) -> Cell:
        """Where the goal is."""
        return cell_at(self.level.weather.goals[self.step])

    def sees(self, cell: Cell) -> bool:
        """Return whether a cell is in view."""
        return (
            max(abs(cell.row - self.robot.row), abs(cell.column - self.robot.column))
            <= self.level.view_radius
        )

    @property
    def caption(self) -> str:
        """The step, the wind and the result, in a line."""
        text = f"step {self.step}/{self.level.step_budget}"
        if self.level.wind:
            text += f"  wind {DIRECTIONS[self.level.grid.wind_direction]} {self.level.wind:.2f}"
        return f"{text}  solved" if self.solved else text


def as_text(scene: Scene) -> str:
    """Return the grid with R for the robot, G for the goal and X where they meet; under it a caption."""
    rows = [list(row) for row in scene.level.grid.walls]
    rows[scene.goal.row][scene.goal.column] = "G"
    rows[scene.robot.row][scene.robot.column] = "X" if scene.robot == scene.goal else "R"
    return "\n".join(["".join(row) for row in rows] + [scene.caption])


def as_picture(scene: Scene) -> NDArray[np.uint8]:
    """Return the grid as RGB: what is in view bright, goal green, robot blue, an arrow for the wind."""
    from PIL import Image, ImageDraw

    grid = scene.level.grid
    side = grid.size * _PIXELS
    image = Image.new("RGB", (max(side, _CAPTION), side + _PIXELS), (255, 255, 255))
    draw = ImageDraw.Draw(image)
    for row, marks in enumerate(grid.walls):
        for column, mark in enumerate(marks):
            cell = Cell(row, column)
            light = 1.0 if scene.sees(cell) else _DIM
            red, green, blue = (round(part * light) for part in (_WALL if mark == "#" else _OPEN))
            draw.rectangle(_box(cell, 0), (red, green, blue), _LINE)
    draw.rectangle(_box(scene.goal, 4), _GOAL)
    draw.ellipse(_box(scene.robot, 5), _ROBOT, (255, 255, 255))
    if scene.level.wind:
        draw.polygon(_arrow(image.width - _PIXELS // 2, side + _PIXELS // 2, scene.level.wind_step), _WIND)
    draw.text((4, side + 6), scene.caption, _INK)
    return np.asarray(image)


def _box(cell: Cell, margin: int) -> tuple[int, int, int, int]:
    left, top = cell.column * _PIXELS, cell.row * _PIXELS
    return left + margin, top + margin, left + _PIXELS - margin, top + _PIXELS - margin


def _arrow(x: int, y: int, wind_step: int) -> list[tuple[int, int]]:
    """Return the corners of a triangle around a point that points where the wind pushes to."""
    across = abs(wind_step) == 1
    sign = 1 if wind_step > 0 else -1
    tip, back = 8 * sign, -6 * sign
    corners = [(tip, 0), (back, -7), (back, 7)]
    return [(x + along, y + aside) if across else (x + aside, y + along) for along, aside in corners]
