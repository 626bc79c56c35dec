"""What the steps of an AlfWorld episode that gained nothing were spent on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rla_envs.alfworld.edit_operations import (
    IMPOSSIBLE,
    SEARCHING,
    UNOPENED,
    WRONG_DEVICE,
    WRONG_OBJECT,
    WRONG_PLACE,
)
from rla_envs.alfworld.plan import Layout, Planner, Situation
from rla_envs.alfworld.scene import CLEAN, COOL, HEAT, LIGHT

_TREATMENTS = {"clean": CLEAN, "heat": HEAT, "cool": COOL}


def lost_step_kinds(layout: Layout, commands: Sequence[str], effective: Sequence[bool]) -> tuple[str, ...]:
    """Return for each command what it was spent on, or ``""`` if the shortest plan got shorter by it.

    A lost step is one of

    - *impossible commands*: it had no effect;
    - *closed containers*: it left, or reached into, a closed container that had to be opened;
    - *wrong object*: it took, or was made while holding, something that is not of the goal's type;
    - *wrong device*: it was made while holding a goal's object that still needs the
      sink, microwave, fridge or lamp;
    - *wrong place*: it was made while holding a goal's object that only needs its place;
    - *searching*: every other, with empty hands.

    Args:
        layout: What was played.
        commands: The commands, in the engine's words.
        effective: Whether each had an effect.
    """
    replay = _Replay(layout)
    return tuple(replay.step(*pair) for pair in zip(commands, effective, strict=True))


class _Replay:
    """Follows an episode from its commands alone."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._planner = Planner(layout)
        self._ids = {name: identifier for identifier, name in layout.names.items()}
        self._now = layout.start
        self._left = self._length(self._now)

    def step(self, command: str, effective: bool) -> str:
        """Play one command; return what it was spent on if it gained nothing."""
        verb, first, second = self._parse(command)
        before, left = self._now, self._left
        if effective:
            self._now = self._after(verb, first, second)
            if self._now != before:
                self._left = self._length(self._now)
        return "" if self._left < left else self._kind(verb, {first, second}, effective, before)

    def _parse(self, command: str) -> tuple[str, str | None, str | None]:
        """Return a command's verb, and the ids of the things that it names."""
        verb, _, rest = command.strip().partition(" ")
        separator = {"take": " from ", "move": " to ", "put": " in/on "}.get(verb, " with ")
        first, _, second = rest.removeprefix("to ").partition(separator)
        return verb, self._ids.get(first), self._ids.get(second)

    def _length(self, situation: Situation) -> int:
        plan = self._planner.plan(situation)
        return 0 if plan is None else len(plan)

    def _after(self, verb: str, first: str | None, second: str | None) -> Situation:
        now = self._now
        if first is None:
            return now
        if verb == "go":
            return replace(now, at=self._layout.spots.get(first))
        if verb in ("open", "close"):
            return replace(now, opened=now.opened | {first} if verb == "open" else now.opened - {first})
        if verb == "use":
            return replace(now, lit=now.lit | {first})
        if second is not None and verb in ("take", "move", "put"):
            taken = verb == "take"
            places = tuple(p for p in now.inside.get(first, ()) if p != second)
            inside = {**now.inside, first: places if taken else (*places, second)}
            return replace(now, holding=first if taken else None, inside=inside)
        wanted = self._layout.task_type
        if _TREATMENTS.get(verb) == wanted:
            return replace(now, treated=now.treated | {first})
        if {_TREATMENTS.get(verb), wanted} == {HEAT, COOL}:  # one undoes the other
            return replace(now, treated=now.treated - {first})
        return now

    def _kind(self, verb: str, named: set[str | None], effective: bool, before: Situation) -> str:
        shut = self._shut(before)
        if shut and (verb == "go" or (not effective and shut & named)):
            return UNOPENED
        if not effective:
            return IMPOSSIBLE
        held, wanted = before.holding, self._layout.wanted
        if held is None:
            return SEARCHING if verb != "take" or named & set(wanted) else WRONG_OBJECT
        if held not in wanted:
            return WRONG_OBJECT
        return WRONG_DEVICE if self._needs_device(held, before) else WRONG_PLACE

    def _shut(self, now: Situation) -> set[str]:
        """Return the closed containers here that hold, or must hold, what the goal is about."""
        layout = self._layout
        here = {p for p, spot in layout.spots.items() if spot == now.at}
        closed = here & layout.openable - now.opened
        if now.holding is None:
            hosts = {p for thing in layout.wanted for p in now.inside.get(thing, ())}
            return closed & hosts - set(layout.targets)
        ready = now.holding in layout.wanted and not self._needs_device(now.holding, now)
        return closed & set(layout.targets) if ready else set()

    def _needs_device(self, held: str, now: Situation) -> bool:
        if self._layout.task_type == LIGHT:
            return True
        return bool(self._layout.devices) and held not in now.treated
