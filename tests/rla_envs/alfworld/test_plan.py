"""The plan in closed form is as short as the real planner's, from any moment of a game, and wins."""

import numpy as np
import pytest

from rla_envs.alfworld.game import game_data
from rla_envs.alfworld.plan import Planner
from rla_envs.alfworld.scene import LIGHT, TASK_TYPES
from rla_envs.alfworld.scene_game import situation
from tests.rla_envs.alfworld.games import draw_scene

textworld_engine = pytest.importorskip("rla_envs.alfworld.textworld_engine")

# 6 task types, 4 parts, 9 games: 216 games, each compared at the start and at one later moment.
PARTS, GAMES = 4, 9


@pytest.fixture(scope="module")
def engine():
    running = textworld_engine.TextWorldEngine()
    yield running
    running.close()


def small_scene(task_type, number):
    """Draw a game that the real planner solves in no time; over the numbers every parameter varies.

    In every third one there are several receptacles of the goal's type to choose from.
    """
    for attempt in range(50):
        scene = draw_scene(
            100 * number + attempt,
            ("train", "valid_seen", "valid_unseen")[number % 3],
            task_type=task_type,
            receptacles=5 + number % 2,
            objects=6,
            distractors=number % 4,
            hiding_depth=number // 4 % 3,
            closed_containers=number % 5 / 4,
        )
        types = [r.type for r in scene.receptacles]
        if number % 3 or task_type == LIGHT or types.count(scene.goal.receptacle) > 1:
            break
    return scene


def agree(engine, scene):
    """Compare the plans from now on; return ours."""
    ours = Planner(scene).plan(situation(scene, engine.facts()))
    theirs = engine.planner_plan()
    assert len(ours) == len(theirs), (ours, theirs)
    return ours


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_plans_are_as_short_as_the_real_planners_and_win(engine, task_type, part):
    for number in range(part * GAMES, (part + 1) * GAMES):
        scene = small_scene(task_type, number)
        rng = np.random.default_rng(number)
        reply = engine.start(game_data(scene))
        assert Planner(scene).plan() == agree(engine, scene)
        for _ in range(int(rng.integers(2, 12))):
            # Looking around changes nothing, so it is left out to get into odder situations.
            useful = [
                c for c in reply.commands if c.split()[0] not in ("examine", "look", "inventory", "help")
            ]
            reply = engine.step(useful[int(rng.integers(len(useful)))])
        if reply.won:
            assert Planner(scene).plan(situation(scene, engine.facts())) == ()
            continue
        for command in agree(engine, scene):
            assert not reply.won
            assert command in reply.commands
            reply = engine.step(command)
        assert reply.won


def test_a_goal_out_of_reach_has_no_plan():
    scene = draw_scene(0, task_type="pick_and_place_simple", receptacles=5, objects=6)
    planner = Planner(scene)
    planner._targets = []
    assert planner.plan() is None
