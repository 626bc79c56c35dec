"""A household scene with a goal: what the payload of an AlfWorld task says."""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rla_envs.alfworld import shipped
from rla_envs.alfworld.splits import SPLITS, has_goal, rooms_of
from rla_envs.errors import InvalidTaskError

TASK_TYPES = (
    "look_at_obj_in_light",
    "pick_and_place_simple",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)
"""ALFRED's six task types, by the length of a shortest plan (about 4, 4, 6, 6, 6 and 8 steps)."""

LIGHT, SIMPLE, CLEAN, HEAT, COOL, TWO = TASK_TYPES
DEVICES = {CLEAN: "SinkBasin", HEAT: "Microwave", COOL: "Fridge"}
"""The receptacle type that changes the object's state, in the task types that need one."""

ABILITIES = {CLEAN: "Cleanable", HEAT: "Heatable", COOL: "Coolable"}
"""The property the goal's object type must have in alfworld's ``VAL_ACTION_OBJECTS``."""

LAMP_SURFACES = frozenset(
    {"Desk", "Dresser", "SideTable", "Shelf", "CoffeeTable", "DiningTable", "CounterTop", "TVStand"}
)
"""Where a lamp may stand. Our choice: alfworld's tables list no place for lamps."""

MAX_RECEPTACLES, MAX_OBJECTS = 100, 200
_SPOT = r"(\|[+-]?[0-9]{2,3}\.[0-9]{2}){3}"
_ID = re.compile(rf"[A-Za-z]{{1,40}}{_SPOT}|(Sink|Bathtub){_SPOT}\|(Sink|Bathtub)Basin")
"""``Mug|-00.33|+00.32|00.00`` and ``Sink|...|SinkBasin``: what alfworld's layouts have, and nothing else."""


@dataclass(frozen=True)
class Receptacle:
    """A place: its ALFRED id, its type, and whether it starts closed."""

    id: str
    type: str
    closed: bool


@dataclass(frozen=True)
class Thing:
    """An object or lamp: its ALFRED id, its type, and the id of the receptacle it starts in."""

    id: str
    type: str
    inside: str


@dataclass(frozen=True)
class Goal:
    """What is asked for.

    Attributes:
        task_type: One of :data:`TASK_TYPES`.
        object: Type of the object to bring or look at.
        receptacle: Type of the receptacle to put it in; the lamp's type when
            looking at something in light.
        wording: Index of the goal text among alfworld's templates.
    """

    task_type: str
    object: str
    receptacle: str
    wording: int

    @property
    def count(self) -> int:
        """Number of objects the goal needs."""
        return 2 if self.task_type == TWO else 1

    @property
    def device(self) -> str | None:
        """Receptacle type that must be used on the way, if any."""
        return DEVICES.get(self.task_type)

    def text(self) -> str:
        """Return the goal in alfworld's words: ``put a hot potato in countertop``."""
        template = shipped.goal_templates()[self.task_type][1][self.wording]
        return template.format(
            obj=self.object.lower(), recep=self.receptacle.lower(), toggle=self.receptacle.lower()
        )

    def pddl(self) -> str:
        """Return the goal in PDDL, with the parenthesis that closes the problem."""
        template = shipped.goal_templates()[self.task_type][0]
        return template.format(obj=self.object, recep=self.receptacle, toggle=self.receptacle).strip()


