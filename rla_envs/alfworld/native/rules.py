"""What games with the same PDDL domain and text grammar have in common, compiled once."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import NoReturn

from rla_envs.alfworld.native.grammar import Grammar, read_grammar, read_symbols
from rla_envs.alfworld.native.pddl import Domain, read_domain
from rla_envs.alfworld.native.state import Positions
from rla_envs.alfworld.native.texts import Checker, Types
from rla_envs.errors import InvalidTaskError

INTRO = "#intro#"
SHOWN, NOT = "shown ", "not_"


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
        telling: For each action, the positions of those that can make a difference to its command.
    """

    domain: Domain
    grammar: Grammar
    types: Types
    changing: frozenset[str]
    forked: frozenset[str]
    shown: dict[str, str]
    needs: tuple[tuple[str, Positions], ...]
    scopes: dict[str, tuple[tuple[str, str], ...]]
    telling: dict[str, Positions]


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
        if name.startswith(NOT):
            _refuse(f"PDDL predicate {name}", f"a name that starts with {NOT!r} is not supported")
    effects = [effect for action in domain.actions.values() for effect in action.effects]
    changing = frozenset(effect.literal.predicate for effect in effects)
    forked = frozenset(effect.literal.predicate for effect in effects if effect.when is not None)
    types = Types(domain)
    shown: dict[str, str] = {}
    needs: dict[tuple[str, Positions], None] = {}

    def need(name: str, positions: Positions, count: int) -> None:
        predicate = name.removeprefix(NOT)
        arity = domain.arity.get(predicate)
        if arity is not None and arity != count:
            _refuse("text grammar", f"predicate {predicate} takes {arity} arguments, got {count}")
        if predicate not in changing:
            if arity is not None and predicate == name:
                shown[name] = name
            return
        shown[name] = f"{SHOWN}{name}" if predicate in forked else name
        needs[shown[name], positions] = None

    checker = Checker(grammar, types, need)
    checker.symbols(read_symbols(INTRO, "the intro"), frozenset(), "the intro")
    scopes, telling = {}, {}
    for action in domain.actions.values():
        where = f"text of action {action.name}"
        if action.name not in grammar.actions:
            _refuse(where, "it is missing from the text grammar")
        scope = tuple((name.strip("?"), kind) for name, kind in action.parameters)
        scopes[action.name] = scope
        texts = grammar.actions[action.name]
        checker.symbols(texts.command, frozenset(scope), where)
        checker.symbols(texts.feedback, frozenset(scope), where)
        tells = checker.depends(texts.command, frozenset(scope))
        telling[action.name] = tuple([i for i, placeholder in enumerate(scope) if placeholder in tells])
    return Rules(domain, grammar, types, changing, forked, shown, tuple(needs), scopes, telling)


_TASK = re.compile(r'("task"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*")([\w (),.\':-]*)("\s*\}\s*\])', re.ASCII)
"""The rule that tells the goal, when it is plain text."""


def without_goal(grammar: str) -> tuple[str, str | None]:
    """Return a grammar without its goal's text, and that text; the whole and None if it is not plain.

    Games of one data set differ in this text alone.
    """
    found = _TASK.findall(grammar)
    if len(found) != 1:
        return grammar, None
    return _TASK.sub(r"\1\3", grammar), found[0][1]
