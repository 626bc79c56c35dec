"""AlfWorld games on the real TextWorld engine, with its costs and its leaks contained.

TextWorld parses the same few texts of the grammar for every command of every
step and copies its whole context each time. Here each text is parsed once, and
commands whose text cannot change are derived once; every transcript is the same
(the tests play it against the engine as it is shipped). While it works the
engine overwrites ``sys.argv``, prints from C++ and may draw from the global
random generators: none of that gets out.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import random
import re
import sys
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from rla_envs.alfworld.game import GameData
from rla_envs.errors import InfrastructureError, InvalidTaskError, missing_extra

try:
    import fast_downward
    import textworld
    import textworld.envs.pddl.logic as pddl_logic
    import textworld.envs.pddl.textgen as textgen
    from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
    from textworld.envs import PddlEnv
    from textworld.logic import Rule
except ImportError as error:
    raise missing_extra("engine='textworld'", "alfworld", error) from error

_LOCK = threading.RLock()


class Reply(NamedTuple):
    """What the engine answers to a command.

    Attributes:
        text: The observation, as the engine wrote it.
        commands: Admissible commands, sorted.
        won: Whether the goal holds.
    """

    text: str
    commands: tuple[str, ...]
    won: bool


class TextWorldEngine:
    """One game at a time on TextWorld's PDDL engine.

    Each engine holds a private copy of the planner's shared library (about
    3 MB); load another game into the same engine rather than making a new one.
    """

    def __init__(self) -> None:
        """Load the engine's library."""
        with _contained():
            self._game = _Game(textworld.EnvInfos(won=True, admissible_commands=True))
            self._env = AlfredDemangler(self._game)
        self._loaded: GameData | None = None

    def start(self, data: GameData) -> Reply:
        """Load a game, unless it is loaded already, and start it.

        Raises:
            InvalidTaskError: If the engine cannot load the game.
        """
        with _contained():
            if self._loaded != data:
                self._loaded = None
                try:
                    self._env.load(data)
                except (KeyError, AssertionError, SystemExit, ValueError) as error:
                    # KeyError 'val1': a goal that can be seen to be impossible before any search.
                    raise InvalidTaskError(f"the TextWorld engine cannot load the game ({error!r})") from error
                self._loaded = data
            return _reply(self._env.reset())

    def step(self, command: str) -> Reply:
        """Play one command.

        Raises:
            InfrastructureError: If no game is running.
        """
        if self._loaded is None:
            raise InfrastructureError("no game is running in the TextWorld engine; start one")
        with _contained(silent=False):
            return _reply(self._env.step(command)[0])

    def facts(self) -> frozenset[tuple[str, ...]]:
        """Return the facts that hold now, each as predicate and mangled lower-case ids."""
        return frozenset((f.name, *(v.name for v in f.arguments)) for f in self._game._pddl_state.facts)

    def planner_plan(self) -> tuple[str, ...]:
        """Return a shortest plan from now by the engine's own planner, which may take very long.

        The planner answers with an empty plan when it finds none.
        """
        with _contained():
            return tuple(self._game.replan())


def _reply(state: Any) -> Reply:
    return Reply(state["feedback"], tuple(state["admissible_commands"]), bool(state["won"]))


