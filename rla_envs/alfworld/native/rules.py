"""What games with the same PDDL domain and text grammar have in common, compiled once."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from rla_envs.alfworld.native.grammar import read_grammar, read_symbols
from rla_envs.alfworld.native.pddl import Domain, read_domain
from rla_envs.alfworld.native.texts import Compiler, Parts, Scope, Stored, Types
from rla_envs.alfworld.native.things import Picker, Positions, picker
from rla_envs.errors import InvalidTaskError

SHOWN, NOT = "shown ", "not_"


def _refuse(where: str, what: str) -> NoReturn:
    raise InvalidTaskError(f"{where}: {what}")


class Told(NamedTuple):
    """The compiled texts of an action.

    Attributes:
        scope: The placeholders in them: the action's parameters.
        telling: Picks the things that can make a difference to the command.
        settled: Whether the command is always the same in a game.
        command: What the action is called.
        feedback: What is said when it is done.
    """

    scope: Scope
    telling: Picker
    settled: bool
    command: Parts
    feedback: Parts


@dataclass(frozen=True, eq=False)
class Rules:
    """What games with the same domain and grammar share.

    Attributes:
        domain: The domain.
        changing: Predicates that some action changes.
        forked: Predicates that some action changes only under a condition. TextWorld shows such
            changes whether or not the condition held, so what it shows is kept apart from what holds.
        needs: Predicates and positions that the texts look up and that can change.
        intro: The text at the start.
        told: The texts of each action.
    """

    domain: Domain
    changing: frozenset[str]
    forked: frozenset[str]
    needs: tuple[tuple[str, Positions], ...]
    intro: Parts
    told: dict[str, Told]


@functools.lru_cache(maxsize=32)
def _domain(text: str) -> Domain:
    return read_domain(text)


@functools.lru_cache(maxsize=32)
def compile_rules(domain_text: str, grammar_text: str, goal_removed: bool) -> Rules:
    """Compile a domain and a grammar.

    Args:
        domain_text: The domain.
        grammar_text: The grammar.
        goal_removed: Whether the goal's text is not in the grammar, and is up to each game.

    Raises:
        InvalidTaskError: If something in them is malformed or not supported.
    """
    domain, grammar = _domain(domain_text), read_grammar(grammar_text)
    for name in domain.arity:
        if name.startswith(NOT):
            _refuse(f"PDDL predicate {name}", f"a name that starts with {NOT!r} is not supported")
    effects = [effect for action in domain.actions.values() for effect in action.effects]
    changing = frozenset(effect.literal.predicate for effect in effects)
    forked = frozenset(effect.literal.predicate for effect in effects if effect.when is not None)
    needs: dict[tuple[str, Positions], None] = {}

    def stored(name: str, positions: Positions, count: int) -> Stored | None:
        predicate = name.removeprefix(NOT)
        arity = domain.arity.get(predicate)
        if arity is not None and arity != count:
            _refuse("text grammar", f"predicate {predicate} takes {arity} arguments, got {count}")
        if predicate not in changing:
            return Stored(name, False) if arity is not None and predicate == name else None
        kept = f"{SHOWN}{name}" if predicate in forked else name
        needs[kept, positions] = None
        return Stored(kept, True)

    compiler = Compiler(grammar, Types(domain), stored, goal_removed)
    intro = compiler.text(read_symbols("#intro#", "the intro"), (), "the intro")
    told = {}
    for action in domain.actions.values():
        where = f"text of action {action.name}"
        if action.name not in grammar.actions:
            _refuse(where, "it is missing from the text grammar")
        scope = tuple((name.strip("?"), kind) for name, kind in action.parameters)
        texts = grammar.actions[action.name]
        command, feedback = (compiler.text(text, scope, where) for text in texts)
        tells = compiler.depends(texts.command, scope)
        told[action.name] = Told(
            scope,
            picker([i for i, placeholder in enumerate(scope) if placeholder in tells]),
            all(asked.name.removeprefix(NOT) not in changing for asked in compiler.asks(texts.command)),
            command,
            feedback,
        )
    return Rules(domain, changing, forked, tuple(needs), intro, told)


_TASK = re.compile(r'("task"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*")([\w (),.\':-]*)("\s*\}\s*\])', re.ASCII)
"""The rule that tells the goal, when it is plain text."""


def without_goal(grammar: str) -> tuple[str, str | None]:
    """Return a grammar without its goal's text, and that text; the whole and None if it is not plain.

    Games of one data set differ in this text alone.
    """
    found = _TASK.match(grammar, grammar.find('"task"'))
    if found is None or grammar.count('"task"') > 1:
        return grammar, None
    return grammar[: found.start(2)] + grammar[found.end(2) :], found[2].lstrip(" ")
