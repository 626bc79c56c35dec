"""A game file that cannot be played is refused with its name, what is wrong in it, and where."""

import json
import os
import re

import gymnasium as gym
import pytest

from rla_envs.alfworld.gamefile import MAX_BYTES
from rla_envs.errors import InputError
from tests.rla_envs.alfworld.games import ENV_ID, draw_scene
from tests.rla_envs.alfworld.real_files import real_game

ENGINES = ("native", "textworld")
SCENE = draw_scene(0, task_type="pick_and_place_simple", receptacles=6, objects=9)
GAME = real_game(SCENE)


def refusal(path, **kwargs):
    """Return the one line with which a game file is refused, without its path."""
    with pytest.raises(InputError) as caught:
        gym.make(ENV_ID, game_file=str(path), **kwargs).reset(seed=0)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 1000
    assert message.startswith(f"game file {path}: ")
    return message.removeprefix(f"game file {path}: ")


def game_with(pattern, replacement, part="pddl_problem"):
    """Return the game with something replaced in one of its texts, and where that then is."""
    text, count = re.subn(pattern, replacement, GAME[part], count=1)
    assert count == 1
    return {**GAME, part: text}


def line_of(game, word, occurrence=1, part="pddl_problem"):
    found = [n for n, line in enumerate(game[part].split("\n"), start=1) if word in line]
    return found[occurrence - 1]


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", "line 1, column 1: expected JSON"),
        (b'{"grammar": \n  oops}', "line 2, column 3: expected JSON"),
        (b'{"grammar": "\xff"}', "byte 13: expected UTF-8 text"),
        (b"[1, 2]", "expected a JSON object, got list"),
        (b"null", "expected a JSON object, got NoneType"),
        (b"[" * 100_000, "expected JSON of a few levels"),
        (b"{}", "field 'pddl_domain' is missing"),
        (b"x" * 10**7, f"expected a game of at most {MAX_BYTES} bytes, got 10000000"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_file_that_is_no_game_is_refused_with_the_place(tmp_path, contents, message):
    file = tmp_path / "game.tw-pddl"
    file.write_bytes(contents)
    assert refusal(file).startswith(message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pddl_problem": 3}, "field 'pddl_problem': expected text, got 3"),
        ({"grammar": ["a"]}, "field 'grammar': expected text, got ['a']"),
        ({"solvable": "yes"}, "field 'solvable': expected true or false, got 'yes'"),
        ({"walkthrough": [1]}, "field 'walkthrough': expected a list of commands, got [1]"),
        ({"pddl_problem": ""}, "PDDL problem: expected an expression in parentheses"),
        ({"grammar": "nonsense"}, "text grammar: line 1: expected 'action'"),
    ],
    ids=str,
)
def test_a_field_of_the_wrong_kind_is_named(tmp_path, changes, message):
    file = tmp_path / "game.tw-pddl"
    file.write_text(json.dumps({**GAME, **changes}))
    assert refusal(file) == message


def test_a_file_that_is_not_there_or_cannot_be_read_is_named(tmp_path):
    assert refusal(tmp_path / "none.tw-pddl") == "there is no such file"
    assert refusal(tmp_path) == "it cannot be read (it is a folder)"


def test_a_pipe_or_a_device_is_refused_and_not_read_without_end(tmp_path):
    os.mkfifo(tmp_path / "game.tw-pddl")
    for file in (tmp_path / "game.tw-pddl", "/dev/null"):
        assert refusal(file) == "it cannot be read (it is no regular file)"


