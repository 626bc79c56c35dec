"""Read the layout of any game off its PDDL, so that its shortest plans have a closed form too."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TypeAlias

from rla_envs.alfworld import shipped
from rla_envs.alfworld.native.naming import names_of
from rla_envs.alfworld.native.pddl import Action, Branch, Domain, Literal, Problem, read_domain, read_problem
from rla_envs.alfworld.plan import Layout, Situation
from rla_envs.alfworld.scene import ABILITIES, CLEAN, COOL, DEVICES, HEAT, TASK_TYPES
from rla_envs.alfworld.search import relevant

_STATES = {CLEAN: "isclean", HEAT: "ishot", COOL: "iscool"}
"""The predicate of the state that the goal asks for."""

Fact: TypeAlias = tuple[str, ...]
"""A predicate and the ids of things."""


def read_situation(facts: Iterable[Fact], task_type: str) -> Situation:
    """Return a planner's situation from facts: predicates and mangled lower-case ids."""
    by_predicate = _by_predicate(facts)
    inside: dict[str, list[str]] = {}
    for thing, place in by_predicate.get("inreceptacle", ()):
        inside.setdefault(thing, []).append(place)
    return Situation(
        at=next((place for _, place in by_predicate.get("atlocation", ())), None),
        holding=next((thing for _, thing in by_predicate.get("holds", ())), None),
        inside={thing: tuple(sorted(places)) for thing, places in inside.items()},
        opened=_named(by_predicate, "opened"),
        treated=_named(by_predicate, _STATES.get(task_type, "")),
        lit=_named(by_predicate, "istoggled"),
    )


def _by_predicate(facts: Iterable[Fact]) -> dict[str, list[tuple[str, ...]]]:
    found: dict[str, list[tuple[str, ...]]] = {}
    for name, *things in facts:
        found.setdefault(name.lower(), []).append(tuple(things))
    return found


def _named(facts: Mapping[str, list[tuple[str, ...]]], predicate: str) -> frozenset[str]:
    return frozenset(thing for (thing,) in facts.get(predicate, ()))


@functools.lru_cache(maxsize=32)
def rules(text: str) -> Domain:
    """Read a PDDL domain, once for all games that have it."""
    return read_domain(text)


def same_rules(one: Domain, other: Domain) -> bool:
    """Return whether two domains say the same."""
    return all(getattr(one, field.name) == getattr(other, field.name) for field in fields(one))


def read_layout(domain: str, problem: Problem, put: str) -> Layout | str:
    """Return the layout of a game, or in one line why its plans have no closed form.

    They have one where the goal is one of alfworld's six, what bears on it is
    done as in alfworld's rules, there is one agent, and each receptacle is at
    one location. Several receptacles may share a location, and an object may be
    in several.

    Args:
        domain: The rules, as PDDL.
        problem: The game.
        put: How something is put somewhere, with fields ``{object}`` and ``{place}``.
    """
    goal = recognise(problem.goal, domain)
    if goal is None:
        return "its goal is none of alfworld's six"
    if _bearing(rules(domain), problem.goal) != _bearing(rules(shipped.domain()), problem.goal):
        return "its rules are not those of the installed alfworld"
    facts = _by_predicate(problem.facts)
    spots = {fact[0]: fact[1] for fact in sorted(facts.get("receptacleatlocation", ()))}
    if len(facts.get("atlocation", ())) != 1:
        return "it does not have one agent at one location"
    if len(spots) != len(facts.get("receptacleatlocation", ())):
        return "a receptacle is at two locations"
    return _layout(goal, facts, spots, problem, put)


def _bearing(domain: Domain, goal: tuple[Branch, ...]) -> dict[str, Action]:
    return {name: domain.actions[name] for name in relevant(domain, goal)[0]}


def _layout(
    goal: tuple[str, str, str],
    facts: Mapping[str, list[tuple[str, ...]]],
    spots: dict[str, str],
    problem: Problem,
    put: str,
) -> Layout:
    task_type, wanted, target = goal
    kinds = _kinds(facts.get("receptacletype", ()))
    types = _kinds(facts.get("objecttype", ()))
    contents = {(kind, name) for kind, name in facts.get("cancontain", ())}
    mentioned = {thing for fact in problem.facts for thing in fact[1:]}
    device = DEVICES.get(task_type, "").lower() + "type"
    able = _named(facts, ABILITIES[task_type].lower()) if task_type in ABILITIES else types.keys()
    holdable = _named(facts, "pickupable") & able

    def fits(place: str, thing: str) -> bool:
        return any((k, t) in contents for k in kinds.get(place, ()) for t in types.get(thing, ()))

    return Layout(
        task_type=task_type,
        names=names_of(mentioned),
        spots=spots,
        openable=_named(facts, "openable"),
        fits=fits,
        targets=tuple(place for place in spots if target in kinds.get(place, ())),
        devices=tuple(place for place in spots if device in kinds.get(place, ())),
        lamps=tuple(sorted(thing for thing in _named(facts, "toggleable") if target in types.get(thing, ()))),
        wanted=tuple(sorted(thing for thing in holdable if wanted in types.get(thing, ()))),
        start=read_situation(problem.facts, task_type),
        put=put,
    )


def _kinds(facts: Iterable[Fact]) -> dict[str, set[str]]:
    kinds: dict[str, set[str]] = {}
    for thing, kind in facts:
        kinds.setdefault(thing, set()).add(kind)
    return kinds


def recognise(goal: tuple[Branch, ...], domain: str) -> tuple[str, str, str] | None:
    """Return a goal's task type, its object's type and its receptacle's or lamp's; None for others."""
    constants = {
        argument
        for branch in goal
        for literal in branch.literals
        for argument in literal.arguments
        if argument.endswith("type") and not argument.startswith("?")
    }
    if len(constants) != 2 or len(goal) != 1:
        return None
    form = _form(goal)
    for task_type in TASK_TYPES:
        for wanted, target in itertools.permutations(sorted(constants)):
            if form == _template(task_type, wanted, target, domain):
                return task_type, wanted, target
    return None


@functools.lru_cache(maxsize=1024)
def _template(task_type: str, wanted: str, target: str, domain: str) -> object:
    """Return the form of alfworld's goal of a task type, for two types whose names end in ``type``."""
    wanted_word, target_word = wanted.removesuffix("type"), target.removesuffix("type")
    text = shipped.goal_templates()[task_type][0].format(
        obj=wanted_word, recep=target_word, toggle=target_word
    )
    parsed = rules(domain)
    head = f"(define (problem goal) (:domain {parsed.name}) (:objects {wanted} {target}) (:init)"
    return _form(read_problem(f"{head} {text}", parsed).goal)


def _form(goal: tuple[Branch, ...]) -> object:
    """Return what is equal for two goals that differ only in the order and the names in them."""
    (branch,) = goal
    if branch.never:
        return branch
    roles: dict[str, list[tuple[str, int, bool, tuple[str, ...]]]] = {
        name: [] for name, _ in branch.variables
    }
    for literal in branch.literals:
        for position, argument in enumerate(literal.arguments):
            if argument in roles:
                known = tuple(a for a in literal.arguments if a not in roles)
                place = 0 if literal.predicate == "=" else position
                roles[argument].append((literal.predicate, place, literal.positive, known))
    role = {name: repr(sorted(map(repr, set(found)))) for name, found in roles.items()}

    def renamed(literal: Literal) -> Literal:
        return literal._replace(arguments=tuple(role.get(a, a) for a in literal.arguments))

    kinds = sorted((role[name], kind) for name, kind in branch.variables)
    return kinds, frozenset(map(renamed, branch.literals))
