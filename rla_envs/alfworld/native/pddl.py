"""Read a PDDL domain or problem, as far as TextWorld's planner understands it.

Words are lower-cased and comments dropped, as that planner does. What it would
read but this engine does not support is refused by name.
"""

from __future__ import annotations

import itertools
import re
import reprlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, TypeAlias

from rla_envs.errors import InvalidTaskError

Tree: TypeAlias = Any
"""A word, or a list of trees."""

ROOT = "object"
"""The type that every object has."""

_TOKEN = re.compile(r"[()]|\?[^\s()?]*|[^\s()?]+")
_COMMENT = re.compile(r";[^\n]*")
_MAX_DEPTH, _MAX_BRANCHES = 60, 64


class Literal(NamedTuple):
    """A predicate over variables (``?x``) and objects, or its negation."""

    predicate: str
    arguments: tuple[str, ...]
    positive: bool = True


class Branch(NamedTuple):
    """One alternative of a condition: for some values of ``variables`` all of it holds.

    Attributes:
        variables: Names and types of the variables that the condition itself introduces.
        literals: What must hold.
        never: Conditions of which no alternative may hold.
    """

    variables: tuple[tuple[str, str], ...] = ()
    literals: tuple[Literal, ...] = ()
    never: tuple[tuple[Branch, ...], ...] = ()


class Effect(NamedTuple):
    """For all values of ``variables``: if ``when`` holds (always, if None), ``literal`` becomes true."""

    variables: tuple[tuple[str, str], ...]
    when: tuple[Branch, ...] | None
    literal: Literal


