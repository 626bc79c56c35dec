"""What an action can be done with, and what it then changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from rla_envs.alfworld.native.joins import Join
from rla_envs.alfworld.native.pddl import Action, Branch, Effect, Literal
from rla_envs.alfworld.native.rules import NOT, SHOWN, Rules
from rla_envs.alfworld.native.state import Indexes, Memo, State
from rla_envs.alfworld.native.things import Expected, Fact
from rla_envs.errors import InvalidTaskError

Change: TypeAlias = tuple[Fact, bool]
"""A fact that comes to hold, or ceases to."""


_Requires: TypeAlias = Sequence[tuple[Callable[[Sequence[str]], Fact], bool]]
"""What gives each fact that an action requires, and whether it must hold or must not."""

Rank: TypeAlias = tuple[list[tuple[str, tuple[str, ...], bool]], str]


class Case(NamedTuple):
    """A change that happens if something holds, with the values of its variables."""

    when: Join
    values: tuple[str, ...]
    change: Change


class Outcome(NamedTuple):
    """What a move does.

    Attributes:
        changes: What changes in any case.
        cases: What changes if something holds.
        shown: How what is shown changes, in order, where that is kept apart.
    """

    changes: tuple[Change, ...]
    cases: tuple[Case, ...]
    shown: tuple[Change, ...]


class Move(NamedTuple):
    """An action with things in its parameters.

    Attributes:
        outcome: What it does.
        feedback: What is said about it.
    """

    outcome: Outcome
    feedback: Memo[str]

    def make(self, state: State) -> None:
        """Change a state; what would both cease and come to hold comes to hold."""
        changes, cases, shown = self.outcome
        if cases:
            happening = [case.change for case in cases if case.when.any(state, case.values)]
            changes = tuple(sorted({*changes, *happening}, key=lambda change: change[1]))
        for fact, present in changes:
            state.set(fact, present)
        for fact, present in shown:
            state.set(fact, present)


class Schema:
    """An action of the domain, in any game with the same rules.

    Args:
        action: The action.
        expected: How many facts games have.
        rules: The rules of the games.
        indexes: Told which buckets the action reads.
    """

    def __init__(
        self,
        action: Action,
        expected: Expected,
        rules: Rules,
        indexes: Indexes,
    ) -> None:
        """Decide how to look for moves."""
        self.action = action
        self._rules = rules
        self._indexes = indexes
        self._count = len(action.parameters)
        self._joins = [Join(expected, indexes, action.parameters, branch) for branch in action.branches]
        grounds = [_Ground(effect, action, expected, rules, indexes) for effect in action.effects]
        self._always = [ground for ground in grounds if ground.effect.when is None]
        self._cases = [ground for ground in grounds if ground.effect.when]
        self._told = [effect for effect in action.effects if self._tells(effect.literal.predicate)]
        self._tests = [self._gains(join) for join in self._joins]
        self._required = [
            [(join.grounder(x), x.positive) for x in join.literals if x.predicate in rules.changing]
            for join in self._joins
        ]
        self._held = [
            self._joins[0].grounder(ground.effect.literal)
            for ground in self._always
            if all(_plain(ground.effect.literal) in join.literals for join in self._joins)
        ]

    def _tells(self, predicate: str) -> bool:
        """Return whether texts look at what is shown of a predicate."""
        mark = SHOWN if predicate in self._rules.forked else ""
        names = [f"{mark}{NOT}{predicate}", *([f"{mark}{predicate}"] if mark else [])]
        return any(self._indexes.reads(name) for name in names)

    def things(self, state: State) -> Iterator[tuple[str, ...]]:
        """Yield what the parameters can stand for; a move that would change nothing is not a move."""
        count = self._count
        for join, gains, required in zip(self._joins, self._tests, self._required, strict=True):
            for values in join.all(state):
                if gains(values) or not self._idles(required, values, state):
                    yield values[:count]

    def _gains(self, join: Join) -> Callable[[tuple[str, ...]], bool]:
        """Return a quick test whether something comes to hold that is not among what is required."""
        for literal in (ground.effect.literal for ground in self._always if not ground.effect.variables):
            same = [x for x in join.literals if x.positive and x.predicate == literal.predicate]
            if literal.positive and not same:
                return lambda values: True
            if literal.positive:
                gain, required = join.values(literal), [join.values(x) for x in same]
                return lambda values: all(gain(values) != other(values) for other in required)
        return lambda values: False

    def _idles(self, requires: _Requires, values: tuple[str, ...], state: State) -> bool:
        """Return whether the precondition says that everything already is as the action would make it."""
        if self._cases:
            return False
        required = {ground(values): positive for ground, positive in requires}
        changes = self._changes(values[: self._count], state)
        reachable = state.things.reachable
        return all(
            required[fact] is present if fact in required else not present and not reachable(fact)
            for fact, present in changes
        )

    def _changes(self, things: tuple[str, ...], state: State) -> tuple[Change, ...]:
        changes: dict[Fact, bool] = {}
        for ground in self._always:
            for fact, _ in ground.facts(things, state):
                changes[fact] = changes.get(fact, False) or ground.effect.literal.positive
        return tuple(sorted(changes.items()))

    def outcome(self, things: tuple[str, ...], state: State) -> Outcome:
        """Return what the action does with these things, in any state of the same game."""
        changes = self._changes(things, state)
        cases = tuple(case for ground in self._cases for case in ground.cases(things, state))
        return Outcome(changes, cases, self._shown(things, changes, state))

    def _shown(
        self, things: tuple[str, ...], changes: tuple[Change, ...], state: State
    ) -> tuple[Change, ...]:
        """Return how what is shown changes: what may come to hold does so first, then what may cease."""
        if not self._told:
            return ()
        sure = {fact for fact, present in changes if present}
        held = {ground(things) for ground in self._held}
        cases = [ground for ground in self._cases if ground.effect in self._told]
        possible = {change for ground in cases for change in ground.possible(things, state)}
        every = {*changes, *(change for change in possible if change[0] not in sure)}
        shown: list[Change] = []
        for fact, present in sorted(every, key=lambda change: (not change[1], change[0])):
            name, *rest = fact
            mark = SHOWN if name in self._rules.forked else ""
            for stored, now in ((f"{mark}{name}", present), (f"{mark}{NOT}{name}", not present)):
                read = stored != name and self._indexes.reads(stored)
                if read and (present or fact in held or state.things.reachable(fact)):
                    shown.append(((stored, *rest), now))
        return tuple(shown)

    def rank(self, things: tuple[str, ...], state: State) -> Rank:
        """Return where TextWorld's planner puts the move with these things.

        It sorts moves by the facts that they require, those by name, with what must not hold
        after what must; then by their own names.
        """
        ranks = []
        for join, requires in zip(self._joins, self._required, strict=True):
            if join.has_never:
                raise InvalidTaskError(
                    f"PDDL action {self.action.name}: a 'forall' is not supported where moves share a command"
                )
            for values in join.all(state):
                if values[: self._count] == things and not self._idles(requires, values, state):
                    required = {
                        (fact[0], fact[1:], not present)
                        for fact, present in ((ground(values), positive) for ground, positive in requires)
                        if present or state.things.reachable(fact)
                    }
                    ranks.append(sorted(required))
        return min(ranks), f"({' '.join((self.action.name, *things))})"


def _plain(literal: Literal) -> Literal:
    return literal._replace(positive=True)


class _Ground:
    """An effect of an action."""

    def __init__(
        self, effect: Effect, action: Action, expected: Expected, rules: Rules, indexes: Indexes
    ) -> None:
        self.effect = effect
        self._rules = rules
        variables = (*action.parameters, *effect.variables)
        whens = effect.when or ()
        self._each = Join(expected, indexes, variables, Branch(), len(action.parameters))
        self._ground = self._each.grounder(effect.literal)
        self._when = [Join(expected, indexes, variables, branch, len(variables)) for branch in whens]
        self._may = [
            Join(expected, indexes, variables, _fixed(branch, rules), len(variables)) for branch in whens
        ]

    def facts(self, things: tuple[str, ...], state: State) -> Iterator[tuple[Fact, tuple[str, ...]]]:
        """Yield the facts that the effect is about, with the values of its variables."""
        if not self.effect.variables:
            yield self._ground(things), things
            return
        for values in self._each.all(state, things):
            yield self._ground(values), values

    def cases(self, things: tuple[str, ...], state: State) -> Iterator[Case]:
        """Yield what changes if something holds."""
        for fact, values in self.facts(things, state):
            for join in self._when:
                yield Case(join, values, (fact, self.effect.literal.positive))

    def possible(self, things: tuple[str, ...], state: State) -> Iterator[Change]:
        """Yield what changes if something holds that is not ruled out from the start."""
        reachable = state.things.reachable
        for fact, values in self.facts(things, state):
            for whole, fixed in zip(self._when, self._may, strict=True):
                wanted = [
                    fixed.grounder(x)
                    for x in whole.literals
                    if x.positive and x.predicate in self._rules.changing and x.predicate != "="
                ]
                if any(
                    all(reachable(ground(found)) for ground in wanted) for found in fixed.all(state, values)
                ):
                    yield fact, self.effect.literal.positive


def _fixed(branch: Branch, rules: Rules) -> Branch:
    """Return the part of a condition about what never changes."""
    return Branch(branch.variables, tuple(x for x in branch.literals if x.predicate not in rules.changing))
