"""AlfWorld's edit language: what can be changed about a scene, and which changes make it harder or easier.

Every operation is a JSON object with an ``"op"``. Receptacles and objects are
named as the player sees them (``"drawer 2"``) or by their ALFRED id.

====================  ==========================================  =====================================
op                    fields                                      effect
====================  ==========================================  =====================================
``set_goal``          ``task_type``, ``object``, ``receptacle``   change any of the three; the text follows
``add_object``        ``type``, ``in``                            put a new object somewhere
``move_object``       ``object``, ``to``                          move one object or lamp
``remove_object``     ``object``                                  take one object away
``hide_target``       ``in``                                      move the goal's objects there
``open``, ``close``   ``receptacle``                              change how a container starts
``add_receptacle``    ``type``                                    one more place of a kind the room has
``set_step_budget``   ``value``                                   steps, as a multiple of the shortest plan
``name_place``        ``value``                                   whether the goal text says where to look
====================  ==========================================  =====================================
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rla_envs.alfworld import shipped
from rla_envs.alfworld.difficulty import closed_share, hiding_depth, stated_step_budget
from rla_envs.alfworld.generator import goal_choices
from rla_envs.alfworld.names import display_names
from rla_envs.alfworld.proposals import propose_edits
from rla_envs.alfworld.scene import TASK_TYPES, Goal, Receptacle, Scene, Thing
from rla_envs.difficulty import Value
from rla_envs.errors import RefusedEditError, unknown_name
from rla_envs.task import Task, TaskEdit

__all__ = ["apply_edit", "measured_difficulty", "propose_edits", "rarity_rank"]


@dataclass(frozen=True)
class _Draft:
    scene: Scene
    step_budget: float


def apply_edit(task: Task, edit: TaskEdit) -> Task:
    """Return the edited task, not yet checked for solvability.

    Its difficulty is measured again on the edited scene.

    Raises:
        RefusedEditError: If an operation or a field is unknown, missing or of
            the wrong type, or names something the scene does not have, or if
            nothing changes.
        InvalidTaskError: If the task or the edited scene is not one that alfworld allows.
    """
    before = draft = _Draft(Scene.from_payload(task.payload), stated_step_budget(task))
    for change in edit.changes:
        if change["op"] not in _OPERATIONS:
            raise RefusedEditError(str(unknown_name("edit operation", change["op"][:80], _OPERATIONS)))
        operation, fields = _OPERATIONS[change["op"]]
        unknown = next((name for name in change if name not in (*fields, "op")), None)
        if unknown is not None:
            raise RefusedEditError(str(unknown_name(f"field of {change['op']}:", unknown[:80], fields)))
        draft = operation(draft, change)
    if draft == before:
        # Told here, because measuring alone may change the difficulty: it was drawn, and rounds.
        raise RefusedEditError("the edit changes nothing")
    # Written and read once more: the edited payload gets every check that a payload from outside gets.
    scene = Scene.from_payload(draft.scene.payload())
    return task.child(scene.payload(), measured_difficulty(scene, draft.step_budget))


def measured_difficulty(scene: Scene, step_budget: float) -> dict[str, Value]:
    """Return the value of every difficulty parameter, read off a scene."""
    targets = scene.targets()[: scene.goal.count]
    ranked = _ranked(scene)
    return {
        "task_type": TASK_TYPES.index(scene.goal.task_type),
        "receptacles": len(scene.receptacles),
        "objects": len(scene.objects),
        "distractors": len(scene.targets()) - scene.goal.count,
        "closed_containers": closed_share(scene),
        "hiding_depth": max(hiding_depth(scene, o.inside) for o in targets),
        "rarity": (ranked.index(scene.goal.object) + 0.5) / len(ranked),
        "step_budget": step_budget,
        "place_unnamed": int(not scene.place_named),
    }


def _ranked(scene: Scene) -> list[str]:
    """Return the object types that the goal could have, its own included, from common to rare."""
    depth = max(hiding_depth(scene, o.inside) for o in scene.targets()[: scene.goal.count])
    names = {c.object for c in goal_choices(scene.split, scene.goal.task_type, depth)} | {scene.goal.object}
    return sorted(names, key=lambda name: (-shipped.commonness(name), name))


def rarity_rank(scene: Scene, rarity: float) -> int:
    """Return the rank that a rarity stands for, among the object types that the scene's goal could have."""
    count = len(_ranked(scene))
    return min(int(rarity * count), count - 1)


def _field(change: Mapping[str, Any], name: str, kind: type[Any]) -> Any:
    value = change.get(name)
    good = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not good:
        wanted = {str: "a string", bool: "true or false", float: "a number"}[kind]
        raise RefusedEditError(f"{change['op']}: expected {name!r} to be {wanted}, got {reprlib.repr(value)}")
    return value


def _names(scene: Scene) -> dict[str, str]:
    """Return ids by displayed name, and by themselves."""
    ids = [*(r.id for r in scene.receptacles), *(o.id for o in scene.objects)]
    return {name: i for i, name in display_names(ids).items()} | {i: i for i in ids}


def _receptacle(scene: Scene, change: Mapping[str, Any], name: str) -> Receptacle:
    wanted = _field(change, name, str)
    identifier = _names(scene).get(wanted)
    for receptacle in scene.receptacles:
        if receptacle.id == identifier:
            return receptacle
    known = display_names([*(r.id for r in scene.receptacles), *(o.id for o in scene.objects)])
    raise RefusedEditError(
        str(unknown_name("receptacle", wanted[:80], (known[r.id] for r in scene.receptacles)))
    )


