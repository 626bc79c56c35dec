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
import io
import random
import re
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np

from rla_envs.alfworld import shipped
from rla_envs.alfworld.game import GOAL_MARK, GameData
from rla_envs.alfworld.reply import Reply
from rla_envs.alfworld.silence import silenced
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
_PLAIN = re.compile(r"[\w (),.']*", re.ASCII)
"""Text that the grammar shows as it is."""


class TextWorldEngine:
    """One game at a time on TextWorld's PDDL engine.

    Each engine holds a private copy of the planner's shared library (about
    3 MB), which goes back to a pool when the engine is closed or dropped: the
    library cannot be unloaded without crashing the process at its end.
    """

    def __init__(self) -> None:
        """Load the engine's library."""
        with _contained():
            self._game = _Game(textworld.EnvInfos(won=True, admissible_commands=True))
            self._env = AlfredDemangler(self._game)
        self._loaded: GameData | None = None
        self._give_back = weakref.finalize(self, _FREE_LIBRARIES.append, self._game.downward_lib)

    def close(self) -> None:
        """Give the library back; the engine cannot be used any more."""
        self._loaded = None
        self._give_back()

    def forget(self) -> None:
        """Forget the game; the next start loads one."""
        self._loaded = None

    def has_loaded(self, data: GameData) -> bool:
        """Return whether this game is loaded, so that starting it costs little."""
        return self._loaded == data

    def start(self, data: GameData) -> Reply:
        """Load a game, unless it is loaded already, and start it.

        Raises:
            InvalidTaskError: If the engine cannot load the game.
            InfrastructureError: If the engine is closed, or out of memory or disk.
        """
        if not self._give_back.alive:
            raise InfrastructureError("the TextWorld engine is closed; make another one")
        with _contained():
            if self._loaded != data:
                self._loaded = None
                try:
                    self._env.load(data)
                except (MemoryError, OSError) as error:
                    raise InfrastructureError(f"the TextWorld engine failed: {error!r}") from error
                except (Exception, SystemExit) as error:
                    # Any kind of error means a bad game; KeyError 'val1' means a goal that cannot hold.
                    raise InvalidTaskError(
                        f"the TextWorld engine cannot load the game ({error!r})"
                    ) from error
                self._loaded = data
            return _reply(self._env.reset())

    def step(self, command: str) -> Reply:
        """Play one command.

        Raises:
            InfrastructureError: If no game is running.
        """
        with _contained():
            return _reply(self._running()[0].step(command)[0])

    def facts(self) -> frozenset[tuple[str, ...]]:
        """Return the facts that hold now, each as predicate and mangled lower-case ids.

        Raises:
            InfrastructureError: If no game is running.
        """
        facts = self._running()[1]._pddl_state.facts
        return frozenset((f.name, *(v.name for v in f.arguments)) for f in facts)

    def planner_plan(self) -> tuple[str, ...]:
        """Return a shortest plan from now by the engine's own planner, which may take very long.

        The planner answers with an empty plan when it finds none.

        Raises:
            InfrastructureError: If no game is running.
        """
        with _contained():
            return tuple(self._running()[1].replan())

    def _running(self) -> tuple[Any, _Game]:
        if self._loaded is None:
            raise InfrastructureError("no game is running in the TextWorld engine; start one")
        return self._env, self._game


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
        data = self._game_data
        _, text = _translate_now(data["pddl_domain"], data["pddl_problem"], optimize=True)
        state.downward_lib.load_sas_replan(text.encode())
        with silenced():
            return list(state.replan(self._entity_infos))


_FREE_LIBRARIES: list[Any] = []

# The engine as it is shipped; the functions below stand in for these while one of our engines works.
_load_library = fast_downward.load_lib
_parse_text = textgen._parse_and_convert
_parse_logic = pddl_logic._parse_and_convert
_translate_now = fast_downward.pddl2sas


def _library() -> Any:
    """Return a planner's library that no other engine uses."""
    return _FREE_LIBRARIES.pop() if _FREE_LIBRARIES else _QuietLibrary(_load_library())


