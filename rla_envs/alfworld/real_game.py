"""A game as a file has it: what its Task says, and how it is won."""

from __future__ import annotations

import functools
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rla_envs.alfworld import shipped
from rla_envs.alfworld.game import GOAL_MARK, GameData
from rla_envs.alfworld.layouts import read_layout, read_situation, rules, same_rules
from rla_envs.alfworld.native.game import Game
from rla_envs.alfworld.native.grammar import Grammar, read_grammar
from rla_envs.alfworld.native.pddl import Branch, Problem, read_problem
from rla_envs.alfworld.native.rules import compile_rules, without_goal
from rla_envs.alfworld.native.trees import PddlError
from rla_envs.alfworld.plan import Layout, Planner
from rla_envs.alfworld.search import Found, find_plan
from rla_envs.errors import InvalidTaskError
from rla_envs.task import Task

MAX_TEXT = 2**20
"""Most characters of each text in a payload."""

MAX_COMMANDS = 1000
"""Longest walkthrough that is tried."""

_REQUIRED, _OPTIONAL = ("problem", "task"), ("game", "walkthrough", "domain", "grammar")
_OLD_PUT = "put {o} in/on {r}"
_PLAIN_TASK = re.compile(r"[\w (),.':-]*", re.ASCII)


class Plan(NamedTuple):
    """A sequence of commands that should win, and whether none can be shorter."""

    commands: tuple[str, ...]
    shortest: bool


class RealGame:
    """A game of a data set or a file, compiled.

    Args:
        payload: What :func:`payload_of` returns.

    Raises:
        InvalidTaskError: If it is malformed, or the game has something in it
            that is not supported; says what and in which part.
    """

    def __init__(self, payload: Mapping[str, Any]) -> None:
        """Read the game."""
        _check_fields(payload)
        self.data: GameData = {
            "pddl_domain": payload.get("domain", shipped.domain()),
            "grammar": payload["grammar"] if "grammar" in payload else _with_task(payload["task"]),
            "pddl_problem": payload["problem"],
        }
        self.walkthrough: tuple[str, ...] = tuple(payload.get("walkthrough", ()))
        self._problem = check_data(self.data)
        self.old_verbs = _OLD_PUT in self.data["grammar"]
        put = "put {object} in/on {place}" if self.old_verbs else "move {object} to {place}"
        self._layout = read_layout(self.data["pddl_domain"], self._problem, put)
        self._planner = Planner(self._layout) if isinstance(self._layout, Layout) else None

    @property
    def task_type(self) -> str | None:
        """One of alfworld's six, or None where the goal is another or plans have no closed form."""
        return self._planner.layout.task_type if self._planner else None

    @property
    def layout(self) -> Layout | None:
        """What plans depend on, where they have a closed form."""
        return self._planner.layout if self._planner else None

    @functools.cached_property
    def _game(self) -> Game:
        return Game(self.data)

    def plans(self) -> Iterator[Plan]:
        """Yield what may win from the start, to be tried in the engine one after the other.

        In closed form where there is one, else the file's own walkthrough, else by search.

        Raises:
            InvalidTaskError: When there is nothing more to try; says why.
        """
        if self._planner is not None:
            plan = self._planner.plan()
            if plan is None:
                raise InvalidTaskError("no plan reaches the goal")
            yield Plan(plan, shortest=True)
        if self.walkthrough:
            yield Plan(self.walkthrough, shortest=False)
        yield Plan(self._found(find_plan(self._game, self._problem.goal, self._game.start())), shortest=True)

    def plan_now(self, facts: frozenset[tuple[str, ...]], played: Sequence[str]) -> tuple[str, ...]:
        """Return a plan from this moment: a shortest one in closed form, else one by search.

        Args:
            facts: What holds now.
            played: The commands of the episode.

        Raises:
            InvalidTaskError: If none is found.
        """
        if self._planner is not None:
            plan = self._planner.plan(read_situation(facts, self._planner.layout.task_type))
            if plan is not None:
                return plan
        state = self._game.start()
        for command in played:
            choice = self._game.menu(state).choice(command.strip())
            if choice is not None:
                self._game.play(choice, state)
        return self._found(find_plan(self._game, self._problem.goal, state))

    def _found(self, found: Found) -> tuple[str, ...]:
        if found.commands is not None:
            return found.commands
        if found.complete:
            raise InvalidTaskError("no plan reaches the goal: everything was tried")
        why = f"; there is no closed form because {self._layout}" if isinstance(self._layout, str) else ""
        raise InvalidTaskError(f"no plan was found within {found.expansions} expansions{why}")


def check_data(data: GameData) -> Problem:
    """Read a game; return its problem.

    What the native engine's readers do not know is refused for either engine:
    TextWorld would run parts of a grammar as a program.

    Raises:
        InvalidTaskError: If something is malformed or not supported.
    """
    domain = rules(data["pddl_domain"])
    grammar, goal = without_goal(data["grammar"])
    compile_rules(data["pddl_domain"], grammar, goal is not None)
    problem = read_problem(data["pddl_problem"], domain)
    unknown = sorted(_constants(problem.goal) - problem.objects.keys())
    if unknown:
        raise PddlError(f"PDDL goal: unknown object {reprlib.repr(unknown[0])}", (unknown[0],))
    if "agent" in domain.parents:
        _check_agent(problem)
    return problem


