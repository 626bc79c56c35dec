"""An AlfWorld scene in readable English, for whoever is to rewrite it."""

from __future__ import annotations

from collections.abc import Sequence

from rla_envs.alfworld import shipped
from rla_envs.alfworld.game import goal_text
from rla_envs.alfworld.names import display_names
from rla_envs.alfworld.plan import Planner
from rla_envs.alfworld.scene import Receptacle, Scene


def describe_scene(scene: Scene, step_budget: float) -> str:
    """Return the goal, where its objects are, and every place with what is there.

    Things are named as in the game, with the type names that edits use beside them.

    Args:
        scene: A scene with a goal that can be reached.
        step_budget: Allowed steps, as a multiple of the shortest plan.
    """
    plan, goal = Planner(scene).plan() or (), scene.goal
    names = display_names([*(r.id for r in scene.receptacles), *(o.id for o in scene.objects)])
    own = [f"{names[o.id]} in {names[o.inside]}" for o in scene.targets()[: goal.count]]
    kinds = sorted({r.type for r in scene.receptacles})
    fitting = [kind for kind in kinds if shipped.can_contain(kind, goal.object)]
    room = shipped.room(scene.room)
    return "\n".join(
        [
            f"Goal: {goal_text(scene)}",
            f"(task_type {goal.task_type}, object {goal.object}, receptacle {goal.receptacle})",
            f"The goal's own objects: {_listed(own)}.",
            f"Things of type {goal.object} fit in or on: {_listed(fitting)}.",
            f"A shortest solution has {len(plan)} steps; {step_budget:g} times as many are allowed.",
            f"Types of places that this {room.kind} can have: "
            f"{_listed(sorted(set(map(shipped.receptacle_type, room.receptacles))))}.",
            "Places, and what is there:",
            *(_place(scene, names, r) for r in scene.receptacles),
        ]
    )


def _place(scene: Scene, names: dict[str, str], place: Receptacle) -> str:
    state = (", closed" if place.closed else ", open") if shipped.is_openable(place.type) else ""
    things = [f"{names[o.id]} ({o.type})" for o in scene.objects if o.inside == place.id]
    return f"{names[place.id]} ({place.type}{state}): {_listed(things)}"


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words) or "nothing"