class _QuietLibrary:
    """The planner's library, silent while it reads a game: the rest never prints."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def load_sas(self, text: bytes) -> None:
        with silenced():
            self._library.load_sas(text)

    def load_sas_replan(self, text: bytes) -> None:
        with silenced():
            self._library.load_sas_replan(text)


@functools.lru_cache(maxsize=1024)
def _parsed_text(text: str, rule_name: str) -> Any:
    return _parse_text(text, rule_name=rule_name)


def _cached_text(text: str, rule_name: str, **_options: Any) -> Any:
    return copy.deepcopy(_parsed_text(text, rule_name))  # derivation writes into the parsed symbols


@functools.lru_cache(maxsize=16)
def _parsed_logic(grammar: str, rule_name: str) -> Any:
    return _parse_logic(grammar, rule_name=rule_name)


def _cached_logic(grammar: str, rule_name: str) -> Any:
    """Parse a game's grammar; a game differs in its goal text alone, which goes into a grammar parsed before.

    The goal text is never parsed then, so nothing in it can be taken for an expression to evaluate.
    """
    before, after = shipped.grammar().split(GOAL_MARK)
    goal = grammar.removeprefix(before).removesuffix(after)
    if before + goal + after != grammar or not _PLAIN.fullmatch(goal):
        return _parsed_logic(grammar, rule_name)
    actions, parsed = _parsed_logic(shipped.grammar(), rule_name)
    rules = textgen.ContextSensitiveGrammar()
    rules.update(parsed)
    (task,) = parsed._rules["task"]
    text = "".join(str(symbol) for symbol in task.rhs).replace(GOAL_MARK, goal)
    rules._rules["task"] = [textgen.ProductionRule("task", [textgen.TerminalSymbol(text)])]
    return actions, rules


@functools.lru_cache(maxsize=256)
def _cached_translation(domain: str, problem: str, verbose: bool = False, optimize: bool = False) -> Any:
    # The second translation is for the planner alone and costs as much as the first; see _Game.replan.
    return (None, "") if optimize else _translate_now(domain, problem)


class _CachedRule:
    parse_conjunctive_query = staticmethod(functools.cache(Rule.parse_conjunctive_query))


def _shallow_context(context: dict[str, Any]) -> dict[str, Any]:
    # Derivation adds entries to these two but never changes what is in them.
    return {**context, "variables": dict(context["variables"]), "mapping": dict(context["mapping"])}


class _OtherThreads(io.TextIOBase):
    """A stream that passes on everything except what the thread at work with the engine writes."""

    stream: TextIO
    thread: int

    def write(self, text: str) -> int:
        return len(text) if threading.get_ident() == self.thread else self.stream.write(text)

    def flush(self) -> None:
        self.stream.flush()

    def fileno(self) -> int:
        return self.stream.fileno()

    def isatty(self) -> bool:
        return self.stream.isatty()


# One for all time: CPython's print does not keep its stream alive when another thread replaces it.
_OTHER_THREADS = _OtherThreads()


class _Muted(list[str]):
    """Stands in for the translator's capture of ``sys.stdout``, which takes what other threads print, too."""

    def __enter__(self) -> None:
        _OTHER_THREADS.stream, _OTHER_THREADS.thread = sys.stdout, threading.get_ident()
        sys.stdout = _OTHER_THREADS

    def __exit__(self, *_error: object) -> None:
        sys.stdout = _OTHER_THREADS.stream


_STAND_INS: tuple[tuple[Any, str, Any], ...] = (
    (textgen, "_parse_and_convert", _cached_text),
    (textgen, "copy_context", _shallow_context),
    (textgen, "Rule", _CachedRule),
    (pddl_logic, "_parse_and_convert", _cached_logic),
    (fast_downward, "pddl2sas", _cached_translation),
    (fast_downward, "load_lib", _library),
    (fast_downward.interface, "CapturingStdout", _Muted),
)


@contextlib.contextmanager
def _contained() -> Iterator[None]:
    """Run the engine with the stand-ins, and undo what it does to the process."""
    with _LOCK:
        argv, python_state, numpy_state = sys.argv, random.getstate(), np.random.get_state()
        originals = [(module, name, getattr(module, name)) for module, name, _ in _STAND_INS]
        for module, name, stand_in in _STAND_INS:
            setattr(module, name, stand_in)
        try:
            yield
        finally:
            for module, name, original in originals:
                setattr(module, name, original)
            sys.argv = argv
            random.setstate(python_state)
            np.random.set_state(numpy_state)
