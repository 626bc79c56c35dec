"""NumberedCommands acts exactly as the command it numbers."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from rla_envs.errors import InputError
from tests.rla_envs.toy_env import TOY_ID, ToyEnv
from wrappers import NumberedCommands


class TwoDoors(gym.Env):
    """Open the left door to win; the right one loses, and the end lists nothing."""

    observation_space = spaces.Text(64)
    action_space = spaces.Text(64)

    def __init__(self, commands=("open left", "open right"), at_end=()):
        self.commands, self.at_end = list(commands), list(at_end)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "Two doors.", {"admissible_commands": list(self.commands)}

    def step(self, action):
        self.action = action
        if not action.startswith("open"):
            return "Nothing happens.", 0.0, False, False, {"admissible_commands": list(self.commands)}
        return "Done.", float(action == "open left"), True, False, {"admissible_commands": list(self.at_end)}


@pytest.mark.parametrize(("index", "reward"), [(0, 1.0), (1, 0.0), (np.int64(0), 1.0)])
def test_index_runs_the_listed_command(index, reward):
    env = NumberedCommands(TwoDoors())
    observation, _ = env.reset(seed=0)
    assert observation == "Two doors.\n0) open left\n1) open right"
    assert env.step(index)[:3] == ("Done.", reward, True)


def test_the_mask_marks_the_listed_commands():
    env = NumberedCommands(TwoDoors(), max_commands=5)
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 1, 0, 0, 0]
    assert {int(env.action_space.sample(info["action_mask"])) for _ in range(40)} == {0, 1}


def test_an_index_beyond_the_list_costs_a_step_and_says_why():
    env = NumberedCommands(TwoDoors(), max_commands=5)
    env.reset(seed=0)
    observation, reward, terminated, _, info = env.step(4)
    assert (observation.splitlines()[0], reward, terminated) == ("Nothing happens.", 0.0, False)
    assert env.unwrapped.action == "command 4"
    assert "command 4 was chosen, but only 2 are listed" in info["rla"]["last_action_error"]


@pytest.mark.parametrize("action", [-1, 5, 2.0, "0", None])
def test_an_action_outside_the_space_is_refused(action):
    env = NumberedCommands(TwoDoors(), max_commands=5)
    env.reset(seed=0)
    with pytest.raises(InputError, match="expected a command number from 0 to 4"):
        env.step(action)


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        ([], "lists 0 admissible commands, expected 1 to 2"),
        (["a", "b", "c"], "lists 3 admissible commands, expected 1 to 2"),
        (["a" * 129], "expected at most 128 characters"),
    ],
)
def test_lists_that_cannot_be_numbered_are_refused(commands, message):
    with pytest.raises(InputError, match=message):
        NumberedCommands(TwoDoors(commands), max_commands=2).reset()


def test_the_longest_allowed_list_fits_the_observation_space():
    env = NumberedCommands(TwoDoors(["x" * 128] * 40), max_commands=40)
    assert env.reset(seed=0)[0] in env.observation_space


@pytest.mark.parametrize(("env", "message"), [(gym.make("CartPole-v1"), "needs text observations")])
def test_an_environment_without_text_is_refused(env, message):
    with pytest.raises(InputError, match=message):
        NumberedCommands(env)
    with pytest.raises(InputError, match="max_commands: expected an integer of 1 or more"):
        NumberedCommands(TwoDoors(), max_commands=0)


def test_it_passes_gymnasiums_own_check():
    with pytest.warns(UserWarning, match="different from the unwrapped version"):
        check_env(NumberedCommands(ToyEnv()), skip_render_check=True)


def test_it_goes_through_a_spec():
    env = NumberedCommands(gym.make(TOY_ID), max_commands=9)
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.action_space == spaces.Discrete(9)
    assert again.reset(seed=0)[0] == env.reset(seed=0)[0]
