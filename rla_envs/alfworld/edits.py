"""AlfWorld's edit language: what can be changed about a scene, and which changes make it harder or easier.

Every operation is a JSON object with an ``"op"``. Receptacles and objects are
named as the player sees them (``"drawer 2"``) or by their ALFRED id; names are
those of the task before the edit, whatever an earlier operation did. Types are
ALFRED's (``"CounterTop"``), in any case.

=====================  ============================================  =========================================
op                     fields                                        effect
=====================  ============================================  =========================================
``set_goal``           ``task_type``?, ``object``?, ``receptacle``?  change any of the three; the text follows
``add_object``         ``type``, ``in``                              put a new object somewhere
``move_object``        ``object``, ``to``                            move one object or lamp
``remove_object``      ``object``                                    take one object away
``hide_target``        ``in``                                        move the goal's own objects there
``set_distractors``    ``value``                                     have so many more of the goal's type
``open``               ``receptacle``                                let a container start open
``close``              ``receptacle``                                let a container start closed
``add_receptacle``     ``type``                                      have one more place
``remove_receptacle``  ``receptacle``                                take an empty place away
``set_step_budget``    ``value``                                     change how many steps are allowed
``name_place``         ``value``                                     say where the goal's objects are, or not
=====================  ============================================  =========================================

A question mark marks a field that may be left out. :data:`EDIT_OPERATIONS` is
the same table for programs, with the meaning of every field; edits are checked
by it and prompts are made from it.

An edit is refused, with the reason, if it is malformed, changes nothing, breaks
one of alfworld's tables (``VAL_RECEPTACLE_OBJECTS``, ``VAL_ACTION_OBJECTS``,
``OPENABLE_CLASS_SET``), leaves a difficulty parameter's range, turns the goal
into one of another split, or makes a goal that cannot be reached or holds from
the start. The goal's text is always made anew.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from rla_envs.alfworld import shipped
from rla_envs.alfworld.difficulty import closed_share, hiding_depth, target_depth
from rla_envs.alfworld.edit_operations import EDIT_OPERATIONS, LIMITS
from rla_envs.alfworld.generator import ranked_objects
from rla_envs.alfworld.names import display_names
from rla_envs.alfworld.plan import Planner
from rla_envs.alfworld.proposals import propose_edits
from rla_envs.alfworld.scene import TASK_TYPES, Goal, Receptacle, Scene, Thing, check_goal
from rla_envs.difficulty import Value
from rla_envs.edit_language import apply_changes
from rla_envs.errors import RefusedEditError, unknown_name
from rla_envs.step_budget import stated_step_budget
from rla_envs.task import Task, TaskEdit

__all__ = ["EDIT_OPERATIONS", "apply_edit", "measured_difficulty", "propose_edits", "rarity_rank"]

_PartT = TypeVar("_PartT", Receptacle, Thing)

MAX_CHANGES = 100
"""Operations that one edit may have."""


@dataclass(frozen=True)
class _Draft:
    """A scene while it is edited; ``names`` are the ids by name, as they were before the edit."""

    scene: Scene
    step_budget: float
    names: Mapping[str, str]


def apply_edit(task: Task, edit: TaskEdit) -> Task:
    """Return the edited task, not yet checked for solvability.

    Its difficulty is measured again on the edited scene.

    Raises:
        RefusedEditError: If an operation or a field is unknown, missing or of
            the wrong type, or names something the scene does not have, or if
            nothing changes.
        InvalidTaskError: If the task or the edited scene is not one that alfworld allows.
    """
    scene = Scene.from_payload(task.payload)
    if len(edit.changes) > MAX_CHANGES:
        raise RefusedEditError(f"expected at most {MAX_CHANGES} operations, got {len(edit.changes)}")
    before = _Draft(scene, stated_step_budget(task), _ids_by_name(scene))
    draft = apply_changes(before, edit.changes, EDIT_OPERATIONS, _APPLY)
    # Written and read once more: the edited payload gets every check that a payload from outside gets.
    scene = Scene.from_payload(draft.scene.payload())
    return task.child(scene.payload(), measured_difficulty(scene, draft.step_budget))


def measured_difficulty(scene: Scene, step_budget: float) -> dict[str, Value]:
    """Return the value of every difficulty parameter, read off a scene."""
    ranked = _ranked(scene)
    return {
        "task_type": TASK_TYPES.index(scene.goal.task_type),
        "receptacles": len(scene.receptacles),
        "objects": len(scene.objects),
        "distractors": len(scene.targets()) - scene.goal.count,
        "closed_containers": closed_share(scene),
        "hiding_depth": target_depth(scene),
        "rarity": (ranked.index(scene.goal.object) + 0.5) / len(ranked),
        "step_budget": step_budget,
        "place_unnamed": int(not scene.place_named),
    }


def _ranked(scene: Scene) -> Sequence[str]:
    """Return the object types that the goal could have, its own included, from common to rare."""
    names = ranked_objects(scene.split, scene.goal.task_type, target_depth(scene))
    if scene.goal.object in names:
        return names
    return sorted({*names, scene.goal.object}, key=lambda name: (-shipped.commonness(name), name))


def rarity_rank(scene: Scene, rarity: float) -> int:
    """Return the rank that a rarity stands for, among the object types that the scene's goal could have."""
    count = len(_ranked(scene))
    return min(int(rarity * count), count - 1)


