"""Scenes are drawn at exactly the difficulty asked for, at once, and harder values make harder tasks."""

import numpy as np
import pytest

from rla_envs.alfworld import shipped
from rla_envs.alfworld.difficulty import PARAMETERS, free_containers, hiding_depth
from rla_envs.alfworld.generator import goal_choices, sample_scene
from rla_envs.alfworld.plan import Planner
from rla_envs.alfworld.scene import TASK_TYPES, Scene
from tests.rla_envs.alfworld.games import ENV_ID, EVERY_KIND, draw_scene, draw_task, plays_to_a_win

TASKS = 120
EXTREMES = {
    "least": {"receptacles": 5, "objects": 6},
    "most crowded": {"receptacles": 5, "objects": 6, "distractors": 3},
    "most": {"receptacles": 40, "objects": 80, "distractors": 3},
}


def levels(parameter):
    """Return the lowest, a middle and the highest value."""
    middle = (parameter.low + parameter.high) / 2
    return parameter.low, middle if parameter.continuous else round(middle), parameter.high


def means(parameter, **fixed):
    """Return the mean of a parameter's own statistic over tasks at its three levels."""
    return [
        np.mean(
            [
                parameter.statistic(draw_task(seed, **{**fixed, parameter.name: value}))
                for seed in range(TASKS)
            ]
        )
        for value in levels(parameter)
    ]


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda p: p.name)
def test_the_statistic_moves_in_the_stated_direction(parameter):
    low, middle, high = (parameter.direction * mean for mean in means(parameter))
    if parameter.name == "place_unnamed":
        assert low < high
    else:
        assert low < middle < high


@pytest.mark.parametrize("name", ["receptacles", "objects", "distractors", "hiding_depth", "place_unnamed"])
def test_a_count_is_met_exactly_at_both_ends_and_between(name):
    parameter = next(p for p in PARAMETERS if p.name == name)
    for value in levels(parameter):
        for seed in range(30):
            task = draw_task(seed, **{name: value})
            assert parameter.statistic(task) == value
            assert task.difficulty[name] == value


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
def test_the_share_of_closed_containers_is_met_to_the_container(share):
    for seed in range(40):
        containers = free_containers(draw_scene(seed, closed_containers=share, receptacles=20))
        assert sum(r.closed for r in containers) == round(share * len(containers))


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_every_target_is_as_deep_as_asked(task_type, depth):
    for seed in range(20):
        scene = draw_scene(seed, task_type=task_type, hiding_depth=depth)
        for target in scene.targets()[: scene.goal.count]:
            assert hiding_depth(scene, target.inside) == depth


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_rarity_goes_from_the_commonest_type_to_the_rarest(task_type):
    names = {c.object for c in goal_choices("train", task_type, 0)}
    counts = sorted(shipped.commonness(name) for name in names)
    for rarity, expected in ((0.0, counts[-1]), (1.0, counts[0])):
        scene = draw_scene(0, task_type=task_type, hiding_depth=0, rarity=rarity)
        assert shipped.commonness(scene.goal.object) == expected


@pytest.mark.parametrize("extreme", EXTREMES.values(), ids=EXTREMES)
@pytest.mark.parametrize(("split", "task_type", "depth"), EVERY_KIND)
def test_every_combination_is_drawn_in_one_attempt(split, task_type, depth, extreme):
    for seed in range(4):
        scene = draw_scene(seed, split, task_type=task_type, hiding_depth=depth, **extreme)
        assert (scene.goal.task_type, len(scene.receptacles)) == (task_type, extreme["receptacles"])
        assert len(scene.objects) == extreme["objects"]
        assert Planner(Scene.from_payload(scene.payload())).plan()


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_distractors_never_shorten_the_shortest_plan(task_type, depth):
    for seed in range(25):
        scene = draw_scene(seed, task_type=task_type, hiding_depth=depth, distractors=3, receptacles=5 + seed)
        extra = scene.targets()[scene.goal.count :]
        assert len(extra) == 3
        assert all(scene.place(o.inside).type != scene.goal.receptacle for o in extra)
        objects = tuple(o for o in scene.objects if o not in extra)
        alone = Scene(scene.split, scene.room, scene.receptacles, objects, scene.goal, scene.place_named)
        assert len(Planner(scene).plan()) == len(Planner(alone).plan())


def test_the_same_generator_draws_the_same_scene():
    full = dict(draw_task(0).difficulty)
    one, other = (sample_scene("train", full, np.random.default_rng(7)) for _ in range(2))
    assert one == other
    assert one != sample_scene("train", full, np.random.default_rng(8))


@pytest.mark.parametrize("extreme", [EXTREMES["most crowded"], {"receptacles": 40, "objects": 80}], ids=str)
@pytest.mark.parametrize("task_type", ["look_at_obj_in_light", "pick_two_obj_and_place"])
def test_the_engine_plays_tasks_at_the_extremes(env, task_type, extreme):
    task = env.sample_task({**extreme, "task_type": task_type}, np.random.default_rng(0))
    assert (task.env_id, env.unwrapped.check_task(task).valid) == (ENV_ID, True)
    assert plays_to_a_win(env, task, env.check_task(task).witness)
