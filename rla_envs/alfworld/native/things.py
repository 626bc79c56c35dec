"""The objects of a game, its facts that never change, and how many facts games have."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from rla_envs.alfworld.native.pddl import ROOT, Domain, Literal

Fact: TypeAlias = tuple[str, ...]
"""A predicate's name and the ids of things; also these ids alone, where the predicate is known."""

Positions: TypeAlias = tuple[int, ...]
"""Places among the arguments of a predicate."""

NONE: tuple[Fact, ...] = ()

Picker: TypeAlias = Callable[[Sequence[str]], tuple[str, ...]]
"""Takes some of several values."""


def picker(places: Sequence[int]) -> Picker:
    """Return what takes the values at some places."""
    if not places:
        return lambda values: ()
    if len(places) == 1:
        place = places[0]
        return lambda values: (values[place],)
    return operator.itemgetter(*places)


class Things:
    """A game's objects by type, and its facts that never change.

    Attributes:
        kinds: The type of each object.
        of_type: The objects of each type.
        tables: The arguments of a predicate's unchanging facts, sorted, by the things at some
            positions; made when first asked for, by predicate and positions.
        reachable: Whether a fact can ever hold.
    """

    def __init__(
        self,
        domain: Domain,
        kinds: Mapping[str, str],
        facts: Mapping[str, Sequence[Fact]],
        reachable: Callable[[Fact], bool],
    ) -> None:
        """Sort objects by type; ``facts`` are the arguments of the facts, by predicate."""
        self.kinds = kinds
        self.of_type: dict[str, dict[str, None]] = {}
        for thing, kind in kinds.items():
            while True:
                self.of_type.setdefault(kind, {})[thing] = None
                if kind == ROOT:
                    break
                kind = domain.parents[kind]
        self.tables = _Tables(facts)
        self.reachable = reachable

    def fixed(self, predicate: str, positions: Positions, values: tuple[str, ...]) -> Sequence[Fact]:
        """Return the arguments of the unchanging facts with these values at these positions, sorted."""
        return self.tables[predicate, positions].get(values, NONE)


class _Tables(dict[tuple[str, Positions], dict[tuple[str, ...], list[Fact]]]):
    """Makes each table when it is first asked for."""

    def __init__(self, facts: Mapping[str, Sequence[Fact]]) -> None:
        self._facts = facts

    def __missing__(self, key: tuple[str, Positions]) -> dict[tuple[str, ...], list[Fact]]:
        predicate, positions = key
        table: dict[tuple[str, ...], list[Fact]] = {}
        for fact in sorted(self._facts.get(predicate, ())):
            table.setdefault(tuple([fact[i] for i in positions]), []).append(fact)
        self[key] = table
        return table


_ALIKE = 8


class Expected:
    """How many facts of each kind games have, which decides what is looked up first.

    Args:
        changing: Predicates that some action changes.
        facts: The arguments of the facts of a game as it starts, by predicate.
    """

    def __init__(self, changing: frozenset[str], facts: Mapping[str, Sequence[Fact]]) -> None:
        """Count facts, and different things at each position."""
        self.changing = changing
        self._sizes = {
            name: (len(those), tuple([len(set(column)) for column in zip(*those, strict=True)]))
            for name, those in facts.items()
        }

    def size(self, literal: Literal, known: set[str]) -> float:
        """Estimate how many facts fit a literal, some of whose variables have values."""
        count, columns = self._sizes.get(literal.predicate, (0, ()))
        estimate = float(max(count, 1))
        for argument, values in zip(literal.arguments, columns, strict=False):
            if argument in known or not argument.startswith("?"):
                estimate /= values
        return estimate

    def fits(self, facts: Mapping[str, Sequence[Fact]]) -> bool:
        """Return whether a game is about as large: no more than eight times, nor less than an eighth."""
        sizes = self._sizes
        if any(len(facts[name]) > _ALIKE for name in facts.keys() - sizes.keys()):
            return False
        for name, (expected, _) in sizes.items():
            count = len(facts[name]) if name in facts else 1
            if count > _ALIKE * expected or expected > _ALIKE * count:
                return False
        return True
