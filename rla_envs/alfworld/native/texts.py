"""Put texts together as TextWorld does: the same versions, the same queries, lists in the same order.

Which placeholders stand for something where a text is used is known beforehand,
so every rule is compiled once for each such scope, and checked on the way.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, NoReturn, TypeAlias

from rla_envs.alfworld.native.grammar import Call, Each, Grammar, Predicate, Query, Symbols, Text, Word
from rla_envs.alfworld.native.pddl import ROOT, Domain
from rla_envs.alfworld.native.state import State
from rla_envs.alfworld.native.things import Fact, Picker, Positions, Things, picker
from rla_envs.errors import InvalidTaskError

Placeholder: TypeAlias = tuple[str, str]
"""A name and a type."""

Scope: TypeAlias = tuple[Placeholder, ...]
"""The placeholders that stand for something. Of those with one name the last counts in expressions."""

Values: TypeAlias = tuple[str, ...]
"""What the placeholders of a scope stand for."""

LIST_RULES = ("list_empty", "list_separator", "list_last_separator")
GOAL_RULE = "task"


def _refuse(rule: str, what: str) -> NoReturn:
    raise InvalidTaskError(f"{rule}: {what}")


class Types:
    """Which types a query's placeholder accepts, in TextWorld's order.

    TextWorld counts every descendant as a child, so that with types over more
    than two levels some come more than once; so they do here.
    """

    def __init__(self, domain: Domain) -> None:
        """List the descendants of each type."""
        self._below: dict[str, list[str]] = {ROOT: []}
        for name in domain.parents:
            self._below.setdefault(name, [])
            above = name
            while above != ROOT:
                above = domain.parents[above]
                self._below.setdefault(above, []).append(name)
        for names in self._below.values():
            names.sort()
        self.signatures = functools.cache(self._signatures)

    def __contains__(self, kind: str) -> bool:
        """Return whether a type is declared."""
        return kind in self._below

    def _signatures(self, kinds: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        seen: set[tuple[str, ...]] = set()
        queue = deque(self._more_special(kinds))
        result = [kinds]
        while queue:
            item = queue.popleft()
            result.append(item)
            for special in self._more_special(item):
                if special not in seen:
                    seen.add(special)
                    queue.append(special)
        return tuple(result)

    def _more_special(self, kinds: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for i, kind in enumerate(kinds):
            for below in self._below[kind]:
                yield (*kinds[:i], below, *kinds[i + 1 :])


_ARTICLES = {"definite": "the", "indefinite": "a"}


class Writer(NamedTuple):
    """What a text needs to know of a game.

    Attributes:
        things: The game's objects and unchanging facts.
        names: The name of each thing that has one.
        goal: The goal's text, if the grammar was compiled without one.
    """

    things: Things
    names: Mapping[str, str]
    goal: str

    def told(self, thing: str, attribute: str) -> str:
        """Return what may be said of a thing."""
        name = self.names.get(thing)
        if name is None:
            _refuse("text grammar", f"no fact mentions {thing!r} at the start, so it has no name")
        if attribute == "name":
            return name
        if attribute in _ARTICLES:
            return _ARTICLES[attribute]
        return thing if attribute == "id" else self.things.kinds[thing]


Part: TypeAlias = str | Callable[[Writer, Values, State], str]
Parts: TypeAlias = tuple[Part, ...]
"""A compiled text."""


def write(parts: Parts, writer: Writer, values: Values, state: State) -> str:
    """Return a text in a game and a state."""
    return "".join([part if isinstance(part, str) else part(writer, values, state) for part in parts])


class Stored(NamedTuple):
    """Where the facts are that a text looks up: under which predicate, and whether they can change."""

    predicate: str
    changing: bool


class _Step(NamedTuple):
    """One predicate of a query: where to look, what it tells, and which kinds of things it accepts."""

    stored: Stored
    positions: Positions
    known: Picker
    new: Picker
    same: tuple[tuple[int, int], ...]
    signatures: tuple[tuple[str, ...], ...]

    def facts(self, writer: Writer, values: Values, state: State) -> Sequence[Fact]:
        """Return the facts that fit, in TextWorld's order: by the types of their things, then by these."""
        predicate, changing = self.stored
        facts: Sequence[Fact]
        if changing:
            facts = state.read((predicate, self.positions, self.known(values))).facts
        else:
            facts = writer.things.fixed(predicate, self.positions, self.known(values))
        if not facts:
            return facts
        kinds = writer.things.kinds
        signature = tuple([kinds[thing] for thing in facts[0]])
        if len(facts) == 1 or all(tuple([kinds[thing] for thing in fact]) == signature for fact in facts):
            count = self.signatures.count(signature)
            return facts if count == 1 else [*facts] * count
        by_signature: dict[tuple[str, ...], list[Fact]] = {}
        for fact in facts:
            by_signature.setdefault(tuple([kinds[thing] for thing in fact]), []).append(fact)
        return [fact for signature in self.signatures for fact in by_signature.get(signature, ())]


