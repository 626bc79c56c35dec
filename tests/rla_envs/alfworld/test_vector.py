"""The vector of games gives what Gymnasium's own vector of single environments gives."""

import json

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import rla_envs
from rla_envs.alfworld.vector import AlfWorldVectorEnv
from rla_envs.errors import InputError, UnknownNameError
from tests.rla_envs.alfworld.games import ENV_ID, SMALL

SHORT = {**SMALL, "step_budget": 1.5}
"""Games that end every few steps, so that many automatic resets are seen."""


def assert_same(ours, theirs, where=""):
    """Compare what two vectors returned, types and masks included."""
    assert type(ours) is type(theirs), where
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), where
        for name, value in theirs.items():
            assert_same(ours[name], value, f"{where}/{name}")
    elif isinstance(theirs, tuple):
        assert len(ours) == len(theirs), where
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(one, other, f"{where}/{number}")
    elif isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype, where
        assert ours.tolist() == theirs.tolist(), where
    else:
        assert ours == theirs, where


def commands_for(infos, rng):
    """Draw a possible command for most members, and a wrong one for some."""
    return tuple(
        commands[int(rng.integers(len(commands)))] if rng.random() < 0.9 else "put mug 1 in/on desk 1"
        for commands in infos["admissible_commands"]
    )


@pytest.mark.parametrize("reset", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("keywords", [{}, {"verbs": "put", "split": "valid_unseen"}])
def test_every_member_plays_the_episodes_of_a_single_environment(reset, keywords):
    ours = AlfWorldVectorEnv(8, difficulty=SHORT, autoreset_mode=reset.value, **keywords)
    theirs = gymnasium.make_vec(
        ENV_ID,
        8,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": reset},
        difficulty=SHORT,
        **keywords,
    )
    rng, ends = np.random.default_rng(0), 0
    expected = theirs.reset(seed=5)
    assert_same(ours.reset(seed=5), expected, "reset")
    for step in range(50):
        commands = commands_for(expected[-1], rng)
        expected = theirs.step(commands)
        assert_same(ours.step(commands), expected, f"step {step}")
        ends += int((expected[2] | expected[3]).sum())
    assert ends > 16
    assert [task.id for task in ours.call("task")] == [env.unwrapped.task.id for env in theirs.envs]
    assert ours.metadata["autoreset_mode"] is reset


def test_a_win_ends_a_members_episode_with_a_reward():
    envs = AlfWorldVectorEnv(2, difficulty=SMALL)
    envs.reset(seed=3)
    plan, _ = envs.call("optimal_plan")
    for command in plan:
        _, rewards, terminations, truncations, infos = envs.step([command, "look"])
    assert rewards.tolist() == [1.0, 0.0]
    assert terminations.tolist() == [True, False]
    assert not truncations.any()
    assert infos["rla"]["success"].tolist() == [True, False]
    _, rewards, terminations, _, infos = envs.step([command, "look"])
    assert rewards.tolist() == [0.0, 0.0]
    assert not terminations.any()
    assert infos["rla"]["steps"].tolist() == [0, len(plan) + 1]


def test_running_out_of_steps_is_no_success():
    envs = AlfWorldVectorEnv(2, difficulty={**SMALL, "step_budget": 1})
    _, infos = envs.reset(seed=0)
    budgets = infos["rla"]["step_budget"]
    for _ in range(int(budgets.min())):
        _, rewards, terminations, truncations, infos = envs.step(["look", "look"])
    assert truncations.tolist() == (budgets == budgets.min()).tolist()
    assert not terminations.any()
    assert not infos["rla"]["success"].any()
    assert not rewards.any()


def test_each_member_may_have_its_own_difficulty():
    envs = AlfWorldVectorEnv(3, difficulty=[{**SMALL, "objects": n} for n in (6, 7, 8)])
    _, infos = envs.reset(seed=[9, 9, None])
    assert infos["rla"]["difficulty"]["objects"].tolist() == [6, 7, 8]
    for _ in range(200):
        _, _, _, truncations, infos = envs.step(["look"] * 3)
        if truncations.all():
            break
    _, _, _, _, infos = envs.step(["look"] * 3)
    assert infos["rla"]["difficulty"]["objects"].tolist() == [6, 7, 8]


def test_a_change_of_difficulty_holds_from_the_next_episode_of_every_member():
    envs = AlfWorldVectorEnv(2, difficulty={**SMALL, "task_type": 1, "step_budget": 1})
    envs.reset(seed=0)
    envs.call("set_difficulty", {**SMALL, "objects": 7})
    seen = []
    for _ in range(12):
        *_, infos = envs.step(["look", "look"])
        seen.append(infos["rla"]["difficulty"]["objects"].tolist())
    assert seen[0] == [6, 6]
    assert seen[-1] == [7, 7]


def test_some_members_alone_can_be_reset():
    envs = AlfWorldVectorEnv(3, difficulty=SMALL)
    observations, _ = envs.reset(seed=0)
    envs.step(["look"] * 3)
    mask = np.array([False, True, False])
    after, infos = envs.reset(seed=0, options={"reset_mask": mask})
    assert after[1] == observations[1]
    assert infos["_rla"].tolist() == mask.tolist()
    *_, infos = envs.step(["look"] * 3)
    assert infos["rla"]["steps"].tolist() == [2, 1, 2]


def test_what_is_returned_is_the_callers_own():
    envs = AlfWorldVectorEnv(2, difficulty=SMALL)
    envs.reset(seed=0)
    kept = envs.step(["look", "look"])
    kept[4]["rla"]["task_id"][0] = kept[4]["rla"]["difficulty"]["objects"][0] = 99
    kept[1][0] = 7.0
    *_, infos = envs.step(["look", "look"])
    assert infos["rla"]["task_id"][0] == envs.call("task")[0].id
    assert infos["rla"]["difficulty"]["objects"][0] == 6
    assert infos["admissible_commands"][0] is not kept[4]["admissible_commands"][0]


def test_both_makers_give_it_and_its_spec_survives_json():
    envs = gymnasium.make_vec(ENV_ID, num_envs=2, vectorization_mode="vector_entry_point", difficulty=SMALL)
    assert type(envs) is AlfWorldVectorEnv
    assert type(rla_envs.make_vec(ENV_ID, 2, mode="batch")) is AlfWorldVectorEnv
    kwargs = json.loads(envs.spec.to_json())["kwargs"]
    again = AlfWorldVectorEnv(**{k: v for k, v in kwargs.items() if k != "vectorization_mode"})
    assert_same(again.reset(seed=1), envs.reset(seed=1))


@pytest.mark.parametrize("actions", ["ab", ["look"], ["look"] * 3, ["look", 3], [b"look", "look"]])
def test_anything_but_a_command_for_each_member_is_refused_before_a_game_goes_on(actions):
    envs = AlfWorldVectorEnv(2, difficulty=SMALL)
    envs.reset(seed=0)
    with pytest.raises(InputError, match="expected 2 commands as text"):
        envs.step(actions)
    assert envs.call("steps") == (0, 0)


def test_wrong_arguments_are_refused():
    with pytest.raises(InputError, match="expected an integer of 1 or more"):
        AlfWorldVectorEnv(0)
    with pytest.raises(InputError, match="one for each of 2, got 1"):
        AlfWorldVectorEnv(2, difficulty=[{}])
    with pytest.raises(UnknownNameError, match="Did you mean 'NextStep'"):
        AlfWorldVectorEnv(2, autoreset_mode="next_step")
    with pytest.raises(InputError, match="call reset"):
        AlfWorldVectorEnv(2).step(["look", "look"])
