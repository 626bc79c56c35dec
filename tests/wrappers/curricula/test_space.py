"""A difficulty space is read and written exactly; what cannot be one is refused."""

import json

import numpy as np
import pytest
from gymnasium import spaces

from rla_envs import DifficultyParameter
from rla_envs.difficulty import DifficultySpace
from rla_envs.errors import InputError, RefusedEditError
from rla_envs.task import TaskEdit
from wrappers.curricula import curriculum_names, make
from wrappers.curricula.space import Difficulties
from wrappers.curricula.space_tasks import SpaceTasks

NAMES = curriculum_names()
MIXED = spaces.Dict(
    {
        "size": spaces.Discrete(8, start=3),
        "wind": spaces.Box(0.1, 0.7, (), np.float32),
        "slope": spaces.Box(-2.0, 2.0, (1,), np.float64),
        "count": spaces.Box(2, 9, (), np.int32),
        "kind": spaces.Discrete(3),
    }
)


@pytest.mark.parametrize("name", NAMES)
def test_proposals_are_members_of_the_space_without_a_warning(name):
    curriculum, rng = make(name, MIXED), np.random.default_rng(0)
    for _ in range(40):
        difficulty = curriculum.propose(rng)
        assert type(difficulty) is dict
        assert difficulty in MIXED
        curriculum.observe(difficulty, bool(rng.random() < 0.5))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_proposed_reads_back_as_itself(name):
    curriculum, rng = make(name, MIXED), np.random.default_rng(0)
    reader = Difficulties(MIXED)
    for _ in range(20):
        difficulty = curriculum.propose(rng)
        again = reader.member(reader.read(difficulty))
        assert again == difficulty
        assert json.dumps(reader.read(difficulty))


def test_a_number_and_what_the_space_makes_of_it_are_the_same_difficulty():
    reader = Difficulties(MIXED)
    assert (
        reader.read({"wind": 0.3})
        == reader.read({"wind": np.float32(0.3)})
        == {"wind": float(np.float32(0.3))}
    )
    points = SpaceTasks(reader)
    task = points.sample_task({"wind": 0.3}, np.random.default_rng(0))
    assert points.task(reader.member(task.difficulty)) == task


def test_larger_is_harder_in_a_plain_space_and_the_environment_knows_better():
    plain = Difficulties(spaces.Dict({"size": spaces.Discrete(5), "wind": spaces.Box(0.0, 2.0, ())}))
    assert plain.hardness({"size": 4, "wind": 0.0}).tolist() == [1.0, 0.0]
    view = DifficultyParameter("view", 1, 5, 3, "cells seen", lambda task: 0.0, direction=-1)
    reader = Difficulties(DifficultySpace([view]))
    assert reader.hardness({"view": 1}).tolist() == [1.0]
    assert reader.at(np.array([1.0])) == {"view": 1}


def test_members_of_an_environments_space_are_plain_numbers_and_undrawn_defaults_are_left_out():
    speed = DifficultyParameter("speed", 0.0, 1.0, None, "speed", lambda task: 0.0, continuous=True)
    doors = DifficultyParameter("doors", 1, 5, 3, "doors", lambda task: 0.0)
    space = DifficultySpace([speed, doors])
    assert Difficulties(space).member({}) == {"doors": 3}
    member = Difficulties(space).member({"speed": 0.25})
    assert (member, type(member["speed"])) == ({"speed": 0.25, "doors": 3}, float)
    assert space.contains(member)
    assert not space.contains({"speed": 2.0, "doors": 3})


def test_a_value_beyond_the_range_counts_as_the_nearest_end():
    assert Difficulties(MIXED).read({"size": 99, "wind": -1.0}) == {
        "size": 10,
        "wind": pytest.approx(0.1),
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), "4", None, True, [1, 2]])
def test_a_difficulty_that_is_no_number_is_refused_and_changes_nothing(name, value):
    curriculum = make(name, MIXED)
    difficulty = curriculum.propose(np.random.default_rng(0))
    before = curriculum.state_dict()
    with pytest.raises(InputError, match="'size': expected a finite number"):
        curriculum.observe({**difficulty, "size": value}, True)
    assert curriculum.state_dict() == before


@pytest.mark.parametrize("name", ["bayesopt", "plr", "target", "thompson", "threshold"])
def test_a_difficulty_without_a_parameter_is_refused(name):
    with pytest.raises(InputError, match="difficulty: expected a value of 'size', got only wind"):
        make(name, spaces.Dict({"size": spaces.Discrete(4)})).observe({"wind": 0.5}, True)
    with pytest.raises(InputError, match="difficulty: expected a mapping"):
        make(name, MIXED).observe(3, True)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("space", "message"),
    [
        (spaces.Dict({}), "expected at least one parameter, got an empty Dict"),
        (spaces.Discrete(3), "expected a gymnasium.spaces.Dict, got Discrete"),
        (None, "expected a gymnasium.spaces.Dict, got NoneType"),
        (
            spaces.Dict({"x": spaces.Box(0.0, np.inf, ())}),
            "expected 'x' to be a Discrete space or a bounded Box",
        ),
        (spaces.Dict({"x": spaces.Box(0.0, 1.0, (2,))}), "give each number its own name"),
        (spaces.Dict({"x": spaces.Text(3)}), "expected 'x' to be a Discrete space"),
    ],
)
def test_a_space_without_numbers_to_choose_is_refused(name, space, message):
    with pytest.raises(InputError, match=message):
        make(name, space)


def test_an_edit_of_a_point_moves_one_parameter_by_an_eighth_towards_the_asked_end():
    points, rng = SpaceTasks(Difficulties(MIXED)), np.random.default_rng(0)
    task = points.sample_task({"size": 6, "slope": 0.0}, rng)
    moved = {}
    for edit in points.propose_edits(task, "harder", rng):
        (change,) = edit.changes
        child = points.apply_edit(task, edit)
        assert [k for k in child.difficulty if child.difficulty[k] != task.difficulty[k]] == [
            change["parameter"]
        ]
        moved[change["parameter"]] = change["value"]
    assert (moved["size"], moved["slope"]) == (7, 0.5)
    assert points.check_task(task).valid


def test_a_point_at_its_end_is_not_moved_further_and_other_edits_are_refused():
    points, rng = SpaceTasks(Difficulties(spaces.Dict({"n": spaces.Discrete(5)}))), np.random.default_rng(0)
    task = points.task({"n": 4})
    assert points.propose_edits(task, "harder", rng) == []
    assert [e.reason for e in points.propose_edits(task, "easier", rng)] == ["n from 4 to 3"]
    with pytest.raises(RefusedEditError, match="unknown operation"):
        points.apply_edit(task, TaskEdit(({"op": "dance"},)))
