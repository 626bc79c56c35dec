"""Find all ways in which a condition holds, by looking up one literal after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from rla_envs.alfworld.native.pddl import ROOT, Branch, Domain, Literal
from rla_envs.alfworld.native.state import Fact, Indexes, Positions, State

Source: TypeAlias = int | str
"""Where a value comes from: a place among the values found so far, or an object's id."""


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
        index = self._fixed.get((predicate, positions))
        if index is None:
            index = {}
            for fact in sorted(self.by_predicate.get(predicate, ())):
                index.setdefault(tuple([fact[i] for i in positions]), []).append(fact)
            self._fixed[predicate, positions] = index
        return index.get(values, _NONE)

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


class _Look(NamedTuple):
    """Look up a literal: what is known of it, what it tells, and what must agree with that."""

    predicate: str
    changing: bool
    positions: Positions
    sources: tuple[Source, ...]
    finds: tuple[tuple[int, int], ...]
    agrees: tuple[tuple[int, int], ...]
    types: tuple[tuple[int, dict[str, None]], ...]


class _Check(NamedTuple):
    """A literal that must not be found, or an equation, all of it known."""

    predicate: str
    changing: bool
    positive: bool
    sources: tuple[Source, ...]


class _Any(NamedTuple):
    """A variable that stands for every thing of its type."""

    place: int
    things: dict[str, None]


class _Never(NamedTuple):
    """A condition that must not hold, with what is known so far."""

    joins: tuple[Join, ...]


_Step: TypeAlias = _Look | _Check | _Any | _Never


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
        self._types = {name: things.of_type.get(kind, {}) for name, kind in self.variables}
        self._steps: list[_Step] = []
        self._arrange(branch, {name for name, _ in self.variables[:known]})
        self.literals = branch.literals
        self.has_never = bool(branch.never)

    def _arrange(self, branch: Branch, known: set[str]) -> None:
        checks = [x for x in branch.literals if not x.positive or x.predicate == "="]
        looks = [x for x in branch.literals if x.positive and x.predicate != "="]
        open_variables = [name for name, _ in self.variables if name not in known]
        checks = self._check(checks, known)
        while looks:
            best = min(looks, key=lambda literal: self._things.size(literal, known))
            looks.remove(best)
            self._steps.append(self._look(best, known))
            checks = self._check(checks, known)
        for name in open_variables:
            if name not in known:
                known.add(name)
                self._steps.append(_Any(self.places[name], self._types[name]))
                checks = self._check(checks, known)
        for condition in branch.never:
            joins = [
                Join(self._things, self._indexes, self.variables, part, len(self.variables))
                for part in condition
            ]
            self._steps.append(_Never(tuple(joins)))

    def _source(self, argument: str) -> Source:
        return self.places[argument] if argument.startswith("?") else argument

    def _look(self, literal: Literal, known: set[str]) -> _Look:
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
        changing = literal.predicate in self._things.changing
        if changing:
            self._indexes.need(literal.predicate, tuple(positions))
        sources = tuple(self._source(literal.arguments[i]) for i in positions)
        return _Look(
            literal.predicate, changing, tuple(positions), sources, tuple(finds), tuple(agrees), tuple(types)
        )

    def _check(self, literals: list[Literal], known: set[str]) -> list[Literal]:
        """Check those literals of which all is known; return the others."""
        later = []
        for literal in literals:
            if any(a.startswith("?") and a not in known for a in literal.arguments):
                later.append(literal)
                continue
            changing = literal.predicate in self._things.changing
            if changing:
                self._indexes.need(literal.predicate, tuple(range(len(literal.arguments))))
            sources = tuple(self._source(argument) for argument in literal.arguments)
            self._steps.append(_Check(literal.predicate, changing, literal.positive, sources))
        return later

    def all(self, state: State, given: Sequence[str] = ()) -> Iterator[list[str]]:
        """Yield the values of all variables for each way the branch holds (the same list each time)."""
        values = [*given, *[""] * (len(self.variables) - len(given))]
        yield from self._run(0, values, state)

    def any(self, state: State, given: Sequence[str] = ()) -> bool:
        """Return whether the branch holds."""
        return next(self.all(state, given), None) is not None

    def _run(self, at: int, values: list[str], state: State) -> Iterator[list[str]]:
        if at == len(self._steps):
            yield values
            return
        step = self._steps[at]
        if type(step) is _Look:
            for fact in self._found(step, values, state):
                for position, place in step.finds:
                    values[place] = fact[position]
                if all(fact[position] == values[place] for position, place in step.agrees):
                    yield from self._run(at + 1, values, state)
        elif type(step) is _Any:
            for thing in step.things:
                values[step.place] = thing
                yield from self._run(at + 1, values, state)
        elif type(step) is _Check:
            if self._holds(step, values, state) is step.positive:
                yield from self._run(at + 1, values, state)
        elif type(step) is _Never and not any(join.any(state, values) for join in step.joins):
            yield from self._run(at + 1, values, state)

    def _found(self, step: _Look, values: list[str], state: State) -> Sequence[Fact]:
        wanted = tuple([s if isinstance(s, str) else values[s] for s in step.sources])
        if step.changing:
            facts: Sequence[Fact] = state.read((step.predicate, step.positions, wanted)).facts
        else:
            facts = self._things.fixed(step.predicate, step.positions, wanted)
        for position, things in step.types:
            facts = [fact for fact in facts if fact[position] in things]
        return facts

    def _holds(self, step: _Check, values: list[str], state: State) -> bool:
        found = tuple([s if isinstance(s, str) else values[s] for s in step.sources])
        if step.predicate == "=":
            return found[0] == found[1]
        positions = tuple(range(len(found)))
        if step.changing:
            return bool(state.read((step.predicate, positions, found)).facts)
        return bool(self._things.fixed(step.predicate, positions, found))

    def values(self, literal: Literal) -> Callable[[Sequence[str]], list[str]]:
        """Return what gives the arguments of a literal, from the values of all variables."""
        sources = [self._source(argument) for argument in literal.arguments]
        return lambda values: [s if isinstance(s, str) else values[s] for s in sources]

    def ground(self, literal: Literal, values: Sequence[str]) -> Fact:
        """Return the fact that a literal or its negation is, with the values of its variables."""
        places = self.places
        arguments = [values[places[a]] if a[0] == "?" else a for a in literal.arguments]
        return (literal.predicate, *arguments)
