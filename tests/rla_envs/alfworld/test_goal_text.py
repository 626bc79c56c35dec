"""The player is told the task's own goal, in alfworld's words and names."""

import re

import numpy as np
import pytest

from rla_envs import TaskEdit
from rla_envs.alfworld.game import game_data, goal_text, pddl_problem
from rla_envs.alfworld.names import display_names, mangle
from rla_envs.alfworld.scene import Scene
from rla_envs.errors import RefusedEditError
from tests.rla_envs.alfworld.games import EVERY_KIND, draw_scene, draw_task

goal_library = pytest.importorskip("alfworld.gen.goal_library")
misc = pytest.importorskip("alfworld.agents.utils.misc")


class Info:
    """The one attribute of TextWorld's EntityInfo that the demangler reads."""

    def __init__(self, identifier):
        self.id = identifier


def alfworlds_names(ids):
    """Return the names that alfworld's own Demangler gives."""
    mangled = {i: mangle(i).lower() for i in ids}
    demangler = misc.Demangler(game_infos={m: Info(m) for m in mangled.values()})
    return {i: demangler.demangle_alfred_name(m) for i, m in mangled.items()}


def expected_text(scene):
    """Return the goal's text from alfworld's templates, and where its objects are if the task says so."""
    goal = scene.goal
    template = goal_library.gdict[goal.task_type]["templates"][goal.wording]
    text = template.format(
        obj=goal.object.lower(), recep=goal.receptacle.lower(), toggle=goal.receptacle.lower()
    )
    if not scene.place_named:
        return text
    names = alfworlds_names([*(r.id for r in scene.receptacles), *(o.id for o in scene.objects)])
    openable = {"Microwave", "Fridge", "Drawer", "Cabinet", "Safe", "Box"}
    places = []
    for target in scene.targets()[: scene.goal.count]:
        word = "in" if scene.place(target.inside).type in openable else "on"
        places.append(f"{names[target.id]} is {word} {names[target.inside]}")
    return f"{text} ({', '.join(places)})"


@pytest.mark.parametrize(
    "size", [{"receptacles": 8, "objects": 8}, {"receptacles": 40, "objects": 80}], ids=str
)
@pytest.mark.parametrize(("split", "task_type", "depth"), EVERY_KIND)
def test_names_are_those_of_alfworlds_demangler(split, task_type, depth, size):
    for seed in range(3):
        scene = draw_scene(seed, split, task_type=task_type, hiding_depth=depth, **size)
        ids = [*(r.id for r in scene.receptacles), *(o.id for o in scene.objects)]
        assert display_names(ids) == alfworlds_names(ids)


@pytest.mark.parametrize("place_unnamed", [0, 1])
@pytest.mark.parametrize(("split", "task_type", "depth"), EVERY_KIND)
def test_the_text_states_the_goal(split, task_type, depth, place_unnamed):
    for seed in range(4):
        scene = draw_scene(
            seed,
            split,
            task_type=task_type,
            hiding_depth=depth,
            place_unnamed=place_unnamed,
            distractors=seed % 2,
        )
        assert goal_text(scene) == expected_text(scene)
        assert f"Your task is to: {expected_text(scene)}." in game_data(scene)["grammar"]
        assert "UNKNOWN GOAL" not in game_data(scene)["grammar"]
        assert ("(" in goal_text(scene)) == (not place_unnamed)


@pytest.mark.parametrize("task_type", ["pick_heat_then_place_in_recep", "look_at_obj_in_light"])
def test_the_rules_ask_for_what_the_text_says(task_type):
    scene = draw_scene(0, task_type=task_type)
    wanted = pddl_problem(scene).split("(:goal")[1]
    assert {scene.goal.object, scene.goal.receptacle} <= set(re.findall(r"(\w+)Type", wanted))


@pytest.mark.parametrize("direction", ["harder", "easier"])
@pytest.mark.parametrize("seed", range(3))
def test_the_player_reads_the_new_goal_after_an_edit(env, seed, direction):
    task = env.sample_task({"receptacles": 7, "objects": 10}, np.random.default_rng(seed))
    by_op = {}
    for edit in env.propose_edits(task, direction, np.random.default_rng(seed)):
        by_op.setdefault((edit.changes[0]["op"], "task_type" in edit.changes[0]), edit)
    for edit in by_op.values():
        try:
            edited = env.apply_edit(task, edit)
        except RefusedEditError:
            continue
        observation, _ = env.reset(options={"task": edited})
        scene = Scene.from_payload(edited.payload)
        assert observation.endswith(f"Your task is to: {expected_text(scene)}.")


def test_a_new_goal_type_is_told_and_asked_for(env):
    task = env.sample_task({"task_type": "pick_and_place_simple", "objects": 12}, np.random.default_rng(5))
    goal = task.payload["goal"]
    kinds = {o["id"].split("|")[0] for o in task.payload["objects"]} - {goal["object"]}
    told = set()
    for kind in sorted(kinds):
        try:
            edited = env.apply_edit(task, TaskEdit(({"op": "set_goal", "object": kind},)))
        except RefusedEditError:
            continue
        observation, _ = env.reset(options={"task": edited})
        assert re.search(rf"Your task is to: .*\b{kind.lower()} ", observation)
        assert goal["object"].lower() not in observation.split("Your task is to: ")[1]
        told.add(kind)
    assert told


def test_hiding_the_target_elsewhere_changes_a_named_place(env):
    task = env.sample_task({"place_unnamed": 0, "hiding_depth": 0}, np.random.default_rng(1))
    for edit in env.propose_edits(task, "harder", np.random.default_rng(0)):
        if edit.changes[0]["op"] == "hide_target":
            observation, _ = env.reset(options={"task": env.apply_edit(task, edit)})
            assert f"is in {edit.changes[0]['in']}" in observation.split("Your task is to: ")[1]
            return
    pytest.fail("no place to hide the target in")


def test_drawn_tasks_state_their_place_parameter():
    assert [draw_task(0, place_unnamed=v).payload["place_named"] for v in (0, 1)] == [True, False]
