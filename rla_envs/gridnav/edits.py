"""GridNav's edit language, and edits that should make a task one step harder or easier.

Rows count from the north, columns from the west, both from 0.

===================  ====================  ==========================================
op                   fields                effect
===================  ====================  ==========================================
``add_wall``         ``row``, ``column``   put a wall into an open cell
``remove_wall``      ``row``, ``column``   open a wall's cell
``move_start``       ``row``, ``column``   let the robot start there
``move_goal``        ``row``, ``column``   let the goal start there
``turn_wind``        ``direction``         let the wind push that way
``set_wind``         ``value``             change how often the wind pushes
``set_goal_moving``  ``value``             change how often the goal moves
``set_view_radius``  ``value``             change how far the robot sees
``set_step_budget``  ``value``             change how many steps are allowed
===================  ====================  ==========================================

An edit is refused, with the reason, if it is malformed, changes nothing, leaves
a difficulty parameter's range, cuts the robot off from the goal, or leads to a
layout of the other split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rla_envs.difficulty import Value, parse_difficulty
from rla_envs.edit_language import EditField, EditOperation, apply_changes
from rla_envs.errors import RefusedEditError
from rla_envs.gridnav.difficulty import PARAMETERS
from rla_envs.gridnav.grid import DIRECTIONS, Cell, Grid, cell_at
from rla_envs.gridnav.level import Level, measured
from rla_envs.gridnav.search import layers
from rla_envs.task import Task, TaskEdit

_CELL = (EditField("row", int, "rows from the north"), EditField("column", int, "columns from the west"))

EDIT_OPERATIONS = (
    EditOperation("add_wall", _CELL, "put a wall into an open cell"),
    EditOperation("remove_wall", _CELL, "open a wall's cell"),
    EditOperation("move_start", _CELL, "let the robot start there"),
    EditOperation("move_goal", _CELL, "let the goal start there"),
    EditOperation(
        "turn_wind", (EditField("direction", str, ", ".join(DIRECTIONS)),), "let the wind push that way"
    ),
    EditOperation(
        "set_wind", (EditField("value", float, "probability a step"),), "change how often the wind pushes"
    ),
    EditOperation(
        "set_goal_moving",
        (EditField("value", float, "probability a step"),),
        "change how often the goal moves",
    ),
    EditOperation("set_view_radius", (EditField("value", int, "cells"),), "change how far the robot sees"),
    EditOperation(
        "set_step_budget",
        (EditField("value", float, "multiple of the shortest plan"),),
        "change how many steps are allowed",
    ),
)
"""The language as a table for programs: edits are checked by it, prompts are made from it."""

_SETTABLE = ("goal_moving", "wind", "view_radius", "step_budget")
"""The difficulty parameters that are not measured on the grid."""

_STRIDE = {"goal_moving": 0.1, "wind": 0.1, "view_radius": -1}
"""How far one proposed edit moves a parameter towards harder."""

_WALLS_PROPOSED = 8


@dataclass(frozen=True)
class _Draft:
    grid: Grid
    values: Mapping[str, Value]


def apply_edit(task: Task, edit: TaskEdit) -> Task:
    """Return the edited task, not yet checked; its difficulty is measured again on the edited grid.

    Raises:
        RefusedEditError: If an operation or a field is unknown, missing or
            malformed, or if nothing changes.
        InputError: If the task or the edited grid is not one that can be played.
    """
    stated = parse_difficulty(PARAMETERS, task.difficulty)
    before = _Draft(Grid.from_payload(task.payload), {name: stated[name] for name in _SETTABLE})
    draft = apply_changes(before, edit.changes, EDIT_OPERATIONS, _APPLY)
    # Written and read once more: the edited payload gets every check that a payload from outside gets.
    grid = Grid.from_payload(draft.grid.payload())
    return task.child(grid.payload(), {**measured(grid), **draft.values})


def propose_edits(level: Level, task: Task, direction: str, rng: np.random.Generator) -> list[TaskEdit]:
    """Return single-operation edits that should move the task in a direction, in random order.

    Harder: a wall on the way, a start one step further from the goal, more
    wind, a goal that moves more, a shorter view, less budget. Easier: the
    reverse. Some may be refused when applied.

    Args:
        level: The task made ready to play.
        task: The task.
        direction: ``"harder"`` or ``"easier"``.
        rng: Source of all randomness.
    """
    harder = direction == "harder"
    changes = [
        *_wall_changes(level, harder, rng),
        *_start_changes(level.grid, harder, rng),
        *_value_changes(task.difficulty, harder),
    ]
    return [
        TaskEdit((changes[int(i)],), direction=direction, author="rule", reason=f"one {direction} step")
        for i in rng.permutation(len(changes))
    ]


def _wall_changes(level: Level, harder: bool, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    grid = level.grid
    if harder:
        way = set(map(cell_at, level.way)) - {grid.start, grid.goal}
        op, cells = "add_wall", sorted(way)
    else:
        marks = ((Cell(r, c), mark) for r, row in enumerate(grid.walls) for c, mark in enumerate(row))
        op, cells = "remove_wall", [cell for cell, mark in marks if mark == "#"]
    for i in rng.permutation(len(cells))[:_WALLS_PROPOSED]:
        yield {"op": op, **cells[int(i)]._asdict()}


def _start_changes(grid: Grid, harder: bool, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    by_distance = layers(grid.open_cells, grid.goal.number)
    start = 1 << grid.start.number
    distance = next(n for n, cells in enumerate(by_distance) if cells & start)
    target = distance + (1 if harder else -1)
    if 1 <= target < len(by_distance):
        cells = [n for n in range(by_distance[target].bit_length()) if by_distance[target] >> n & 1]
        yield {"op": "move_start", **cell_at(cells[int(rng.integers(len(cells)))])._asdict()}


def _value_changes(difficulty: Mapping[str, Any], harder: bool) -> Iterator[dict[str, Any]]:
    ranges = {parameter.name: (parameter.low, parameter.high) for parameter in PARAMETERS}
    values = {name: difficulty[name] + (step if harder else -step) for name, step in _STRIDE.items()}
    values["step_budget"] = difficulty["step_budget"] * (0.75 if harder else 1.25)
    for name, value in values.items():
        low, high = ranges[name]
        inside = min(max(round(value, 6), low), high)
        if inside != difficulty[name]:
            yield {"op": f"set_{name}", "value": inside}


def _set_wall(mark: str) -> Callable[[_Draft, Mapping[str, Any]], _Draft]:
    def operation(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
        cell, rows = _cell(draft, values), list(draft.grid.walls)
        row = rows[cell.row]
        if row[cell.column] == mark:
            raise RefusedEditError(f"{list(cell)} is {'a wall' if mark == '#' else 'open'} already")
        rows[cell.row] = row[: cell.column] + mark + row[cell.column + 1 :]
        return replace(draft, grid=replace(draft.grid, walls=tuple(rows)))

    return operation


def _cell(draft: _Draft, values: Mapping[str, Any]) -> Cell:
    cell, last = Cell(**values), draft.grid.size - 1
    if not all(0 <= position <= last for position in cell):
        raise RefusedEditError(f"expected a row and a column from 0 to {last}, got {list(cell)}")
    return cell


def _move_start(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
    return replace(draft, grid=replace(draft.grid, start=_cell(draft, values)))


def _move_goal(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
    return replace(draft, grid=replace(draft.grid, goal=_cell(draft, values)))


def _turn_wind(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
    direction = values["direction"]
    if direction not in DIRECTIONS:
        raise RefusedEditError(f"turn_wind: expected one of {', '.join(DIRECTIONS)}, got {direction[:80]!r}")
    return replace(draft, grid=replace(draft.grid, wind_direction=DIRECTIONS.index(direction)))


def _set(name: str) -> Callable[[_Draft, Mapping[str, Any]], _Draft]:
    def operation(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
        given = parse_difficulty(PARAMETERS, {name: values["value"]})
        return replace(draft, values={**draft.values, **given})

    return operation


_APPLY: dict[str, Callable[[_Draft, Mapping[str, Any]], _Draft]] = {
    "add_wall": _set_wall("#"),
    "remove_wall": _set_wall("."),
    "move_start": _move_start,
    "move_goal": _move_goal,
    "turn_wind": _turn_wind,
    **{f"set_{name}": _set(name) for name in _SETTABLE},
}
