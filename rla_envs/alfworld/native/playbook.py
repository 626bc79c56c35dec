"""How to look for moves and wins: what games with the same rules and about as many facts have in common."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rla_envs.alfworld.native.joins import Join
from rla_envs.alfworld.native.moves import Schema
from rla_envs.alfworld.native.pddl import Branch
from rla_envs.alfworld.native.reach import Gains
from rla_envs.alfworld.native.rules import Rules
from rla_envs.alfworld.native.state import Indexes
from rla_envs.alfworld.native.things import Expected, Fact

_MAX_BOOKS, _MAX_GOALS = 16, 64


class Wins(NamedTuple):
    """How to see whether a goal holds.

    Attributes:
        joins: Its alternatives.
        indexes: The buckets that these, the moves and the texts read.
    """

    joins: tuple[Join, ...]
    indexes: Indexes


class Playbook:
    """Compiled moves and goals.

    Args:
        rules: The rules of the games.
        expected: How many facts they have.
    """

    def __init__(self, rules: Rules, expected: Expected) -> None:
        """Compile the moves."""
        self.expected = expected
        self._indexes = Indexes()
        for predicate, positions in rules.needs:
            self._indexes.need(predicate, positions)
        self._actions = [action for action in rules.domain.actions.values() if action.effects]
        self.schemas = tuple([Schema(a, expected, rules, self._indexes) for a in self._actions])
        self.wins = functools.lru_cache(_MAX_GOALS)(self._wins)

    def _wins(self, goal: tuple[Branch, ...]) -> Wins:
        indexes = Indexes(self._indexes)
        return Wins(tuple([Join(self.expected, indexes, (), branch) for branch in goal]), indexes)

    @functools.cached_property
    def gains(self) -> Gains:
        """How something can come to hold; few games need to know."""
        return Gains(self.expected, self._actions)


@functools.lru_cache(maxsize=32)
def _books(rules: Rules) -> list[Playbook]:
    return []


def playbook(rules: Rules, facts: Mapping[str, Sequence[Fact]]) -> Playbook:
    """Return a playbook for a game, compiled before for one of about the same size if there was any.

    Args:
        rules: The rules of the game.
        facts: The arguments of the facts at the start, by predicate.
    """
    books = _books(rules)
    for book in books:
        if book.expected.fits(facts):
            return book
    book = Playbook(rules, Expected(rules.changing, facts))
    books[:] = [*books[1 - _MAX_BOOKS :], book]
    return book
