"""One game, compiled: its things and their names, its moves, its texts and its goal."""

from __future__ import annotations

import functools
from typing import NamedTuple

from rla_envs.alfworld.game import GameData
from rla_envs.alfworld.native.moves import Move, Schema
from rla_envs.alfworld.native.naming import names_of
from rla_envs.alfworld.native.pddl import read_problem
from rla_envs.alfworld.native.playbook import playbook
from rla_envs.alfworld.native.reach import Reach
from rla_envs.alfworld.native.rules import NOT, SHOWN, compile_rules, without_goal
from rla_envs.alfworld.native.state import Content, Indexes, Kept, Memo, State
from rla_envs.alfworld.native.texts import Parts, Writer, write
from rla_envs.alfworld.native.things import Fact, Things
from rla_envs.errors import InvalidTaskError

_MAX_KEPT = 20_000
"""Answers and contents kept per game: a few tens of megabytes at the most."""


class Menu(NamedTuple):
    """The commands that are possible now, sorted, and what each does."""

    commands: tuple[str, ...]
    moves: dict[str, Move]


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
        facts: dict[str, list[Fact]] = {}
        for fact in problem.facts:
            facts.setdefault(fact[0], []).append(fact[1:])
        self._things = Things(rules.domain, problem.objects, facts, self._reachable)
        names = names_of({thing for fact in problem.facts for thing in fact[1:]}, problem.objects)
        self._writer = Writer(self._things, names, goal or "")
        self._kept = Kept()
        self._moves: dict[Fact, Move] = {}
        self._commands: dict[Fact, Memo[str]] = {}
        self._feedback: dict[Move, Memo[str]] = {}
        self._playbook = playbook(rules, facts)
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
        changing = [fact for fact in problem.facts if fact[0] in rules.changing]
        self._changing = changing
        shown = [(SHOWN + name, *things) for name, *things in changing if name in rules.forked]
        self._start = State(self._things, self._indexes, [*changing, *shown], self._pool)
        self._fixed = frozenset(fact for fact in problem.facts if fact[0] not in rules.changing)
        self.intro = write(rules.intro, self._writer, (), self._start)

    def start(self) -> State:
        """Return a state for a new play."""
        self._shrink()
        return self._start.copy()

    def facts(self, state: State) -> frozenset[Fact]:
        """Return all facts that hold."""
        return self._fixed.union(fact for fact in state.facts if not fact[0].startswith((SHOWN, NOT)))

    def play(self, move: Move, state: State) -> str:
        """Make a move; return what is said about it."""
        self._shrink()
        move.make(state)
        feedback = self._feedback.get(move)
        if feedback is None:
            feedback = self._text(self.rules.told[move.schema.action.name].feedback, move.things)
            self._feedback[move] = feedback
        return feedback(state)

    def _menu(self, state: State) -> Menu:
        moves: dict[str, Move] = {}
        for possible in self._possible:
            for command, move in possible(state):
                other = moves.setdefault(command, move)
                if other is not move:
                    moves[command] = min(other, move, key=lambda move: move.rank(state))
        return Menu(tuple(sorted(moves)), moves)

    def _possible_moves(self, schema: Schema, state: State) -> tuple[tuple[str, Move], ...]:
        moves, found = [], set()
        told = self.rules.told[schema.action.name]
        for things in schema.things(state):
            if things not in found:
                found.add(things)
                move = self._moves.get((schema.action.name, *things))
                if move is None:
                    move = self._moves[(schema.action.name, *things)] = Move(schema, things)
                key = (schema.action.name, *[things[i] for i in told.telling])
                command = self._commands.get(key)
                if command is None:
                    command = self._commands[key] = self._text(told.command, things)
                moves.append((command(state), move))
        return tuple(moves)

    def _text(self, parts: Parts, things: tuple[str, ...]) -> Memo[str]:
        return Memo(lambda state: write(parts, self._writer, things, state), self._kept)

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
            self._start = State(self._things, self._indexes, self._start.facts, self._pool)