def _object(scene: Scene, change: Mapping[str, Any]) -> Thing:
    wanted = _field(change, "object", str)
    identifier = _names(scene).get(wanted)
    for thing in scene.objects:
        if thing.id == identifier:
            return thing
    known = display_names([*(r.id for r in scene.receptacles), *(o.id for o in scene.objects)])
    raise RefusedEditError(str(unknown_name("object", wanted[:80], (known[o.id] for o in scene.objects))))


def _with_objects(draft: _Draft, objects: list[Thing]) -> _Draft:
    return replace(draft, scene=replace(draft.scene, objects=tuple(objects)))


def _set_goal(draft: _Draft, change: Mapping[str, Any]) -> _Draft:
    goal = draft.scene.goal
    values = {name: goal_value for name, goal_value in vars(goal).items() if name != "wording"}
    given = {name: _field(change, name, str) for name in values if name in change}
    if not given:
        raise RefusedEditError("set_goal: expected 'task_type', 'object' or 'receptacle'")
    new = {**values, **given}
    if new["task_type"] not in TASK_TYPES:
        raise RefusedEditError(str(unknown_name("task type", new["task_type"][:80], TASK_TYPES)))
    wordings = len(shipped.goal_templates()[new["task_type"]][1])
    goal = Goal(**new, wording=goal.wording % wordings)
    # The goal's own objects come first in a scene; a stable sort keeps all else in place.
    objects = sorted(draft.scene.objects, key=lambda o: o.type != goal.object)
    return replace(draft, scene=replace(draft.scene, goal=goal, objects=tuple(objects)))


def _add_object(draft: _Draft, change: Mapping[str, Any]) -> _Draft:
    kind, place = _field(change, "type", str), _receptacle(draft.scene, change, "in")
    taken = {o.id for o in draft.scene.objects}
    number = next(n for n in range(len(taken) + 1) if f"{kind}|+60.00|+{n:02d}.00|+00.00" not in taken)
    new = Thing(f"{kind}|+60.00|+{number:02d}.00|+00.00", kind, place.id)
    return _with_objects(draft, [*draft.scene.objects, new])


def _move_object(draft: _Draft, change: Mapping[str, Any]) -> _Draft:
    thing, place = _object(draft.scene, change), _receptacle(draft.scene, change, "to")
    return _with_objects(
        draft, [replace(o, inside=place.id) if o == thing else o for o in draft.scene.objects]
    )


def _remove_object(draft: _Draft, change: Mapping[str, Any]) -> _Draft:
    thing = _object(draft.scene, change)
    return _with_objects(draft, [o for o in draft.scene.objects if o != thing])


def _hide_target(draft: _Draft, change: Mapping[str, Any]) -> _Draft:
    place = _receptacle(draft.scene, change, "in")
    own = draft.scene.targets()[: draft.scene.goal.count]
    return _with_objects(draft, [replace(o, inside=place.id) if o in own else o for o in draft.scene.objects])


def _set_closed(closed: bool) -> Callable[[_Draft, Mapping[str, Any]], _Draft]:
    def operation(draft: _Draft, change: Mapping[str, Any]) -> _Draft:
        place = _receptacle(draft.scene, change, "receptacle")
        places = tuple(replace(r, closed=closed) if r == place else r for r in draft.scene.receptacles)
        return replace(draft, scene=replace(draft.scene, receptacles=places))

    return operation


def _add_receptacle(draft: _Draft, change: Mapping[str, Any]) -> _Draft:
    kind, scene = _field(change, "type", str), draft.scene
    models = [i for i in shipped.room(scene.room).receptacles if shipped.receptacle_type(i) == kind]
    if not models:
        kinds = {shipped.receptacle_type(i) for i in shipped.room(scene.room).receptacles}
        raise RefusedEditError(str(unknown_name("receptacle type of this room:", kind[:80], kinds)))
    have = {r.id for r in scene.receptacles}
    copies = [[*models[0].split("|")[:1], "+50.00", f"+{n:02d}.00", "+00.00"] for n in range(len(have) + 1)]
    tail = models[0].split("|")[4:]
    options = [*models, *("|".join([*copy, *tail]) for copy in copies)]
    new = Receptacle(next(i for i in options if i not in have), kind, shipped.is_openable(kind))
    places = tuple(sorted((*scene.receptacles, new), key=lambda r: r.id))
    return replace(draft, scene=replace(scene, receptacles=places))


def _set_step_budget(draft: _Draft, change: Mapping[str, Any]) -> _Draft:
    return replace(draft, step_budget=_field(change, "value", float))


def _name_place(draft: _Draft, change: Mapping[str, Any]) -> _Draft:
    return replace(draft, scene=replace(draft.scene, place_named=_field(change, "value", bool)))


_OPERATIONS: dict[str, tuple[Callable[[_Draft, Mapping[str, Any]], _Draft], tuple[str, ...]]] = {
    "set_goal": (_set_goal, ("task_type", "object", "receptacle")),
    "add_object": (_add_object, ("type", "in")),
    "move_object": (_move_object, ("object", "to")),
    "remove_object": (_remove_object, ("object",)),
    "hide_target": (_hide_target, ("in",)),
    "open": (_set_closed(False), ("receptacle",)),
    "close": (_set_closed(True), ("receptacle",)),
    "add_receptacle": (_add_receptacle, ("type",)),
    "set_step_budget": (_set_step_budget, ("value",)),
    "name_place": (_name_place, ("value",)),
}
"""Each operation with the fields it takes."""
