"""Look for a plan in any game, by trying: for games whose layout or rules have no closed form."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from rla_envs.alfworld.native.game import Game, Menu
from rla_envs.alfworld.native.pddl import Action, Branch, Domain
from rla_envs.alfworld.native.state import State

MAX_EXPANSIONS = 5_000
"""How many situations :func:`find_plan` goes on from before it gives up: a few seconds' work.

A count and not a time, so that the answer is the same on every machine.
"""


class Found(NamedTuple):
    """What a search came to.

    Attributes:
        commands: A shortest sequence of commands that wins; None if none was found.
        complete: Whether everything was tried: then there is none.
        expansions: How many situations were gone on from.
    """

    commands: tuple[str, ...] | None
    complete: bool
    expansions: int


def find_plan(game: Game, goal: tuple[Branch, ...], state: State, limit: int = MAX_EXPANSIONS) -> Found:
    """Search breadth first, leaving out what has no bearing on the goal.

    Args:
        game: The game.
        goal: Its goal.
        state: Where to start; it is left as it is.
        limit: Situations to go on from.
    """
    actions, facts = relevant(game.rules.domain, goal)
    if game.won(state):
        return Found((), False, 0)
    seen = {_key(state, facts)}
    waiting: deque[tuple[State, tuple[str, ...]]] = deque([(state.copy(), ())])
    expansions = 0
    while waiting:
        if expansions == limit:
            return Found(None, False, expansions)
        expansions += 1
        here, commands = waiting.popleft()
        menu: Menu = game.menu(here)
        for command in menu.commands:
            choice = menu.choice(command)
            if choice is None or choice[0].action.name not in actions:
                continue
            there = here.copy()
            game.play(choice, there)
            key = _key(there, facts)
            if key in seen:
                continue
            if game.won(there):
                return Found((*commands, command), False, expansions)
            seen.add(key)
            waiting.append((there, (*commands, command)))
    return Found(None, True, expansions)


def _key(state: State, predicates: frozenset[str]) -> frozenset[tuple[str, ...]]:
    return frozenset(fact for fact in state.facts if fact[0] in predicates)


def relevant(domain: Domain, goal: tuple[Branch, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the actions and predicates that can have a bearing on a goal, by name.

    A predicate has if the goal asks for it, or an action that has; an action has
    if it changes such a predicate.
    """
    wanted = _asked(goal)
    useful: set[str] = set()
    while True:
        more = [
            action
            for action in domain.actions.values()
            if action.name not in useful and any(e.literal.predicate in wanted for e in action.effects)
        ]
        if not more:
            return frozenset(useful), frozenset(wanted)
        for action in more:
            useful.add(action.name)
            wanted |= _conditions(action)


def _conditions(action: Action) -> set[str]:
    asked = _asked(action.branches)
    for effect in action.effects:
        asked |= _asked(effect.when or ())
    return asked


def _asked(branches: tuple[Branch, ...]) -> set[str]:
    asked: set[str] = set()
    for branch in branches:
        asked.update(literal.predicate for literal in branch.literals)
        for never in branch.never:
            asked |= _asked(never)
    return asked
