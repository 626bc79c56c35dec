"""What the ``alfworld`` package ships: rules of the game, tables and room layouts, read at run time."""

from __future__ import annotations

import functools
import importlib.resources
import json
from dataclasses import dataclass
from types import ModuleType

from rla_envs.errors import InfrastructureError, missing_extra


@functools.cache
def constants() -> ModuleType:
    """Return ``alfworld.gen.constants`` (compatibility tables, room numbers).

    Raises:
        MissingExtraError: If alfworld is not installed.
        InfrastructureError: If alfworld cannot make its data folder, which it
            does on import.
    """
    try:
        import alfworld.gen.constants
    except ImportError as error:
        raise missing_extra("RLA/AlfWorld", "alfworld", error) from error
    except OSError as error:
        raise InfrastructureError(
            f"alfworld cannot make its data folder ({error}); set ALFWORLD_DATA to a writable folder"
        ) from error
    module: ModuleType = alfworld.gen.constants
    return module


@functools.cache
def goal_templates() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return, for each goal type alfworld knows, its PDDL goal and its texts, as templates.

    The PDDL closes the parenthesis of the ``(define`` it is appended to. Both
    have the fields ``{obj}``, ``{recep}`` and ``{toggle}``.
    """
    constants()  # the same package; this call explains what to install
    from alfworld.gen.goal_library import gdict

    return {
        name: (str(entry["pddl"]).replace(" # ", " - "), tuple(entry["templates"]))
        for name, entry in gdict.items()
        if "pddl" in entry and "templates" in entry
    }


def _read(path: str) -> str:
    constants()
    return (importlib.resources.files("alfworld") / path).read_text(encoding="utf-8")


@functools.cache
def domain() -> str:
    """Return the PDDL domain of the game."""
    return _read("data/alfred.pddl")


@functools.cache
def grammar() -> str:
    """Return the text grammar of the game; its goal text reads ``UNKNOWN GOAL``."""
    return _read("data/alfred.twl2")


@functools.lru_cache(maxsize=8192)
def can_contain(receptacle_type: str, object_type: str) -> bool:
    """Return whether objects of a type may be put into receptacles of another."""
    return object_type in constants().VAL_RECEPTACLE_OBJECTS.get(receptacle_type, ())


@functools.lru_cache(maxsize=8192)
def is_openable(receptacle_type: str) -> bool:
    """Return whether receptacles of this type open and close."""
    return receptacle_type in constants().OPENABLE_CLASS_SET


@functools.lru_cache(maxsize=8192)
def receptacle_type(receptacle_id: str) -> str:
    """Return the type of a layout id: ``Cabinet`` of ``Cabinet|+00.38|...``, ``SinkBasin`` of a sink's."""
    parts = receptacle_id.split("|")
    return parts[-1] if parts[-1].endswith("Basin") else parts[0]


@dataclass(frozen=True)
class Room:
    """One of the 120 rooms whose layouts alfworld ships.

    Attributes:
        number: ALFRED's floor plan number.
        kind: ``Kitchen``, ``LivingRoom``, ``Bedroom`` or ``Bathroom``.
        receptacles: Ids of the receptacles that goals and objects can use.
        object_types: Types of objects that can be picked up here.
        lamp_types: Types of lamps here.
    """

    number: int
    kind: str
    receptacles: tuple[str, ...]
    object_types: tuple[str, ...]
    lamp_types: tuple[str, ...]


@functools.cache
def room(number: int) -> Room:
    """Read one room's layout.

    Raises:
        KeyError: If there is no floor plan of this number.
    """
    table = constants()
    kind = next((kind for kind, numbers in table.SCENE_TYPE.items() if number in numbers), None)
    if kind is None:
        raise KeyError(number)
    layout = f"gen/layouts/FloorPlan{number}"
    ids = sorted(json.loads(_read(f"{layout}-openable.json")))
    here = set(json.loads(_read(f"{layout}-objects.json")))
    holdable = {name for contents in table.VAL_RECEPTACLE_OBJECTS.values() for name in contents}
    fixed = table.RECEPTACLES - table.MOVABLE_RECEPTACLES_SET
    usable = set(table.VAL_RECEPTACLE_OBJECTS) - table.MOVABLE_RECEPTACLES_SET
    return Room(
        number=number,
        kind=kind,
        receptacles=tuple(i for i in ids if receptacle_type(i) in usable),
        object_types=tuple(sorted(here & holdable - fixed)),
        lamp_types=tuple(sorted(here & table.VAL_ACTION_OBJECTS["Toggleable"])),
    )


@functools.cache
def rooms(test: bool) -> tuple[Room, ...]:
    """Return the rooms of ALFRED's training (96) or test (24) scenes."""
    table = constants()
    return tuple(room(n) for n in (table.TEST_SCENE_NUMBERS if test else table.TRAIN_SCENE_NUMBERS))


@functools.cache
def commonness(object_type: str) -> int:
    """Return in how many of the 96 training rooms an object type occurs."""
    return sum(object_type in r.object_types for r in rooms(test=False))