_Query: TypeAlias = tuple[_Step, ...] | None
"""A compiled query; None if it can never hold."""


def _found(query: _Query, writer: Writer, values: Values, state: State) -> list[Values]:
    """Return each way a query holds; different new placeholders stand for different things."""
    ways = [] if query is None else [values]
    for step in query or ():
        longer = []
        for way in ways:
            for fact in step.facts(writer, way, state):
                if step.same and any(fact[i] != fact[j] for i, j in step.same):
                    continue
                found = step.new(fact)
                if not found or len({*found, *way}) == len(found) + len({*way}):
                    longer.append(way + found)
        ways = longer
    return ways


class Compiler:
    """Compiles the texts of a grammar.

    Args:
        grammar: The texts.
        types: The types of the domain.
        stored: Tells where facts are, from a predicate, the positions that are
            known and how many there are; None if there never are any.
        without_goal: Whether the goal's text was taken out of the grammar.
    """

    def __init__(
        self,
        grammar: Grammar,
        types: Types,
        stored: Callable[[str, Positions, int], Stored | None],
        without_goal: bool,
    ) -> None:
        """Start with nothing compiled."""
        self._grammar = grammar
        self._types = types
        self._stored = stored
        self._without_goal = without_goal
        self._rules: dict[tuple[str, Scope], list[tuple[_Query, Parts]]] = {}
        self._open: set[tuple[str, Scope]] = set()

    def text(self, symbols: Symbols, scope: Scope, where: str) -> Parts:
        """Compile a text for a scope.

        Raises:
            InvalidTaskError: If it uses a rule, a type or a name that is not
                there, or goes round in circles; it names the rule.
        """
        return tuple([self._part(symbol, scope, where) for symbol in symbols])

    def _part(self, symbol: Text | Call | Each, scope: Scope, where: str) -> Part:
        if isinstance(symbol, Text):
            return symbol.text
        if isinstance(symbol, Call):
            return self._rule(symbol.rule, scope, where)
        query, inner = self._query(symbol.query or (), scope, where)
        if isinstance(symbol.symbol, Call):
            item = self._rule(symbol.symbol.rule, inner, where)
        else:
            item = self._word(symbol.symbol, inner, where)
        if symbol.listed:
            return self._list(item, query, [self._rule(rule, scope, where) for rule in LIST_RULES])
        if not query:
            return item if query is not None else ""
        return lambda writer, values, state: "".join(
            [item(writer, way, state) for way in _found(query, writer, values, state)]
        )

    @staticmethod
    def _list(item: _Function, query: _Query, rules: list[_Function]) -> _Function:
        empty, separator, last = rules

        def written(writer: Writer, values: Values, state: State) -> str:
            texts = [item(writer, way, state) for way in _found(query, writer, values, state)]
            if not texts:
                return empty(writer, values, state)
            if len(texts) == 1:
                return texts[0]
            return separator(writer, values, state).join(texts[:-1]) + last(writer, values, state) + texts[-1]

        return written

    def _rule(self, name: str, scope: Scope, where: str) -> _Function:
        if name == GOAL_RULE and self._without_goal:
            return lambda writer, values, state: writer.goal
        versions = self._rules.get((name, scope))
        if versions is None:
            versions = self._rules[name, scope] = []
            self._open.add((name, scope))
            if name not in self._grammar.rules:
                _refuse(where, f"there is no text rule {name!r}")
            here = f"text rule {name!r}"
            for rule in self._grammar.rules[name]:
                query, _ = self._query(rule.condition or (), scope, here)
                versions.append((query, self.text(rule.symbols, scope, here)))
            self._open.discard((name, scope))
        elif (name, scope) in self._open:
            _refuse(f"text rule {name!r}", "the rule goes round in circles")
        chosen = versions

        def written(writer: Writer, values: Values, state: State) -> str:
            for query, parts in chosen:
                if query == () or _found(query, writer, values, state):
                    return write(parts, writer, values, state)
            _refuse(f"text rule {name!r}", "no version of the text fits")

        return written

    def _word(self, word: Word, scope: Scope, where: str) -> _Function:
        places = {name: place for place, (name, _) in enumerate(scope)}
        options = []
        for alternative in word.alternatives:
            unknown = next((x[0] for x in alternative if not isinstance(x, str) and x[0] not in places), None)
            if unknown is not None:
                _refuse(where, f"nothing is called {unknown!r} here")
            options.append([x if isinstance(x, str) else (places[x[0]], x[1]) for x in alternative])
        if len(options) == 1 and len(options[0]) == 1 and not isinstance(options[0][0], str):
            place, attribute = options[0][0]
            return lambda writer, values, state: writer.told(values[place], attribute)

        def written(writer: Writer, values: Values, state: State) -> str:
            text = ""
            for option in options:
                text = "".join([x if isinstance(x, str) else writer.told(values[x[0]], x[1]) for x in option])
                if text:
                    break
            return text

        return written

    def _query(self, query: Query, scope: Scope, where: str) -> tuple[_Query, Scope]:
        """Compile a query; return also the scope with the placeholders that it introduces."""
        steps: list[_Step] | None = []
        for predicate in query:
            unknown = next((kind for _, kind in predicate.arguments if kind not in self._types), None)
            if unknown is not None:
                _refuse(where, f"unknown type {unknown!r}")
            known = {placeholder: place for place, placeholder in enumerate(scope)}
            new: dict[Placeholder, int] = {}
            same = []
            for i, placeholder in enumerate(predicate.arguments):
                if placeholder in new:
                    same.append((new[placeholder], i))
                elif placeholder not in known:
                    new[placeholder] = i
            positions = tuple([i for i, p in enumerate(predicate.arguments) if p in known])
            stored = self._stored(predicate.name, positions, len(predicate.arguments))
            if stored is None:
                steps = None
            elif steps is not None:
                sources = picker([known[predicate.arguments[i]] for i in positions])
                tells = picker([*new.values()])
                signatures = self._types.signatures(tuple([kind for _, kind in predicate.arguments]))
                steps.append(_Step(stored, positions, sources, tells, tuple(same), signatures))
            scope = (*scope, *new)
        return None if steps is None else tuple(steps), scope

    def depends(
        self, symbols: Symbols, scope: Scope, seen: frozenset[str] = frozenset()
    ) -> frozenset[Placeholder]:
        """Return the placeholders of a scope that can make a difference to a text.

        They all can if a query introduces another one, which must not stand for
        any thing that one of them stands for.
        """
        found: set[Placeholder] = set()
        for symbol in symbols:
            if isinstance(symbol, Each) and isinstance(symbol.symbol, Word):
                parts = [part for option in symbol.symbol.alternatives for part in option]
                names = {part[0] for part in parts if not isinstance(part, str)}
                found.update(placeholder for placeholder in scope if placeholder[0] in names)
            for name in set(_called(symbol)) - seen:
                for rule in self._grammar.rules[name]:
                    found |= self.depends(rule.symbols, scope, seen | {name})
        asked = {placeholder for predicate in self.asks(symbols) for placeholder in predicate.arguments}
        return frozenset(found | asked) if asked.issubset(scope) else frozenset(scope)

    def asks(self, symbols: Symbols, seen: frozenset[str] = frozenset()) -> Iterator[Predicate]:
        """Yield the predicates of all queries that a text can make."""
        for symbol in symbols:
            if isinstance(symbol, Each):
                yield from symbol.query or ()
            for name in set(_called(symbol)) - seen:
                for rule in self._grammar.rules[name]:
                    yield from rule.condition or ()
                    yield from self.asks(rule.symbols, seen | {name})


_Function: TypeAlias = Callable[[Writer, Values, State], str]


def _called(symbol: Text | Call | Each) -> Iterator[str]:
    """Yield the rules that a symbol calls."""
    if isinstance(symbol, Call):
        yield symbol.rule
    elif isinstance(symbol, Each):
        if isinstance(symbol.symbol, Call):
            yield symbol.symbol.rule
        if symbol.listed:
            yield from LIST_RULES
