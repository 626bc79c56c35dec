"""What can ever hold in a game, if nothing is ever lost: the relaxation that TextWorld's planner starts with.

The planner refuses a game whose goal cannot hold even so, does not show that
a fact has ceased to hold which never can, and orders moves by such facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rla_envs.alfworld.native.joins import Join, Things
from rla_envs.alfworld.native.pddl import Action, Branch, Effect
from rla_envs.alfworld.native.state import Fact, Indexes, State


def _relaxed(branch: Branch) -> Branch:
    return Branch(branch.variables, tuple(x for x in branch.literals if x.positive))


class _Gain:
    """How an action makes facts hold."""

    def __init__(
        self, things: Things, indexes: Indexes, action: Action, before: Branch, effect: Effect, when: Branch
    ) -> None:
        variables = (*action.parameters, *effect.variables)
        branch = Branch(
            before.variables + when.variables, _relaxed(before).literals + _relaxed(when).literals
        )
        self._join = Join(things, indexes, variables, branch)
        self._literal = effect.literal

    def facts(self, state: State) -> Iterator[Fact]:
        for values in self._join.all(state):
            yield self._join.ground(self._literal, values)


class Reach:
    """Everything that can ever hold.

    Args:
        things: The game's objects and unchanging facts.
        actions: What can be done.
        goal: The goal.
        facts: What holds at the start and can change.
    """

    def __init__(
        self,
        things: Things,
        actions: Sequence[Action],
        goal: tuple[Branch, ...],
        facts: Sequence[Fact],
    ) -> None:
        """Do everything that is possible until nothing new comes to hold."""
        indexes = Indexes()
        gains = [
            _Gain(things, indexes, action, before, effect, when)
            for action in actions
            for before in action.branches
            for effect in action.effects
            if effect.literal.positive
            for when in effect.when or (Branch(),)
        ]
        goals = [Join(things, indexes, (), _relaxed(branch)) for branch in goal]
        state = State(indexes, facts, {})
        before = -1
        while before < len(state.facts):
            before = len(state.facts)
            for gain in gains:
                for fact in list(dict.fromkeys(gain.facts(state))):
                    state.set(fact, True)
        self.facts = frozenset(state.facts)
        self.goal = any(join.any(state) for join in goals)
