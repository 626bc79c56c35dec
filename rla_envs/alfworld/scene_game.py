"""A generated game: what its Task says, and how it is won."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rla_envs.alfworld import edits
from rla_envs.alfworld.difficulty import PARAMETERS, free_containers
from rla_envs.alfworld.game import game_data
from rla_envs.alfworld.layouts import Fact, read_situation
from rla_envs.alfworld.names import mangle
from rla_envs.alfworld.plan import Layout, Planner, Situation
from rla_envs.alfworld.real_game import Plan
from rla_envs.alfworld.scene import Scene
from rla_envs.difficulty import Value, parse_difficulty
from rla_envs.errors import InvalidTaskError, RLAError
from rla_envs.task import Task


class SceneGame:
    """A game made from a scene.

    Args:
        task: The task; its difficulty must be that of its scene.

    Raises:
        InvalidTaskError: If it is not, or the payload is malformed.
    """

    old_verbs = False

    def __init__(self, task: Task) -> None:
        """Read the scene."""
        self._scene = Scene.from_payload(task.payload)
        _check_difficulty(task, self._scene)
        self._planner = Planner(self._scene)
        self.data = game_data(self._scene)

    @property
    def layout(self) -> Layout:
        """What plans depend on."""
        return self._planner.layout

    def plans(self) -> Iterator[Plan]:
        """Yield the one shortest plan from the start.

        Raises:
            InvalidTaskError: If there is none.
        """
        plan = self._planner.plan()
        if plan is None:
            raise InvalidTaskError("no plan reaches the goal")
        yield Plan(plan, shortest=True)

    def plan_now(self, facts: Iterable[Fact], played: Sequence[str]) -> tuple[str, ...]:
        """Return a shortest plan from this moment.

        Args:
            facts: What holds now.
            played: The commands of the episode; the facts say all that matters here.

        Raises:
            InvalidTaskError: If there is none.
        """
        plan = self._planner.plan(situation(self._scene, facts))
        if plan is None:
            raise InvalidTaskError("there is no plan from here")
        return plan


def situation(scene: Scene, facts: Iterable[Fact]) -> Situation:
    """Return the engine's facts as a planner's situation in a scene."""
    ids = {mangle(i).lower(): i for i in (*(r.id for r in scene.receptacles), *(o.id for o in scene.objects))}
    facts = list(facts)
    now = read_situation(facts, scene.goal.task_type)
    spots = {fact[2]: ids[fact[1]] for fact in facts if fact[0].lower() == "receptacleatlocation"}
    return Situation(
        at=None if now.at is None else spots.get(now.at),
        holding=None if now.holding is None else ids[now.holding],
        inside={ids[thing]: tuple([ids[p] for p in places]) for thing, places in now.inside.items()},
        opened=frozenset(ids[place] for place in now.opened),
        treated=frozenset(ids[thing] for thing in now.treated),
        lit=frozenset(ids[lamp] for lamp in now.lit),
    )


def _check_difficulty(task: Task, scene: Scene) -> None:
    """Refuse a task whose stated difficulty is out of range or not that of its scene."""
    try:
        stated = parse_difficulty(PARAMETERS, task.difficulty)
    except RLAError as error:
        raise InvalidTaskError(str(error)) from error
    missing = next((p.name for p in PARAMETERS if p.name not in stated), None)
    if missing:
        raise InvalidTaskError(f"difficulty parameter {missing!r} is missing from the task")
    measured = edits.measured_difficulty(scene, float(stated["step_budget"]))
    for name, value in measured.items():
        if not _agree(name, stated[name], value, scene):
            raise InvalidTaskError(f"the task states {name}={stated[name]}, its scene has {value}")


def _agree(name: str, stated: Value, measured: Value, scene: Scene) -> bool:
    """Return whether a stated value is one that a scene can be drawn at, given what it measures."""
    if name == "closed_containers":
        containers = len(free_containers(scene))
        return not containers or abs(stated - measured) * containers <= 0.5 + 1e-9
    if name == "rarity":
        return edits.rarity_rank(scene, float(stated)) == edits.rarity_rank(scene, float(measured))
    return stated == measured
