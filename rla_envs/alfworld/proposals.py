"""Edits that should make an AlfWorld task one step harder or easier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from rla_envs.alfworld import shipped
from rla_envs.alfworld.difficulty import hiding_depth, target_depth
from rla_envs.alfworld.edit_operations import LIMITS
from rla_envs.alfworld.names import display_names
from rla_envs.alfworld.scene import LIGHT, TASK_TYPES, Goal, Scene, check_goal
from rla_envs.errors import InvalidTaskError
from rla_envs.step_budget import stated_step_budget
from rla_envs.task import Task, TaskEdit


def propose_edits(task: Task, direction: str, rng: np.random.Generator) -> list[TaskEdit]:
    """Return single-operation edits that should move the task in a direction, in random order.

    Harder: a goal that takes more steps, asks for a rarer object or for a place
    of which there are fewer, a target hidden deeper, more places, another object
    of the goal's type or of any other, an open container closed, less budget,
    the place no longer named. Easier: the reverse. Some may be refused when
    applied.

    Args:
        task: A valid AlfWorld task.
        direction: ``"harder"`` or ``"easier"``.
        rng: Source of all randomness.

    Raises:
        InvalidTaskError: If the task is not one of AlfWorld.
    """
    scene = Scene.from_payload(task.payload)
    harder = direction == "harder"
    changes = [
        *_goal_changes(scene, harder),
        *_hiding_changes(scene, harder),
        *_container_changes(scene, harder),
        *_distractor_changes(scene, harder),
        *_clutter_changes(scene, harder, rng),
        *_other_changes(scene, stated_step_budget(task), harder),
    ]
    return [
        TaskEdit((changes[int(i)],), direction=direction, author="rule", reason=f"one {direction} step")
        for i in rng.permutation(len(changes))
    ]


def _goal_changes(scene: Scene, harder: bool) -> Iterator[dict[str, Any]]:
    goal = scene.goal
    rank = TASK_TYPES.index(goal.task_type)
    for kind in TASK_TYPES[rank + 1 :] if harder else TASK_TYPES[:rank]:
        # To or from looking at something in light, the lamp and the place change roles.
        targets = [goal.receptacle]
        if LIGHT in (kind, goal.task_type):
            targets = sorted({t.type for t in (scene.objects if kind == LIGHT else scene.receptacles)})
        for target in targets:
            if _possible(scene, Goal(kind, goal.object, target, 0)):
                other = {} if target == goal.receptacle else {"receptacle": target}
                yield {"op": "set_goal", "task_type": kind, **other}
    common = shipped.commonness(goal.object)
    for name in sorted({o.type for o in scene.objects} - {goal.object}):
        rarer = shipped.commonness(name) < common
        if rarer == harder and _possible(scene, replace(goal, object=name)):
            yield {"op": "set_goal", "object": name}
    count = Counter(r.type for r in scene.receptacles)
    for target in sorted(set(count) - {goal.receptacle, goal.device}):
        fewer = count[goal.receptacle] - count[target]
        if (fewer > 0 if harder else fewer < 0) and _possible(scene, replace(goal, receptacle=target)):
            yield {"op": "set_goal", "receptacle": target}


def _possible(scene: Scene, goal: Goal) -> bool:
    try:
        check_goal(replace(scene, goal=goal))
    except InvalidTaskError:
        return False
    return True


def _hiding_changes(scene: Scene, harder: bool) -> Iterator[dict[str, Any]]:
    names, depth = _names(scene), target_depth(scene)
    for r in scene.receptacles:
        fits = shipped.can_contain(r.type, scene.goal.object) and r.type != scene.goal.receptacle
        if fits and (hiding_depth(scene, r.id) > depth if harder else hiding_depth(scene, r.id) < depth):
            yield {"op": "hide_target", "in": names[r.id]}


def _container_changes(scene: Scene, harder: bool) -> Iterator[dict[str, Any]]:
    names = _names(scene)
    for r in scene.receptacles:
        if shipped.is_openable(r.type) and r.closed != harder:
            yield {"op": "close" if harder else "open", "receptacle": names[r.id]}


def _distractor_changes(scene: Scene, harder: bool) -> Iterator[dict[str, Any]]:
    wanted = len(scene.targets()) - scene.goal.count + (1 if harder else -1)
    if LIMITS["distractors"][0] <= wanted <= LIMITS["distractors"][1]:
        yield {"op": "set_distractors", "value": wanted}


def _clutter_changes(scene: Scene, harder: bool, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield at most one change of what has nothing to do with the goal, of each sort."""
    names, goal = _names(scene), scene.goal
    lamps = shipped.constants().VAL_ACTION_OBJECTS["Toggleable"]
    if harder:
        fits = [
            (kind, r)
            for kind in shipped.room(scene.room).object_types
            for r in scene.receptacles
            if kind != goal.object and shipped.can_contain(r.type, kind)
        ]
        if fits:
            kind, place = fits[int(rng.integers(len(fits)))]
            yield {"op": "add_object", "type": kind, "in": names[place.id]}
        return
    others = [o for o in scene.objects if o.type != goal.object and o.type not in lamps]
    if others:
        yield {"op": "remove_object", "object": names[others[int(rng.integers(len(others)))].id]}
    used = {o.inside for o in scene.objects}
    needed = (goal.receptacle, goal.device)
    empty = [r for r in scene.receptacles if r.id not in used and r.type not in needed]
    if empty:
        yield {"op": "remove_receptacle", "receptacle": names[empty[int(rng.integers(len(empty)))].id]}


def _other_changes(scene: Scene, step_budget: float, harder: bool) -> Iterator[dict[str, Any]]:
    if scene.place_named == harder:
        yield {"op": "name_place", "value": not harder}
    budget = step_budget * 0.75 if harder else step_budget * 1.25
    if LIMITS["step_budget"][0] <= budget <= LIMITS["step_budget"][1]:
        yield {"op": "set_step_budget", "value": round(budget, 2)}
    if harder:
        for kind in sorted({shipped.receptacle_type(i) for i in shipped.room(scene.room).receptacles}):
            yield {"op": "add_receptacle", "type": kind}


def _names(scene: Scene) -> dict[str, str]:
    return display_names([*(r.id for r in scene.receptacles), *(o.id for o in scene.objects)])
