"""Edits of grids do what they say, or are refused with the reason."""

import numpy as np
import pytest

from rla_envs.errors import RefusedEditError
from rla_envs.gridnav.env import GridNavEnv
from rla_envs.task import TaskEdit
from tests.rla_envs.gridnav.tasks import anywhere, drawn

TASK = drawn(["R.G..", ".#...", ".....", ".....", "....."])


def edited(*changes, task=TASK):
    return GridNavEnv().apply_edit(task, TaskEdit(changes))


@pytest.mark.parametrize(
    ("change", "payload", "difficulty"),
    [
        ({"op": "add_wall", "row": 4, "column": 4}, {"walls": ("...", "....#")}, {"obstacle_density": 0.08}),
        ({"op": "remove_wall", "row": 1, "column": 1}, {"walls": ("....", ".....")}, {"obstacle_density": 0}),
        ({"op": "move_start", "row": 2, "column": 0}, {"start": (2, 0)}, {"goal_distance": 0.6}),
        ({"op": "move_goal", "row": 0, "column": 1}, {"goal": (0, 1)}, {"goal_distance": 0.0}),
        ({"op": "turn_wind", "direction": "south"}, {"wind_direction": "south"}, {}),
        ({"op": "set_wind", "value": 0.25}, {}, {"wind": 0.25}),
        ({"op": "set_goal_moving", "value": 0.5}, {}, {"goal_moving": 0.5}),
        ({"op": "set_view_radius", "value": 1}, {}, {"view_radius": 1}),
        ({"op": "set_step_budget", "value": 2}, {}, {"step_budget": 2.0}),
    ],
    ids=lambda value: value.get("op") if isinstance(value, dict) else None,
)
def test_every_operation_changes_what_it_names_and_nothing_else(change, payload, difficulty):
    child = edited(change)
    assert (child.parent_id, child.version) == (TASK.id, 1)
    for name, value in TASK.payload.items():
        if name == "walls" and name in payload:
            flat = "".join(child.payload["walls"])
            assert sum(a != b for a, b in zip(flat, "".join(value), strict=True)) == 1
        else:
            assert child.payload[name] == payload.get(name, value)
    for name, value in TASK.difficulty.items():
        if name in difficulty:
            assert child.difficulty[name] == pytest.approx(difficulty[name])
        elif name != "goal_distance":
            assert child.difficulty[name] == value


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ([{"op": "add_wal", "row": 1, "column": 2}], "Did you mean 'add_wall'"),
        ([{"op": "add_wall", "row": 1}], "expected 'column' to be an integer, got None"),
        ([{"op": "add_wall", "row": 1, "column": 2, "colour": 1}], "unknown field"),
        ([{"op": "add_wall", "row": 9, "column": 2}], r"from 0 to 4, got \[9, 2\]"),
        ([{"op": "add_wall", "row": -1, "column": 2}], r"from 0 to 4, got \[-1, 2\]"),
        ([{"op": "add_wall", "row": 1, "column": 1}], "is a wall already"),
        ([{"op": "remove_wall", "row": 0, "column": 1}], "is open already"),
        ([{"op": "add_wall", "row": 0, "column": 0}], "start: .* is a wall"),
        ([{"op": "move_goal", "row": 0, "column": 0}], "the goal holds at the start"),
        ([{"op": "move_goal", "row": 1, "column": 1}], "goal: .* is a wall"),
        ([{"op": "turn_wind", "direction": "up"}], "expected one of north, east, south, west, got 'up'"),
        ([{"op": "set_wind", "value": 2}], "'wind': expected a value from 0.0 to 0.5"),
        ([{"op": "set_wind", "value": 0.0}], "changes nothing"),
        (
            [{"op": "add_wall", "row": 0, "column": 1}, {"op": "add_wall", "row": 1, "column": 0}],
            "no path leads from the start to the goal",
        ),
    ],
)
def test_an_edit_that_cannot_be_is_refused_with_the_reason(changes, reason):
    with pytest.raises(RefusedEditError, match=reason):
        edited(*changes)


def test_no_edit_leads_out_of_the_split():
    outcomes = {"refused": 0, "kept": 0}
    for row in range(5):
        for column in range(5):
            try:
                child = edited({"op": "move_start", "row": row, "column": column})
            except RefusedEditError as error:
                outcomes["refused"] += "split: this layout belongs to" in str(error)
            else:
                outcomes["kept"] += child.payload["split"] == TASK.payload["split"]
    assert outcomes["kept"] + outcomes["refused"] == 25 - 3  # not the goal, the wall, or where it is
    assert outcomes["refused"] > 0


def test_proposals_move_the_task_in_their_direction():
    env, rng = GridNavEnv(), np.random.default_rng(0)
    accepted = {"harder": set(), "easier": set()}
    for task in anywhere(25, seed=9):
        for direction, sign in (("harder", 1), ("easier", -1)):
            for edit in env.propose_edits(task, direction, rng):
                try:
                    child = env.apply_edit(task, edit)
                except RefusedEditError:
                    continue
                op = edit.changes[0]["op"]
                accepted[direction].add(op)
                name = op.removeprefix("set_")
                if name in task.difficulty:
                    towards = next(p.direction for p in env.difficulty_parameters if p.name == name)
                    assert (child.difficulty[name] - task.difficulty[name]) * towards * sign > 0
                elif op.endswith("wall"):
                    assert (
                        child.difficulty["obstacle_density"] - task.difficulty["obstacle_density"]
                    ) * sign > 0
                else:
                    assert (child.difficulty["goal_distance"] - task.difficulty["goal_distance"]) * sign > 0
    settings = {"move_start", "set_wind", "set_goal_moving", "set_view_radius", "set_step_budget"}
    assert accepted == {"harder": {"add_wall", *settings}, "easier": {"remove_wall", *settings}}
