"""Shortest plans in closed form, for all six task types, from any moment of a game.

Every location is one ``go to`` away from every other, so a shortest plan is a
short sequence of visits; the planner tries every choice of object, device, lamp
and target and keeps the shortest. (A generic PDDL planner needs seconds for what
this finds in milliseconds, and agrees with it on length.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from rla_envs.alfworld import shipped
from rla_envs.alfworld.names import display_names
from rla_envs.alfworld.scene import CLEAN, COOL, HEAT, LIGHT, TWO, Scene

_TREATMENTS = {CLEAN: "clean", HEAT: "heat", COOL: "cool"}
"""What is done with the goal's device, in the task types that have one."""


@dataclass(frozen=True)
class Situation:
    """Where everything is at one moment; all entries are ids of the layout.

    Attributes:
        at: Location of the agent; one without receptacles, or None, is the middle of the room.
        holding: Object in the agent's hand, or None.
        inside: Receptacles of each object that is in any. There is one in a
            generated scene; real games have mugs that are on a counter and in
            the coffee machine on it, and stay in one when taken from the other.
        opened: Containers that are open.
        treated: Objects in the state the goal asks for (clean, hot or cool).
        lit: Lamps that have been used.
    """

    at: str | None
    holding: str | None
    inside: Mapping[str, tuple[str, ...]]
    opened: frozenset[str]
    treated: frozenset[str] = frozenset()
    lit: frozenset[str] = frozenset()

    @classmethod
    def start(cls, scene: Scene) -> Situation:
        """Return the situation at the start of an episode."""
        return cls(
            at=None,
            holding=None,
            inside={o.id: (o.inside,) for o in scene.objects},
            opened=frozenset(r.id for r in scene.receptacles if shipped.is_openable(r.type) and not r.closed),
        )


@dataclass(frozen=True)
class Layout:
    """What plans depend on and no command changes.

    Attributes:
        task_type: One of :data:`~rla_envs.alfworld.scene.TASK_TYPES`.
        names: What the player calls each receptacle and object, by id.
        spots: Location of each receptacle, in the order in which they are preferred.
        openable: Receptacles that open and close.
        fits: Whether a receptacle may hold an object, by their ids.
        targets: Receptacles that the goal accepts.
        devices: Receptacles that bring an object into the state the goal asks for.
        lamps: Lamps that the goal accepts.
        wanted: Objects that the goal accepts.
        start: The situation at the start of an episode.
        put: How something is put somewhere, with fields ``{object}`` and ``{place}``.
    """

    task_type: str
    names: Mapping[str, str]
    spots: Mapping[str, str]
    openable: frozenset[str]
    fits: Callable[[str, str], bool]
    targets: tuple[str, ...]
    devices: tuple[str, ...]
    lamps: tuple[str, ...]
    wanted: tuple[str, ...]
    start: Situation
    put: str = "move {object} to {place}"

    @classmethod
    def of_scene(cls, scene: Scene) -> Layout:
        """Return the layout of a generated scene: each receptacle has a location of its own."""
        goal = scene.goal
        types = {r.id: r.type for r in scene.receptacles} | {o.id: o.type for o in scene.objects}
        return cls(
            task_type=goal.task_type,
            names=display_names(types),
            spots={r.id: r.id for r in scene.receptacles},
            openable=frozenset(r.id for r in scene.receptacles if shipped.is_openable(r.type)),
            fits=lambda place, thing: shipped.can_contain(types[place], types[thing]),
            targets=tuple(r.id for r in scene.receptacles if r.type == goal.receptacle),
            devices=tuple(r.id for r in scene.receptacles if r.type == goal.device),
            lamps=tuple(o.id for o in scene.objects if o.type == goal.receptacle),
            wanted=tuple(o.id for o in scene.objects if o.type == goal.object),
            start=Situation.start(scene),
        )


