"""A person plays in the terminal, by number or by text."""

import io
import re

import gymnasium as gym
import pytest

from rla_agents.cli import main
from tests.rla_envs.toy_env import TOY_ID, ToyEnv

TOY = f"tests.rla_envs.toy_env:{TOY_ID}"


@pytest.fixture
def game(monkeypatch, capsys):
    """Play with these lines typed, and return what was printed."""

    def run(lines, *options, env=TOY):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        assert main(["play", env, *options]) == 0
        return capsys.readouterr().out

    return run


def solution(seed, doors):
    env = ToyEnv()
    _, info = env.reset(seed=seed, options={"difficulty": {"doors": doors}})
    return [f"open {colour}" for colour in env.task.payload["order"]], info["admissible_commands"]


def test_a_task_is_solved_by_typing_commands(game):
    commands, _ = solution(4, doors=3)
    printed = game(commands, "--seed", "4", "--difficulty", "doors=3")
    assert printed.rstrip().endswith("Solved in 3 of 10 steps.")


def test_a_number_stands_for_the_command_beside_it(game):
    commands, listed = solution(4, doors=2)
    numbers = [listed.index(command) + 1 for command in commands]
    printed = game(numbers, "--seed", "4", "--difficulty", "doors=2")
    assert f"{numbers[0]}) {commands[0]}" in printed
    assert printed.rstrip().endswith("Solved in 2 of 10 steps.")


def test_difficulty_and_seed_choose_the_task(game):
    first, again, other = (game(["quit"], "--seed", seed, "--difficulty", "doors=5") for seed in "445")
    assert "doors 5" in first
    assert first == again != other


def test_a_command_that_does_nothing_costs_a_step_and_says_why(game):
    printed = game(["dance"] * 10, "--seed", "1")
    assert printed.count("! 'dance' opens no door") == 10
    assert printed.rstrip().endswith("Not solved: the step budget is used up.")


def test_what_is_seen_in_numbers_is_drawn_in_words(game):
    drawing = gym.make("RLA/GridNav-v0", render_mode="ansi")
    drawing.reset(seed=2)
    plan = drawing.unwrapped.check_task(drawing.unwrapped.task).witness
    printed = game(plan, "--seed", "2", env="RLA/GridNav-v0")
    assert drawing.render() in printed
    for action in plan:
        drawing.step(action)
        assert drawing.render() in printed
    assert "[" not in printed


@pytest.mark.parametrize("line", ["0", "99", "", "9" * 6000])
def test_a_number_that_is_not_listed_costs_nothing(game, line):
    commands, _ = solution(4, doors=1)
    printed = game([line, *commands], "--seed", "4", "--difficulty", "doors=1")
    assert printed.rstrip().endswith("Solved in 1 of 10 steps.")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["CartPole-v1"], "expected an adaptive environment, got CartPole-v1; see rla envs"),
        ([TOY, "--seed", "-1"], "--seed: expected 0 or more, got -1"),
    ],
)
def test_what_cannot_be_played_is_one_line_and_exit_2(capsys, words, message):
    assert main(["play", *words]) == 2
    assert capsys.readouterr().err == f"rla: error: {message}\n"


@pytest.mark.parametrize("lines", [[], ["quit"], ["QUIT"], ["open nothing", "exit"]])
def test_the_game_can_be_left_at_any_time(game, lines):
    assert game(lines, "--seed", "1").rstrip().endswith("Left the game.")


def test_an_alfworld_game_can_be_played(game):
    printed = game(
        ["look", "1", "quit"], "--seed", "3", "--difficulty", "receptacles=6", env="RLA/AlfWorld-v0"
    )
    assert "Your task is to:" in printed
    assert re.search(r"1\) \w+", printed)
