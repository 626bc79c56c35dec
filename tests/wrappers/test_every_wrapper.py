"""What holds for every wrapper, alone and in pairs: seeds, options, step budgets, vectors."""

import itertools
import pickle

import gymnasium as gym
import numpy as np
import pytest

from rla_envs.errors import InputError, UnknownNameError
from tests.rla_envs.toy_env import ToyEnv
from tests.wrappers.players import RuleCritic
from wrappers import CriticFeedback, NumberedCommands, curriculum_names

WRAPPERS = {
    "numbers": NumberedCommands,
    **{name: lambda env, name=name: CriticFeedback(env, name) for name in curriculum_names()},
    "votes": lambda env: CriticFeedback(env, "uniform", RuleCritic()),
}
PAIRS = [pair for pair in itertools.permutations(WRAPPERS, 2) if "numbers" in pair]
STACKS = [(name,) for name in WRAPPERS] + PAIRS


def stack(names, **kwargs):
    env = ToyEnv(**kwargs)
    for name in names:
        env = WRAPPERS[name](env)
    return env


def useless(env):
    """Return an action that opens no door, in the environment's own terms."""
    return 200 if isinstance(env.action_space, gym.spaces.Discrete) else "wait"


def plain(data):
    """Return the data with arrays as lists, so that == compares them."""
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(item) for item in data]
    return data.tolist() if isinstance(data, np.ndarray) else data


def finish(env):
    results = []
    while not results or not (results[-1][2] or results[-1][3]):
        results.append(env.step(useless(env)))
    return results


@pytest.mark.parametrize("names", STACKS, ids="-".join)
def test_a_seed_gives_the_same_three_times_with_episodes_in_between(names):
    env = stack(names)
    runs = []
    for pause in range(3):
        runs.append([plain(env.reset(seed=42)), plain(finish(env)), plain(env.reset()), plain(finish(env))])
        for _ in range(pause):
            env.reset()
            finish(env)
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("names", STACKS, ids="-".join)
def test_a_given_task_is_played_and_no_other(names):
    env, bare = stack(names), ToyEnv()
    task = bare.sample_task({"doors": 5, "colours": 2}, np.random.default_rng(3))
    for _ in range(2):
        env.reset(seed=1)
        observation, info = env.reset(options={"task": task})
        expected, bare_info = bare.reset(options={"task": task})
        assert observation.split("\n")[0] == expected
        assert {key: info["rla"][key] for key in bare_info["rla"]} == bare_info["rla"]
        assert env.unwrapped.task == task


@pytest.mark.parametrize("names", STACKS, ids="-".join)
@pytest.mark.parametrize("options", [{"dificulty": {"doors": 1}}, {"difficulty": {"doors": 1}, "tasks": 1}])
def test_an_unknown_option_is_an_error_from_any_depth(names, options):
    with pytest.raises(UnknownNameError, match="unknown reset option .* Did you mean '(difficulty|task)'"):
        stack(names).reset(options=options)


@pytest.mark.parametrize("names", STACKS, ids="-".join)
def test_options_that_are_no_mapping_are_an_error_from_any_depth(names):
    with pytest.raises(InputError, match="reset options: expected a mapping"):
        stack(names).reset(options=["task"])


@pytest.mark.parametrize("names", STACKS, ids="-".join)
@pytest.mark.parametrize("budget", [5, 7])
def test_a_budget_of_n_steps_truncates_after_exactly_n(names, budget):
    env = stack(names, step_budget=budget)
    env.reset(seed=0)
    results = finish(env)
    assert len(results) == budget
    assert [(terminated, truncated) for _, _, terminated, truncated, _ in results] == [(False, False)] * (
        budget - 1
    ) + [(False, True)]
    assert all(type(reward) is float for _, reward, *_ in results)


@pytest.mark.parametrize("budget", [1, 2])
@pytest.mark.parametrize("names", [("numbers",), ("fixed",), ("fixed", "numbers")], ids="-".join)
def test_the_shortest_budgets_count_too(names, budget):
    env = stack(names, step_budget=budget)
    env.reset(seed=0, options={"difficulty": {"doors": 1}})
    assert len(finish(env)) == budget


@pytest.mark.parametrize("names", STACKS, ids="-".join)
def test_a_pickled_stack_continues_the_same(names):
    env = stack(names)
    env.reset(seed=0)
    finish(env)
    other = pickle.loads(pickle.dumps(env))
    assert [plain(env.reset()), plain(finish(env))] == [plain(other.reset()), plain(finish(other))]


def vector(mode, names):
    make = [lambda: stack(names)] * 2
    if mode == "sync":
        return gym.vector.SyncVectorEnv(make)
    return gym.vector.AsyncVectorEnv(make, shared_memory=False)


def vector_run(envs, options=None, steps=44):
    """Fail for a few episodes; return everything that came back."""
    log = [plain(envs.reset(seed=3, options=options))]
    action = (
        np.array([200, 200])
        if isinstance(envs.single_action_space, gym.spaces.Discrete)
        else ("wait", "wait")
    )
    log += [plain(envs.step(action)) for _ in range(steps)]
    return log


@pytest.mark.parametrize("names", [("uniform",), ("votes",), ("threshold", "numbers")], ids="-".join)
def test_both_vectors_give_the_same_over_all_autoresets_and_options_hold_for_the_first_episode(names):
    logs = []
    for mode in ("sync", "async", "sync"):
        envs = vector(mode, names)
        try:
            logs.append(vector_run(envs, options={"difficulty": {"doors": 1}}))
        finally:
            envs.close()
    assert logs[0] == logs[1] == logs[2]
    reset, *steps = logs[0]
    assert reset[1]["rla"]["difficulty"]["doors"] == [1, 1]
    assert reset[1]["rla"]["difficulty_reason"] == ["given at reset"] * 2
    autoresets = [infos for *_, infos in steps if infos["rla"]["steps"] == [0, 0]]
    assert len(autoresets) == 4
    assert all("given at reset" not in infos["rla"]["difficulty_reason"] for infos in autoresets)
    assert all(reward == [0.0, 0.0] for _, reward, *_ in steps)
    if "votes" in names:
        last = steps[9][4]["rla"]
        assert last["votes"] == [[[-1, -1, 0]] * 10] * 2
        assert last["step_rewards"] == [pytest.approx([-1 - 2 / 3] * 10)] * 2


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_set_difficulty_reaches_every_member_from_its_next_episode_on(mode):
    envs = vector(mode, ("uniform",))
    try:
        envs.reset(seed=0)
        envs.call("set_difficulty", {"doors": 2})
        steps = [envs.step(("wait", "wait")) for _ in range(44)]
    finally:
        envs.close()
    after = [infos["rla"]["difficulty"]["doors"].tolist() for *_, infos in steps[10:]]
    assert after == [[2, 2]] * 34
