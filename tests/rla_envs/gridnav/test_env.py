"""GridNav plays by its rules, shows what it should, and its witnesses are shortest."""

import gymnasium as gym
import numpy as np
import pytest

import rla_envs  # noqa: F401 - registers the ids
from rla_envs.errors import InputError, InvalidTaskError
from rla_envs.gridnav.env import GridNavEnv
from rla_envs.task import Task
from tests.rla_envs.gridnav.reference import Walk
from tests.rla_envs.gridnav.tasks import anywhere, drawn, of_length

SMALL = ["R.G..", ".#...", ".....", ".....", "....."]


def test_episodes_follow_the_rules_step_by_step():
    env, rng = GridNavEnv(), np.random.default_rng(0)
    solved_once = bumped_once = False
    for task in anywhere(60):
        walk = Walk(task)
        observation, info = env.reset(options={"task": task})
        for step in range(1, info["rla"]["step_budget"] + 1):
            np.testing.assert_array_equal(observation, walk.observation())
            action = int(rng.integers(5))
            bumps = action < 4 and walk.moved(walk.at, [(-1, 0), (0, 1), (1, 0), (0, -1)][action]) == walk.at
            observation, reward, terminated, truncated, info = env.step(action)
            solved = walk.step(action)
            assert (reward, terminated) == (float(solved), solved)
            assert truncated == (not solved and step == info["rla"]["step_budget"])
            assert bool(info["rla"]["last_action_error"]) == bumps
            bumped_once |= bumps
            if solved:
                solved_once = True
                break
        np.testing.assert_array_equal(observation, walk.observation())
    assert solved_once
    assert bumped_once


def test_witnesses_solve_their_tasks_and_none_is_shorter():
    env = GridNavEnv()
    for task in anywhere(60, seed=1):
        check = env.check_task(task)
        env.reset(options={"task": task})
        results = [env.step(action)[1:3] for action in check.witness]
        assert results == [(0.0, False)] * (len(results) - 1) + [(1.0, True)]
        assert check.optimal_length == len(check.witness) == Walk(task).shortest()


def test_the_goal_counts_on_both_sides_of_its_own_move():
    """A robot that steps onto the goal as it leaves has solved the task, and so has one it walks into."""
    env, caught = GridNavEnv(), set()
    for seed in range(40):
        task = drawn([".....", ".RG..", ".....", ".....", "....."], goal_moving=0.5, seed=seed)
        for action in (1, 4):
            env.reset(options={"task": task})
            walk = Walk(task)
            walk.step(action)
            _, _, terminated, _, _ = env.step(action)
            if terminated:
                caught.add("met" if action == 4 else "caught" if walk.goal == (1, 2) else "left behind")
    assert caught == {"met", "caught", "left behind"}


@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_budget_of_n_steps_truncates_after_exactly_n_and_a_win_on_the_last_is_a_win(length):
    env = gym.make("RLA/GridNav-v0")
    task = of_length(length, step_budget=1.0)
    witness = env.unwrapped.check_task(task).witness
    ends = {}
    for name, actions in {"idle": [4] * length, "witness": witness}.items():
        env.reset(options={"task": task})
        ends[name] = [env.step(action)[1:4] for action in actions]
    assert ends["idle"] == [(0.0, False, False)] * (length - 1) + [(0.0, False, True)]
    assert ends["witness"] == [(0.0, False, False)] * (length - 1) + [(1.0, True, False)]


def test_the_dict_holds_the_same_numbers_by_name():
    flat, named = GridNavEnv(), GridNavEnv(observation="dict")
    for task in anywhere(5):
        vector = flat.reset(options={"task": task})[0]
        parts = named.reset(options={"task": task})[0]
        assert named.observation_space.contains(parts)
        np.testing.assert_array_equal(
            vector, np.concatenate([parts[name].ravel() for name in ("view", "goal", "wind")])
        )


def test_text_shows_where_everything_is():
    env = GridNavEnv(render_mode="ansi")
    env.reset(options={"task": drawn(SMALL)})
    assert env.render() == "R.G..\n.#...\n.....\n.....\n.....\nstep 0/10"
    env.step(1)
    assert env.render().splitlines()[0] == ".RG.."
    env.step(1)
    assert env.render() == "..X..\n.#...\n.....\n.....\n.....\nstep 2/10  solved"
    assert env.describe_task(drawn(SMALL)).startswith("R.G..\n")


