"""Lost steps are told apart by what they were spent on, and no step of a shortest plan is one."""

import numpy as np
import pytest

from rla_envs.alfworld.edit_operations import (
    EDIT_OPERATIONS,
    IMPOSSIBLE,
    SEARCHING,
    UNOPENED,
    WRONG_DEVICE,
    WRONG_OBJECT,
    WRONG_PLACE,
)
from rla_envs.alfworld.edits import measured_difficulty
from rla_envs.alfworld.scene import TASK_TYPES, Goal, Receptacle, Scene, Thing
from rla_envs.alfworld.splits import has_goal, rooms_of
from rla_envs.task import Task
from tests.rla_envs.alfworld.games import ENV_ID, draw_task

ROOMS = {room.number for room in rooms_of("train")}


def kitchen(task_type="pick_heat_then_place_in_recep", target="CounterTop"):
    """A potato in a closed fridge, a fork and a mug on the counter, a microwave."""
    places = tuple(
        Receptacle(f"{kind}|+01.00|+0{n}.00|+00.00", kind, kind in ("Fridge", "Cabinet"))
        for n, kind in enumerate(("Cabinet", "CounterTop", "DiningTable", "Fridge", "Microwave"))
    )
    ids = {r.type: r.id for r in places}
    inside = (
        ("Potato", "Fridge"),
        ("Fork", "CounterTop"),
        ("Mug", "CounterTop"),
        *[("Fork", "DiningTable")] * 3,
    )
    things = tuple(
        Thing(f"{kind}|+00.00|+0{n}.00|+00.00", kind, ids[place]) for n, (kind, place) in enumerate(inside)
    )
    goal = Goal(task_type, "Potato", target, 0)
    room = next(r for r in range(1, 30) if r in ROOMS and has_goal("train", task_type, "Potato", target, r))
    scene = Scene("train", room, places, things, goal, False)
    return Task(ENV_ID, measured_difficulty(scene, 5.0), scene.payload())


def kinds(env, task, *commands):
    """Play the commands; return what each was spent on."""
    env.reset(options={"task": task})
    answers = [env.step(command)[4]["rla"]["last_action_error"] for command in commands]
    return list(env.lost_step_kinds(task, commands, [not error for error in answers]))


FETCH = ("go to fridge 1", "open fridge 1", "take potato 1 from fridge 1")
HEATED = (*FETCH, "go to microwave 1", "heat potato 1 with microwave 1")


@pytest.mark.parametrize(
    ("played", "lost", "kind"),
    [
        ((), "go to cabinet 1", SEARCHING),
        ((), "look", SEARCHING),
        ((), "go to potato 1", IMPOSSIBLE),
        ((), "make soup", IMPOSSIBLE),
        (("go to cabinet 1",), "open cabinet 1", SEARCHING),
        (("go to fridge 1",), "go to cabinet 1", UNOPENED),
        (("go to fridge 1",), "take potato 1 from fridge 1", UNOPENED),
        (("go to fridge 1",), "look", SEARCHING),
        (("go to countertop 1",), "take mug 1 from countertop 1", WRONG_OBJECT),
        (("go to countertop 1", "take mug 1 from countertop 1"), "go to cabinet 1", WRONG_OBJECT),
        (FETCH, "cool potato 1 with fridge 1", WRONG_DEVICE),
        (FETCH, "go to countertop 1", WRONG_DEVICE),
        (FETCH, "move potato 1 to fridge 1", WRONG_DEVICE),
        (HEATED, "go to diningtable 1", WRONG_PLACE),
        (HEATED, "move potato 1 to microwave 1", WRONG_PLACE),
        (HEATED, "heat potato 1 with microwave 1", WRONG_PLACE),
    ],
)
def test_a_lost_step_is_of_the_kind_of_what_was_due(env, played, lost, kind):
    found = kinds(env, kitchen(), *played, lost)
    assert found[-1] == kind
    assert [found[i] for i, command in enumerate(played) if command in HEATED] == [""] * sum(
        command in HEATED for command in played
    )


def test_cooling_what_was_heated_loses_the_heat(env):
    spoiled = (*HEATED, "go to fridge 1", "cool potato 1 with fridge 1", "go to microwave 1")
    assert kinds(env, kitchen(), *spoiled)[5:] == [WRONG_PLACE, WRONG_PLACE, ""]


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_no_step_of_a_shortest_plan_is_lost(env, task_type):
    for seed in range(4):
        task = draw_task(seed, task_type=task_type, receptacles=8, objects=9)
        witness = env.check_task(task).witness
        assert env.lost_step_kinds(task, witness, [True] * len(witness)) == ("",) * len(witness)


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_a_step_is_lost_where_the_engines_facts_leave_as_long_a_way(env, task_type):
    """The commands alone must tell what the engine's own facts tell."""
    rng = np.random.default_rng(TASK_TYPES.index(task_type))
    task = draw_task(int(rng.integers(100)), task_type=task_type, receptacles=6, objects=7, step_budget=10.0)
    _, info = env.reset(options={"task": task})
    commands, effective, lost = [], [], []
    left = len(env.optimal_plan())
    for _ in range(35):
        plan = env.optimal_plan()
        # Random play alone would hardly ever get to hold what the goal is about.
        choices = [*plan[:1] * 5, *info["admissible_commands"], "make soup"]
        commands.append(str(rng.choice(choices)))
        _, _, won, _, info = env.step(commands[-1])
        effective.append(not info["rla"]["last_action_error"])
        before, left = left, len(env.optimal_plan())
        lost.append(left >= before)
        if won:
            break
    found = env.lost_step_kinds(task, commands, effective)
    assert [bool(kind) for kind in found] == lost
    assert 0 < sum(lost) < len(lost)


def test_an_older_phrasing_is_understood():
    from rla_envs.alfworld.env import AlfWorldEnv

    env = AlfWorldEnv(verbs="put")
    task = kitchen()
    lost = (*HEATED, "put potato 1 in/on microwave 1")
    assert env.lost_step_kinds(task, lost, [True] * len(lost))[-1] == WRONG_PLACE
    env.close()


def test_some_operation_bears_on_every_kind():
    about = {kind for o in EDIT_OPERATIONS for kind in (*o.about, *(k for f in o.fields for k in f.about))}
    assert about == {SEARCHING, UNOPENED, WRONG_OBJECT, WRONG_DEVICE, WRONG_PLACE, IMPOSSIBLE}
