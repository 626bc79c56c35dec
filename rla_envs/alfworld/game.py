"""Write a scene as the game data that TextWorld loads."""

from __future__ import annotations

import re
import reprlib
from typing import TypedDict

from rla_envs.alfworld import shipped
from rla_envs.alfworld.names import display_names, mangle
from rla_envs.alfworld.scene import Scene
from rla_envs.errors import InvalidTaskError

GOAL_MARK = "UNKNOWN GOAL"
"""What alfworld's grammar has in place of a goal text."""

_PLAIN = re.compile(r"[a-z0-9 (),]+")


class GameData(TypedDict):
    """The contents of a ``game.tw-pddl`` file, as far as the engine reads them."""

    pddl_domain: str
    grammar: str
    pddl_problem: str


def goal_text(scene: Scene) -> str:
    """Return the goal as the player reads it, with the object's place if the scene names it."""
    text = scene.goal.text()
    if not scene.place_named:
        return text
    names = display_names([*(r.id for r in scene.receptacles), *(o.id for o in scene.objects)])
    hints = []
    for thing in scene.targets()[: scene.goal.count]:
        word = "in" if shipped.is_openable(scene.place(thing.inside).type) else "on"
        hints.append(f"{names[thing.id]} is {word} {names[thing.inside]}")
    return f"{text} ({', '.join(hints)})"


def game_data(scene: Scene) -> GameData:
    """Return the game of a scene: alfworld's own domain and grammar, and the scene as a PDDL problem.

    Raises:
        InvalidTaskError: If the goal's text is more than words. A scene that was
            read from a payload has none such; the engine evaluates what stands
            in braces, so nothing else may get that far.
    """
    text = goal_text(scene)
    if not _PLAIN.fullmatch(text):
        raise InvalidTaskError(f"goal text: expected plain words, got {reprlib.repr(text)}")
    return {
        "pddl_domain": shipped.domain(),
        "grammar": shipped.grammar().replace(GOAL_MARK, text),
        "pddl_problem": pddl_problem(scene),
    }


def pddl_problem(scene: Scene) -> str:
    """Return the scene as a PDDL problem of alfworld's domain.

    Every receptacle has a location of its own (two at one location would make
    ``go to`` between them inadmissible), and the agent starts at an empty one,
    which gives alfworld's opening text.
    """
    # The domain names these types in its action preconditions, so they must exist in every problem.
    object_types = sorted({o.type for o in scene.objects} | {"Knife", "ButterKnife"})
    receptacle_types = sorted({r.type for r in scene.receptacles} | {"SinkBasin", "Microwave", "Fridge"})
    location = {r.id: f"loc_{i}" for i, r in enumerate(scene.receptacles, start=1)}
    lines = ["(define (problem rla)", "(:domain alfred)", "(:objects", "agent1 - agent", "loc_0 - location"]
    lines += [f"{place} - location" for place in location.values()]
    lines += [f"{name}Type - otype" for name in object_types]
    lines += [f"{name}Type - rtype" for name in receptacle_types]
    lines += [f"{mangle(r.id)} - receptacle" for r in scene.receptacles]
    lines += [f"{mangle(o.id)} - object" for o in scene.objects]
    lines += [")", "(:init", "(= (total-cost) 0)", "(atLocation agent1 loc_0)"]
    for r in scene.receptacles:
        lines += [f"(receptacleType {mangle(r.id)} {r.type}Type)"]
        lines += [f"(receptacleAtLocation {mangle(r.id)} {location[r.id]})"]
        if shipped.is_openable(r.type):
            lines.append(f"(openable {mangle(r.id)})")
            if not r.closed:
                lines.append(f"(opened {mangle(r.id)})")
    lines += [
        f"(canContain {kind}Type {name}Type)"
        for kind in receptacle_types
        for name in object_types
        if shipped.can_contain(kind, name)
    ]
    for o in scene.objects:
        lines += _object_facts(o.id, o.type, o.inside, location[o.inside])
    return "\n".join([*lines, ")", scene.goal.pddl()])


def _object_facts(identifier: str, kind: str, inside: str, location: str) -> list[str]:
    name, abilities = mangle(identifier), shipped.constants().VAL_ACTION_OBJECTS
    facts = [
        f"(objectType {name} {kind}Type)",
        f"(inReceptacle {name} {mangle(inside)})",
        f"(objectAtLocation {name} {location})",
        f"({'toggleable' if kind in abilities['Toggleable'] else 'pickupable'} {name})",
    ]
    facts += [
        f"({ability.lower()} {name})"
        for ability in ("Heatable", "Coolable", "Cleanable", "Sliceable")
        if kind in abilities[ability]
    ]
    return facts
