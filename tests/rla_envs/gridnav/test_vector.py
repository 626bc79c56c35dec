"""The NumPy vector is the sync vector, faster."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

import rla_envs
from rla_envs.errors import InputError, InvalidTaskError, UnknownNameError
from rla_envs.gridnav.env import GridNavEnv
from tests.rla_envs.gridnav.tasks import HARD, of_length

GRID = "RLA/GridNav-v0"


def both(count, **kwargs):
    return [gym.make_vec(GRID, count, **kwargs), rla_envs.make_vec(GRID, count, "sync", **kwargs)]


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"difficulty": {**HARD, "step_budget": 1.5}},
        {"split": "valid", "difficulty": {"size": 5, "view_radius": 1}, "observation": "dict"},
        {"render_mode": "ansi", "difficulty": {"size": 6}},
    ],
    ids=["default", "hard", "dict", "ansi"],
)
def test_everything_returned_is_what_the_sync_vector_returns(kwargs):
    fast, sync = both(6, **kwargs)
    assert type(fast).__name__ == "GridNavVectorEnv"
    assert fast.observation_space == sync.observation_space
    assert fast.action_space == sync.action_space
    rng, ends = np.random.default_rng(0), 0
    for seed in (3, None, [1, 1, 2, 3, 5, 8]):
        returned = [envs.reset(seed=seed) for envs in (fast, sync)]
        assert seed is None or data_equivalence(*returned)
        if seed is None:
            continue  # each carries on with generators of its own, which agree from the first seed
        for _ in range(120):
            actions = rng.integers(0, 5, 6)
            returned = [envs.step(actions) for envs in (fast, sync)]
            assert data_equivalence(*returned)
            ends += int(returned[0][2].sum() + returned[0][3].sum())
            if "render_mode" in kwargs:
                assert fast.render() == sync.render()
    assert ends > 12


def test_members_without_a_seed_carry_on_as_in_the_sync_vector():
    fast, sync = both(3)
    for envs in (fast, sync):
        envs.reset(seed=4)
    assert data_equivalence(fast.reset(), sync.reset())
    unseeded = gym.make_vec(GRID, 8)
    assert len(set(unseeded.reset()[1]["rla"]["task_id"])) == 8


def test_options_and_set_difficulty_hold_as_in_the_sync_vector():
    task = of_length(2, step_budget=1.0)
    for options in ({"difficulty": {"size": 9, "step_budget": 1.0}}, {"task": task}):
        logs = []
        for envs in both(3, difficulty={"size": 6, "step_budget": 1.0}):
            log = [envs.reset(seed=0, options=options)]
            log += [envs.step([4, 4, 4]) for _ in range(20)]
            envs.call("set_difficulty", {"size": 7, "step_budget": 1.0})
            log += [envs.step([4, 4, 4]) for _ in range(20)]
            assert envs.call("task")[0].difficulty["size"] == 7
            assert envs.get_attr("difficulty") == ({"size": 7, "step_budget": 1.0},) * 3
            logs.append(log)
        assert data_equivalence(*logs)


def test_a_budget_longer_than_any_before_is_played_to_its_end_and_past_it():
    task = of_length(7, step_budget=10.0)
    logs = []
    for envs in both(2):
        log = [envs.reset(seed=0, options={"task": task})]
        logs.append(log + [envs.step([4, 4]) for _ in range(73)])
    assert logs[0][70][3].tolist() == [True, True]
    assert data_equivalence(*logs)


def test_the_spec_of_the_vector_survives_json():
    envs = gym.make_vec(GRID, 3, split="valid")
    again = gym.make_vec(gym.envs.registration.EnvSpec.from_json(envs.unwrapped.spec.to_json()))
    assert (again.num_envs, type(again)) == (3, type(envs))
    assert data_equivalence(envs.reset(seed=1), again.reset(seed=1))


def test_make_vec_offers_it_by_name_and_says_where_there_is_none():
    assert type(rla_envs.make_vec(GRID, 2, "vector_entry_point")).__name__ == "GridNavVectorEnv"
    with pytest.raises(InputError, match=r"'RLA/GridNav-Adaptive-v0' has no .* use 'sync' or 'async'"):
        rla_envs.make_vec("RLA/GridNav-Adaptive-v0", 2, "vector_entry_point")


@pytest.mark.parametrize("actions", [[0, 0], [0, 0, 5], [0, 0, -1], [0.0, 0.0, 0.0], [[0, 0, 0]], "abc"])
def test_actions_that_are_none_are_refused(actions):
    envs = gym.make_vec(GRID, 3)
    envs.reset(seed=0)
    with pytest.raises(InputError, match="actions: expected 3 integers from 0 to 4, got"):
        envs.step(actions)


def test_what_one_environment_refuses_the_vector_refuses():
    envs = gym.make_vec(GRID, 3)
    with pytest.raises(InputError, match="call reset"):
        envs.step([0, 0, 0])
    with pytest.raises(UnknownNameError, match="Did you mean 'difficulty'"):
        envs.reset(options={"dificulty": {}})
    with pytest.raises(InputError, match="expected an integer or 3 of them, got 2"):
        envs.reset(seed=[1, 2])
    with pytest.raises(UnknownNameError, match="Did you mean 'set_difficulty'"):
        envs.call("set_dificulty", {})
    task = GridNavEnv().sample_task(None, np.random.default_rng(0))
    with pytest.raises(InvalidTaskError, match="cannot be played"):
        envs.reset(options={"task": task.child({**task.payload, "seed": -1})})