@dataclass(frozen=True)
class Action:
    """An action schema, its precondition as alternatives."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    branches: tuple[Branch, ...]
    effects: tuple[Effect, ...]


@dataclass(frozen=True)
class Domain:
    """A PDDL domain.

    Attributes:
        name: Its name.
        parents: The parent of each type; :data:`ROOT` has none.
        constants: Types of the objects that every problem has.
        arity: Number of arguments of each predicate.
        actions: By name, in the order of the file.
    """

    name: str
    parents: dict[str, str]
    constants: dict[str, str]
    arity: dict[str, int]
    actions: dict[str, Action]


@dataclass(frozen=True)
class Problem:
    """A PDDL problem: types by object, facts that hold at the start, and the goal as alternatives."""

    objects: dict[str, str]
    facts: tuple[tuple[str, ...], ...]
    goal: tuple[Branch, ...]


def _refuse(where: str, what: str) -> NoReturn:
    raise InvalidTaskError(f"{where}: {what}")


def _short(tree: Tree) -> str:
    return reprlib.repr(tree)


def read_tree(text: str, where: str) -> list[Tree]:
    """Read the one parenthesised expression that a text holds.

    Raises:
        InvalidTaskError: If a parenthesis is missing or too many, or something
            stands outside.
    """
    tree = _sound_tree(text)
    return _checked_tree(text, where) if tree is None else tree


def _sound_tree(text: str) -> list[Tree] | None:
    """Read an expression in which nothing is wrong, many words at a time; None if something is."""
    code = _COMMENT.sub("", text).lower()
    before, *pieces = code.split("(")
    outside: list[Tree] = _words(before)
    stack = [outside]
    for piece in pieces:
        inside, *following = piece.split(")")
        stack.append(_words(inside))
        if len(stack) > _MAX_DEPTH:
            return None
        for words in following:
            if len(stack) == 1:
                return None
            done = stack.pop()
            stack[-1].append(done)
            stack[-1] += _words(words)
    whole = len(stack) == 1 and len(outside) == 1 and isinstance(outside[0], list)
    return outside[0] if whole and code.isascii() else None


def _words(code: str) -> list[str]:
    return _TOKEN.findall(code) if "?" in code else code.split()  # a word ends before a question mark


def _checked_tree(text: str, where: str) -> list[Tree]:
    """Read an expression line by line, to tell where what is wrong."""
    stack: list[list[Tree]] = [[]]
    for number, line in enumerate(text.split("\n"), start=1):
        code = line.split(";", 1)[0].lower()
        if not code.isascii():
            _refuse(where, f"line {number}: expected ASCII outside of comments")
        for token in _TOKEN.findall(code):
            if token == "(":
                stack.append([])
                if len(stack) > _MAX_DEPTH:
                    _refuse(where, f"line {number}: parentheses are nested too deeply")
            elif token == ")":
                if len(stack) == 1:
                    _refuse(where, f"line {number}: unexpected ')'")
                done = stack.pop()
                stack[-1].append(done)
            else:
                stack[-1].append(token)
        if len(stack) == 1 and len(stack[0]) > 1:
            _refuse(where, f"line {number}: expected nothing after the first expression")
    if len(stack) > 1:
        _refuse(where, "a ')' is missing at the end")
    if not stack[0] or not isinstance(stack[0][0], list):
        _refuse(where, "expected an expression in parentheses")
    tree: list[Tree] = stack[0][0]
    return tree


def _typed(items: Tree, where: str) -> list[tuple[str, str]]:
    """Read ``a b - type c``; what has no type is of the root type."""
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        _refuse(where, f"expected a list of names and types, got {_short(items)}")
    result: list[tuple[str, str]] = []
    names: list[str] = []
    rest = iter(items)
    for item in rest:
        if item != "-":
            names.append(item)
            continue
        kind = next(rest, None)
        if kind is None:
            _refuse(where, "expected a type after '-'")
        result += [(name, kind) for name in names]
        names = []
    return result + [(name, ROOT) for name in names]


class _Reader:
    """Reads conditions, effects and actions of one domain; makes the names of quantified variables unique."""

    def __init__(self, arity: dict[str, int], parents: dict[str, str]) -> None:
        self._arity = arity
        self._parents = parents
        self._fresh = itertools.count(1)

    def literal(self, tree: Tree, positive: bool, renamed: dict[str, str], where: str) -> Literal:
        if not isinstance(tree, list) or not tree or not all(isinstance(word, str) for word in tree):
            _refuse(where, f"expected a predicate with arguments, got {_short(tree)}")
        name, *arguments = (str(word) for word in tree)
        if name not in self._arity:
            kind = "a type is used as a predicate" if name in self._parents else "unknown predicate"
            _refuse(where, f"{kind}: {_short(name)}")
        if len(arguments) != self._arity[name]:
            _refuse(where, f"predicate {name} takes {self._arity[name]} arguments, got {len(arguments)}")
        return Literal(name, tuple([renamed.get(a, a) for a in arguments]), positive)

    def condition(self, tree: Tree, where: str) -> tuple[Branch, ...]:
        """Return a condition as alternatives; an empty one always holds."""
        return (Branch(),) if not tree else self._branches(tree, True, {}, where)

    def _branches(
        self, tree: Tree, positive: bool, renamed: dict[str, str], where: str
    ) -> tuple[Branch, ...]:
        if not isinstance(tree, list) or not tree:
            _refuse(where, f"expected a condition, got {_short(tree)}")
        word, *rest = tree
        if word == "not":
            return self._branches(self._only(rest, word, 1, where)[0], not positive, renamed, where)
        if word == "imply":
            left, right = self._only(rest, word, 2, where)
            return self._branches(["or", ["not", left], right], positive, renamed, where)
        if word in ("and", "or"):
            parts = [self._branches(part, positive, renamed, where) for part in rest]
            return _all_of(parts, where) if (word == "and") == positive else _one_of(parts, where)
        if word in ("exists", "forall"):
            listed, body = self._only(rest, word, 2, where)
            variables, inner = self._quantified(listed, renamed, where)
            if (word == "exists") == positive:
                branches = self._branches(body, positive, inner, where)
                return tuple(b._replace(variables=variables + b.variables) for b in branches)
            counter = self._branches(body, not positive, inner, where)
            never = tuple(b._replace(variables=variables + b.variables) for b in counter)
            return (Branch(never=(never,)),)
        return (Branch(literals=(self.literal(tree, positive, renamed, where),)),)

    @staticmethod
    def _only(rest: list[Tree], word: str, count: int, where: str) -> list[Tree]:
        if len(rest) != count:
            _refuse(where, f"'{word}' takes {count} parts, got {len(rest)}")
        return rest

    def _quantified(
        self, listed: Tree, renamed: dict[str, str], where: str
    ) -> tuple[tuple[tuple[str, str], ...], dict[str, str]]:
        variables = _variables(listed, where)
        inner = {**renamed, **{name: f"{name}#{next(self._fresh)}" for name, _ in variables}}
        return tuple((inner[name], kind) for name, kind in variables), inner

    def effects(self, tree: Tree, where: str) -> Iterator[Effect]:
        """Yield the effects of an action; costs are left out."""
        if not tree:
            return
        yield from self._effects(tree, (), None, {}, where)

    def _effects(
        self,
        tree: Tree,
        variables: tuple[tuple[str, str], ...],
        when: tuple[Branch, ...] | None,
        renamed: dict[str, str],
        where: str,
    ) -> Iterator[Effect]:
        if not isinstance(tree, list) or not tree:
            _refuse(where, f"expected an effect, got {_short(tree)}")
        word, *rest = tree
        if word == "and":
            for part in rest:
                yield from self._effects(part, variables, when, renamed, where)
        elif word == "forall":
            listed, body = self._only(rest, word, 2, where)
            more, inner = self._quantified(listed, renamed, where)
            yield from self._effects(body, variables + more, when, inner, where)
        elif word == "when":
            listed, body = self._only(rest, word, 2, where)
            condition = self._branches(listed, True, renamed, where)
            yield from self._effects(
                body,
                variables,
                condition if when is None else _all_of([when, condition], where),
                renamed,
                where,
            )
        elif word == "increase":
            if self._only(rest, word, 2, where)[0] != ["total-cost"]:
                _refuse(where, f"only (total-cost) can be increased, got {_short(rest[0])}")
        elif word == "not":
            (body,) = self._only(rest, word, 1, where)
            yield Effect(variables, when, self.literal(body, False, renamed, where))
        else:
            yield Effect(variables, when, self.literal(tree, True, renamed, where))

    def action(self, tree: list[Tree]) -> Action:
        name = tree[1] if len(tree) > 1 else None
        if not isinstance(name, str):
            _refuse("PDDL domain", f"expected the name of an action, got {_short(name)}")
        where = f"PDDL action {name}"
        fields = dict(zip(tree[2::2], tree[3::2], strict=False)) if len(tree) % 2 == 0 else None
        order = [":parameters", ":precondition", ":effect"]
        if (
            fields is None
            or [word for word in order if word in fields] != tree[2::2]
            or ":effect" not in fields
        ):
            _refuse(where, "expected :parameters, :precondition and :effect, in this order")
        return Action(
            name,
            _variables(fields.get(":parameters", []), where),
            self.condition(fields.get(":precondition", []), where),
            tuple(self.effects(fields[":effect"], where)),
        )


def _variables(tree: Tree, where: str) -> tuple[tuple[str, str], ...]:
    """Read typed variables.

    Nothing is of a type that is not declared, and that is no error: so in alfworld's
    own ``(?l - location, ?r - receptacle)``, whose first type is ``location,``.
    """
    variables = _typed(tree, where)
    names = [name for name, _ in variables]
    wrong = next((name for name in names if not name.startswith("?") or names.count(name) > 1), None)
    if wrong is not None:
        _refuse(where, f"expected variables with different names, got {_short(wrong)}")
    return tuple(variables)


def _one_of(parts: list[tuple[Branch, ...]], where: str) -> tuple[Branch, ...]:
    branches = tuple(itertools.chain.from_iterable(parts))
    if len(branches) > _MAX_BRANCHES:
        _refuse(where, f"the condition has more than {_MAX_BRANCHES} alternatives")
    return branches


def _all_of(parts: list[tuple[Branch, ...]], where: str) -> tuple[Branch, ...]:
    result: tuple[Branch, ...] = (Branch(),)
    for part in parts:
        result = tuple(
            Branch(left.variables + right.variables, left.literals + right.literals, left.never + right.never)
            for left in result
            for right in part
        )
        if len(result) > _MAX_BRANCHES:
            _refuse(where, f"the condition has more than {_MAX_BRANCHES} alternatives")
    return result


def _sections(tree: list[Tree], kind: str) -> tuple[str, list[list[Tree]]]:
    """Return the name and the parts of ``(define (KIND name) ...)``."""
    where = f"PDDL {kind}"
    head = tree[1] if len(tree) > 1 and tree[0] == "define" else None
    if not isinstance(head, list) or len(head) != 2 or head[0] != kind or not isinstance(head[1], str):
        _refuse(where, f"expected (define ({kind} NAME) ...)")
    for part in tree[2:]:
        if not isinstance(part, list) or not part or not isinstance(part[0], str):
            _refuse(where, f"expected a part such as (:init ...), got {_short(part)}")
    return head[1], tree[2:]


def read_domain(text: str) -> Domain:
    """Read a domain.

    Raises:
        InvalidTaskError: If something in it is malformed or not supported; it
            names the action or part.
    """
    where = "PDDL domain"
    name, parts = _sections(read_tree(text, where), "domain")
    known = (":requirements", ":types", ":constants", ":predicates", ":functions")
    head = {part[0]: part[1:] for part in parts if part[0] in known}
    bodies = [part for part in parts if part[0] not in known]
    if len(head) + len(bodies) != len(parts):
        _refuse(where, "a part occurs twice")
    other = next((part[0] for part in bodies if part[0] != ":action"), None)
    if other is not None:
        _refuse(where, f"{_short(other)} is not supported")
    parents = dict(_typed(head.get(":types", []), where))
    parents.pop(ROOT, None)
    arity = {}
    for entry in head.get(":predicates", []):
        if not isinstance(entry, list) or not entry or not isinstance(entry[0], str):
            _refuse(where, f"expected a predicate, got {_short(entry)}")
        arity[entry[0]] = len(_variables(entry[1:], f"PDDL predicate {entry[0]}"))
    arity["="] = 2
    reader = _Reader(arity, parents)
    actions: dict[str, Action] = {}
    for body in bodies:
        action = reader.action(body)
        if action.name in actions:
            _refuse(f"PDDL action {action.name}", "occurs twice")
        actions[action.name] = action
    _check_parents(parents)
    return Domain(name, parents, dict(_typed(head.get(":constants", []), where)), arity, actions)


def _check_parents(parents: dict[str, str]) -> None:
    for name in parents:
        seen, kind = {name}, parents[name]
        while kind != ROOT:
            if kind not in parents or kind in seen:
                _refuse("PDDL domain", f"type {name} does not descend from {ROOT}")
            seen.add(kind)
            kind = parents[kind]


def read_problem(text: str, domain: Domain) -> Problem:
    """Read a problem of a domain.

    Raises:
        InvalidTaskError: If something in it is malformed, not supported or not
            declared; it names the fact or part.
    """
    where = "PDDL problem"
    _, parts = _sections(read_tree(text, where), "problem")
    fields = {part[0]: part[1:] for part in parts}
    known = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric")
    unknown = next((name for name in fields if name not in known), None)
    if unknown is not None or len(fields) != len(parts):
        _refuse(where, f"{_short(unknown)} is not supported" if unknown else "a part occurs twice")
    if fields.get(":domain") != [domain.name]:
        _refuse(where, f"expected (:domain {domain.name})")
    for name in (":init", ":goal"):
        if name not in fields:
            _refuse(where, f"({name} ...) is missing")
    if len(fields[":goal"]) != 1:
        _refuse(where, "expected one condition in (:goal ...)")
    objects = _objects(_typed(fields.get(":objects", []), where), domain)
    goal = _Reader(domain.arity, domain.parents).condition(fields[":goal"][0], "PDDL goal")
    return Problem(objects, _facts(fields[":init"], objects, domain.arity), goal)


def _objects(listed: list[tuple[str, str]], domain: Domain) -> dict[str, str]:
    objects = dict(domain.constants)
    for name, kind in listed:
        if name in objects:
            _refuse("PDDL objects", f"{_short(name)} occurs twice")
        if kind != ROOT and kind not in domain.parents:
            _refuse("PDDL objects", f"{_short(name)} is of an unknown type {_short(kind)}")
        if "{" in name or "}" in name:
            _refuse("PDDL objects", f"a brace in the name {_short(name)} is not supported")
        objects[name] = kind
    return objects


def _facts(init: list[Tree], objects: dict[str, str], arity: dict[str, int]) -> tuple[tuple[str, ...], ...]:
    """Return the facts; numbers (costs, distances) are left out: no text and no rule depends on them."""
    facts: dict[tuple[str, ...], None] = {}
    denied = set()
    for tree in init:
        if not isinstance(tree, list) or not tree:
            _refuse("PDDL init", f"expected a fact, got {_short(tree)}")
        if _sound(tree, objects, arity):
            facts[tuple(tree)] = None
            continue
        if tree[0] == "=":
            continue
        fact = tree[1] if tree[0] == "not" and len(tree) == 2 and isinstance(tree[1], list) else tree
        if not fact or not all(isinstance(word, str) for word in fact):
            _refuse("PDDL init", f"expected a fact, got {_short(tree)}")
        unknown = next((word for word in fact[1:] if word not in objects), None)
        if unknown is not None:
            _refuse("PDDL init", f"unknown object {_short(unknown)} in {_short(fact)}")
        if arity.get(fact[0]) != len(fact) - 1:
            known = f"takes {arity[fact[0]]} arguments" if fact[0] in arity else "is unknown"
            _refuse("PDDL init", f"predicate {_short(fact[0])} of {_short(fact)} {known}")
        if fact is tree:
            facts[tuple(fact)] = None
        else:
            denied.add(tuple(fact))
    both = next((fact for fact in facts if fact in denied), None)
    if both is not None:
        _refuse("PDDL init", f"{both} both holds and does not")
    return tuple(facts)


def _sound(tree: list[Tree], objects: dict[str, str], arity: dict[str, int]) -> bool:
    """Return whether a tree is a fact with which nothing is wrong."""
    name, *things = tree
    try:
        return arity.get(name) == len(things) and objects.keys() >= {*things} and name != "="
    except TypeError:  # not a word, but a tree
        return False