def _ids_by_name(scene: Scene) -> dict[str, str]:
    """Return ids by displayed name, and by themselves."""
    ids = [*(r.id for r in scene.receptacles), *(o.id for o in scene.objects)]
    return {name: i for i, name in display_names(ids).items()} | {i: i for i in ids}


def _receptacle(draft: _Draft, wanted: str) -> Receptacle:
    return _found("receptacle", wanted, draft, {r.id: r for r in draft.scene.receptacles})


def _object(draft: _Draft, wanted: str) -> Thing:
    return _found("object", wanted, draft, {o.id: o for o in draft.scene.objects})


def _found(kind: str, wanted: str, draft: _Draft, here: Mapping[str, _PartT]) -> _PartT:
    part = here.get(draft.names.get(wanted, ""))
    if part is None:
        known = (name for name, i in draft.names.items() if i in here and i != name)
        raise RefusedEditError(str(unknown_name(kind, wanted[:80], known)))
    return part


def _spelled(kind: str) -> str:
    """Return a type's name as alfworld spells it, given as players read it; an unknown one as it is."""
    return _spellings().get(kind.lower(), kind)


@functools.cache
def _spellings() -> dict[str, str]:
    table = shipped.constants().VAL_RECEPTACLE_OBJECTS
    lamps = shipped.constants().VAL_ACTION_OBJECTS["Toggleable"]
    return {name.lower(): name for name in {*table, *lamps}.union(*table.values())}


def _with_objects(draft: _Draft, objects: Iterable[Thing]) -> _Draft:
    return replace(draft, scene=replace(draft.scene, objects=tuple(objects)))


def _with_receptacles(draft: _Draft, places: Iterable[Receptacle]) -> _Draft:
    return replace(draft, scene=replace(draft.scene, receptacles=tuple(places)))


