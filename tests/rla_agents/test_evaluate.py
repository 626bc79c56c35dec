"""The held-out evaluation: fixed games, equal for every run, and broken episodes outside the count."""

import dataclasses
from collections import Counter

import pytest

from rla_agents import evaluate as module
from rla_agents.config import EnvConfig, EvalConfig, TrainConfig
from rla_agents.env_pool import EnvPool
from rla_agents.evaluate import evaluate, grid_cells, heldout_tasks, summary
from rla_agents.llm.base import Sampling
from rla_agents.policy import Policy
from rla_envs.errors import InvalidTaskError
from rla_envs.task import Task
from tests.rla_agents.played import trajectory

DOORS = "tests.rla_agents.doors:RLATest/Doors-v0"


def config(games=8, seed=0, **grid):
    return TrainConfig(env=EnvConfig(id=DOORS), evaluation=EvalConfig(games=games, seed=seed, grid=grid))


def test_a_grid_is_every_combination_of_its_values():
    assert grid_cells({"doors": [1, 2], "colours": [3, 4]}) == [
        {"doors": 1, "colours": 3},
        {"doors": 1, "colours": 4},
        {"doors": 2, "colours": 3},
        {"doors": 2, "colours": 4},
    ]
    assert grid_cells({}) == [{}]


def test_every_cell_gets_equally_many_games():
    with EnvPool(DOORS, {}) as pool:
        tasks = heldout_tasks(config(games=12, doors=[1, 2], colours=[3, 4]), pool)
    counted = Counter((t.difficulty["doors"], t.difficulty["colours"]) for t in tasks)
    assert counted == {(1, 3): 3, (1, 4): 3, (2, 3): 3, (2, 4): 3}


def test_the_games_depend_on_the_evaluations_seed_alone():
    drawn = []
    for workers, seed, run_seed in ((0, 0, 0), (2, 0, 5), (0, 1, 0)):
        with EnvPool(DOORS, {}, workers) as pool:
            settings = dataclasses.replace(config(seed=seed, colours=[6]), seed=run_seed)
            drawn.append([task.id for task in heldout_tasks(settings, pool)])
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_cell_without_a_valid_task_is_refused_with_the_reason():
    with (
        EnvPool(DOORS, {"step_budget": 2}) as pool,
        pytest.raises(InvalidTaskError, match="5 doors need more than 2 steps"),
    ):
        heldout_tasks(config(doors=[1, 5]), pool)


@pytest.mark.parametrize("greedy", [False, True])
def test_every_game_is_played_once_in_order_and_equally_each_time(model, greedy, monkeypatch):
    monkeypatch.setattr(module, "BATCH", 3)
    policy = Policy(model, Sampling(), instructed=False)
    with EnvPool(DOORS, {}) as pool:
        tasks = heldout_tasks(config(doors=[1, 2]), pool)
        counted = []
        played = evaluate(policy, pool, tasks, config(), greedy, counted.append)
        again = evaluate(policy, pool, tasks, config(), greedy)
    assert [t.task for t in played] == tasks
    assert sum(counted) == len(tasks)
    assert played == again
    drawn = {s.generated.sampling.greedy for t in played for s in t.sequence.spans}
    assert drawn == {greedy}
    assert policy.sampling.greedy is False


def test_wins_are_counted_by_task_type_and_broken_episodes_are_not():
    def task(kind):
        return Task("RLATest/Doors-v0", {"task_type": kind, "doors": 1}, {})

    played = [
        trajectory(True, steps=1, task=task(0)),
        trajectory(False, steps=1, task=task(0)),
        trajectory(False, steps=1, task=task(2), stop="context"),
        trajectory(False, steps=1, task=task(2), stop="error"),
    ]
    result = summary(played, ("place", "clean", "heat"))
    assert (result["wins"], result["n"], result["errors"]) == (1, 3, 1)
    assert result["success"] == pytest.approx(1 / 3)
    assert result["by_type"] == {"place": [1, 2], "heat": [0, 1]}


def test_environments_without_task_types_have_one_row():
    result = summary([trajectory(True, steps=1), trajectory(False, steps=1)])
    assert result["by_type"] == {"all": [1, 2]}
    assert summary([])["success"] is None
