"""The base class: options, budgets, seeds and edits behave the same for every environment built on it."""

import dataclasses

import gymnasium as gym
import numpy as np
import pytest

from rla_envs import Task, TaskEdit, make_vec
from rla_envs.errors import InputError, InvalidTaskError, RefusedEditError, UnknownNameError
from tests.rla_envs.toy_env import TOY_ID, ToyEnv


def play_out(env, info):
    """Give wrong answers until the episode is cut; return the number of steps."""
    count, terminated, truncated = 0, False, False
    while not (terminated or truncated):
        _, _, terminated, truncated, info = env.step("open nothing")
        count += 1
    return count, terminated, truncated


@pytest.mark.parametrize("budget", [1, 2, 7])
def test_the_budget_allows_exactly_n_steps_then_truncates(budget):
    env = gym.make(TOY_ID, step_budget=budget, difficulty={"doors": 1})
    _, info = env.reset(seed=0)
    assert info["rla"]["step_budget"] == budget
    assert play_out(env, info) == (budget, False, True)


@pytest.mark.parametrize("budget", [1, 2, 7])
def test_a_win_on_the_last_step_is_a_win(budget):
    env = ToyEnv(step_budget=budget, difficulty={"doors": 1})
    env.reset(seed=0)
    witness = env.check_task(env.task).witness
    for _ in range(budget - 1):
        assert env.step("open nothing")[1:4] == (0.0, False, False)
    _, reward, terminated, truncated, info = env.step(witness[0])
    assert (reward, terminated, truncated, info["rla"]["success"]) == (1.0, True, False, True)
    assert type(reward) is float


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("budget", [1, 2, 7])
def test_the_budget_and_finite_rewards_hold_in_vector_environments(mode, budget):
    envs = make_vec(TOY_ID, 2, mode, step_budget=budget, difficulty={"doors": 1})
    envs.reset(seed=0)
    for step in range(1, budget + 1):
        _, rewards, terminated, truncated, _ = envs.step(("open nothing", "open nothing"))
        assert rewards.dtype == np.float64
        assert rewards.tolist() == [0.0, 0.0]
        assert not terminated.any()
        assert truncated.tolist() == [step == budget] * 2
    envs.close()


def test_a_refused_action_costs_a_step_and_says_why():
    env = ToyEnv()
    env.reset(seed=0)
    observation, reward, *_, info = env.step("dance")
    assert observation == "Nothing happens."
    assert reward == 0.0
    assert info["rla"]["steps"] == 1
    assert info["rla"]["last_action_error"] == "'dance' opens no door"


def test_equal_seeds_reset_equally_with_episodes_between():
    env = gym.make(TOY_ID)
    first = env.reset(seed=42)
    for _ in range(2):
        play_out(env, first[1])
        env.reset()
        assert env.reset(seed=42) == first
    assert gym.make(TOY_ID).unwrapped.reset(seed=42) == first


def test_the_given_task_is_played_once():
    env = gym.make(TOY_ID)
    env.reset(seed=1)
    task = env.unwrapped.task
    observation, info = env.reset(seed=2, options={"task": task})
    assert env.unwrapped.task is task
    assert observation == "Notice: " + ", ".join(task.payload["order"])
    assert info["rla"]["task_id"] == task.id
    env.reset()
    assert env.unwrapped.task != task


def test_option_difficulty_holds_for_one_episode_and_set_difficulty_for_all():
    env = gym.make(TOY_ID, difficulty={"doors": 2})
    seen = [env.reset(seed=0, options={"difficulty": {"doors": 5}})[1], env.reset()[1]]
    env.unwrapped.set_difficulty({"colours": 6})
    seen += [env.reset()[1], env.reset()[1]]
    assert [(i["rla"]["difficulty"]["doors"], i["rla"]["difficulty"]["colours"]) for i in seen] == [
        (5, 4),
        (2, 4),
        (3, 6),
        (3, 6),
    ]


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_over_autoresets_options_hold_for_the_first_episode_and_runs_repeat(mode):
    def run():
        envs = make_vec(TOY_ID, 2, mode, step_budget=2, difficulty={"doors": 2})
        records = [envs.reset(seed=7, options={"difficulty": {"doors": 1}})]
        for step in range(30):
            if step == 15:
                envs.call("set_difficulty", {"doors": 1, "colours": 6})
            records.append(envs.step(("open nothing", "open nothing")))
        envs.close()
        return [(r[0], r[-1]["rla"]["difficulty"]) for r in records]

    records = run()
    # Two steps and one automatic reset make three records an episode.
    doors = [difficulty["doors"].tolist() for _, difficulty in records[::3]]
    assert doors == [[1, 1]] + [[2, 2]] * 5 + [[1, 1]] * 5
    assert repr(run()) == repr(records)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dificulty": {}}, UnknownNameError, "unknown reset option 'dificulty'. Did you mean 'difficulty'"),
        ({"difficulty": {"door": 2}}, UnknownNameError, "Did you mean 'doors'"),
        ({"difficulty": {"doors": 9}}, InputError, "from 1 to 5, got 9"),
        ({"task": "{}"}, InputError, "expected a Task, got str; use Task.from_json"),
        ({"task": Task("E-v0", {}, {}), "difficulty": {}}, InputError, "got both"),
        (["task"], InputError, r"reset options: expected a mapping, got \['task'\]"),
        ("task", InputError, "reset options: expected a mapping, got 'task'"),
    ],
)
def test_bad_options_are_refused_through_every_wrapper(options, error, message):
    env = gym.make(TOY_ID)
    with pytest.raises(error, match=message):
        env.reset(seed=0, options=options)


