"""A task made ready to play: its grid, its weather, a shortest plan, and the verdict on it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from rla_envs.difficulty import Value, parse_difficulty
from rla_envs.errors import InputError, InvalidTaskError
from rla_envs.gridnav.difficulty import PARAMETERS, distance_share, steps_away
from rla_envs.gridnav.grid import ENV_ID, STEPS, Grid
from rla_envs.gridnav.search import layers, shortest_plan
from rla_envs.gridnav.weather import Weather
from rla_envs.step_budget import steps_allowed
from rla_envs.task import Task

_HORIZON = 8
"""How far ahead a plan is looked for, in steps per cell of the grid; calm ones need at most one."""


@dataclass(frozen=True)
class Level:
    """Everything an episode of one task is played from.

    Attributes:
        grid: What the payload says.
        weather: The gusts and the goal's places, for the whole budget.
        plan: A shortest list of actions that solves it.
        view_radius: Cells seen in each direction.
        wind: Probability of a gust.
        step_budget: Steps before the episode is cut.
    """

    grid: Grid
    weather: Weather
    plan: tuple[int, ...]
    view_radius: int
    wind: float
    step_budget: int

    @property
    def wind_step(self) -> int:
        """What a gust adds to a cell's number."""
        return STEPS[self.grid.wind_direction]

    @property
    def way(self) -> list[int]:
        """Numbers of the cells that the plan leads to, step by step."""
        cell, passed = self.grid.start.number, []
        for action, gust in zip(self.plan, self.weather.gusts, strict=False):
            cell += STEPS[action]  # a plan stays where it could only bump
            if gust and not self.grid.wall_bytes[cell + self.wind_step]:
                cell += self.wind_step
            passed.append(cell)
        return passed

    @classmethod
    def of(cls, task: Task) -> Level:
        """Read and solve a task; see :func:`level_of`."""
        if task.env_id != ENV_ID:
            raise InvalidTaskError(f"expected a task of {ENV_ID}, got one of {task.env_id}")
        grid = Grid.from_payload(task.payload)
        difficulty = _stated(task.difficulty)
        _compare(difficulty, grid)
        wind = float(difficulty["wind"])
        weather = Weather(grid, wind, float(difficulty["goal_moving"]))
        plan = _plan(grid, weather)
        budget = steps_allowed(difficulty["step_budget"], len(plan))
        weather.extend(budget)
        return cls(grid, weather, plan, int(difficulty["view_radius"]), wind, budget)


@functools.lru_cache(maxsize=1024)
def level_of(task: Task) -> Level:
    """Return a task made ready to play; the last ones are kept, because each is asked for several times.

    Raises:
        InvalidTaskError: If the task is malformed, states a difficulty that its
            grid does not have, or cannot be solved.
    """
    return Level.of(task)


def measured(grid: Grid) -> dict[str, Value]:
    """Return the difficulty parameters that can be read off a grid.

    Raises:
        InvalidTaskError: If no path leads from the start to the goal.
    """
    distance, furthest = _distances(grid)
    return {
        "size": grid.size,
        "obstacle_density": grid.wall_count / grid.size**2,
        "goal_distance": distance_share(distance, furthest),
    }


def _distances(grid: Grid) -> tuple[int, int]:
    """Return how far the start is from the goal, and the cell that is furthest from it."""
    by_distance = layers(grid.open_cells, grid.goal.number)
    start = 1 << grid.start.number
    for distance, cells in enumerate(by_distance):
        if cells & start:
            return distance, len(by_distance) - 1
    raise InvalidTaskError("no path leads from the start to the goal")


def _stated(difficulty: Mapping[str, object]) -> dict[str, Value]:
    try:
        stated = parse_difficulty(PARAMETERS, difficulty)
    except InputError as error:
        raise InvalidTaskError(str(error)) from error
    missing = next((p.name for p in PARAMETERS if p.name not in stated), None)
    if missing:
        raise InvalidTaskError(f"difficulty parameter {missing!r} is missing from the task")
    return stated


def _compare(stated: Mapping[str, Value], grid: Grid) -> None:
    """Refuse values that would not give this grid when they are rounded to whole cells and steps."""
    distance, furthest = _distances(grid)
    for name, asked, found in (
        ("size", stated["size"], grid.size),
        ("obstacle_density", round(stated["obstacle_density"] * grid.size**2), grid.wall_count),
        ("goal_distance", steps_away(float(stated["goal_distance"]), furthest), distance),
    ):
        if asked != found:
            raise InvalidTaskError(
                f"the task states {name}={stated[name]:g}, which means {asked}; its grid has {found}"
            )


def _plan(grid: Grid, weather: Weather) -> tuple[int, ...]:
    horizon, limit = 64, _HORIZON * grid.size**2
    while True:
        weather.extend(horizon)
        plan = shortest_plan(
            grid.open_cells, grid.start.number, weather.gusts, STEPS[grid.wind_direction], weather.goals
        )
        if plan is not None:
            return plan
        if horizon >= limit:
            raise InvalidTaskError(f"no plan of {horizon} steps reaches the goal")
        horizon *= 4
