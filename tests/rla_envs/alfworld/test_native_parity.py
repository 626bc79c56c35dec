"""The native engine answers every command as TextWorld's does."""

import numpy as np
import pytest

from rla_envs.alfworld.game import game_data
from rla_envs.alfworld.native.engine import NativeEngine
from rla_envs.alfworld.plan import Planner
from rla_envs.alfworld.scene import TASK_TYPES
from rla_envs.alfworld.splits import SPLITS
from rla_envs.errors import InfrastructureError
from tests.rla_envs.alfworld.games import draw_scene
from tests.rla_envs.alfworld.test_engine import NONSENSE

textworld_engine = pytest.importorskip("rla_envs.alfworld.textworld_engine")
SIZES = ((5, 6), (8, 8), (12, 15))


@pytest.fixture(scope="module")
def reference():
    running = textworld_engine.TextWorldEngine()
    yield running
    running.close()


def facts_that_hold(engine):
    """Return an engine's facts without those that TextWorld adds and the one of which it loses track."""
    return {fact for fact in engine.facts() if not fact[0].startswith(("not_", "new-axiom", "ison"))}


@pytest.mark.parametrize("task_type", TASK_TYPES)
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("receptacles", "objects"), SIZES[:2])
def test_every_answer_is_that_of_textworld(reference, task_type, split, receptacles, objects):
    seed = 100 * TASK_TYPES.index(task_type) + 10 * SPLITS.index(split) + receptacles
    compare(reference, seed, split, task_type=task_type, receptacles=receptacles, objects=objects)


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_every_answer_is_that_of_textworld_in_a_large_room(reference, task_type):
    receptacles, objects = SIZES[2]
    seed = 1000 + TASK_TYPES.index(task_type)
    compare(
        reference,
        seed,
        task_type=task_type,
        receptacles=receptacles,
        objects=objects,
        distractors=2,
        closed_containers=0.5,
        place_unnamed=0,
    )


def compare(reference, seed, split="train", **difficulty):
    """Play random, repeated and nonsense commands, start again, win, and go on; compare every answer."""
    scene = draw_scene(seed, split, **difficulty)
    data, rng, native = game_data(scene), np.random.default_rng(seed), NativeEngine()
    expected = reference.start(data)
    assert native.start(data) == expected
    command, plan = "look", Planner(scene).plan()
    for turn, planned in enumerate([None] * 20 + ["", *plan] + [None] * 8):
        if planned == "":
            expected = reference.start(data)
            assert native.start(data) == expected
            continue
        if planned:
            command = planned
        elif turn % 6 == 5:
            command = NONSENSE[int(rng.integers(len(NONSENSE)))]
        elif turn % 6 != 4:
            command = expected.commands[int(rng.integers(len(expected.commands)))]
        expected = reference.step(command)
        assert native.step(command) == expected, f"turn {turn}: {command!r}"
        if turn == 20 + len(plan):
            assert expected.won
    assert facts_that_hold(native) == facts_that_hold(reference)


def test_a_closed_or_idle_engine_says_so():
    native = NativeEngine()
    with pytest.raises(InfrastructureError, match="no game is running"):
        native.step("look")
    native.close()
    with pytest.raises(InfrastructureError, match="is closed"):
        native.start(game_data(draw_scene(0, receptacles=6, objects=9)))
    with pytest.raises(InfrastructureError, match="no game is running"):
        native.facts()


def test_games_played_side_by_side_and_after_everything_was_forgotten_stay_the_same(monkeypatch):
    data = game_data(draw_scene(0, receptacles=6, objects=9))
    alone = play(NativeEngine(), data, 200)
    first, second = NativeEngine(), NativeEngine()
    assert first.start(data) == second.start(data)
    assert play(first, data, 200) == alone
    monkeypatch.setattr("rla_envs.alfworld.native.game._MAX_KEPT", 30)
    assert play(second, data, 200) == alone


def play(engine, data, count):
    rng, replies = np.random.default_rng(0), [engine.start(data)]
    for _ in range(count):
        replies.append(engine.step(replies[-1].commands[int(rng.integers(len(replies[-1].commands)))]))
    return replies
