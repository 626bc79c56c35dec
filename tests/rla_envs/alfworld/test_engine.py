"""The engine answers exactly as TextWorld's own does, and leaves the process as it found it."""

import os
import random
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rla_envs.alfworld.game import game_data
from rla_envs.alfworld.plan import Planner
from rla_envs.alfworld.scene import TASK_TYPES
from rla_envs.alfworld.splits import SPLITS
from rla_envs.errors import InfrastructureError, InvalidTaskError
from tests.rla_envs.alfworld.games import draw_scene
from tests.rla_envs.alfworld.stock import stock_answers

textworld_engine = pytest.importorskip("rla_envs.alfworld.textworld_engine")
TextWorldEngine = textworld_engine.TextWorldEngine

NONSENSE = ("", "  look  ", "LOOK", "put mug 1 in/on desk 1", "{1+1}", "#intro#", "gehe zu Tür", "go to")
SMALL = {"receptacles": 5, "objects": 6}


@pytest.fixture(scope="module")
def engine():
    running = TextWorldEngine()
    yield running
    running.close()


def parity_scene(task_type, split):
    """Draw a scene of a kind; over the splits everything that shows in a text occurs."""
    variant = SPLITS.index(split)
    return draw_scene(
        10 * variant,
        split,
        task_type=task_type,
        receptacles=5 + variant,
        objects=6 + variant,
        distractors=variant % 2,
        closed_containers=variant / 2,
        place_unnamed=int(variant != 1),
    )


def play_mixed(engine, scene, rng):
    """Play nonsense, random and repeated commands, then win, then go on; return commands and answers."""
    replies, commands = [engine.start(game_data(scene))], []

    def play(command):
        commands.append(command)
        replies.append(engine.step(command))

    for turn in range(18):
        if turn % 6 == 5:
            play(NONSENSE[int(rng.integers(len(NONSENSE)))])
        elif turn % 6 == 4:
            play(commands[-1])
        else:
            play(replies[-1].commands[int(rng.integers(len(replies[-1].commands)))])
    commands.append(None)
    replies.append(engine.start(game_data(scene)))
    won_at = len(replies) + len(Planner(scene).plan()) - 1
    for command in Planner(scene).plan():
        play(command)
    for _ in range(6):
        play(replies[-1].commands[int(rng.integers(len(replies[-1].commands)))])
    return commands, replies, won_at


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_every_answer_is_that_of_the_shipped_engine(engine, task_type, tmp_path):
    games, ours = [], []
    for seed, split in enumerate(SPLITS):
        scene = parity_scene(task_type, split)
        commands, replies, won_at = play_mixed(engine, scene, np.random.default_rng(seed))
        assert replies[won_at].won
        assert not replies[won_at - 1].won
        games.append({"data": game_data(scene), "commands": commands})
        ours.append([[r.text, list(r.commands), r.won] for r in replies])
    assert stock_answers(games, tmp_path) == ours


def process_state():
    """Return what an engine may not change, after making sure that no stand-in of ours is in place."""
    for module, name, stand_in in textworld_engine._STAND_INS:
        assert getattr(module, name) is not stand_in
    numpy_state = tuple(str(part) for part in np.random.get_state())
    return sys.argv, list(sys.argv), random.getstate(), numpy_state, sys.stdout, os.fstat(1)[:3]


def test_nothing_of_the_process_changes_when_a_game_is_played(engine):
    before = process_state()
    engine.start(game_data(draw_scene(1, **SMALL)))
    engine.step("look")
    assert engine.planner_plan()
    assert process_state() == before


def test_nothing_of_the_process_changes_when_a_game_fails_to_load(engine):
    before = process_state()
    data = game_data(draw_scene(0, **SMALL))
    engine.start(data)
    without_goal = data["pddl_problem"].rsplit("(:goal", 1)[0]
    with pytest.raises(InvalidTaskError, match="cannot load the game"):
        engine.start({**data, "pddl_problem": without_goal})
    assert process_state() == before
    with pytest.raises(InfrastructureError, match="no game is running"):
        engine.step("look")


def test_nothing_is_printed_below_python(engine, capfd, monkeypatch):
    monkeypatch.setenv("TW_PDDL_DEBUG", "1")  # the planner's C++ part reports its search then
    sys.stdout.write("before\n")
    engine.start(game_data(draw_scene(2, **SMALL)))
    engine.planner_plan()
    sys.stdout.write("after\n")
    assert capfd.readouterr().out == "before\nafter\n"


def test_what_another_thread_prints_while_a_game_loads_is_not_lost(capsys):
    scenes = [draw_scene(seed, **SMALL) for seed in range(20, 24)]
    loaded = threading.Event()

    def load():
        engine = TextWorldEngine()
        for scene in scenes:
            engine.start(game_data(scene))
        engine.close()
        loaded.set()

    worker = threading.Thread(target=load)
    worker.start()
    lines = 0
    while not loaded.is_set():
        sys.stdout.write("x" * 40 + "\n")
        lines += 1
    worker.join()
    assert capsys.readouterr().out.count("x" * 40 + "\n") == lines


def test_two_engines_side_by_side_play_as_alone(engine):
    scenes = [draw_scene(seed, **SMALL) for seed in (3, 4)]
    plans = [Planner(scene).plan() for scene in scenes]
    alone = []
    for scene, plan in zip(scenes, plans, strict=True):
        alone.append([engine.start(game_data(scene)), *(engine.step(command) for command in plan)])
    other = TextWorldEngine()
    both = [[one.start(game_data(s))] for one, s in zip((engine, other), scenes, strict=True)]
    for turn in range(max(map(len, plans))):
        for one, plan, replies in zip((engine, other), plans, both, strict=True):
            if turn < len(plan):
                replies.append(one.step(plan[turn]))
    other.close()
    assert both == alone


def test_a_thread_may_use_an_engine(engine):
    data = game_data(draw_scene(5, **SMALL))
    expected = engine.start(data)
    found = []

    def play():
        own = TextWorldEngine()
        found.append(own.start(data))
        own.close()

    threads = [threading.Thread(target=play) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected, expected]


def test_closed_engines_leave_their_library_to_the_next_ones():
    def libraries():
        return Path("/proc/self/maps").read_text().count("libdownward.so")

    TextWorldEngine().close()
    before = libraries()
    for _ in range(3):
        TextWorldEngine().close()
        engine = TextWorldEngine()
        del engine  # dropped without a close
    assert libraries() == before


def test_a_closed_engine_says_so():
    engine = TextWorldEngine()
    engine.close()
    with pytest.raises(InfrastructureError, match="is closed"):
        engine.start(game_data(draw_scene(0, **SMALL)))
    with pytest.raises(InfrastructureError, match="no game is running"):
        engine.facts()


def test_braces_in_a_goal_text_of_ours_are_refused_before_the_engine_sees_them():
    scene = draw_scene(6, **SMALL)
    hostile = replace(scene, goal=replace(scene.goal, object="{__import__('os').abort()}"))
    with pytest.raises(InvalidTaskError, match="expected plain words"):
        game_data(hostile)