def test_an_option_of_none_is_as_if_it_were_absent():
    env = ToyEnv()
    task = env.sample_task(None, np.random.default_rng(0))
    env.reset(options={"task": task, "difficulty": None})
    assert env.task == task
    _, info = env.reset(options={"task": None, "difficulty": {"doors": 5}})
    assert info["rla"]["difficulty"]["doors"] == 5


def test_an_invalid_task_is_not_played_and_the_episode_goes_on():
    env = ToyEnv()
    env.reset(seed=0)
    before = env.task
    with pytest.raises(InvalidTaskError, match="cannot be played: the notice names a door"):
        env.reset(options={"task": before.child({**before.payload, "order": ["nowhere"]})})
    assert env.task is before


def test_sampling_gives_up_on_an_impossible_difficulty_and_says_why():
    env = ToyEnv(step_budget=2, difficulty={"doors": 5})
    with pytest.raises(
        InvalidTaskError, match=r"in 64 draws at difficulty \{'doors': 5\}.*5 doors need more than 2"
    ):
        env.reset(seed=0)


def test_before_the_first_reset_there_is_no_task():
    with pytest.raises(InputError, match="ToyEnv has no task yet; call reset"):
        ToyEnv().task  # noqa: B018


def test_an_unknown_render_mode_is_refused():
    with pytest.raises(UnknownNameError, match="unknown render mode 'ansy'. Did you mean 'ansi'"):
        ToyEnv(render_mode="ansy")


def test_an_edit_gives_a_valid_child():
    env = ToyEnv()
    task = env.sample_task(None, np.random.default_rng(0))
    for direction, change in (("harder", 1), ("easier", -1)):
        edit = env.propose_edits(task, direction, np.random.default_rng(0))[0]
        edited = env.apply_edit(task, edit)
        assert edited.parent_id == edited.root_id == task.id
        assert edited.difficulty["doors"] == task.difficulty["doors"] + change
        assert env.check_task(edited).valid


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"op": "burn"}, "unknown operation 'burn'"),
        ({"op": "add", "colour": "mauve"}, "names a door that is not there"),
    ],
)
def test_a_bad_edit_is_refused_with_the_reason(change, reason):
    env = ToyEnv()
    task = env.sample_task(None, np.random.default_rng(0))
    with pytest.raises(RefusedEditError, match=reason):
        env.apply_edit(task, TaskEdit((change,)))


def test_an_edit_of_another_environments_task_is_refused_as_such():
    task = dataclasses.replace(ToyEnv().sample_task(None, np.random.default_rng(0)), env_id="Other/Env-v0")
    with pytest.raises(RefusedEditError, match="expected a task of .*, got one of Other/Env-v0"):
        ToyEnv().apply_edit(task, TaskEdit(({"op": "drop"},)))


@pytest.mark.parametrize("no_edit", [{"op": "drop"}, "drop", None])
def test_what_is_no_task_or_no_edit_is_named(no_edit):
    env, edit = ToyEnv(), TaskEdit(({"op": "drop"},))
    task = env.sample_task(None, np.random.default_rng(0))
    for arguments in ((task, no_edit), (no_edit, edit)):
        with pytest.raises(InputError, match="apply_edit: expected a Task and a TaskEdit, got"):
            env.apply_edit(*arguments)


def test_an_edit_that_changes_nothing_is_refused():
    env = ToyEnv()
    task = env.sample_task(None, np.random.default_rng(0))
    edit = TaskEdit(({"op": "add", "colour": task.payload["order"][0]}, {"op": "drop"}))
    with pytest.raises(RefusedEditError, match="changes nothing"):
        env.apply_edit(task, edit)
