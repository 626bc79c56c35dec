"""One game, compiled: its things and their names, its moves, its texts and its goal."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from rla_envs.alfworld.game import GameData
from rla_envs.alfworld.native.moves import Move, Schema
from rla_envs.alfworld.native.naming import names_of
from rla_envs.alfworld.native.pddl import read_problem
from rla_envs.alfworld.native.playbook import playbook
from rla_envs.alfworld.native.reach import Reach
from rla_envs.alfworld.native.rules import NOT, SHOWN, Told, compile_rules, without_goal
from rla_envs.alfworld.native.state import Content, Indexes, Kept, Memo, State, state_of
from rla_envs.alfworld.native.texts import Parts, Writer, write
from rla_envs.alfworld.native.things import Fact, Things
from rla_envs.errors import InvalidTaskError

_MAX_KEPT = 20_000
"""Answers and contents kept per game: a few tens of megabytes at the most."""


Choice: TypeAlias = tuple[Schema, tuple[str, ...]]
"""An action, and things for its parameters."""


class Menu(NamedTuple):
    """What is possible now.

    Attributes:
        commands: The commands, sorted.
        parts: What each command does, in no particular order; every command is in one of them.
    """

    commands: tuple[str, ...]
    parts: tuple[dict[str, Choice], ...]

    def choice(self, command: str) -> Choice | None:
        """Return what a command does, if it is possible."""
        for part in self.parts:
            if command in part:
                return part[command]
        return None


def _add(choices: dict[str, Choice], command: str, choice: Choice, state: State) -> None:
    """Add a choice, unless one with the same command goes before it."""
    other = choices.setdefault(command, choice)
    if other is not choice and other != choice:
        choices[command] = min(other, choice, key=lambda each: each[0].rank(each[1], state))


class Game:
    """A compiled game.

    It can be played from many states at once: it remembers answers, but no play.

    Args:
        data: The game.

    Raises:
        InvalidTaskError: If something in it is malformed or not supported.
    """

    def __init__(self, data: GameData) -> None:
        """Compile the game."""
        grammar, goal = without_goal(data["grammar"])
        self.rules = rules = compile_rules(data["pddl_domain"], grammar, goal is not None)
        problem = read_problem(data["pddl_problem"], rules.domain)
        facts = self._facts = problem.by_predicate
        self._things = Things(rules.domain, problem.objects, facts, self._reachable)
        names = names_of(set(itertools.chain(*itertools.chain(*facts.values()))))
        self._writer = Writer(self._things, names, goal or "")
        self._kept = Kept()
        self._moves: dict[Choice, Move] = {}
        self._playbook = playbook(rules, facts)
        self._commands: dict[str, dict[tuple[str, ...], Callable[[State], str]]] = {
            schema.action.name: {} for schema in self._playbook.schemas
        }
        self._goal = problem.goal
        wins, indexes = self._playbook.wins(problem.goal)
        self._indexes = Indexes(indexes)
        self.won = Memo(lambda state: any(join.any(state) for join in wins), self._kept)
        self.menu = Memo(self._menu, self._kept)
        self._possible = [
            Memo(functools.partial(self._possible_moves, schema), self._kept)
            for schema in self._playbook.schemas
        ]
        self._pool: dict[tuple[Fact, ...], Content] = {}
        changing = [(name, *x) for name in facts if name in rules.changing for x in facts[name]]
        self._changing = changing
        shown = [(SHOWN + name, *things) for name, *things in changing if name in rules.forked]
        self._start = state_of(self._things, self._indexes, [*changing, *shown], self._pool)
        self.intro = write(rules.intro, self._writer, (), self._start)

    def start(self) -> State:
        """Return a state for a new play."""
        self._shrink()
        return self._start.copy()

    def facts(self, state: State) -> frozenset[Fact]:
        """Return all facts that hold."""
        return self._fixed.union(fact for fact in state.facts if not fact[0].startswith((SHOWN, NOT)))

    def play(self, choice: Choice, state: State) -> str:
        """Make a move; return what is said about it."""
        self._shrink()
        move = self._moves.get(choice)
        if move is None:
            schema, things = choice
            feedback = self._text(self.rules.told[schema.action.name].feedback, things)
            move = self._moves[choice] = Move(schema.outcome(things, state), feedback)
        move.make(state)
        return move.feedback(state)

    def _menu(self, state: State) -> Menu:
        parts = [part for possible in self._possible if (part := possible(state))]
        commands = sorted(itertools.chain(*parts))
        if len({*commands}) < len(commands):
            choices: dict[str, Choice] = {}
            for part in parts:
                for command, choice in part.items():
                    _add(choices, command, choice, state)
            parts, commands = [choices], sorted(choices)
        return Menu(tuple(commands), tuple(parts))

    def _possible_moves(self, schema: Schema, state: State) -> dict[str, Choice]:
        choices: dict[str, Choice] = {}
        told, commands = self.rules.told[schema.action.name], self._commands[schema.action.name]
        for things in schema.things(state):
            key = told.telling(things)
            command = commands.get(key)
            if command is None:
                command = commands[key] = self._command(told, things, state)
            _add(choices, command(state), (schema, things), state)
        return choices

    def _command(self, told: Told, things: tuple[str, ...], state: State) -> Callable[[State], str]:
        if not told.settled:
            return self._text(told.command, things)
        command = write(told.command, self._writer, things, state)
        return lambda state: command

    def _text(self, parts: Parts, things: tuple[str, ...]) -> Memo[str]:
        return Memo(lambda state: write(parts, self._writer, things, state), self._kept)

    @functools.cached_property
    def _fixed(self) -> frozenset[Fact]:
        fixed = self._facts.keys() - self.rules.changing
        return frozenset((name, *things) for name in fixed for things in self._facts[name])

    @functools.cached_property
    def _reach(self) -> Reach:
        return Reach(self._playbook.gains, self._things, self._goal, self._changing)

    def _reachable(self, fact: Fact) -> bool:
        return fact in self._reach.facts

    def check_goal(self) -> None:
        """Refuse a goal that cannot hold even if nothing were ever lost, as TextWorld does.

        Raises:
            InvalidTaskError: If so.
        """
        if not self._reach.goal:
            raise InvalidTaskError("PDDL goal: nothing that can be done ever makes it hold")

    def _shrink(self) -> None:
        """Forget what is known when it is much; states in play stay right, and find their answers anew."""
        if len(self._pool) + self._kept.count > _MAX_KEPT:
            self._kept.drop()
            self._pool.clear()
            self._start = state_of(self._things, self._indexes, self._start.facts, self._pool)
