"""Random edits of AlfWorld tasks: well-formed ones, a rule's own, and garbage of every kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from rla_envs.alfworld import shipped
from rla_envs.alfworld.edits import EDIT_OPERATIONS, propose_edits
from rla_envs.alfworld.names import display_names
from rla_envs.alfworld.scene import TASK_TYPES, Scene
from rla_envs.edit_language import EditField
from rla_envs.task import Task

T = TypeVar("T")


def _nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


JUNK: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**18,
    10**400,
    1e308,
    -0.0,
    float("nan"),
    float("inf"),
    "",
    " ",
    "мяч",
    "机のマグ",
    "\U0001f7e3",
    "\ud800",
    "mug\x00 1",
    "Mug\nTake the money",
    "Mug) (:goal (",
    "{print(1)}",
    "#intro#",
    '", "rhs": "#x#',
    "../../etc/passwd",
    "x" * 10_000,
    [],
    {},
    ["Mug", "Mug"],
    {"op": "open"},
    {"a": {"b": {"c": [1, 2, {"d": None}]}}},
    _nested(400),
    _nested(5_000),
    b"bytes",
    {1: 2},
    object(),
)
"""Values that no field takes, or that hardly any does."""


def pick(rng: np.random.Generator, options: Sequence[T]) -> T:
    """Return one of the options."""
    return options[int(rng.integers(len(options)))]


def random_changes(task: Task, rng: np.random.Generator) -> Any:
    """Return what somebody might hand over as the changes of an edit, sound or not.

    About half are one to three operations with names and types of the scene or
    of alfworld's tables, a fifth is one that the environment itself proposes,
    and the rest is such an edit spoiled: a value, key or operation replaced by
    junk, a field left out or added, or no list of objects at all.

    Args:
        task: A valid AlfWorld task.
        rng: Source of all randomness.
    """
    draw = rng.random()
    if draw < 0.2:
        proposed = propose_edits(task, pick(rng, ("harder", "easier")), rng)
        return list(proposed[0].changes)
    vocabulary = _Vocabulary(Scene.from_payload(task.payload), rng)
    changes = [vocabulary.change() for _ in range(int(rng.integers(1, 4)))]
    return changes if draw < 0.7 else _spoiled(changes, rng)


class _Vocabulary:
    """The names that make sense in a scene."""

    def __init__(self, scene: Scene, rng: np.random.Generator) -> None:
        self._rng = rng
        table = shipped.constants()
        names = display_names([*(r.id for r in scene.receptacles), *(o.id for o in scene.objects)])
        self.places = [names[r.id] for r in scene.receptacles]
        self.objects = [names[o.id] for o in scene.objects]
        here = {o.type for o in scene.objects}
        self.types_here = sorted(here)
        self.place_types_here = sorted({r.type for r in scene.receptacles})
        self.types = sorted({*table.OBJECTS, *here})
        self.place_types = sorted(table.VAL_RECEPTACLE_OBJECTS)
        self.lamps = sorted(here & table.VAL_ACTION_OBJECTS["Toggleable"])

    def change(self) -> dict[str, Any]:
        operation = pick(self._rng, EDIT_OPERATIONS)
        given = [f for f in operation.fields if not f.optional or self._rng.random() < 0.6]
        return {"op": operation.op, **{f.name: self._value(operation.op, f) for f in given}}

    def _value(self, op: str, field: EditField) -> Any:
        rng = self._rng
        if field.kind is bool:
            return bool(rng.integers(2))
        if field.kind is int:
            return int(rng.integers(-1, 6))
        if field.kind is float:
            return pick(rng, (float(rng.uniform(0.5, 11)), int(rng.integers(0, 12)), 5.0))
        if field.name == "task_type":
            return pick(rng, TASK_TYPES)
        if op == "set_goal" and field.name == "receptacle":
            return pick(rng, (*self.place_types_here * 3, *self.lamps * 3, *self.place_types))
        if op == "set_goal":
            return pick(rng, (*self.types_here * 5, *self.types))
        if field.name == "type":
            return pick(rng, self.types if op == "add_object" else self.place_types)
        return pick(rng, self.objects if field.name == "object" else self.places)


def _spoiled(changes: list[dict[str, Any]], rng: np.random.Generator) -> Any:
    victim = pick(rng, changes)
    how = int(rng.integers(7))
    if how == 0:
        return pick(rng, (*JUNK, [pick(rng, JUNK)], [*changes, pick(rng, JUNK)]))
    if how == 1:
        return changes * 200
    if how == 2:
        del victim[pick(rng, list(victim))]
    elif how == 3:
        key: Any = pick(rng, ("", "op ", "OP", "wording", "id", "payload", "ключ", "x" * 10_000, 3, None))
        victim[key] = 1
    elif how == 4:
        victim["op"] = pick(rng, JUNK)
    else:
        victim[pick(rng, list(victim))] = pick(rng, JUNK)
    return changes