def test_the_picture_shows_walls_robot_goal_and_what_is_out_of_view():
    env = GridNavEnv(render_mode="rgb_array")
    env.reset(options={"task": drawn(SMALL, view_radius=2, wind=0.5)})
    picture = env.render()
    assert picture.shape == (6 * 24, 240, 3)
    assert picture.dtype == np.uint8

    def middle(row, column):
        return tuple(int(n) for n in picture[row * 24 + 12, column * 24 + 12])

    assert middle(0, 0) == (33, 102, 172)
    assert middle(0, 2) == (26, 152, 80)
    assert middle(1, 1) == (52, 58, 70)
    bright, dim = middle(2, 2), middle(4, 4)
    assert bright == (246, 244, 238)
    assert all(d < 0.6 * b for d, b in zip(dim, bright, strict=True))
    assert middle(5, 9) == (178, 110, 30)  # the arrow of the wind


@pytest.mark.parametrize("action", [5, -1, 1.0, "north", None])
def test_an_action_that_is_none_is_refused(action):
    env = GridNavEnv()
    env.reset(seed=0)
    with pytest.raises(InputError, match="action: expected an integer from 0 to 4, got"):
        env.step(action)


def test_stepping_on_after_the_budget_is_refused():
    env = GridNavEnv()
    env.reset(options={"task": of_length(1, step_budget=1.0)})
    env.step(4)
    with pytest.raises(InputError, match="over; call reset"):
        env.step(4)


@pytest.mark.parametrize(
    ("keyword", "message"),
    [
        ({"split": "vaild"}, "unknown split 'vaild'. Did you mean 'valid'"),
        ({"observation": "dct"}, "unknown observation 'dct'. Did you mean 'dict'"),
        ({"render_mode": "rgb"}, "unknown render mode 'rgb'. Did you mean 'rgb_array'"),
        ({"difficulty": {"widn": 0.1}}, "Did you mean 'wind'"),
    ],
)
def test_unknown_keywords_are_refused_with_a_suggestion(keyword, message):
    with pytest.raises(InputError, match=message):
        GridNavEnv(**keyword)


TASK = drawn(SMALL)
WALLED = [".#G..", "##...", ".....", ".....", "....."]


@pytest.mark.parametrize(
    ("payload", "difficulty", "reason"),
    [
        ({"walls": ["....."] * 4}, {}, "expected a list of 5 to 20 rows"),
        ({"walls": ["....."] * 4 + ["...."]}, {}, "expected rows of 5 characters"),
        ({"walls": ["....."] * 4 + ["..x.."]}, {}, "expected rows of 5 characters"),
        ({"walls": ["....."] * 4 + [7]}, {}, "expected rows of 5 characters"),
        ({"start": [0, 2]}, {}, "the goal holds at the start"),
        ({"start": [1, 1]}, {}, r"start: \[1, 1\] is a wall"),
        ({"goal": [0, 5]}, {}, r"goal: expected \[row, column\], each from 0 to 4"),
        ({"goal": [0, True]}, {}, "goal: expected"),
        ({"seed": -1}, {}, "seed: expected an integer"),
        ({"seed": 1.5}, {}, "seed: expected an integer"),
        ({"wind_direction": "up"}, {}, "wind_direction: expected one of north"),
        ({"split": "test"}, {}, "split: this layout belongs to"),
        ({"colour": "red"}, {}, "check 'colour'"),
        ({}, {"size": 6}, "states size=6, which means 6; its grid has 5"),
        ({}, {"obstacle_density": 0.2}, "states obstacle_density=0.2, which means 5; its grid has 1"),
        ({}, {"goal_distance": 1.0}, "states goal_distance=1, which means 6; its grid has 2"),
        ({}, {"wind": 0.9}, "'wind': expected a value from 0.0 to 0.5"),
    ],
)
def test_a_task_that_cannot_be_played_says_why(payload, difficulty, reason):
    bad = Task(TASK.env_id, {**TASK.difficulty, **difficulty}, {**TASK.payload, **payload})
    check = GridNavEnv().check_task(bad)
    assert not check.valid
    with pytest.raises(InvalidTaskError, match=reason):
        GridNavEnv().reset(options={"task": bad})


def test_a_goal_behind_walls_a_missing_parameter_and_another_environment_are_refused():
    env = GridNavEnv()
    walls = [row.replace("G", ".") for row in WALLED]
    for split in ("train", "valid"):
        shut = Task(
            TASK.env_id,
            {**TASK.difficulty, "obstacle_density": 3 / 25},
            {**TASK.payload, "walls": walls, "split": split},
        )
        assert env.check_task(shut).reason.startswith(("no path leads", "split: this layout"))
    fewer = {name: value for name, value in TASK.difficulty.items() if name != "wind"}
    assert "'wind' is missing" in env.check_task(Task(TASK.env_id, fewer, TASK.payload)).reason
    other = Task("RLA/AlfWorld-v0", TASK.difficulty, TASK.payload)
    assert "expected a task of RLA/GridNav-v0" in env.check_task(other).reason
