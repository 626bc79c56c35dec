"""Tasks that the GridNav tests share."""

import numpy as np

from rla_envs.gridnav.env import GridNavEnv
from rla_envs.gridnav.grid import DIRECTIONS, Cell, Grid, split_of
from rla_envs.gridnav.level import measured
from rla_envs.task import Task

HARD = {"size": 12, "obstacle_density": 0.3, "wind": 0.4, "goal_moving": 0.4, "goal_distance": 0.8}


def anywhere(count, seed=0):
    """Return tasks of difficulties drawn from the whole space."""
    env, rng = GridNavEnv(), np.random.default_rng(seed)
    return [
        env.sample_task({p.name: p.draw(rng) for p in env.difficulty_parameters}, rng) for _ in range(count)
    ]


def of_length(length, **difficulty):
    """Return a task whose shortest plan has this many actions."""
    env, rng = GridNavEnv(), np.random.default_rng(length)
    while True:
        share = float(rng.uniform())
        task = env.sample_task({"goal_distance": share, **difficulty}, rng)
        if env.check_task(task).optimal_length == length:
            return task


def drawn(rows, wind_direction="east", seed=7, **difficulty):
    """Return the task of a drawing with R at the start and G at the goal."""
    places = {mark: Cell(r, row.index(mark)) for r, row in enumerate(rows) for mark in "RG" if mark in row}
    walls = tuple(row.replace("R", ".").replace("G", ".") for row in rows)
    start, goal = places["R"], places["G"]
    grid = Grid(walls, start, goal, DIRECTIONS.index(wind_direction), seed, split_of(walls, start, goal))
    values = {"goal_moving": 0.0, "wind": 0.0, "view_radius": 3, "step_budget": 5.0, **difficulty}
    return Task("RLA/GridNav-v0", {**measured(grid), **values}, grid.payload())
