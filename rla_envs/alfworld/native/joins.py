"""Find all ways in which a condition holds, by looking up one literal after the other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

from rla_envs.alfworld.native.pddl import ROOT, Branch, Literal
from rla_envs.alfworld.native.state import Indexes, State
from rla_envs.alfworld.native.things import NONE, Expected, Fact, Picker, Positions, picker

Run: TypeAlias = Callable[[list[str], State, list[tuple[str, ...]] | None], bool]
"""Go on with some values: collect all values found, or return whether there are any."""


class Join:
    """All ways in which one branch of a condition holds.

    It serves any game with the same rules, whose objects and facts come with the state.

    Args:
        expected: Which facts change, and how many there are.
        indexes: Told which buckets this join will read.
        variables: Variables in the order in which their values are given out;
            those the branch introduces come after them.
        branch: What must hold.
        known: How many of the first variables have values from the start.
    """

    def __init__(
        self,
        expected: Expected,
        indexes: Indexes,
        variables: Sequence[tuple[str, str]],
        branch: Branch,
        known: int = 0,
    ) -> None:
        """Decide in which order to look things up: the fewest expected ways first."""
        self._expected = expected
        self._indexes = indexes
        self.variables = (*variables, *branch.variables)
        self.places = {name: place for place, (name, _) in enumerate(self.variables)}
        self.literals = branch.literals
        self.has_never = bool(branch.never)
        self._types = dict(self.variables)
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
            best = min(looks, key=lambda literal: self._expected.size(literal, known))
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
                Join(self._expected, self._indexes, self.variables, part, len(self.variables))
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
                if self._types[argument] != ROOT:
                    types.append((i, self._types[argument]))
        known |= new
        wanted = picker([self._place(literal.arguments[i]) for i in positions])
        facts = self._facts(literal.predicate, tuple(positions))
        return functools.partial(_look, facts, wanted, finds, agrees, types)

    def _facts(self, predicate: str, positions: Positions) -> _Find:
        """Return what finds facts, by the things at some positions."""
        if predicate not in self._expected.changing:
            key = predicate, positions
            return lambda wanted, state: state.things.tables[key].get(wanted, NONE)
        self._indexes.need(predicate, positions)

        def find(wanted: tuple[str, ...], state: State) -> Sequence[Fact]:
            bucket = predicate, positions, wanted
            content = state.buckets.get(bucket, state.nothing)
            if state.trace is not None:
                state.trace.append((bucket, content))
            return content.facts

        return find

    def _check(
        self, literals: list[Literal], known: set[str], steps: list[Callable[[Run], Run]]
    ) -> list[Literal]:
        """Check those literals of which all is known; return the others."""
        later = []
        for literal in literals:
            if any(a.startswith("?") and a not in known for a in literal.arguments):
                later.append(literal)
                continue
            wanted = picker([self._place(argument) for argument in literal.arguments])
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

    def values(self, literal: Literal) -> Picker:
        """Return what gives the arguments of a literal, from values that :meth:`all` returned."""
        return picker([self._place(argument) for argument in literal.arguments])

    def grounder(self, literal: Literal) -> Callable[[Sequence[str]], Fact]:
        """Return what gives the fact that a literal or its negation is, from the values of its variables."""
        name, arguments, places = literal.predicate, literal.arguments, self.places
        if all(argument.startswith("?") for argument in arguments):
            pick = picker([places[argument] for argument in arguments])
            return lambda values: (name, *pick(values))
        return lambda values: (name, *[values[places[a]] if a.startswith("?") else a for a in arguments])


_Find: TypeAlias = Callable[[tuple[str, ...], State], Sequence[Fact]]


def _look(
    facts: _Find,
    wanted: Picker,
    finds: Sequence[tuple[int, int]],
    agrees: Sequence[tuple[int, int]],
    types: Sequence[tuple[int, str]],
    after: Run,
) -> Run:
    """Look up a literal: what is known of it, what it tells, and what must agree with that."""

    def run(values: list[str], state: State, found: list[tuple[str, ...]] | None) -> bool:
        of_type = state.things.of_type
        for fact in facts(wanted(values), state):
            for position, kind in types:
                if fact[position] not in of_type.get(kind, ()):
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


def _absent(facts: _Find, wanted: Picker, after: Run) -> Run:
    """Go on if a literal does not hold, all of it known."""

    def run(values: list[str], state: State, found: list[tuple[str, ...]] | None) -> bool:
        return not facts(wanted(values), state) and after(values, state, found)

    return run


def _equal(wanted: Picker, positive: bool, after: Run) -> Run:
    """Go on if two things are the same, or are not."""

    def run(values: list[str], state: State, found: list[tuple[str, ...]] | None) -> bool:
        one, other = wanted(values)
        return (one == other) is positive and after(values, state, found)

    return run


def _each(place: int, kind: str, after: Run) -> Run:
    """Go on with every thing of a variable's type."""

    def run(values: list[str], state: State, found: list[tuple[str, ...]] | None) -> bool:
        for thing in state.things.of_type.get(kind, ()):
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