def _set_goal(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
    goal = draft.scene.goal
    kind = values.get("task_type", goal.task_type)
    if kind not in TASK_TYPES:
        raise RefusedEditError(str(unknown_name("task type", kind[:80], TASK_TYPES)))
    wordings = len(shipped.goal_templates()[kind][1])
    new = Goal(
        task_type=kind,
        object=_spelled(values.get("object", goal.object)),
        receptacle=_spelled(values.get("receptacle", goal.receptacle)),
        wording=goal.wording % wordings,
    )
    # The goal's own objects come first in a scene; a stable sort keeps all else in place.
    objects = sorted(draft.scene.objects, key=lambda o: o.type != new.object)
    return _with_objects(replace(draft, scene=replace(draft.scene, goal=new)), objects)


def _add_object(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
    new = _new_object(draft.scene, _spelled(values["type"]), _receptacle(draft, values["in"]))
    return _with_objects(draft, [*draft.scene.objects, new])


def _new_object(scene: Scene, kind: str, place: Receptacle) -> Thing:
    taken = {o.id for o in scene.objects}
    # Coordinates beyond any real room keep the new id distinct.
    number = next(n for n in range(len(taken) + 1) if f"{kind}|+60.00|+{n:02d}.00|+00.00" not in taken)
    return Thing(f"{kind}|+60.00|+{number:02d}.00|+00.00", kind, place.id)


def _move_object(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
    thing, place = _object(draft, values["object"]), _receptacle(draft, values["to"])
    return _with_objects(
        draft, (replace(o, inside=place.id) if o == thing else o for o in draft.scene.objects)
    )


def _remove_object(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
    thing = _object(draft, values["object"])
    return _with_objects(draft, (o for o in draft.scene.objects if o != thing))


def _hide_target(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
    place = _receptacle(draft, values["in"])
    own = draft.scene.targets()[: draft.scene.goal.count]
    return _with_objects(draft, (replace(o, inside=place.id) if o in own else o for o in draft.scene.objects))


def _set_distractors(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
    check_goal(draft.scene)
    least, most = LIMITS["distractors"]
    wanted = values["value"]
    if not least <= wanted <= most:
        raise RefusedEditError(f"set_distractors: expected 'value' from {least} to {most}, got {wanted}")
    extras = draft.scene.targets()[draft.scene.goal.count :]
    surplus = extras[wanted:]
    draft = _with_objects(draft, (o for o in draft.scene.objects if o not in surplus))
    for _ in range(wanted - len(extras)):
        draft = _with_objects(draft, [*draft.scene.objects, _distractor(draft.scene)])
    return draft


def _distractor(scene: Scene) -> Thing:
    """Return one more object of the goal's type, where it is no easier to reach than the goal's own."""
    depth = target_depth(scene)
    shortest = len(Planner(scene).plan() or ())
    places = [
        r
        for r in scene.receptacles
        if r.type != scene.goal.receptacle
        and shipped.can_contain(r.type, scene.goal.object)
        and hiding_depth(scene, r.id) >= depth
    ]
    crowd = Counter(o.inside for o in scene.targets())
    for place in sorted(places, key=lambda r: (crowd[r.id], r.id)):
        new = _new_object(scene, scene.goal.object, place)
        plan = Planner(replace(scene, objects=(*scene.objects, new))).plan()
        if plan is not None and len(plan) >= shortest:
            return new
    raise RefusedEditError("set_distractors: no place for one more leaves the shortest plan as long as it is")


def _set_closed(closed: bool) -> Callable[[_Draft, Mapping[str, Any]], _Draft]:
    def operation(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
        place = _receptacle(draft, values["receptacle"])
        return _with_receptacles(
            draft, (replace(r, closed=closed) if r == place else r for r in draft.scene.receptacles)
        )

    return operation


def _add_receptacle(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
    kind, scene = _spelled(values["type"]), draft.scene
    models = [i for i in shipped.room(scene.room).receptacles if shipped.receptacle_type(i) == kind]
    if not models:
        kinds = {shipped.receptacle_type(i) for i in shipped.room(scene.room).receptacles}
        raise RefusedEditError(str(unknown_name("receptacle type of this room:", kind[:80], kinds)))
    have = {r.id for r in scene.receptacles}
    copies = [[*models[0].split("|")[:1], "+50.00", f"+{n:02d}.00", "+00.00"] for n in range(len(have) + 1)]
    tail = models[0].split("|")[4:]
    options = [*models, *("|".join([*copy, *tail]) for copy in copies)]
    new = Receptacle(next(i for i in options if i not in have), kind, shipped.is_openable(kind))
    return _with_receptacles(draft, sorted((*scene.receptacles, new), key=lambda r: r.id))


def _remove_receptacle(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
    place, wanted = _receptacle(draft, values["receptacle"]), values["receptacle"]
    if any(o.inside == place.id for o in draft.scene.objects):
        raise RefusedEditError(f"remove_receptacle: expected an empty place, but {wanted} holds something")
    return _with_receptacles(draft, (r for r in draft.scene.receptacles if r != place))


def _set_step_budget(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
    return replace(draft, step_budget=values["value"])


def _name_place(draft: _Draft, values: Mapping[str, Any]) -> _Draft:
    return replace(draft, scene=replace(draft.scene, place_named=values["value"]))


_APPLY: Mapping[str, Callable[[_Draft, Mapping[str, Any]], _Draft]] = {
    "set_goal": _set_goal,
    "add_object": _add_object,
    "move_object": _move_object,
    "remove_object": _remove_object,
    "hide_target": _hide_target,
    "set_distractors": _set_distractors,
    "open": _set_closed(False),
    "close": _set_closed(True),
    "add_receptacle": _add_receptacle,
    "remove_receptacle": _remove_receptacle,
    "set_step_budget": _set_step_budget,
    "name_place": _name_place,
}
