"""GridNav's difficulty parameters, and the number each one can be recognised by in a task."""

from __future__ import annotations

import itertools

from rla_envs.difficulty import DifficultyParameter
from rla_envs.gridnav.grid import MAX_RADIUS, MAX_SIZE, MIN_SIZE, Grid
from rla_envs.gridnav.search import layers
from rla_envs.gridnav.weather import Weather
from rla_envs.step_budget import STEP_BUDGET
from rla_envs.task import Task

_WATCHED = 100
"""Steps over which gusts and moves of the goal are counted."""


def steps_away(goal_distance: float, furthest: int) -> int:
    """Return the walking distance that a ``goal_distance`` stands for.

    Args:
        goal_distance: From 0 (next to the goal) to 1 (as far as one can be).
        furthest: Distance of the cell furthest from the goal, at least 1.
    """
    return 1 + round(goal_distance * (furthest - 1))


def distance_share(steps: int, furthest: int) -> float:
    """Return the ``goal_distance`` that a walking distance stands for."""
    return (steps - 1) / (furthest - 1) if furthest > 1 else 0.0


def _grid(task: Task) -> Grid:
    return Grid.from_payload(task.payload)


def _walking_distance(task: Task) -> float:
    grid = _grid(task)
    start = 1 << grid.start.number
    return next(n for n, cells in enumerate(layers(grid.open_cells, grid.goal.number)) if cells & start)


def _weather(task: Task) -> Weather:
    weather = Weather(_grid(task), float(task.difficulty["wind"]), float(task.difficulty["goal_moving"]))
    weather.extend(_WATCHED)
    return weather


def _goal_moves(task: Task) -> float:
    goals = _weather(task).goals[: _WATCHED + 1]
    return sum(before != after for before, after in itertools.pairwise(goals))


def _cells_out_of_view(task: Task) -> float:
    grid, radius = _grid(task), int(task.difficulty["view_radius"])
    seen = 1
    for position in grid.start:
        seen *= min(position + radius, grid.size - 1) - max(position - radius, 0) + 1
    return grid.size**2 - seen


PARAMETERS = (
    DifficultyParameter(
        name="size",
        low=MIN_SIZE,
        high=MAX_SIZE,
        default=8,
        meaning="cells along a side of the square grid",
        statistic=lambda task: len(task.payload["walls"]),
    ),
    DifficultyParameter(
        name="obstacle_density",
        low=0.0,
        high=0.4,
        default=0.2,
        continuous=True,
        meaning="share of the cells that are walls (rounded to a whole number of cells)",
        statistic=lambda task: sum(row.count("#") for row in task.payload["walls"]),
    ),
    DifficultyParameter(
        name="goal_distance",
        low=0.0,
        high=1.0,
        default=0.5,
        continuous=True,
        meaning="walking distance from the start to the goal: 0 next to it, 1 as far from it as one can be",
        statistic=_walking_distance,
    ),
    DifficultyParameter(
        name="goal_moving",
        low=0.0,
        high=0.5,
        default=0.0,
        continuous=True,
        meaning="probability that the goal tries to move to a neighbouring cell, at each step",
        statistic=_goal_moves,
    ),
    DifficultyParameter(
        name="wind",
        low=0.0,
        high=0.5,
        default=0.0,
        continuous=True,
        meaning="probability that the wind pushes the robot one cell in the task's wind direction, "
        "after each step",
        statistic=lambda task: sum(_weather(task).gusts[:_WATCHED]),
    ),
    DifficultyParameter(
        name="view_radius",
        low=1,
        high=MAX_RADIUS,
        default=3,
        direction=-1,
        meaning="how many cells the robot sees in each direction; it also limits how exactly it knows "
        "where the goal is",
        statistic=_cells_out_of_view,
    ),
    STEP_BUDGET,
)