def _check_agent(problem: Problem) -> None:
    """Refuse a game whose commands do not say who acts, or from where; engines would choose differently."""
    agents = sorted(name for name, kind in problem.objects.items() if kind == "agent")
    if len(agents) > 1:
        raise PddlError(f"PDDL objects: expected one agent, got {', '.join(agents[:3])}", (agents[1],))
    places = list(dict.fromkeys(fact for fact in problem.facts if fact[0] == "atlocation"))
    if not places:
        raise InvalidTaskError("PDDL init: no agent is anywhere; expected (atLocation agent1 LOCATION)")
    if len(places) > 1:
        raise PddlError(f"PDDL init: expected the agent at one place, got {len(places)}", places[1])


def _constants(branches: Sequence[Branch]) -> set[str]:
    """Return the things that a condition names."""
    named: set[str] = set()
    for branch in branches:
        named.update(a for literal in branch.literals for a in literal.arguments if a[:1] != "?")
        for never in branch.never:
            named |= _constants(never)
    return named


def payload_of(data: GameData, game: str = "", walkthrough: Sequence[str] = ()) -> dict[str, Any]:
    """Return what a Task says of a game: all that is needed to play it where its file is not.

    The rules and the texts are left out where they mean the same as those of
    the installed alfworld, as they do throughout its data set; of the problem,
    comments, indentation, doubled facts and distances.

    Args:
        data: The game.
        game: What to call it: its path in the data set.
        walkthrough: Commands that are said to win.
    """
    payload: dict[str, Any] = {"problem": tidy(data["pddl_problem"])}
    if game:
        payload["game"] = game
    if walkthrough:
        payload["walkthrough"] = list(walkthrough[:MAX_COMMANDS])
    if not _same_rules(data["pddl_domain"]):
        payload["domain"] = data["pddl_domain"]
    texts, task = without_goal(data["grammar"])
    if task is None or not _same_texts(texts):
        payload["grammar"] = data["grammar"]
    payload["task"] = task or ""
    return payload


@functools.lru_cache(maxsize=32)
def _same_rules(domain: str) -> bool:
    return same_rules(rules(domain), rules(shipped.domain()))


@functools.lru_cache(maxsize=32)
def _same_texts(texts: str) -> bool:
    return read_grammar(texts) == _shipped_texts()


@functools.cache
def _shipped_texts() -> Grammar:
    return read_grammar(without_goal(shipped.grammar())[0])


def _with_task(task: str) -> str:
    """Return alfworld's grammar with a sentence for its own about the goal."""
    before, after = shipped.grammar().split(GOAL_MARK)
    start = before.rindex('"') + 1
    end = after.index('"')
    return before[:start] + task + after[end:]


_DISTANCE = re.compile(r"\(=\s*\(distance [^()]*\)\s*\S+\)", re.IGNORECASE)
_FACT = re.compile(r"\([^()?]*\)")


def tidy(problem: str) -> str:
    """Return a PDDL problem without comments, indentation, doubled facts and distances."""
    lines = [line.split(";", 1)[0].strip() for line in problem.split("\n")]
    goal = next((i for i, line in enumerate(lines) if "(:goal" in line.lower()), len(lines))
    seen: set[str] = set()
    kept = []
    for number, line in enumerate(lines):
        if not line or _DISTANCE.fullmatch(line):
            continue
        if number < goal and _FACT.fullmatch(line):
            if line in seen:
                continue
            seen.add(line)
        kept.append(line)
    return "\n".join(kept)


def _check_fields(payload: Mapping[str, Any]) -> None:
    known = (*_REQUIRED, *_OPTIONAL)
    for problem, names in (
        ("is missing", [name for name in _REQUIRED if name not in payload]),
        ("is unknown", sorted(set(payload) - set(known))),
    ):
        if names:
            raise InvalidTaskError(
                f"AlfWorld payload: field {names[0][:80]!r} {problem}; expected {', '.join(known)}"
            )
    for name in (*_REQUIRED, "game", "domain", "grammar"):
        text = payload.get(name, "")
        if not isinstance(text, str) or len(text) > MAX_TEXT:
            raise InvalidTaskError(
                f"AlfWorld payload: {name}: expected text of at most {MAX_TEXT} characters"
            )
    if not _PLAIN_TASK.fullmatch(payload["task"]):
        raise InvalidTaskError("AlfWorld payload: task: expected a sentence of plain words")
    steps = payload.get("walkthrough", ())
    if not isinstance(steps, list | tuple) or len(steps) > MAX_COMMANDS:
        raise InvalidTaskError(f"AlfWorld payload: walkthrough: expected at most {MAX_COMMANDS} commands")
    if not all(isinstance(step, str) for step in steps):
        raise InvalidTaskError("AlfWorld payload: walkthrough: expected a list of commands")


def is_real(task: Task) -> bool:
    """Return whether a task is that of a game file, not of a generated scene."""
    return "problem" in task.payload
