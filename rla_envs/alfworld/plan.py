"""Shortest plans in closed form, for all six task types, from any moment of a game.

Every receptacle is one ``go to`` away from every other, so a shortest plan is a
short sequence of visits; the planner tries every choice of object, device, lamp
and target and keeps the shortest. (A generic PDDL planner needs seconds for what
this finds in milliseconds, and agrees with it on length.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rla_envs.alfworld import shipped
from rla_envs.alfworld.names import display_names
from rla_envs.alfworld.scene import LIGHT, TWO, Scene


@dataclass(frozen=True)
class Situation:
    """Where everything is at one moment; all entries are ids of the scene.

    Attributes:
        at: Receptacle the agent stands at; None in the middle of the room.
        holding: Object in the agent's hand, or None.
        inside: Receptacle of each object that is not held.
        opened: Containers that are open.
        treated: Objects in the state the goal asks for (clean, hot or cool).
        lit: Lamps that have been used.
    """

    at: str | None
    holding: str | None
    inside: dict[str, str]
    opened: frozenset[str]
    treated: frozenset[str] = frozenset()
    lit: frozenset[str] = frozenset()

    @classmethod
    def start(cls, scene: Scene) -> Situation:
        """Return the situation at the start of an episode."""
        return cls(
            at=None,
            holding=None,
            inside={o.id: o.inside for o in scene.objects},
            opened=frozenset(r.id for r in scene.receptacles if shipped.is_openable(r.type) and not r.closed),
        )


@dataclass(frozen=True)
class _Route:
    """Commands so far, and what they changed."""

    at: str | None
    opened: frozenset[str]
    holding: str | None
    commands: tuple[str, ...] = field(default=())


class Planner:
    """Shortest plans for one scene.

    Args:
        scene: The scene; its goal must be reachable from somewhere for
            :meth:`plan` to return a plan.
    """

    def __init__(self, scene: Scene) -> None:
        """Index the scene by id."""
        self.scene = scene
        self.names = display_names([*(r.id for r in scene.receptacles), *(o.id for o in scene.objects)])
        self._types = {r.id: r.type for r in scene.receptacles} | {o.id: o.type for o in scene.objects}
        self._openable = frozenset(r.id for r in scene.receptacles if shipped.is_openable(r.type))
        goal = scene.goal
        self._targets = [r.id for r in scene.receptacles if r.type == goal.receptacle]
        self._devices = [r.id for r in scene.receptacles if r.type == goal.device]
        self._lamps = [o.id for o in scene.objects if o.type == goal.receptacle]
        self._wanted = [o.id for o in scene.objects if o.type == goal.object]

    def plan(self, situation: Situation | None = None) -> tuple[str, ...] | None:
        """Return a shortest sequence of commands that wins, or None if there is none.

        Args:
            situation: Where to start; None means the start of the episode.
                An empty plan means the goal holds already.
        """
        now = Situation.start(self.scene) if situation is None else situation
        kind = self.scene.goal.task_type
        if kind == LIGHT:
            routes = self._light(now)
        elif kind == TWO:
            routes = self._two(now)
        else:
            routes = self._one(now)
        best = min(routes, key=lambda route: len(route.commands), default=None)
        return None if best is None else best.commands

    # Each of the following extends a route by one errand, in every way that may be shortest.

    def _go(self, route: _Route, place: str, open_it: bool = True) -> _Route:
        commands = route.commands
        if route.at != place:
            commands += (f"go to {self.names[place]}",)
        opened = route.opened
        if open_it and place in self._openable and place not in opened:
            commands += (f"open {self.names[place]}",)
            opened |= {place}
        return _Route(place, opened, route.holding, commands)

    def _empty_hand(self, route: _Route, also: Iterable[str]) -> Iterator[_Route]:
        """Put down whatever is held, here, at one of the places in ``also``, or anywhere it fits."""
        if route.holding is None:
            yield route
            return
        kind = self._types[route.holding]
        places = [r.id for r in self.scene.receptacles if shipped.can_contain(r.type, kind)]
        preferred = [p for p in (route.at, *also) if p in places]
        # Any other place costs the same, so one that needs no opening stands for them all.
        free = [p for p in places if p not in self._openable or p in route.opened]
        for place in dict.fromkeys([*preferred, *free[:1], *places[:1]]):
            at = self._go(route, place)
            command = f"move {self.names[route.holding]} to {self.names[place]}"
            yield _Route(place, at.opened, None, (*at.commands, command))

    def _fetch(self, route: _Route, thing: str, now: Situation) -> Iterator[_Route]:
        if route.holding == thing:
            yield route
            return
        place = now.inside[thing]
        for free in self._empty_hand(route, (place, *self._targets)):
            at = self._go(free, place)
            command = f"take {self.names[thing]} from {self.names[place]}"
            yield _Route(place, at.opened, thing, (*at.commands, command))

    def _deliver(self, route: _Route, thing: str, target: str) -> _Route:
        at = self._go(route, target)
        command = f"move {self.names[thing]} to {self.names[target]}"
        return _Route(target, at.opened, None, (*at.commands, command))

    def _one(self, now: Situation) -> Iterator[_Route]:
        start = _Route(now.at, now.opened, now.holding)
        device = self.scene.goal.device
        for thing in self._wanted:
            ready = device is None or thing in now.treated
            if ready and now.inside.get(thing) in self._targets:
                yield start
                return
            for held in self._fetch(start, thing, now):
                for treated in [held] if ready else list(self._treat(held, thing)):
                    for target in self._targets:
                        yield self._deliver(treated, thing, target)

    def _treat(self, route: _Route, thing: str) -> Iterator[_Route]:
        verb = {"SinkBasin": "clean", "Microwave": "heat", "Fridge": "cool"}
        for device in self._devices:
            at = self._go(route, device, open_it=False)
            command = f"{verb[self._types[device]]} {self.names[thing]} with {self.names[device]}"
            yield _Route(device, at.opened, thing, (*at.commands, command))

    def _two(self, now: Situation) -> Iterator[_Route]:
        start = _Route(now.at, now.opened, now.holding)
        for target in self._targets:
            there = [t for t in self._wanted if now.inside.get(t) == target]
            away = [t for t in self._wanted if t not in there]
            if len(there) >= 2:
                yield start
                return
            # What is in the hand goes first; bringing it last would mean to put it down in between.
            first = [now.holding] if now.holding in away else away
            for one in first:
                for held in self._fetch(start, one, now):
                    placed = self._deliver(held, one, target)
                    if there:
                        yield placed
                        continue
                    for other in away:
                        if other != one:
                            yield from (
                                self._deliver(again, other, target)
                                for again in self._fetch(placed, other, now)
                            )

    def _light(self, now: Situation) -> Iterator[_Route]:
        start = _Route(now.at, now.opened, now.holding)
        for thing in self._wanted:
            for lamp in self._lamps:
                if now.holding == thing and now.at == now.inside[lamp] and lamp in now.lit:
                    yield start
                    return
                for held in self._fetch(start, thing, now):
                    at = self._go(held, now.inside[lamp], open_it=False)
                    use = () if lamp in now.lit else (f"use {self.names[lamp]}",)
                    yield _Route(at.at, at.opened, thing, at.commands + use)
