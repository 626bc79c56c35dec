"""Put texts together as TextWorld does: the same versions, the same queries, lists in the same order."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn, TypeAlias

from rla_envs.alfworld.native.grammar import Call, Each, Grammar, Predicate, Query, Rule, Symbols, Text, Word
from rla_envs.alfworld.native.pddl import ROOT, Domain
from rla_envs.alfworld.native.state import Fact, Positions, State
from rla_envs.errors import InvalidTaskError

Placeholder: TypeAlias = tuple[str, str]
"""A name and a type."""

Scope: TypeAlias = dict[Placeholder, str]
"""What each placeholder stands for. Among placeholders of one name the last counts in expressions."""

Lookup: TypeAlias = Callable[[State, str, Positions, tuple[str, ...]], Sequence[Fact]]
"""Facts of a predicate with given things at given positions, sorted."""

LIST_RULES = ("list_empty", "list_separator", "list_last_separator")
_MAX_DEPTH = 100


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


class Checker:
    """Goes through all texts that a game can show, before it starts.

    Args:
        grammar: The texts.
        types: The types of the domain.
        needs: Told which facts the texts look up: a predicate, the positions
            that are known, and how many there are.
    """

    def __init__(self, grammar: Grammar, types: Types, needs: Callable[[str, Positions, int], None]) -> None:
        """Start with nothing checked."""
        self._grammar = grammar
        self._types = types
        self._needs = needs
        self._done: set[tuple[str, frozenset[Placeholder]]] = set()

    def symbols(self, symbols: Symbols, scope: frozenset[Placeholder], where: str) -> None:
        """Check a text in which these placeholders stand for something.

        Raises:
            InvalidTaskError: If it uses a rule, a type or a name that is not
                there; it names the rule.
        """
        for symbol in symbols:
            if isinstance(symbol, Call):
                self._rule(symbol.rule, scope, where)
            elif isinstance(symbol, Each):
                inner = self._query(symbol.query or (), scope, where)
                if isinstance(symbol.symbol, Call):
                    self._rule(symbol.symbol.rule, inner, where)
                else:
                    self._word(symbol.symbol, inner, where)
                if symbol.listed:
                    for rule in LIST_RULES:
                        self._rule(rule, scope, where)

    def depends(
        self, symbols: Symbols, scope: frozenset[Placeholder], seen: frozenset[str] = frozenset()
    ) -> frozenset[Placeholder]:
        """Return the placeholders of a scope that can make a difference to a text.

        They all can if a query introduces another one, which must not stand for
        any thing that one of them stands for.
        """
        found: set[Placeholder] = set()
        for symbol in symbols:
            if isinstance(symbol, Each):
                query = symbol.query or ()
                if any(not scope.issuperset(predicate.arguments) for predicate in query):
                    return scope
                found.update(*(predicate.arguments for predicate in query))
                if isinstance(symbol.symbol, Word):
                    parts = [part for option in symbol.symbol.alternatives for part in option]
                    names = {part[0] for part in parts if not isinstance(part, str)}
                    found.update(p for p in scope if p[0] in names)
            for name in _called(symbol):
                if name not in seen:
                    for rule in self._grammar.rules[name]:
                        if not scope.issuperset(a for p in rule.condition or () for a in p.arguments):
                            return scope
                        found.update(a for p in rule.condition or () for a in p.arguments)
                        found |= self.depends(rule.symbols, scope, seen | {name})
        return frozenset(found)

    def _word(self, word: Word, scope: frozenset[Placeholder], where: str) -> None:
        names = {name for name, _ in scope}
        for part in (part for option in word.alternatives for part in option):
            if not isinstance(part, str) and part[0] not in names:
                _refuse(where, f"nothing is called {part[0]!r} here")

    def _rule(self, name: str, scope: frozenset[Placeholder], where: str) -> None:
        if (name, scope) in self._done:
            return
        self._done.add((name, scope))
        if name not in self._grammar.rules:
            _refuse(where, f"there is no text rule {name!r}")
        for rule in self._grammar.rules[name]:
            self._query(rule.condition or (), scope, f"text rule {name!r}")
            self.symbols(rule.symbols, scope, f"text rule {name!r}")

    def _query(self, query: Query, scope: frozenset[Placeholder], where: str) -> frozenset[Placeholder]:
        for predicate in query:
            unknown = next((kind for _, kind in predicate.arguments if kind not in self._types), None)
            if unknown is not None:
                _refuse(where, f"unknown type {unknown!r}")
            self._needs(predicate.name, known_positions(predicate, scope), len(predicate.arguments))
            scope = scope | frozenset(predicate.arguments)
        return scope


def _called(symbol: Text | Call | Each) -> Iterator[str]:
    """Yield the rules that a symbol calls."""
    if isinstance(symbol, Call):
        yield symbol.rule
    elif isinstance(symbol, Each):
        if isinstance(symbol.symbol, Call):
            yield symbol.symbol.rule
        if symbol.listed:
            yield from LIST_RULES


def known_positions(predicate: Predicate, scope: frozenset[Placeholder] | Scope) -> Positions:
    """Return the positions of the arguments that stand for something."""
    return tuple([i for i, placeholder in enumerate(predicate.arguments) if placeholder in scope])


class Writer:
    """Writes texts for one game.

    Args:
        grammar: The texts.
        types: The types of the domain.
        kinds: The type of each object.
        names: What the texts may say of each thing.
        lookup: Finds facts.
    """

    def __init__(
        self,
        grammar: Grammar,
        types: Types,
        kinds: Mapping[str, str],
        names: Mapping[str, Mapping[str, str]],
        lookup: Lookup,
    ) -> None:
        """Keep what is needed."""
        self._grammar = grammar
        self._types = types
        self._kinds = kinds
        self._names = names
        self._lookup = lookup

    def write(self, symbols: Symbols, scope: Scope, state: State, depth: int = 0) -> str:
        """Return a text."""
        return "".join([self._symbol(symbol, scope, state, depth) for symbol in symbols])

    def _symbol(self, symbol: Text | Call | Each, scope: Scope, state: State, depth: int) -> str:
        if isinstance(symbol, Text):
            return symbol.text
        if isinstance(symbol, Call):
            return self._call(symbol.rule, scope, state, depth)
        scopes = [scope] if symbol.query is None else list(self._assignments(symbol.query, scope, state))
        item = symbol.symbol
        if isinstance(item, Call):
            texts = [self._call(item.rule, inner, state, depth) for inner in scopes]
        else:
            texts = [self._word(item, inner) for inner in scopes]
        return self._listed(texts, scope, state, depth) if symbol.listed else "".join(texts)

    def _listed(self, texts: list[str], scope: Scope, state: State, depth: int) -> str:
        empty, separator, last = LIST_RULES
        if not texts:
            return self._call(empty, scope, state, depth)
        if len(texts) == 1:
            return texts[0]
        return (
            self._call(separator, scope, state, depth).join(texts[:-1])
            + self._call(last, scope, state, depth)
            + texts[-1]
        )

    def _call(self, name: str, scope: Scope, state: State, depth: int) -> str:
        if depth > _MAX_DEPTH:
            _refuse(f"text rule {name!r}", "the rule goes round in circles")
        rule = next((r for r in self._grammar.rules[name] if self._applies(r, scope, state)), None)
        if rule is None:
            _refuse(f"text rule {name!r}", "no version of the text fits")
        return self.write(rule.symbols, scope, state, depth + 1)

    def _applies(self, rule: Rule, scope: Scope, state: State) -> bool:
        return (
            rule.condition is None or next(self._assignments(rule.condition, scope, state), None) is not None
        )

    def _word(self, word: Word, scope: Scope) -> str:
        things = {name: thing for (name, _), thing in scope.items()}
        text = ""
        for option in word.alternatives:
            text = "".join([x if isinstance(x, str) else self._told(things[x[0]], x[1]) for x in option])
            if text:
                break
        return text

    def _told(self, thing: str, attribute: str) -> str:
        if thing not in self._names:
            _refuse("text grammar", f"no fact mentions {thing!r} at the start, so it has no name")
        return self._names[thing][attribute]

    def _assignments(self, query: Query, scope: Scope, state: State) -> Iterator[Scope]:
        """Yield each way a query holds; different new placeholders stand for different things."""
        yield from self._extended(query, 0, dict(scope), set(scope.values()), state)

    def _extended(self, query: Query, at: int, scope: Scope, used: set[str], state: State) -> Iterator[Scope]:
        if at == len(query):
            yield dict(scope)
            return
        predicate = query[at]
        new = [p for p in dict.fromkeys(predicate.arguments) if p not in scope]
        for fact in self._facts(predicate, scope, state):
            values = dict(zip(predicate.arguments, fact, strict=True))
            found = [values[placeholder] for placeholder in new]
            agrees = all(values[p] == thing for p, thing in zip(predicate.arguments, fact, strict=True))
            if agrees and len(set(found)) == len(found) and used.isdisjoint(found):
                scope.update(zip(new, found, strict=True))
                yield from self._extended(query, at + 1, scope, used.union(found), state)
                for placeholder in new:
                    del scope[placeholder]

    def _facts(self, predicate: Predicate, scope: Scope, state: State) -> Sequence[Fact]:
        positions = known_positions(predicate, scope)
        values = tuple([scope[predicate.arguments[i]] for i in positions])
        facts = self._lookup(state, predicate.name, positions, values)
        facts = [fact for fact in facts if len(fact) == len(predicate.arguments)]
        signatures = self._types.signatures(tuple([kind for _, kind in predicate.arguments]))
        by_signature: dict[tuple[str, ...], list[Fact]] = {}
        for fact in facts:
            by_signature.setdefault(tuple([self._kinds[thing] for thing in fact]), []).append(fact)
        return [fact for signature in signatures for fact in by_signature.get(signature, ())]