@dataclass(frozen=True)
class Scene:
    """A room with its contents and a goal.

    Attributes:
        split: One of :data:`~rla_envs.alfworld.splits.SPLITS`.
        room: ALFRED's floor plan number.
        receptacles: Every place in the room.
        objects: Every object and lamp.
        goal: What is asked for.
        place_named: Whether the goal text also says where the object is.
    """

    split: str
    room: int
    receptacles: tuple[Receptacle, ...]
    objects: tuple[Thing, ...]
    goal: Goal
    place_named: bool

    def targets(self) -> tuple[Thing, ...]:
        """Return the objects of the goal's type, those the goal was made for first."""
        return tuple(o for o in self.objects if o.type == self.goal.object)

    def place(self, receptacle_id: str) -> Receptacle:
        """Return the receptacle of this id."""
        return next(r for r in self.receptacles if r.id == receptacle_id)

    def payload(self) -> dict[str, Any]:
        """Return the scene as the JSON payload of a task."""
        return {
            "split": self.split,
            "room": self.room,
            "receptacles": [{"id": r.id, "closed": r.closed} for r in self.receptacles],
            "objects": [{"id": o.id, "in": o.inside} for o in self.objects],
            "goal": {
                "task_type": self.goal.task_type,
                "object": self.goal.object,
                "receptacle": self.goal.receptacle,
                "wording": self.goal.wording,
            },
            "place_named": self.place_named,
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Scene:
        """Read a payload, which may come from anywhere, and check that it makes sense.

        Raises:
            InvalidTaskError: If a field is missing or of the wrong type, an id
                is malformed or doubled, something stands where alfworld's tables
                do not allow it, or the goal cannot be one of alfworld's.
        """
        try:
            scene = _parse(payload)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidTaskError(f"AlfWorld payload: {error}") from error
        _check_contents(scene)
        check_goal(scene)
        return scene


def _parse(payload: Mapping[str, Any]) -> Scene:
    _fields(payload, "the payload", ("split", "room", "receptacles", "objects", "goal", "place_named"))
    receptacles = []
    for r in _items(payload["receptacles"], "receptacles", MAX_RECEPTACLES):
        _fields(r, "a receptacle", ("id", "closed"))
        name = _identifier(r["id"])
        receptacles.append(Receptacle(name, shipped.receptacle_type(name), _flag(r["closed"], "closed")))
    objects = []
    for o in _items(payload["objects"], "objects", MAX_OBJECTS):
        _fields(o, "an object", ("id", "in"))
        name = _identifier(o["id"])
        objects.append(Thing(name, name.split("|")[0], _identifier(o["in"])))
    room = _integer(payload["room"], "room", 0, 999)
    split = _choice(payload["split"], "split", SPLITS)
    if room not in {r.number for r in rooms_of(split)}:
        raise ValueError(f"room: {room} is not a floor plan of split {split!r}")
    return Scene(
        split=split,
        room=room,
        receptacles=tuple(receptacles),
        objects=tuple(objects),
        goal=_goal(payload["goal"]),
        place_named=_flag(payload["place_named"], "place_named"),
    )


def _goal(goal: Any) -> Goal:
    _fields(goal, "goal", ("task_type", "object", "receptacle", "wording"))
    task_type = _choice(goal["task_type"], "goal.task_type", TASK_TYPES)
    wordings = len(shipped.goal_templates()[task_type][1])
    for name in ("object", "receptacle"):
        if not isinstance(goal[name], str):
            raise ValueError(f"goal.{name}: expected a type's name, got {_short(goal[name])}")
    return Goal(
        task_type,
        goal["object"],
        goal["receptacle"],
        _integer(goal["wording"], "goal.wording", 0, wordings - 1),
    )


def _short(value: Any) -> str:
    """Return a value as one short line, however large it is."""
    return reprlib.repr(value)


def _fields(value: Any, what: str, names: tuple[str, ...]) -> None:
    if not isinstance(value, Mapping):
        raise ValueError(f"{what}: expected an object with {', '.join(names)}, got {_short(value)}")
    for problem, found in (("is missing", set(names) - set(value)), ("is unknown", set(value) - set(names))):
        if found:
            raise ValueError(
                f"{what}: field {_short(sorted(found)[0])} {problem}; expected {', '.join(names)}"
            )


def _items(value: Any, name: str, limit: int) -> Any:
    if not isinstance(value, list | tuple) or not 0 < len(value) <= limit:
        raise ValueError(f"{name}: expected a list of 1 to {limit} entries")
    return value


def _choice(value: Any, name: str, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name}: expected one of {', '.join(known)}, got {_short(value)}")
    return value


def _integer(value: Any, name: str, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name}: expected an integer from {low} to {high}, got {_short(value)}")
    return value


def _identifier(value: Any) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise ValueError(f"id: expected the form Type|+00.00|-00.00|+00.00, got {_short(value)}")
    return value


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name}: expected true or false, got {_short(value)}")
    return value


def _check_contents(scene: Scene) -> None:
    table = shipped.constants()
    counts = Counter([*(r.id for r in scene.receptacles), *(o.id for o in scene.objects)])
    doubled = next((i for i, count in counts.items() if count > 1), None)
    if doubled:
        raise InvalidTaskError(f"AlfWorld payload: id {doubled} occurs twice")
    for r in scene.receptacles:
        if r.type not in table.VAL_RECEPTACLE_OBJECTS or r.type in table.MOVABLE_RECEPTACLES_SET:
            raise InvalidTaskError(f"AlfWorld payload: {r.id} is not of a receptacle type of alfworld")
        if r.closed and not shipped.is_openable(r.type):
            raise InvalidTaskError(f"AlfWorld payload: {r.id} is closed, but a {r.type} cannot be opened")
    places = {r.id: r.type for r in scene.receptacles}
    lamps = table.VAL_ACTION_OBJECTS["Toggleable"]
    for o in scene.objects:
        if o.inside not in places:
            raise InvalidTaskError(f"AlfWorld payload: {o.id} is in {o.inside}, which is not here")
        kind = places[o.inside]
        allowed = kind in LAMP_SURFACES if o.type in lamps else shipped.can_contain(kind, o.type)
        if not allowed:
            raise InvalidTaskError(f"AlfWorld payload: a {o.type} cannot be in or on a {kind} ({o.id})")


def check_goal(scene: Scene) -> None:
    """Refuse a goal that the scene's things and alfworld's tables rule out, or that another split has.

    Raises:
        InvalidTaskError: With the reason.
    """
    table, goal = shipped.constants(), scene.goal
    if len(scene.targets()) < goal.count:
        raise InvalidTaskError(
            f"the goal needs {goal.count} of {_short(goal.object)}, the room has {len(scene.targets())}"
        )
    ability = ABILITIES.get(goal.task_type)
    if ability and goal.object not in table.VAL_ACTION_OBJECTS[ability]:
        raise InvalidTaskError(f"the goal needs a {ability.lower()} object, {goal.object} is not")
    types = {r.type for r in scene.receptacles}
    if goal.device and goal.device not in types:
        raise InvalidTaskError(f"the goal needs a {goal.device}, the room has none")
    if goal.task_type == LIGHT:
        lamps = {o.type for o in scene.objects} & table.VAL_ACTION_OBJECTS["Toggleable"]
        if goal.receptacle not in lamps:
            raise InvalidTaskError(f"the goal needs a {_short(goal.receptacle)}, the room has none")
        if goal.object in table.VAL_ACTION_OBJECTS["Toggleable"]:
            raise InvalidTaskError(f"a {goal.object} cannot be picked up")
    else:
        if goal.receptacle not in types:
            raise InvalidTaskError(f"the goal needs a {_short(goal.receptacle)}, the room has none")
        if not shipped.can_contain(goal.receptacle, goal.object):
            raise InvalidTaskError(f"a {goal.object} cannot be put in or on a {goal.receptacle}")
    if not has_goal(scene.split, goal.task_type, goal.object, goal.receptacle, scene.room):
        raise InvalidTaskError(
            f"the goal in this room is not one of split {scene.split!r}; another split has it"
        )
