"""One game, compiled: its things and their names, its moves, its texts and its goal."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from rla_envs.alfworld.game import GameData
from rla_envs.alfworld.native.grammar import Grammar, Rule, Text, read_grammar, read_symbols
from rla_envs.alfworld.native.joins import Join, Things
from rla_envs.alfworld.native.pddl import Action, Branch, Domain, Effect, read_domain, read_problem
from rla_envs.alfworld.native.state import Content, Fact, Indexes, Memo, Positions, State
from rla_envs.alfworld.native.texts import Checker, Scope, Types, Writer
from rla_envs.errors import InvalidTaskError

INTRO = "#intro#"
_SHOWN, _NOT = "shown ", "not_"
_MAX_KEPT = 20_000
"""Answers and contents kept per game: a few tens of megabytes at the most."""


def _refuse(where: str, what: str) -> NoReturn:
    raise InvalidTaskError(f"{where}: {what}")


@dataclass(frozen=True)
class Rules:
    """What games with the same domain and grammar share.

    Attributes:
        domain: The domain.
        grammar: The texts.
        types: The domain's types.
        changing: Predicates that some action changes.
        forked: Predicates that some action changes only under a condition. TextWorld shows such
            changes whether or not the condition held, so what it shows is kept apart from what holds.
        shown: Where to look up each predicate that the texts mention; those that never hold are left out.
        needs: Predicates and positions that the texts look up.
        scopes: The placeholders of each action.
    """

    domain: Domain
    grammar: Grammar
    types: Types
    changing: frozenset[str]
    forked: frozenset[str]
    shown: dict[str, str]
    needs: tuple[tuple[str, Positions], ...]
    scopes: dict[str, tuple[tuple[str, str], ...]]


@functools.lru_cache(maxsize=32)
def _domain(text: str) -> Domain:
    return read_domain(text)


@functools.lru_cache(maxsize=32)
def _grammar(text: str) -> Grammar:
    return read_grammar(text)


@functools.lru_cache(maxsize=32)
def compile_rules(domain_text: str, grammar_text: str) -> Rules:
    """Compile a domain and a grammar, the goal's text aside.

    Raises:
        InvalidTaskError: If something in them is malformed or not supported.
    """
    domain, grammar = _domain(domain_text), _grammar(grammar_text)
    for name in domain.arity:
        if name.startswith(_NOT):
            _refuse(f"PDDL predicate {name}", f"a name that starts with {_NOT!r} is not supported")
    effects = [effect for action in domain.actions.values() for effect in action.effects]
    changing = frozenset(effect.literal.predicate for effect in effects)
    forked = frozenset(effect.literal.predicate for effect in effects if effect.when is not None)
    types = Types(domain)
    shown: dict[str, str] = {}
    needs: dict[tuple[str, Positions], None] = {}

    def need(name: str, positions: Positions, count: int) -> None:
        predicate = name.removeprefix(_NOT)
        arity = domain.arity.get(predicate)
        if arity is not None and arity != count:
            _refuse("text grammar", f"predicate {predicate} takes {arity} arguments, got {count}")
        if predicate not in changing:
            if arity is not None and predicate == name:
                shown[name] = name
            return
        shown[name] = f"{_SHOWN}{name}" if predicate in forked else name
        needs[shown[name], positions] = None

    checker = Checker(grammar, types, need)
    checker.symbols(read_symbols(INTRO, "the intro"), frozenset(), "the intro")
    scopes = {}
    for action in domain.actions.values():
        where = f"text of action {action.name}"
        if action.name not in grammar.actions:
            _refuse(where, "it is missing from the text grammar")
        scope = tuple((name.strip("?"), kind) for name, kind in action.parameters)
        scopes[action.name] = scope
        checker.symbols(grammar.actions[action.name].command, frozenset(scope), where)
        checker.symbols(grammar.actions[action.name].feedback, frozenset(scope), where)
    return Rules(domain, grammar, types, changing, forked, shown, tuple(needs), scopes)


_TASK = re.compile(r'("task"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*")([\w (),.\':-]*)("\s*\}\s*\])', re.ASCII)
"""The rule that tells the goal, when it is plain text."""


def _without_goal(grammar: str) -> tuple[str, str | None]:
    """Return a grammar without its goal's text, and that text; the whole and None if it is not plain.

    Games of one data set differ in this text alone.
    """
    found = _TASK.findall(grammar)
    if len(found) != 1:
        return grammar, None
    return _TASK.sub(r"\1\3", grammar), found[0][1]


class Move(NamedTuple):
    """An action with things in its parameters, and what it does.

    Attributes:
        action: The action's name.
        things: The things.
        changes: Facts that come to hold or cease to, in order.
        cases: Facts that change if something holds, in order.
        shown: How what is shown changes, in order, where that is kept apart.
    """

    action: str
    things: tuple[str, ...]
    changes: tuple[tuple[Fact, bool], ...]
    cases: tuple[tuple[Join, tuple[str, ...], Fact, bool], ...]
    shown: tuple[tuple[Fact, bool], ...]


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
        grammar_text, goal_text = _without_goal(data["grammar"])
        self.rules = rules = compile_rules(data["pddl_domain"], grammar_text)
        problem = read_problem(data["pddl_problem"], rules.domain)
        self._kinds = problem.objects
        self._names = _names({thing for fact in problem.facts for thing in fact[1:]}, problem.objects)
        self._things = Things(rules.domain, problem.objects, problem.facts, rules.changing)
        self._indexes = Indexes()
        for predicate, positions in rules.needs:
            self._indexes.need(predicate, positions)
        grammar = rules.grammar
        if goal_text is not None:
            grammar = Grammar({**grammar.rules, "task": (Rule(None, (Text(goal_text),)),)}, grammar.actions)
        self._grammar = grammar
        self._writer = Writer(grammar, rules.types, problem.objects, self._names, self._lookup)
        self._moves: dict[tuple[str, tuple[str, ...]], Move] = {}
        self._commands: dict[Move, Memo[str]] = {}
        self._feedback: dict[Move, Memo[str]] = {}
        self._schemas = [
            _Schema(action, self._things, self._indexes)
            for action in rules.domain.actions.values()
            if action.effects
        ]
        self._goal = [Join(self._things, self._indexes, (), branch) for branch in problem.goal]
        self.won = Memo(lambda state: any(join.any(state) for join in self._goal))
        self.menu = Memo(self._menu)
        self._possible = [Memo(functools.partial(self._possible_moves, schema)) for schema in self._schemas]
        self._pool: dict[tuple[Fact, ...], Content] = {}
        changing = [fact for fact in problem.facts if fact[0] in rules.changing]
        shown = [(_SHOWN + name, *things) for name, *things in changing if name in rules.forked]
        self._start = State(self._indexes, [*changing, *shown], self._pool)
        self._fixed = frozenset(fact for fact in problem.facts if fact[0] not in rules.changing)
        self.intro = self._writer.write(read_symbols(INTRO, "the intro"), {}, self._start)

    def start(self) -> State:
        """Return a state for a new play."""
        self._shrink()
        return self._start.copy()

    def facts(self, state: State) -> frozenset[Fact]:
        """Return all facts that hold."""
        return self._fixed.union(fact for fact in state.facts if not fact[0].startswith((_SHOWN, _NOT)))

    def play(self, move: Move, state: State) -> str:
        """Make a move; return what is said about it."""
        if move.cases:
            cases = [(fact, present) for join, given, fact, present in move.cases if join.any(state, given)]
            gained = {fact for fact, present in cases if present}
            for fact, present in cases:
                if present or fact not in gained:
                    state.set(fact, present)
        for fact, present in move.changes:
            state.set(fact, present)
        for fact, present in move.shown:
            state.set(fact, present)
        return self._feedback[move](state)

    def _lookup(
        self, state: State, name: str, positions: Positions, values: tuple[str, ...]
    ) -> Sequence[Fact]:
        stored = self.rules.shown.get(name)
        if stored is None:
            return ()
        if stored in self.rules.changing or stored != name or name.startswith(_NOT):
            return state.read((stored, positions, values)).facts
        return self._things.fixed(stored, positions, values)

    def _menu(self, state: State) -> Menu:
        moves: dict[str, Move] = {}
        for possible in self._possible:
            for command, move in possible(state):
                other = moves.setdefault(command, move)
                if other is not move:
                    moves[command] = self._first(other, move, state)
        return Menu(tuple(sorted(moves)), moves)

    def _possible_moves(self, schema: _Schema, state: State) -> tuple[tuple[str, Move], ...]:
        found = dict.fromkeys(schema.things(state))
        moves = [self._move(schema, things) for things in found]
        return tuple([(self._commands[move](state), move) for move in moves])

    def _move(self, schema: _Schema, things: tuple[str, ...]) -> Move:
        key = (schema.action.name, things)
        move = self._moves.get(key)
        if move is None:
            unknown = next((thing for thing in things if thing not in self._names), None)
            if unknown is not None:
                _refuse(f"PDDL action {key[0]}", f"no fact mentions {unknown!r}, so it has no name")
            move = schema.move(things, self.rules, self._indexes)
            text = self._grammar.actions[key[0]]
            scope: Scope = dict(zip(self.rules.scopes[key[0]], things, strict=True))
            self._commands[move] = Memo(lambda state: self._writer.write(text.command, scope, state))
            self._feedback[move] = Memo(lambda state: self._writer.write(text.feedback, scope, state))
            self._moves[key] = move
        return move

    def _first(self, one: Move, other: Move, state: State) -> Move:
        _refuse(
            f"PDDL actions {one.action} and {other.action}",
            f"both are called {self._commands[one](state)!r} here, with {one.things} and {other.things}",
        )

    def _shrink(self) -> None:
        """Forget what is known when it is much; states in play stay right, and find their answers anew."""
        memos: list[Memo[Any]] = [
            self.menu,
            self.won,
            *self._possible,
            *self._feedback.values(),
            *self._commands.values(),
        ]
        if len(self._pool) + sum(memo.size for memo in memos) > _MAX_KEPT:
            for memo in memos:
                memo.forget()
            self._pool.clear()
            self._start = State(self._indexes, self._start.facts, self._pool)


def _names(mentioned: Collection[str], kinds: dict[str, str]) -> dict[str, dict[str, str]]:
    """Return what texts may say of each thing; names are numbered as alfworld's Demangler does.

    It goes through the ids in order and counts each kind down; what has no
    place in its id keeps its id as a name, with a space after it.
    """
    kind_of: dict[str, str] = {}
    for thing in mentioned:
        kind, marked, _ = thing.partition("_bar_")
        if marked:
            kind_of[thing] = kind + "basin" if "basin" in thing else kind
        elif "|" in thing:
            _refuse("PDDL objects", f"no name can be made of {thing!r}")
    left = Counter(kind_of.values())
    names = {}
    for thing in sorted(mentioned):
        if thing in kind_of:
            kind = kind_of[thing]
            name = f"{_plain(kind)} {left[kind]}"
            left[kind] -= 1
        else:
            name = f"{_plain(thing)} "
        names[thing] = {
            "id": thing,
            "name": name,
            "type": kinds[thing],
            "definite": "the",
            "indefinite": "a",
        }
    return names


def _plain(word: str) -> str:
    for mangled, character in (("_minus_", "-"), ("_plus_", "+"), ("_dot_", "."), ("_comma_", ",")):
        word = word.replace(mangled, character)
    return word


class _Schema:
    """An action of the domain in one game."""

    def __init__(self, action: Action, things: Things, indexes: Indexes) -> None:
        self.action = action
        self._count = len(action.parameters)
        self._joins = [Join(things, indexes, action.parameters, branch) for branch in action.branches]
        self._effects = [_GroundEffects(effect, action, things, indexes) for effect in action.effects]
        self._always = [effect for effect in self._effects if effect.effect.when is None]
        self._may_idle = [_may_idle(action, join) for join in self._joins]

    def things(self, state: State) -> Iterator[tuple[str, ...]]:
        """Yield what the parameters can stand for; a move that would change nothing is not a move."""
        for join, may_idle in zip(self._joins, self._may_idle, strict=True):
            for values in join.all(state):
                if not may_idle or not self._idles(join, values, state):
                    yield tuple(values[: self._count])

    def _idles(self, join: Join, values: list[str], state: State) -> bool:
        required = {
            join.ground(literal._replace(positive=True), values): literal.positive
            for literal in join.literals
        }
        changes = dict(self._changes(tuple(values[: self._count])))
        return len(self._always) == len(self._effects) and all(
            required.get(fact) is present
            or (not present and fact not in state.facts and fact not in required)
            for fact, present in changes.items()
        )

    def _changes(self, things: tuple[str, ...]) -> Iterator[tuple[Fact, bool]]:
        """Yield what changes in any case; what both ceases and comes to hold comes to hold."""
        facts = [(fact, e.effect.literal.positive) for e in self._always for fact in e.facts(things)]
        gained = {fact for fact, present in facts if present}
        yield from (
            (fact, present) for fact, present in dict.fromkeys(facts) if present or fact not in gained
        )

    def move(self, things: tuple[str, ...], rules: Rules, indexes: Indexes) -> Move:
        changes = tuple(self._changes(things))
        cases = tuple(case for e in self._effects if e.effect.when is not None for case in e.cases(things))
        shown: list[tuple[Fact, bool]] = []
        sure = {fact for fact, present in changes if present}
        every = [*changes, *((fact, present) for _, _, fact, present in cases if fact not in sure)]
        for fact, present in sorted(set(every), key=lambda change: not change[1]):
            name, *rest = fact
            if name in rules.forked:
                shown.append(((_SHOWN + name, *rest), present))
                shown.append(((f"{_SHOWN}{_NOT}{name}", *rest), not present))
            else:
                shown.append(((_NOT + name, *rest), not present))
        shown = [(fact, present) for fact, present in shown if indexes.reads(fact[0])]
        return Move(self.action.name, things, changes, cases, tuple(shown))


def _may_idle(action: Action, join: Join) -> bool:
    """Return whether all that an action does might already be so by its precondition."""
    required = {literal.predicate for literal in join.literals if literal.positive}
    return not any(
        e.literal.positive and e.when is None and e.literal.predicate not in required for e in action.effects
    )


class _GroundEffects:
    """An effect of an action in one game."""

    def __init__(self, effect: Effect, action: Action, things: Things, indexes: Indexes) -> None:
        self.effect = effect
        self._state = State(Indexes(), (), {})
        variables = (*action.parameters, *effect.variables)
        self._count = len(action.parameters)
        self._each = Join(things, indexes, variables, Branch(), self._count)
        self._when = [
            Join(things, indexes, variables, branch, len(variables)) for branch in effect.when or ()
        ]

    def _values(self, things: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for values in self._each.all(self._state, things):
            yield tuple(values)

    def facts(self, things: tuple[str, ...]) -> Iterator[Fact]:
        literal = self.effect.literal._replace(positive=True)
        for values in self._values(things):
            yield self._each.ground(literal, values)

    def cases(self, things: tuple[str, ...]) -> Iterator[tuple[Join, tuple[str, ...], Fact, bool]]:
        literal = self.effect.literal._replace(positive=True)
        for values in self._values(things):
            fact = self._each.ground(literal, values)
            for join in self._when:
                yield join, values, fact, self.effect.literal.positive
