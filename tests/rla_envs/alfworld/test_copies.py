"""An environment can be pickled and copied in the middle of an episode, and the copy plays on alone."""

import copy
import json
import pickle

import gymnasium
import pytest

import rla_envs  # noqa: F401 - registers the ids
from rla_envs.alfworld.game import game_data
from rla_envs.errors import InfrastructureError
from tests.rla_envs.alfworld.games import ENV_ID, SMALL, draw_scene

COPIES = {"pickle": lambda env: pickle.loads(pickle.dumps(env)), "deepcopy": copy.deepcopy}


def made(engine):
    if engine == "textworld":
        pytest.importorskip("rla_envs.alfworld.textworld_engine")
    return gymnasium.make(ENV_ID, engine=engine, difficulty=SMALL, render_mode="ansi")


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("engine", ["native", "textworld"])
def test_a_copy_plays_on_from_the_same_moment_and_leaves_the_other_alone(engine, copied):
    env = made(engine)
    env.reset(seed=4)
    plan = env.unwrapped.optimal_plan()
    half = len(plan) // 2
    for command in ("dance", *plan[:half]):
        env.step(command)
    other = COPIES[copied](env)
    assert other.render() == env.render()
    assert other.unwrapped.optimal_plan() == env.unwrapped.optimal_plan()
    ours = [env.step(command) for command in plan[half:]]
    assert [other.step(command) for command in plan[half:]] == ours
    assert ours[-1][2]
    assert other.reset() == env.reset()
    assert other.step("look") == env.step("look")


def test_a_copy_of_a_copy_that_was_not_touched_still_plays_on():
    env = made("native")
    env.reset(seed=4)
    first = env.unwrapped.optimal_plan()[0]
    env.step(first)
    other = COPIES["pickle"](COPIES["pickle"](env))
    assert other.step("inventory") == env.step("inventory")


def test_an_environment_that_was_not_reset_or_was_closed_stays_so():
    env = made("native")
    fresh = COPIES["pickle"](env)
    assert fresh.reset(seed=1) == env.reset(seed=1)
    env.close()
    closed = COPIES["pickle"](env)
    with pytest.raises(InfrastructureError, match="no game is running"):
        closed.step("look")
    assert closed.reset(seed=2) == env.reset(seed=2)


def test_an_environment_of_a_game_file_can_be_copied(tmp_path):
    path = tmp_path / "game.tw-pddl"
    path.write_text(json.dumps(game_data(draw_scene(0, **SMALL))))
    env = gymnasium.make(ENV_ID, game_file=str(path))
    env.reset(seed=0)
    env.step("look")
    assert COPIES["pickle"](env).step("inventory") == env.step("inventory")
