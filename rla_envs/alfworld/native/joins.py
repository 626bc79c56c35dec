"""Find all ways in which a condition holds, by looking up one literal after the other."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from rla_envs.alfworld.native.pddl import ROOT, Branch, Domain, Literal
from rla_envs.alfworld.native.state import Fact, Indexes, Positions, State


class Things:
    """A game's objects by type, its facts that never change, and how many facts of each kind there are.

    Attributes:
        kinds: The type of each object.
        fixed: Predicates that no action changes.
    """

    def __init__(
        self, domain: Domain, kinds: Mapping[str, str], facts: Sequence[Fact], changing: frozenset[str]
    ) -> None:
        """Sort objects by type and facts by predicate."""
        self.kinds = kinds
        self.changing = changing
        self.of_type: dict[str, dict[str, None]] = {}
        for thing, kind in kinds.items():
            while True:
                self.of_type.setdefault(kind, {})[thing] = None
                if kind == ROOT:
                    break
                kind = domain.parents[kind]
        self.by_predicate: dict[str, list[Fact]] = {}
        for fact in facts:
            self.by_predicate.setdefault(fact[0], []).append(fact[1:])
        self._fixed: dict[tuple[str, Positions], dict[tuple[str, ...], list[Fact]]] = {}
        self._sizes: dict[str, tuple[int, tuple[int, ...]]] = {}

    def fixed(self, predicate: str, positions: Positions, values: tuple[str, ...]) -> list[Fact]:
        """Return the arguments of the unchanging facts with these values at these positions, sorted."""
        return self.index(predicate, positions).get(values, _NONE)

    def index(self, predicate: str, positions: Positions) -> dict[tuple[str, ...], list[Fact]]:
        """Return the arguments of the unchanging facts of a predicate, sorted, by the things at positions."""
        index = self._fixed.get((predicate, positions))
        if index is None:
            index = {}
            for fact in sorted(self.by_predicate.get(predicate, ())):
                index.setdefault(tuple([fact[i] for i in positions]), []).append(fact)
            self._fixed[predicate, positions] = index
        return index

    def size(self, literal: Literal, known: set[str]) -> float:
        """Estimate how many facts fit a literal, some of whose variables have values."""
        sizes = self._sizes.get(literal.predicate)
        if sizes is None:
            facts = self.by_predicate.get(literal.predicate, [])
            sizes = len(facts), tuple(len(set(column)) for column in zip(*facts, strict=True))
            self._sizes[literal.predicate] = sizes
        count, columns = sizes
        estimate = float(max(count, 1))
        for argument, values in zip(literal.arguments, columns, strict=False):
            if argument in known or not argument.startswith("?"):
                estimate /= values
        return estimate


_NONE: list[Fact] = []

Run: TypeAlias = Callable[[list[str], State, list[tuple[str, ...]] | None], bool]
"""Go on with some values: collect all values found, or return whether there are any."""


def _picker(places: Sequence[int]) -> Callable[[Sequence[str]], tuple[str, ...]]:
    """Return what takes the values at some places."""
    if not places:
        return lambda values: ()
    if len(places) == 1:
        place = places[0]
        return lambda values: (values[place],)
    return operator.itemgetter(*places)


class Join:
    """All ways in which one branch of a condition holds.

    Args:
        things: The game's objects and unchanging facts.
        indexes: Told which buckets this join will read.
        variables: Variables in the order in which their values are given out;
            those the branch introduces come after them.
        branch: What must hold.
        known: How many of the first variables have values from the start.
    """

    def __init__(
        self,
        things: Things,
        indexes: Indexes,
        variables: Sequence[tuple[str, str]],
        branch: Branch,
        known: int = 0,
    ) -> None:
        """Decide in which order to look things up: the fewest expected ways first."""
        self._things = things
        self._indexes = indexes
        self.variables = (*variables, *branch.variables)
        self.places = {name: place for place, (name, _) in enumerate(self.variables)}
        self.literals = branch.literals
        self.has_never = bool(branch.never)
        self._types = {name: things.of_type.get(kind, {}) for name, kind in self.variables}
        # Constants have places after the variables, so that every argument is a place.
        self._blank = [""] * len(self.variables)
        run: Run = self._end
        for step in reversed(self._arrange(branch, {name for name, _ in self.variables[:known]})):
            run = step(run)
        self._run = run

    def _place(self, argument: str) -> int:
        place = self.places.get(argument)
        if place is None:
            place = self.places[argument] = len(self._blank)
            self._blank.append(argument)
        return place

    def _arrange(self, branch: Branch, known: set[str]) -> list[Callable[[Run], Run]]:
        """Return what adds each step to the steps after it."""
        steps: list[Callable[[Run], Run]] = []
        checks = [x for x in branch.literals if not x.positive or x.predicate == "="]
        looks = [x for x in branch.literals if x.positive and x.predicate != "="]
        checks = self._check(checks, known, steps)
        while looks:
            best = min(looks, key=lambda literal: self._things.size(literal, known))
            looks.remove(best)
            steps.append(self._look(best, known))
            checks = self._check(checks, known, steps)
        for name, _ in self.variables:
            if name not in known:
                known.add(name)
                steps.append(functools.partial(_each, self.places[name], self._types[name]))
                checks = self._check(checks, known, steps)
        for condition in branch.never:
            joins = [
                Join(self._things, self._indexes, self.variables, part, len(self.variables))
                for part in condition
            ]
            steps.append(functools.partial(_never, joins, len(self.variables)))
        return steps

    def _look(self, literal: Literal, known: set[str]) -> Callable[[Run], Run]:
        positions, finds, agrees, types = [], [], [], []
        new: set[str] = set()
        for i, argument in enumerate(literal.arguments):
            if argument in known or not argument.startswith("?"):
                positions.append(i)
            elif argument in new:
                agrees.append((i, self.places[argument]))
            else:
                new.add(argument)
                finds.append((i, self.places[argument]))
                if len(self._types[argument]) < len(self._things.kinds):
                    types.append((i, self._types[argument]))
        known |= new
        wanted = _picker([self._place(literal.arguments[i]) for i in positions])
        facts = self._facts(literal.predicate, tuple(positions))
        return functools.partial(_look, facts, wanted, finds, agrees, types)

    def _facts(self, predicate: str, positions: Positions) -> _Find:
        """Return what finds facts, by the things at some positions."""
        if predicate not in self._things.changing:
            index = self._things.index(predicate, positions)
            return lambda wanted, state: index.get(wanted, _NONE)
        self._indexes.need(predicate, positions)
        return lambda wanted, state: state.read((predicate, positions, wanted)).facts

    def _check(
        self, literals: list[Literal], known: set[str], steps: list[Callable[[Run], Run]]
    ) -> list[Literal]:
        """Check those literals of which all is known; return the others."""
        later = []
        for literal in literals:
            if any(a.startswith("?") and a not in known for a in literal.arguments):
                later.append(literal)
                continue
            wanted = _picker([self._place(argument) for argument in literal.arguments])
            if literal.predicate == "=":
                steps.append(functools.partial(_equal, wanted, literal.positive))
            else:
                facts = self._facts(literal.predicate, tuple(range(len(literal.arguments))))
                steps.append(functools.partial(_absent, facts, wanted))
        return later

    @staticmethod
    def _end(values: list[str], state: State, found: list[tuple[str, ...]] | None) -> bool:
        if found is None:
            return True
        found.append(tuple(values))
        return False

    def _start(self, given: Sequence[str]) -> list[str]:
        return [*given, *self._blank[len(given) :]]

    def all(self, state: State, given: Sequence[str] = ()) -> list[tuple[str, ...]]:
        """Return the values of all variables for each way the branch holds; more may follow them."""
        found: list[tuple[str, ...]] = []
        self._run(self._start(given), state, found)
        return found

    def any(self, state: State, given: Sequence[str] = ()) -> bool:
        """Return whether the branch holds."""
        return self._run(self._start(given), state, None)

    def values(self, literal: Literal) -> Callable[[Sequence[str]], tuple[str, ...]]:
        """Return what gives the arguments of a literal, from values that :meth:`all` returned."""
        return _picker([self._place(argument) for argument in literal.arguments])

    def ground(self, literal: Literal, values: Sequence[str]) -> Fact:
        """Return the fact that a literal or its negation is, with the values of its variables."""
        places = self.places
        arguments = [values[places[a]] if a[0] == "?" else a for a in literal.arguments]
        return (literal.predicate, *arguments)


_Find: TypeAlias = Callable[[tuple[str, ...], State], Sequence[Fact]]


def _look(
    facts: _Find,
    wanted: Callable[[Sequence[str]], tuple[str, ...]],
    finds: Sequence[tuple[int, int]],
    agrees: Sequence[tuple[int, int]],
    types: Sequence[tuple[int, Mapping[str, None]]],
    after: Run,
) -> Run:
    """Look up a literal: what is known of it, what it tells, and what must agree with that."""

    def run(values: list[str], state: State, found: list[tuple[str, ...]] | None) -> bool:
        for fact in facts(wanted(values), state):
            for position, things in types:
                if fact[position] not in things:
                    break
            else:
                for position, place in finds:
                    values[place] = fact[position]
                if agrees and any(fact[position] != values[place] for position, place in agrees):
                    continue
                if after(values, state, found):
                    return True
        return False

    return run


def _absent(facts: _Find, wanted: Callable[[Sequence[str]], tuple[str, ...]], after: Run) -> Run:
    """Go on if a literal does not hold, all of it known."""

    def run(values: list[str], state: State, found: list[tuple[str, ...]] | None) -> bool:
        return not facts(wanted(values), state) and after(values, state, found)

    return run


def _equal(wanted: Callable[[Sequence[str]], tuple[str, ...]], positive: bool, after: Run) -> Run:
    """Go on if two things are the same, or are not."""

    def run(values: list[str], state: State, found: list[tuple[str, ...]] | None) -> bool:
        one, other = wanted(values)
        return (one == other) is positive and after(values, state, found)

    return run


def _each(place: int, things: Mapping[str, None], after: Run) -> Run:
    """Go on with every thing of a variable's type."""

    def run(values: list[str], state: State, found: list[tuple[str, ...]] | None) -> bool:
        for thing in things:
            values[place] = thing
            if after(values, state, found):
                return True
        return False

    return run


def _never(joins: Sequence[Join], count: int, after: Run) -> Run:
    """Go on if a condition does not hold, with what is known so far."""

    def run(values: list[str], state: State, found: list[tuple[str, ...]] | None) -> bool:
        known = values[:count]
        return not any(join.any(state, known) for join in joins) and after(values, state, found)

    return run
