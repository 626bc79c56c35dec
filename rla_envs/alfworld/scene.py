"""A household scene with a goal: what the payload of an AlfWorld task says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rla_envs.alfworld import shipped
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

SPLITS = ("train", "valid_seen", "valid_unseen")
MAX_RECEPTACLES, MAX_OBJECTS = 100, 200
_ID = re.compile(r"[A-Za-z]{1,40}(\|[+-][0-9]{2,3}\.[0-9]{2}){3}(\|[A-Za-z]{1,40})?")


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
        split: One of :data:`SPLITS`.
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
            what = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
            raise InvalidTaskError(f"AlfWorld payload: {what}") from error
        _check_contents(scene)
        _check_goal(scene)
        return scene


def _parse(payload: Mapping[str, Any]) -> Scene:
    goal = payload["goal"]
    receptacles = tuple(
        Receptacle(_identifier(r["id"]), shipped.receptacle_type(r["id"]), _flag(r["closed"], "closed"))
        for r in _items(payload["receptacles"], "receptacles", MAX_RECEPTACLES)
    )
    objects = tuple(
        Thing(_identifier(o["id"]), o["id"].split("|")[0], str(o["in"]))
        for o in _items(payload["objects"], "objects", MAX_OBJECTS)
    )
    if payload["split"] not in SPLITS:
        raise ValueError(f"split: expected one of {', '.join(SPLITS)}, got {payload['split']!r}")
    if goal["task_type"] not in TASK_TYPES:
        raise ValueError(f"goal.task_type: expected one of {', '.join(TASK_TYPES)}, got {goal['task_type']!r}")
    wordings = len(shipped.goal_templates()[goal["task_type"]][1])
    if type(goal["wording"]) is not int or not 0 <= goal["wording"] < wordings:
        raise ValueError(f"goal.wording: expected an integer from 0 to {wordings - 1}, got {goal['wording']!r}")
    if type(payload["room"]) is not int:
        raise ValueError(f"room: expected a floor plan number, got {payload['room']!r}")
    return Scene(
        split=payload["split"],
        room=payload["room"],
        receptacles=receptacles,
        objects=objects,
        goal=Goal(goal["task_type"], str(goal["object"]), str(goal["receptacle"]), goal["wording"]),
        place_named=_flag(payload["place_named"], "place_named"),
    )


def _items(value: Any, name: str, limit: int) -> Any:
    if not isinstance(value, list | tuple) or not 0 < len(value) <= limit:
        raise ValueError(f"{name}: expected a list of 1 to {limit} entries")
    return value


def _identifier(value: Any) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise ValueError(f"id: expected the form Type|+00.00|-00.00|+00.00, got {value!r}")
    return value


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name}: expected true or false, got {value!r}")
    return value


def _check_contents(scene: Scene) -> None:
    table = shipped.constants()
    ids = [r.id for r in scene.receptacles] + [o.id for o in scene.objects]
    doubled = next((i for i in ids if ids.count(i) > 1), None)
    if doubled:
        raise InvalidTaskError(f"AlfWorld payload: id {doubled} occurs twice")
    for r in scene.receptacles:
        if r.type not in table.VAL_RECEPTACLE_OBJECTS or r.type in table.MOVABLE_RECEPTACLES_SET:
            raise InvalidTaskError(f"AlfWorld payload: {r.type} ({r.id}) is not a receptacle type of alfworld")
        if r.closed and not shipped.is_openable(r.type):
            raise InvalidTaskError(f"AlfWorld payload: {r.id} is closed, but a {r.type} cannot be opened")
    places = {r.id: r.type for r in scene.receptacles}
    lamps = table.VAL_ACTION_OBJECTS["Toggleable"]
    for o in scene.objects:
        if o.inside not in places:
            raise InvalidTaskError(f"AlfWorld payload: {o.id} is in {o.inside!r}, which is not a receptacle here")
        kind = places[o.inside]
        allowed = kind in LAMP_SURFACES if o.type in lamps else shipped.can_contain(kind, o.type)
        if not allowed:
            raise InvalidTaskError(f"AlfWorld payload: a {o.type} cannot be in or on a {kind} ({o.id})")


def _check_goal(scene: Scene) -> None:
    table, goal = shipped.constants(), scene.goal
    if len(scene.targets()) < goal.count:
        raise InvalidTaskError(
            f"the goal needs {goal.count} of {goal.object}, the room has {len(scene.targets())}"
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
            raise InvalidTaskError(f"the goal needs a {goal.receptacle}, the room has none")
        if goal.object in table.VAL_ACTION_OBJECTS["Toggleable"]:
            raise InvalidTaskError(f"a {goal.object} cannot be picked up")
    else:
        if goal.receptacle not in types:
            raise InvalidTaskError(f"the goal needs a {goal.receptacle}, the room has none")
        if not shipped.can_contain(goal.receptacle, goal.object):
            raise InvalidTaskError(f"a {goal.object} cannot be put in or on a {goal.receptacle}")
