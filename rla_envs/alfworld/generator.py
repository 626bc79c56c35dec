"""Draw scenes at a given difficulty in alfworld's rooms."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from rla_envs.alfworld import shipped
from rla_envs.alfworld.difficulty import fits_depth
from rla_envs.alfworld.plan import Planner
from rla_envs.alfworld.scene import (
    ABILITIES,
    DEVICES,
    LAMP_SURFACES,
    LIGHT,
    TASK_TYPES,
    Goal,
    Receptacle,
    Scene,
    Thing,
)
from rla_envs.alfworld.splits import has_goal, rooms_of
from rla_envs.difficulty import Value
from rla_envs.errors import InvalidTaskError

T = TypeVar("T")


@dataclass(frozen=True)
class GoalChoice:
    """A goal that a room can have: object type, receptacle (or lamp) type, room number."""

    object: str
    receptacle: str
    room: int


@functools.cache
def goal_choices(split: str, task_type: str, depth: int) -> tuple[GoalChoice, ...]:
    """Return every goal of a type whose target can be hidden at a depth, over the rooms of a split.

    ``train`` and ``valid_seen`` share the 96 training rooms: a tenth of their
    goals, chosen by hash, belongs to ``valid_seen`` alone. ``valid_unseen`` has
    the 24 test rooms to itself.
    """
    choices = []
    for room in rooms_of(split):
        if room.kind in shipped.constants().GOALS_VALID[task_type]:
            choices += [
                choice
                for choice in _choices_in(room, task_type, depth)
                if has_goal(split, task_type, choice.object, choice.receptacle, choice.room)
            ]
    return tuple(choices)


@functools.cache
def ranked_objects(split: str, task_type: str, depth: int) -> tuple[str, ...]:
    """Return the object types of :func:`goal_choices`, from common to rare."""
    names = {choice.object for choice in goal_choices(split, task_type, depth)}
    return tuple(sorted(names, key=lambda name: (-shipped.commonness(name), name)))


@functools.cache
def _choices_by_type(split: str, task_type: str, depth: int) -> dict[str, dict[str, list[GoalChoice]]]:
    """Return the goals of :func:`goal_choices` by object type and receptacle (or lamp) type."""
    choices: dict[str, dict[str, list[GoalChoice]]] = {}
    for choice in goal_choices(split, task_type, depth):
        choices.setdefault(choice.object, {}).setdefault(choice.receptacle, []).append(choice)
    return choices


def _choices_in(room: shipped.Room, task_type: str, depth: int) -> list[GoalChoice]:
    table = shipped.constants()
    kinds = {shipped.receptacle_type(i) for i in room.receptacles}
    device = DEVICES.get(task_type)
    if device is not None and device not in kinds:
        return []
    if task_type == LIGHT:
        targets = set(room.lamp_types) if kinds & LAMP_SURFACES else set()
    else:
        targets = kinds - {device}
    ability = ABILITIES.get(task_type)
    able = table.VAL_ACTION_OBJECTS[ability] if ability else set(room.object_types)
    choices = []
    for name in sorted(set(room.object_types) & able):
        sources = {k for k in kinds if shipped.can_contain(k, name) and fits_depth(k, depth)}
        for target in sorted(targets):
            fits = task_type == LIGHT or shipped.can_contain(target, name)
            if fits and sources - {target}:
                choices.append(GoalChoice(name, target, room.number))
    return choices


def sample_scene(split: str, difficulty: Mapping[str, Value], rng: np.random.Generator) -> Scene:
    """Draw a scene at exactly this difficulty.

    Raises:
        InvalidTaskError: If this draw does not work out; another one may.
    """
    task_type = TASK_TYPES[int(difficulty["task_type"])]
    depth = int(difficulty["hiding_depth"])
    choice = _choose_goal(split, task_type, depth, float(difficulty["rarity"]), rng)
    wordings = len(shipped.goal_templates()[task_type][1])
    goal = Goal(task_type, choice.object, choice.receptacle, int(rng.integers(wordings)))
    builder = _Builder(goal, shipped.room(choice.room), depth, rng)
    builder.place_targets()
    builder.reserve_places(int(difficulty["distractors"]), int(difficulty["receptacles"]))
    builder.add_receptacles(int(difficulty["receptacles"]))
    builder.place_distractors(int(difficulty["distractors"]))
    builder.fill_objects(int(difficulty["objects"]))
    builder.close_containers(float(difficulty["closed_containers"]))
    return builder.scene(split, place_named=not difficulty["place_unnamed"])


def _choose_goal(
    split: str, task_type: str, depth: int, rarity: float, rng: np.random.Generator
) -> GoalChoice:
    if not goal_choices(split, task_type, depth):
        raise InvalidTaskError(f"no room of split {split!r} has a {task_type} goal at hiding depth {depth}")
    ranked = ranked_objects(split, task_type, depth)
    name = ranked[min(int(rarity * len(ranked)), len(ranked) - 1)]
    targets = _choices_by_type(split, task_type, depth)[name]
    return _pick(rng, targets[_pick(rng, sorted(targets))])


def _pick(rng: np.random.Generator, options: Sequence[T]) -> T:
    if not options:
        raise InvalidTaskError("the room has no place for something the goal needs")
    return options[int(rng.integers(len(options)))]


class _Builder:
    """Puts a scene together; the goal's own things first, so that every count can be met exactly."""

    def __init__(self, goal: Goal, room: shipped.Room, depth: int, rng: np.random.Generator) -> None:
        self.goal, self.room, self.depth, self.rng = goal, room, depth, rng
        self.places: list[Receptacle] = []
        self.objects: list[Thing] = []
        self.hosts: set[str] = set()

    def scene(self, split: str, place_named: bool) -> Scene:
        places = tuple(sorted(self.places, key=lambda r: r.id))
        return Scene(split, self.room.number, places, tuple(self.objects), self.goal, place_named)

    def place_targets(self) -> None:
        """Put down the goal's receptacle or lamp, its device, and its objects."""
        if self.goal.task_type == LIGHT:
            surface = self._need(LAMP_SURFACES)
            self._add_object(self.goal.receptacle, surface)
        else:
            self._need({self.goal.receptacle})
        if self.goal.device:
            self._need({self.goal.device})
        for _ in range(self.goal.count):
            place = self._need(self._source_kinds())
            self._add_object(self.goal.object, place)
            self._hide_in(place)
        # Targets first: readers of the scene take the first ones of the goal's type for the goal's own.
        self.objects.sort(key=lambda o: o.type != self.goal.object)

    def reserve_places(self, distractors: int, receptacles: int) -> None:
        """See to it that distractors fit where two targets are in two closed containers.

        Two of the goal's type in one container save an opening, so each
        distractor needs a container of its own. If there are too few, both
        targets go into one, and distractors may go anywhere.
        """
        if not distractors or self.depth < 2 or len(self.hosts) < 2:
            return
        kinds = self._source_kinds()
        rest = [
            i for i in self.room.receptacles if shipped.receptacle_type(i) in kinds and i not in self.hosts
        ]
        if len(rest) >= distractors and len(self.places) + distractors <= receptacles:
            self.rng.shuffle(rest)
            self.places += [Receptacle(i, shipped.receptacle_type(i), False) for i in rest[:distractors]]
            return
        first, second = self.objects[:2]
        self.objects[1] = replace(second, inside=first.inside)
        self.hosts = {first.inside}
        self.places = [replace(r, closed=False) if r.id == second.inside else r for r in self.places]

    def add_receptacles(self, count: int) -> None:
        """Add places of the room, then more of their kinds, until there are exactly ``count``."""
        if len(self.places) > count:
            raise InvalidTaskError(
                f"the goal alone needs {len(self.places)} receptacles, {count} were asked for"
            )
        have = {r.id for r in self.places}
        rest = [i for i in self.room.receptacles if i not in have]
        self.rng.shuffle(rest)
        for identifier in rest[: count - len(self.places)]:
            self.places.append(Receptacle(identifier, shipped.receptacle_type(identifier), False))
        while len(self.places) < count:
            model = _pick(self.rng, self.room.receptacles)
            parts = model.split("|")
            # Coordinates beyond any real room keep the copy's id distinct.
            parts[1:4] = ["+50.00", f"+{len(self.places):02d}.00", "+00.00"]
            self.places.append(Receptacle("|".join(parts), shipped.receptacle_type(model), False))

    def place_distractors(self, count: int) -> None:
        """Add objects of the goal's type where fetching them is no easier than fetching the target."""
        wrong = [
            r
            for r in self.places
            if r.type != self.goal.receptacle
            and shipped.can_contain(r.type, self.goal.object)
            and (self.depth == 0 or fits_depth(r.type, self.depth))
        ]
        shortest = self._plan_length()
        for _ in range(count):
            order = [wrong[int(i)] for i in self.rng.permutation(len(wrong))]
            if not any(self._distract(place, shortest) for place in order):
                raise InvalidTaskError("no place for a distractor leaves the shortest plan as long as it is")

    def _distract(self, place: Receptacle, shortest: int) -> bool:
        """Put a distractor in a place, unless it would make the shortest plan shorter."""
        before = list(self.objects), self.places, set(self.hosts)
        self._add_object(self.goal.object, place)
        self.hosts.add(place.id)
        if self.depth > 0:
            self._hide_in(place)
        if self._plan_length() >= shortest:
            return True
        self.objects, self.places, self.hosts = before
        return False

    def _plan_length(self) -> int:
        plan = Planner(self.scene("", place_named=False)).plan()
        if plan is None:
            raise InvalidTaskError("no plan reaches the goal")
        return len(plan)

    def _hide_in(self, place: Receptacle) -> None:
        self.hosts.add(place.id)
        closed = self.depth == 2
        self.places = [replace(r, closed=closed) if r.id == place.id else r for r in self.places]

    def fill_objects(self, count: int) -> None:
        """Add objects of other types until there are exactly ``count``."""
        if len(self.objects) > count:
            raise InvalidTaskError(
                f"the goal alone needs {len(self.objects)} objects, {count} were asked for"
            )
        options = {
            name: [r for r in self.places if shipped.can_contain(r.type, name)]
            for name in self.room.object_types
            if name != self.goal.object
        }
        names = [name for name, places in options.items() if places]
        while len(self.objects) < count:
            name = _pick(self.rng, names)
            self._add_object(name, _pick(self.rng, options[name]))

    def close_containers(self, share: float) -> None:
        """Close this share of the containers that hide no target."""
        others = [r.id for r in self.places if shipped.is_openable(r.type) and r.id not in self.hosts]
        self.rng.shuffle(others)
        closed = set(others[: round(share * len(others))])
        self.places = [replace(r, closed=True) if r.id in closed else r for r in self.places]

    def _source_kinds(self) -> set[str]:
        """Return the types of places where a target can be, at the depth asked for."""
        return {
            kind
            for kind in map(shipped.receptacle_type, self.room.receptacles)
            if kind != self.goal.receptacle
            and shipped.can_contain(kind, self.goal.object)
            and fits_depth(kind, self.depth)
        }

    def _need(self, kinds: frozenset[str] | set[str]) -> Receptacle:
        """Add one of the room's places of one of these kinds, or use one that is there if none is left."""
        have = {r.id: r for r in self.places}
        free = [i for i in self.room.receptacles if shipped.receptacle_type(i) in kinds]
        identifier = _pick(self.rng, free)
        if identifier in have:
            return have[identifier]
        place = Receptacle(identifier, shipped.receptacle_type(identifier), False)
        self.places.append(place)
        return place

    def _add_object(self, kind: str, place: Receptacle) -> None:
        taken = {o.id for o in self.objects}
        identifier = ""
        while not identifier or identifier in taken:
            x, y, z = (self.rng.integers(0, 100, 3) / 100).tolist()
            identifier = f"{kind}|+{x:05.2f}|+{y:05.2f}|+{z:05.2f}"
        self.objects.append(Thing(identifier, kind, place.id))