class _Game(PddlEnv):  # type: ignore[misc]
    """TextWorld's PDDL environment, deriving each unchanging command text once."""

    def load(self, filename_or_data: Any) -> None:
        self._command_texts: dict[tuple[str, ...], str] = {}
        super().load(filename_or_data)
        changing = {
            effect.literal.predicate.lower()
            for action in self._pddl_state.task.actions
            for effect in action.effects
        }
        self._unchanging = {
            name: not changing.intersection(re.findall(r"(\w+)\(", action.template.lower()))
            for name, action in self._logic.actions.items()
        }

    def _gather_infos(self) -> None:
        state = self.state
        state["won"] = self._pddl_state.check_goal()
        state["lost"] = False
        state["_last_action"] = self._last_action
        state["_valid_actions"] = list(self._pddl_state.all_applicable_actions())
        state["_valid_commands"] = [self._command(action) for action in state["_valid_actions"]]
        state["admissible_commands"] = sorted(set(state["_valid_commands"]))

    def _command(self, action: Any) -> str:
        key = (action.name, *(variable.name for variable in action.mapping.values()))
        known = self._command_texts.get(key)
        if known is not None:
            return known
        context = {
            "state": self._pddl_state,
            "facts": list(self._pddl_state.facts),
            "variables": {ph.name: self._entity_infos[var.name] for ph, var in action.mapping.items()},
            "mapping": action.mapping,
            "entity_infos": self._entity_infos,
        }
        action.command_template = self._logic.grammar.derive(action.command_template, context)
        command = str(action.format_command({k: info.name for k, info in self._entity_infos.items()}))
        if self._unchanging[action.name]:
            self._command_texts[key] = command
        return command

    def replan(self) -> list[str]:
        """Plan from now on; only here is the planner's own translation of the problem needed."""
        state = self._pddl_state
        _, text = _translate_now(self._game_data["pddl_domain"], self._game_data["pddl_problem"], optimize=True)
        state.downward_lib.load_sas_replan(text.encode())
        return list(state.replan(self._entity_infos))


# The engine as it is shipped; the functions below stand in for these while one of our engines works.
_parse_text = textgen._parse_and_convert
_parse_logic = pddl_logic._parse_and_convert
_translate_now = fast_downward.pddl2sas


@functools.cache
def _parsed_text(text: str, rule_name: str) -> Any:
    return _parse_text(text, rule_name=rule_name)


def _cached_text(text: str, rule_name: str, **_options: Any) -> Any:
    return copy.deepcopy(_parsed_text(text, rule_name))  # derivation writes into the parsed symbols


@functools.lru_cache(maxsize=256)
def _cached_logic(grammar: str, rule_name: str) -> Any:
    return _parse_logic(grammar, rule_name=rule_name)


@functools.lru_cache(maxsize=256)
def _cached_translation(domain: str, problem: str, verbose: bool = False, optimize: bool = False) -> Any:
    # The second translation is for the planner alone and costs as much as the first; see _Game.replan.
    return (None, "") if optimize else _translate_now(domain, problem, verbose=verbose)


class _CachedRule:
    parse_conjunctive_query = staticmethod(functools.cache(Rule.parse_conjunctive_query))


def _shallow_context(context: dict[str, Any]) -> dict[str, Any]:
    # Derivation adds entries to these two but never changes what is in them.
    return {**context, "variables": dict(context["variables"]), "mapping": dict(context["mapping"])}


_STAND_INS: tuple[tuple[Any, str, Any], ...] = (
    (textgen, "_parse_and_convert", _cached_text),
    (textgen, "copy_context", _shallow_context),
    (textgen, "Rule", _CachedRule),
    (pddl_logic, "_parse_and_convert", _cached_logic),
    (fast_downward, "pddl2sas", _cached_translation),
)


@contextlib.contextmanager
def _contained(silent: bool = True) -> Iterator[None]:
    """Run the engine with the stand-ins, and undo what it does to the process.

    Args:
        silent: Also silence the C++ part, which prints while it loads.
    """
    with _LOCK:
        argv, python_state, numpy_state = sys.argv, random.getstate(), np.random.get_state()
        originals = [(module, name, getattr(module, name)) for module, name, _ in _STAND_INS]
        for module, name, stand_in in _STAND_INS:
            setattr(module, name, stand_in)
        try:
            with _silenced() if silent else contextlib.nullcontext():
                yield
        finally:
            for module, name, original in originals:
                setattr(module, name, original)
            sys.argv = argv
            random.setstate(python_state)
            np.random.set_state(numpy_state)


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """Send file descriptor 1 to nowhere; Python's own buffer is flushed first so that nothing is lost."""
    sys.stdout.flush()
    saved, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(nowhere)
