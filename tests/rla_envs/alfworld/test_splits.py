"""Splits share no goal, and the unseen one no room."""

import pytest

from rla_envs.alfworld.generator import goal_choices
from rla_envs.alfworld.scene import TASK_TYPES, Scene
from rla_envs.alfworld.splits import SPLITS, rooms_of
from rla_envs.errors import InvalidTaskError
from tests.rla_envs.alfworld.games import draw_scene

constants = pytest.importorskip("alfworld.gen.constants")


def goals(split, task_type):
    return {choice for depth in range(3) for choice in goal_choices(split, task_type, depth)}


def test_rooms_are_alfreds_training_and_test_rooms():
    numbers = {split: {room.number for room in rooms_of(split)} for split in SPLITS}
    assert numbers["train"] == numbers["valid_seen"] == set(constants.TRAIN_SCENE_NUMBERS)
    assert numbers["valid_unseen"] == set(constants.TEST_SCENE_NUMBERS)
    assert not numbers["train"] & numbers["valid_unseen"]
    assert (len(numbers["train"]), len(numbers["valid_unseen"])) == (96, 24)


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_no_goal_is_in_two_splits(task_type):
    train, seen, unseen = (goals(split, task_type) for split in SPLITS)
    assert not train & (seen | unseen)
    assert not seen & unseen
    assert 0.05 < len(seen) / len(train | seen) < 0.16
    assert {c.room for c in train | seen} <= set(constants.TRAIN_SCENE_NUMBERS)
    assert {c.room for c in unseen} <= set(constants.TEST_SCENE_NUMBERS)


@pytest.mark.parametrize("split", SPLITS)
def test_drawn_scenes_keep_to_their_split(split):
    for seed in range(60):
        scene = draw_scene(seed, split)
        assert scene.room in {room.number for room in rooms_of(split)}
        goal = (scene.goal.object, scene.goal.receptacle, scene.room)
        assert goal in {(c.object, c.receptacle, c.room) for c in goals(split, scene.goal.task_type)}


@pytest.mark.parametrize(("split", "other"), [(a, b) for a in SPLITS for b in SPLITS if a != b])
def test_a_task_of_one_split_is_refused_under_the_name_of_another(split, other):
    payload = draw_scene(0, split).payload()
    Scene.from_payload(payload)
    with pytest.raises(InvalidTaskError, match="split"):
        Scene.from_payload({**payload, "split": other})
