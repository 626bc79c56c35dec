"""AlfWorld's difficulty parameters, and the number each one can be recognised by in a task."""

from __future__ import annotations

from rla_envs.alfworld import shipped
from rla_envs.alfworld.plan import Planner
from rla_envs.alfworld.scene import TASK_TYPES, Receptacle, Scene
from rla_envs.difficulty import DifficultyParameter
from rla_envs.step_budget import STEP_BUDGET
from rla_envs.task import Task


def hiding_depth(scene: Scene, inside: str) -> int:
    """Return how deep things in a place are hidden: 0 on a surface, 1 if it is open, 2 if it is closed."""
    place = scene.place(inside)
    if not shipped.is_openable(place.type):
        return 0
    return 2 if place.closed else 1


def target_depth(scene: Scene) -> int:
    """Return how deep the goal's own objects are hidden: the deepest of them counts."""
    return max(hiding_depth(scene, o.inside) for o in scene.targets()[: scene.goal.count])


def hosts(scene: Scene) -> frozenset[str]:
    """Return the receptacles that hold objects of the goal's type."""
    return frozenset(o.inside for o in scene.targets())


def free_containers(scene: Scene) -> list[Receptacle]:
    """Return the containers without an object of the goal's type."""
    taken = hosts(scene)
    return [r for r in scene.receptacles if shipped.is_openable(r.type) and r.id not in taken]


def closed_share(scene: Scene) -> float:
    """Return the share of containers without an object of the goal's type that start closed; 0 if none."""
    containers = free_containers(scene)
    return sum(r.closed for r in containers) / len(containers) if containers else 0.0


def _scene(task: Task) -> Scene:
    return Scene.from_payload(task.payload)


def _optimal_length(task: Task) -> float:
    plan = Planner(_scene(task)).plan()
    return float("nan") if plan is None else len(plan)


def _distractors(task: Task) -> float:
    scene = _scene(task)
    return len(scene.targets()) - scene.goal.count


def _depth(task: Task) -> float:
    scene = _scene(task)
    found = [hiding_depth(scene, o.inside) for o in scene.targets()[: scene.goal.count]]
    return sum(found) / len(found)


def _rooms_without(task: Task) -> float:
    return len(shipped.rooms(test=False)) - shipped.commonness(_scene(task).goal.object)


PARAMETERS = (
    DifficultyParameter(
        name="task_type",
        low=0,
        high=len(TASK_TYPES) - 1,
        default=None,
        names=TASK_TYPES,
        meaning="which of ALFRED's six kinds of goal, ordered by the length of a shortest plan; "
        "drawn for every task unless given",
        statistic=_optimal_length,
    ),
    DifficultyParameter(
        name="receptacles",
        low=5,
        high=40,
        default=8,
        meaning="number of places in the room; a room with fewer gets more of the kinds it has",
        statistic=lambda task: len(task.payload["receptacles"]),
    ),
    DifficultyParameter(
        name="objects",
        low=6,
        high=80,
        default=8,
        meaning="number of objects in the room, lamps and the goal's own included",
        statistic=lambda task: len(task.payload["objects"]),
    ),
    DifficultyParameter(
        name="distractors",
        low=0,
        high=3,
        default=0,
        meaning="number of further objects of the goal's type, in places that are not the goal's and "
        "no easier to reach than the target's; they never shorten the shortest plan",
        statistic=_distractors,
    ),
    DifficultyParameter(
        name="closed_containers",
        low=0.0,
        high=1.0,
        default=1.0,
        continuous=True,
        meaning="share of the containers that start closed, not counting those with an object of the "
        "goal's type (rounded to a whole number of containers)",
        statistic=lambda task: closed_share(_scene(task)),
    ),
    DifficultyParameter(
        name="hiding_depth",
        low=0,
        high=2,
        default=None,
        meaning="where the target lies: 0 on a surface, 1 in an open container, 2 in a closed one; "
        "drawn for every task unless given",
        statistic=_depth,
    ),
    DifficultyParameter(
        name="rarity",
        low=0.0,
        high=1.0,
        default=None,
        continuous=True,
        meaning="how uncommon the goal's object type is: its rank among the types the goal could have, "
        "from the one found in most of the 96 training rooms (0) to the one found in fewest (1)",
        statistic=_rooms_without,
    ),
    STEP_BUDGET,
    DifficultyParameter(
        name="place_unnamed",
        low=0,
        high=1,
        default=1,
        meaning="whether the goal text leaves out where the object is: 1 as in AlfWorld, "
        '0 also says it ("mug 1 is in drawer 2")',
        statistic=lambda task: float(not task.payload["place_named"]),
    ),
)
"""In the order in which they are drawn."""


def fits_depth(receptacle_type: str, depth: int) -> bool:
    """Return whether something at this hiding depth can be in a receptacle of this type."""
    return shipped.is_openable(receptacle_type) == (depth > 0)
