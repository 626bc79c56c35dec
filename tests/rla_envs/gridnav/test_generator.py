"""Drawn grids have exactly the walls and the distance asked for, and keep to their split."""

import itertools

import networkx
import numpy as np
import pytest

from rla_envs.gridnav.env import GridNavEnv
from rla_envs.gridnav.grid import SPLITS, Cell, Grid, split_of
from rla_envs.task import Task
from tests.rla_envs.gridnav.tasks import anywhere


def graph(task):
    walls = task.payload["walls"]
    cells = networkx.grid_2d_graph(len(walls), len(walls))
    cells.remove_nodes_from([cell for cell in list(cells) if walls[cell[0]][cell[1]] == "#"])
    return cells


def test_walls_and_distance_are_those_asked_for_and_the_goal_is_in_the_largest_region():
    env, rng = GridNavEnv(), np.random.default_rng(0)
    # Where walls are dense, no region may hold half of the open cells.
    dense = [env.sample_task({"size": 12, "obstacle_density": 0.4}, rng) for _ in range(150)]
    for task in anywhere(60, seed=5) + dense:
        cells, difficulty = graph(task), task.difficulty
        walls = difficulty["size"] ** 2 - len(cells)
        assert walls == round(difficulty["obstacle_density"] * difficulty["size"] ** 2)
        goal = tuple(task.payload["goal"])
        distances = networkx.single_source_shortest_path_length(cells, goal)
        furthest = max(distances.values())
        wanted = 1 + round(difficulty["goal_distance"] * (furthest - 1))
        assert distances[tuple(task.payload["start"])] == wanted
        assert len(distances) == max(map(len, networkx.connected_components(cells)))


def test_a_shortest_plan_in_calm_air_is_a_shortest_path():
    env, rng = GridNavEnv(), np.random.default_rng(6)
    for size in (5, 12, 20):
        for _ in range(10):
            task = env.sample_task({"size": size, "obstacle_density": 0.4, "goal_distance": 1.0}, rng)
            start, goal = (tuple(task.payload[name]) for name in ("start", "goal"))
            assert env.check_task(task).optimal_length == networkx.shortest_path_length(
                graph(task), start, goal
            )


def layout(task):
    grid = Grid.from_payload(task.payload)
    return grid.walls, grid.start, grid.goal


def test_a_tenth_of_all_layouts_is_held_out():
    task = GridNavEnv().sample_task(None, np.random.default_rng(0))
    cells = [Cell(*cell) for cell in graph(task)]
    held_out = [
        split_of(task.payload["walls"], *ends) == "valid" for ends in itertools.permutations(cells, 2)
    ]
    assert 0.07 < np.mean(held_out) < 0.13


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("difficulty", [{}, {"size": 5, "obstacle_density": 0.0, "goal_distance": 1.0}])
def test_drawn_grids_keep_to_their_split_also_where_there_are_few_layouts(split, difficulty):
    env, rng = GridNavEnv(split=split), np.random.default_rng(1)
    for _ in range(20):
        task = env.sample_task(difficulty, rng)
        assert task.payload["split"] == split_of(*layout(task)) == split


def test_a_task_of_one_split_is_refused_under_the_name_of_the_other():
    for task in anywhere(5):
        payload = {**task.payload, "split": "valid"}
        check = GridNavEnv().check_task(Task(task.env_id, task.difficulty, payload))
        assert check.reason == "split: this layout belongs to 'train', the task says 'valid'"


def test_a_given_task_of_the_held_out_split_is_played_by_any_environment():
    task = GridNavEnv(split="valid").sample_task(None, np.random.default_rng(0))
    assert GridNavEnv().reset(options={"task": task})[1]["rla"]["task_id"] == task.id
