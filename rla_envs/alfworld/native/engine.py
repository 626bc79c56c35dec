"""AlfWorld games at full speed: the same transcripts as TextWorld's engine, without it."""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Iterator

from rla_envs.alfworld.game import GameData
from rla_envs.alfworld.native.game import Game
from rla_envs.alfworld.reply import Reply
from rla_envs.errors import InfrastructureError, InvalidTaskError

NOTHING = "Nothing happens."
"""What TextWorld says to a command that is not possible."""


@functools.lru_cache(maxsize=64)
def _compiled(domain: str, grammar: str, problem: str) -> Game:
    """Return a game for all engines that play it: rollouts of one task share what they find out."""
    with _uncollected():
        return Game({"pddl_domain": domain, "grammar": grammar, "pddl_problem": problem})


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Hold garbage collections back: what a game is made of lives on, and they would find nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class NativeEngine:
    """One game at a time, compiled from its PDDL and its text grammar.

    Args:
        check_goal: Whether to refuse a game whose goal can never hold, as
            TextWorld's engine does. Whoever has a plan can save the search.
    """

    def __init__(self, check_goal: bool = True) -> None:
        """Start without a game."""
        self._check_goal = check_goal
        self._data: GameData | None = None
        self._closed = False

    def close(self) -> None:
        """Forget the game; the engine cannot be used any more."""
        self.forget()
        self._closed = True

    def forget(self) -> None:
        """Forget the game, to hold no memory for it; the next start loads one."""
        self._data = None
        for name in ("_game", "_state", "_menu"):
            self.__dict__.pop(name, None)

    def has_loaded(self, data: GameData) -> bool:
        """Return whether this game is loaded, so that starting it costs little."""
        return self._data is data or self._data == data

    def start(self, data: GameData) -> Reply:
        """Load a game, unless it is loaded already, and start it.

        Raises:
            InvalidTaskError: If the game is malformed or has something in it
                that this engine does not support.
            InfrastructureError: If the engine is closed.
        """
        if self._closed:
            raise InfrastructureError("the native engine is closed; make another one")
        if not self.has_loaded(data):
            self._data = None
            self._game = _compiled(data["pddl_domain"], data["grammar"], data["pddl_problem"])
            if self._check_goal:
                self._game.check_goal()
            if not self._game.menu(self._game.start()).commands:
                raise InvalidTaskError("PDDL problem: nothing can be done at the start; is there an agent?")
            self._data = data
        self._state = self._game.start()
        return self._reply(self._game.intro)

    def step(self, command: str) -> Reply:
        """Play one command.

        Raises:
            InfrastructureError: If no game is running.
        """
        self._running()
        choice = self._menu.choice(command.strip())
        if choice is None:
            return Reply(NOTHING, self._menu.commands, self._won)
        return self._reply(self._game.play(choice, self._state))

    def facts(self) -> frozenset[tuple[str, ...]]:
        """Return the facts that hold now, each as predicate and mangled lower-case ids.

        Raises:
            InfrastructureError: If no game is running.
        """
        self._running()
        return self._game.facts(self._state)

    def _reply(self, text: str) -> Reply:
        self._menu = self._game.menu(self._state)
        self._won = self._game.won(self._state)
        return Reply(text, self._menu.commands, self._won)

    def _running(self) -> None:
        if self._data is None:
            raise InfrastructureError("no game is running in the native engine; start one")
