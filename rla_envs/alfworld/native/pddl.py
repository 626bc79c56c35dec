"""Read a PDDL domain or problem, as far as TextWorld's planner understands it.

Words are lower-cased and comments dropped, as that planner does. What it would
read but this engine does not support is refused by name.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from rla_envs.alfworld.native.trees import Tree, read_tree, refuse, short

ROOT = "object"
"""The type that every object has."""

_MAX_BRANCHES = 64


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


@dataclass(frozen=True, eq=False)
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
    """A PDDL problem: types by object, what holds at the start, and the goal as alternatives.

    Attributes:
        objects: The type of each object.
        by_predicate: The arguments of the facts that hold at the start, in the order of the file.
        goal: What must hold in the end.
    """

    objects: dict[str, str]
    by_predicate: dict[str, list[tuple[str, ...]]]
    goal: tuple[Branch, ...]

    @functools.cached_property
    def facts(self) -> tuple[tuple[str, ...], ...]:
        """The facts that hold at the start, with their predicates."""
        return tuple((name, *things) for name, facts in self.by_predicate.items() for things in facts)


def _typed(items: Tree, where: str) -> list[tuple[str, str]]:
    """Read ``a b - type c``; what has no type is of the root type."""
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        refuse(where, f"expected a list of names and types, got {short(items)}")
    if items[1::3] == ["-"] * (len(items) // 3) and items.count("-") * 3 == len(items):  # one name a type
        return list(zip(items[::3], items[2::3], strict=True))
    result: list[tuple[str, str]] = []
    names: list[str] = []
    rest = iter(items)
    for item in rest:
        if item != "-":
            names.append(item)
            continue
        kind = next(rest, None)
        if kind is None:
            refuse(where, "expected a type after '-'")
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
            refuse(where, f"expected a predicate with arguments, got {short(tree)}", tree)
        name, *arguments = (str(word) for word in tree)
        if name not in self._arity:
            kind = "a type is used as a predicate" if name in self._parents else "unknown predicate"
            refuse(where, f"{kind}: {short(name)}", tree)
        if len(arguments) != self._arity[name]:
            takes = f"predicate {name} takes {self._arity[name]} arguments, got {len(arguments)}"
            refuse(where, takes, tree)
        return Literal(name, tuple([renamed.get(a, a) for a in arguments]), positive)

    def condition(self, tree: Tree, where: str) -> tuple[Branch, ...]:
        """Return a condition as alternatives; an empty one always holds."""
        return (Branch(),) if not tree else self._branches(tree, True, {}, where)

    def _branches(
        self, tree: Tree, positive: bool, renamed: dict[str, str], where: str
    ) -> tuple[Branch, ...]:
        if not isinstance(tree, list) or not tree:
            refuse(where, f"expected a condition, got {short(tree)}", tree)
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
            refuse(where, f"'{word}' takes {count} parts, got {len(rest)}")
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
            refuse(where, f"expected an effect, got {short(tree)}", tree)
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
                refuse(where, f"only (total-cost) can be increased, got {short(rest[0])}")
        elif word == "not":
            (body,) = self._only(rest, word, 1, where)
            yield Effect(variables, when, self.literal(body, False, renamed, where))
        else:
            yield Effect(variables, when, self.literal(tree, True, renamed, where))

    def action(self, tree: list[Tree]) -> Action:
        name = tree[1] if len(tree) > 1 else None
        if not isinstance(name, str):
            refuse("PDDL domain", f"expected the name of an action, got {short(name)}")
        where = f"PDDL action {name}"
        fields = dict(zip(tree[2::2], tree[3::2], strict=False)) if len(tree) % 2 == 0 else None
        order = [":parameters", ":precondition", ":effect"]
        if (
            fields is None
            or [word for word in order if word in fields] != tree[2::2]
            or ":effect" not in fields
        ):
            refuse(where, "expected :parameters, :precondition and :effect, in this order")
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
        refuse(where, f"expected variables with different names, got {short(wrong)}")
    return tuple(variables)


def _one_of(parts: list[tuple[Branch, ...]], where: str) -> tuple[Branch, ...]:
    branches = tuple(itertools.chain.from_iterable(parts))
    if len(branches) > _MAX_BRANCHES:
        refuse(where, f"the condition has more than {_MAX_BRANCHES} alternatives")
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
            refuse(where, f"the condition has more than {_MAX_BRANCHES} alternatives")
    return result


def _sections(tree: list[Tree], kind: str) -> tuple[str, list[list[Tree]]]:
    """Return the name and the parts of ``(define (KIND name) ...)``."""
    where = f"PDDL {kind}"
    head = tree[1] if len(tree) > 1 and tree[0] == "define" else None
    if not isinstance(head, list) or len(head) != 2 or head[0] != kind or not isinstance(head[1], str):
        refuse(where, f"expected (define ({kind} NAME) ...)")
    for part in tree[2:]:
        if not isinstance(part, list) or not part or not isinstance(part[0], str):
            refuse(where, f"expected a part such as (:init ...), got {short(part)}")
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
        refuse(where, "a part occurs twice")
    other = next((part[0] for part in bodies if part[0] != ":action"), None)
    if other is not None:
        refuse(where, f"{short(other)} is not supported")
    parents = dict(_typed(head.get(":types", []), where))
    parents.pop(ROOT, None)
    arity = {}
    for entry in head.get(":predicates", []):
        if not isinstance(entry, list) or not entry or not isinstance(entry[0], str):
            refuse(where, f"expected a predicate, got {short(entry)}")
        arity[entry[0]] = len(_variables(entry[1:], f"PDDL predicate {entry[0]}"))
    arity["="] = 2
    reader = _Reader(arity, parents)
    actions: dict[str, Action] = {}
    for body in bodies:
        action = reader.action(body)
        if action.name in actions:
            refuse(f"PDDL action {action.name}", "occurs twice")
        actions[action.name] = action
    _check_parents(parents)
    return Domain(name, parents, dict(_typed(head.get(":constants", []), where)), arity, actions)


def _check_parents(parents: dict[str, str]) -> None:
    for name in parents:
        seen, kind = {name}, parents[name]
        while kind != ROOT:
            if kind not in parents or kind in seen:
                refuse("PDDL domain", f"type {name} does not descend from {ROOT}")
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
        refuse(where, f"{short(unknown)} is not supported" if unknown else "a part occurs twice")
    if fields.get(":domain") != [domain.name]:
        refuse(where, f"expected (:domain {domain.name})")
    for name in (":init", ":goal"):
        if name not in fields:
            refuse(where, f"({name} ...) is missing")
    if len(fields[":goal"]) != 1:
        refuse(where, "expected one condition in (:goal ...)")
    objects = _objects(_typed(fields.get(":objects", []), where), domain)
    goal = _goal(_frozen(fields[":goal"][0]), domain)
    return Problem(objects, _facts(fields[":init"], objects, domain.arity), goal)


def _frozen(tree: Tree) -> Tree:
    return tree if isinstance(tree, str) else tuple([_frozen(part) for part in tree])


def _thawed(tree: Tree) -> Tree:
    return tree if isinstance(tree, str) else [_thawed(part) for part in tree]


@functools.lru_cache(maxsize=256)
def _goal(frozen: Tree, domain: Domain) -> tuple[Branch, ...]:
    """Read a goal, a tree of tuples; many games have the same."""
    return _Reader(domain.arity, domain.parents).condition(_thawed(frozen), "PDDL goal")


def _objects(listed: list[tuple[str, str]], domain: Domain) -> dict[str, str]:
    objects = dict(domain.constants)
    for name, kind in listed:
        if name in objects:
            refuse("PDDL objects", f"{short(name)} occurs twice", name, 1 if name in domain.constants else 2)
        if kind != ROOT and kind not in domain.parents:
            refuse("PDDL objects", f"{short(name)} is of an unknown type {short(kind)}", name)
        if "{" in name or "}" in name:
            refuse("PDDL objects", f"a brace in the name {short(name)} is not supported")
        objects[name] = kind
    return objects


def _facts(
    init: list[Tree], objects: dict[str, str], arity: dict[str, int]
) -> dict[str, list[tuple[str, ...]]]:
    """Return the facts; numbers (costs, distances) are left out: no text and no rule depends on them."""
    facts = _sound_facts(init, objects, arity)
    return _checked_facts(init, objects, arity) if facts is None else facts


def _sound_facts(
    init: list[Tree], objects: dict[str, str], arity: dict[str, int]
) -> dict[str, list[tuple[str, ...]]] | None:
    """Return facts with which nothing is wrong, checked together; None if something may be."""
    trees: dict[str, list[list[str]]] = {}
    if not {*map(type, init)} <= {list}:
        return None
    try:
        for tree in init:
            trees.setdefault(tree[0], []).append(tree)
        trees.pop("=", None)
        # The names become those of the objects: one text for each thing, not one for each mention.
        one = dict(zip(objects, objects, strict=True)).__getitem__
        facts = {
            name: list(dict.fromkeys([tuple(map(one, tree[1:])) for tree in those]))
            for name, those in trees.items()
        }
    except (IndexError, KeyError, TypeError):  # an empty tree, an unknown object, a tree for a word
        return None
    sound = all({*map(len, those)} == {arity.get(name)} for name, those in facts.items())
    return facts if sound and "not" not in facts else None


def _checked_facts(
    init: list[Tree], objects: dict[str, str], arity: dict[str, int]
) -> dict[str, list[tuple[str, ...]]]:
    """Return facts one by one, to tell what is wrong with one."""
    facts: dict[str, dict[tuple[str, ...], None]] = {}
    denied = set()
    for tree in init:
        if not isinstance(tree, list) or not tree:
            refuse("PDDL init", f"expected a fact, got {short(tree)}", tree)
        if tree[0] == "=":
            continue
        fact = tree[1] if tree[0] == "not" and len(tree) == 2 and isinstance(tree[1], list) else tree
        if not fact or not all(isinstance(word, str) for word in fact):
            refuse("PDDL init", f"expected a fact, got {short(tree)}", tree)
        unknown = next((word for word in fact[1:] if word not in objects), None)
        if unknown is not None:
            refuse("PDDL init", f"unknown object {short(unknown)} in {short(fact)}", fact)
        if arity.get(fact[0]) != len(fact) - 1:
            known = f"takes {arity[fact[0]]} arguments" if fact[0] in arity else "is unknown"
            refuse("PDDL init", f"predicate {short(fact[0])} of {short(fact)} {known}", fact)
        if fact is tree:
            facts.setdefault(fact[0], {})[tuple(fact[1:])] = None
        else:
            denied.add(tuple(fact))
    held = ((name, *things) for name, those in facts.items() for things in those)
    both = next((fact for fact in held if fact in denied), None)
    if both is not None:
        refuse("PDDL init", f"{both} both holds and does not")
    return {name: list(those) for name, those in facts.items()}