@dataclass(frozen=True)
class _Route:
    """Commands so far, and what they changed.

    Attributes:
        at: Where they lead.
        opened: Containers that are open then.
        holding: What is in the hand then.
        commands: The commands.
        left: Receptacles that what is in the hand is in all the same.
    """

    at: str | None
    opened: frozenset[str]
    holding: str | None
    commands: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class Planner:
    """Shortest plans for one scene or layout.

    Args:
        game: The scene or layout; its goal must be reachable from somewhere for
            :meth:`plan` to return a plan.
    """

    def __init__(self, game: Scene | Layout) -> None:
        """Index the layout."""
        self.layout = layout = game if isinstance(game, Layout) else Layout.of_scene(game)
        self._names, self._spots, self._fits = layout.names, layout.spots, layout.fits
        self._openable = layout.openable
        self._targets = layout.targets

    def plan(self, situation: Situation | None = None) -> tuple[str, ...] | None:
        """Return a shortest sequence of commands that wins, or None if there is none.

        Args:
            situation: Where to start; None means the start of the episode.
                An empty plan means the goal holds already.
        """
        now = self.layout.start if situation is None else situation
        kind = self.layout.task_type
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
        commands, spot = route.commands, self._spots[place]
        if route.at != spot:
            commands += (f"go to {self._names[place]}",)
        opened = route.opened
        if open_it and place in self._openable and place not in opened:
            commands += (f"open {self._names[place]}",)
            opened |= {place}
        return _Route(spot, opened, route.holding, commands, route.left)

    def _put(self, route: _Route, place: str) -> _Route:
        """Put down what is held."""
        at = self._go(route, place)
        assert at.holding is not None
        command = self.layout.put.format(object=self._names[at.holding], place=self._names[place])
        return _Route(at.at, at.opened, None, (*at.commands, command))

    def _empty_hand(self, route: _Route, also: Iterable[str]) -> Iterator[_Route]:
        """Put down whatever is held, here, where the places in ``also`` are, or anywhere it fits."""
        held = route.holding
        if held is None:
            yield route
            return
        places = [place for place in self._spots if self._fits(place, held)]
        near = {route.at, *(self._spots[place] for place in also)}
        preferred = [place for place in places if self._spots[place] in near]
        # Any other place costs the same, so one that needs no opening stands for them all.
        free = [p for p in places if p not in self._openable or p in route.opened]
        for place in dict.fromkeys([*preferred, *free[:1], *places[:1]]):
            yield self._put(route, place)

    def _fetch(self, route: _Route, thing: str, now: Situation) -> Iterator[_Route]:
        inside = now.inside.get(thing, ())
        if route.holding == thing:
            yield _Route(route.at, route.opened, thing, route.commands, inside)
            return
        for place in inside:
            for free in self._empty_hand(route, (place, *self._targets)):
                at = self._go(free, place)
                command = f"take {self._names[thing]} from {self._names[place]}"
                left = tuple([other for other in inside if other != place])
                yield _Route(at.at, at.opened, thing, (*at.commands, command), left)

    def _deliver(self, route: _Route, thing: str) -> Iterator[_Route]:
        """Put what is held into each target, unless it is in one all the same."""
        if any(place in self._targets for place in route.left):
            yield route
            return
        for target in self._targets:
            if self._fits(target, thing):
                yield self._put(route, target)

    def _one(self, now: Situation) -> Iterator[_Route]:
        start = _Route(now.at, now.opened, now.holding)
        treatment = _TREATMENTS.get(self.layout.task_type)
        for thing in self.layout.wanted:
            ready = treatment is None or thing in now.treated
            if ready and any(place in self._targets for place in now.inside.get(thing, ())):
                yield start
                return
            for held in self._fetch(start, thing, now):
                for treated in [held] if ready else list(self._treat(held, thing)):
                    yield from self._deliver(treated, thing)

    def _treat(self, route: _Route, thing: str) -> Iterator[_Route]:
        verb = _TREATMENTS[self.layout.task_type]
        for device in self.layout.devices:
            at = self._go(route, device, open_it=False)
            command = f"{verb} {self._names[thing]} with {self._names[device]}"
            yield _Route(at.at, at.opened, thing, (*at.commands, command), route.left)

    def _two(self, now: Situation) -> Iterator[_Route]:
        start = _Route(now.at, now.opened, now.holding)
        for target in self._targets:
            there = [t for t in self.layout.wanted if target in now.inside.get(t, ())]
            away = [t for t in self.layout.wanted if t not in there and self._fits(target, t)]
            if len(there) >= 2:
                yield start
                return
            # What is in the hand goes first; bringing it last would mean to put it down in between.
            first = [now.holding] if now.holding in away else away
            for one in first:
                for held in self._fetch(start, one, now):
                    placed = self._put(held, target)
                    if there:
                        yield placed
                        continue
                    for other in away:
                        if other != one:
                            yield from (self._put(again, target) for again in self._fetch(placed, other, now))

    def _light(self, now: Situation) -> Iterator[_Route]:
        start = _Route(now.at, now.opened, now.holding)
        lamps = [(lamp, place) for lamp in self.layout.lamps for place in now.inside.get(lamp, ())]
        for thing in self.layout.wanted:
            for lamp, place in lamps:
                if now.holding == thing and now.at == self._spots[place] and lamp in now.lit:
                    yield start
                    return
                for held in self._fetch(start, thing, now):
                    at = self._go(held, place, open_it=False)
                    use = () if lamp in now.lit else (f"use {self._names[lamp]}",)
                    yield _Route(at.at, at.opened, thing, at.commands + use)
