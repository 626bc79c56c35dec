"""What can ever hold in a game, if nothing is ever lost: the relaxation that TextWorld's planner starts with.

The planner refuses a game whose goal cannot hold even so, does not show that
a fact has ceased to hold which never can, and orders moves by such facts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from rla_envs.alfworld.native.joins import Join
from rla_envs.alfworld.native.pddl import Action, Branch, Effect
from rla_envs.alfworld.native.state import Indexes, State, state_of
from rla_envs.alfworld.native.things import Expected, Fact, Things


def _relaxed(branch: Branch) -> Branch:
    return Branch(branch.variables, tuple(x for x in branch.literals if x.positive))


class _Gain:
    """How an action makes facts hold."""

    def __init__(
        self,
        expected: Expected,
        indexes: Indexes,
        action: Action,
        before: Branch,
        effect: Effect,
        when: Branch,
    ) -> None:
        variables = (*action.parameters, *effect.variables)
        branch = Branch(
            before.variables + when.variables, _relaxed(before).literals + _relaxed(when).literals
        )
        self._join = Join(expected, indexes, variables, branch)
        self._ground = self._join.grounder(effect.literal)
        self.reads = frozenset(literal.predicate for literal in branch.literals)
        self.gains = effect.literal.predicate

    def facts(self, state: State) -> Iterator[Fact]:
        for values in self._join.all(state):
            yield self._ground(values)


class Gains:
    """All ways in which something can come to hold, in any game with the same rules.

    Args:
        expected: How many facts games have.
        actions: What can be done.
    """

    def __init__(self, expected: Expected, actions: Sequence[Action]) -> None:
        """Decide how to look for them."""
        self.expected = expected
        self.indexes = Indexes()
        self.ways = [
            _Gain(expected, self.indexes, action, before, effect, when)
            for action in actions
            for before in action.branches
            for effect in action.effects
            if effect.literal.positive
            for when in effect.when or (Branch(),)
        ]


class Reach:
    """Everything that can ever hold in a game.

    Args:
        gains: How something can come to hold.
        things: The game's objects and unchanging facts.
        goal: The goal.
        facts: What holds at the start and can change.
    """

    def __init__(self, gains: Gains, things: Things, goal: tuple[Branch, ...], facts: Sequence[Fact]) -> None:
        """Start from what holds at the start."""
        self._gains = gains.ways
        indexes = Indexes(gains.indexes)
        self._goals = [Join(gains.expected, indexes, (), _relaxed(branch)) for branch in goal]
        self._state = state_of(things, indexes, facts, {})

    def _run(self, gains: Sequence[_Gain]) -> Iterator[None]:
        """Do everything that is possible, pausing after each action, until nothing new comes to hold."""
        state, turn = self._state, 1
        changed: dict[str, int] = {}
        done = dict.fromkeys(range(len(gains)), 0)
        while True:
            busy = False
            for number, gain in enumerate(gains):
                if done[number] and all(changed.get(name, 0) < done[number] for name in gain.reads):
                    continue
                turn += 1
                done[number] = turn
                before = len(state.facts)
                for fact in list(dict.fromkeys(gain.facts(state))):
                    state.set(fact, True)
                if len(state.facts) > before:
                    changed[gain.gains] = turn
                    busy = True
                    yield
            if not busy:
                return

    def _useful(self) -> list[_Gain]:
        """Return what can lead to the goal."""
        wanted = {literal.predicate for goal in self._goals for literal in goal.literals}
        while True:
            useful = [gain for gain in self._gains if gain.gains in wanted]
            more = wanted.union(*(gain.reads for gain in useful))
            if more == wanted:
                return useful
            wanted = more

    @functools.cached_property
    def goal(self) -> bool:
        """Whether the goal can hold."""
        rounds = self._run(self._useful())
        while not any(join.any(self._state) for join in self._goals):
            if next(rounds, self) is self:
                return False
        return True

    @functools.cached_property
    def facts(self) -> frozenset[Fact]:
        """The facts that can hold, of those that can change."""
        for _ in self._run(self._gains):
            pass
        return frozenset(self._state.facts)