@pytest.mark.parametrize("path", [5, ["game.tw-pddl"], b"game.tw-pddl", "a\0b"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(InputError, match=r"game_file: expected the path of a game\.tw-pddl file, got"):
        gym.make(ENV_ID, game_file=path)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("pattern", "replacement", "word", "occurrence", "message"),
    [
        (r"(Sink - object\n)", r"\1 \1", "Sink - object", 2, "PDDL objects: 'sink' occurs twice"),
        (r"\(objectType \?o \w+\)", "(objectType ?o UnicornType)", "UnicornType", 1, "PDDL goal: unknown"),
        (r"\(pickupable (\w+)\)", r"(tangible \1)", "(tangible", 1, "PDDL init: predicate 'tangible'"),
        (r"\(pickupable (\w+)\)", r"(pickupable nobody)", "nobody", 1, "PDDL init: unknown object 'nobody'"),
        (r"\(pickupable (\w+)\)", r"(pickupable \1 \1)", "(pickupable", 1, "PDDL init: predicate"),
        (r"agent1 - agent", "agent1 - robot", "agent1 - robot", 1, "PDDL objects: 'agent1' is of an unknown"),
        (r"\(inReceptacle \?o \?r\)", "(within ?o ?r)", "(within", 1, "PDDL goal: unknown predicate: 'with"),
        (r"agent1 - agent", "agent1 agent2\n - agent", "agent2", 1, "PDDL objects: expected one agent, got"),
        (
            r"(\(atLocation agent1 \w+\))([^$]*receptacleAtLocation \w+ )(\w+)",
            r"\1\n(atLocation agent1 \3)\2\3",
            "(atLocation",
            2,
            "PDDL init: expected the agent at one place, got 2",
        ),
    ],
    ids=["doubled", "undeclared", "predicate", "object", "arguments", "type", "goal", "agents", "places"],
)
def test_what_is_wrong_with_the_game_is_named_with_its_line(
    tmp_path, engine, pattern, replacement, word, occurrence, message
):
    file = tmp_path / "game.tw-pddl"
    game = game_with(pattern, replacement)
    file.write_text(json.dumps(game))
    place = f"pddl_problem, line {line_of(game, word, occurrence)}: "
    assert refusal(file, engine=engine).startswith(place + message)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("part", "pattern", "replacement", "message"),
    [
        ("pddl_problem", r"\)\s*$", "", r"PDDL problem: a '\)' is missing at the end"),
        ("pddl_problem", r"\(atLocation agent1 \w+\)", "", "PDDL init: no agent is anywhere"),
        ("pddl_problem", r"\(:init", "(:init)) (:init", r"PDDL problem: line \d+: expected nothing after"),
        (
            "pddl_domain",
            r"\(opened \?r\)\n *\(checked",
            "(ajar ?r) (checked",
            "PDDL action openobject: unknown",
        ),
        ("grammar", r'"inventory.feedback"', '"other.feedback"', "text of action inventory: .*feedback"),
        ("grammar", r'"take \{o\}', '"take {open(o)}', "text of action PickupObject: .*not supported"),
    ],
    ids=["parenthesis", "no agent", "cut short", "domain", "missing rule", "a program in a text"],
)
def test_what_the_compiler_does_not_understand_is_named(
    tmp_path, engine, part, pattern, replacement, message
):
    file = tmp_path / "game.tw-pddl"
    file.write_text(json.dumps(game_with(pattern, replacement, part)))
    assert re.search(message, refusal(file, engine=engine))


def test_a_goal_out_of_reach_or_already_reached_is_refused(tmp_path):
    file = tmp_path / "game.tw-pddl"
    kinds = {o.type: SCENE.place(o.inside).type for o in SCENE.objects}
    goal = f"{SCENE.goal.object}Type", f"{SCENE.goal.receptacle}Type"
    there = next(kind for kind in kinds if kind != SCENE.goal.object)
    for kind, place, message in (
        (there, kinds[there], "the goal holds at the start"),
        (SCENE.goal.object, "Fridge", "no plan reaches the goal"),  # there is no fridge
    ):
        problem = GAME["pddl_problem"]
        for old, variable, new in zip(goal, ("?o", "?r"), (kind, place), strict=True):
            assert f"{variable} {old})" in problem
            problem = problem.replace(f"{variable} {old})", f"{variable} {new}Type)")
        file.write_text(json.dumps({**GAME, "pddl_problem": problem}))
        assert refusal(file) == message
