"""AlfWorld's engine exactly as alfworld and TextWorld ship it, behind the interface of ours."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from rla_envs.alfworld.game import GameData
from rla_envs.alfworld.reply import Reply
from rla_envs.errors import missing_extra


class StockEngine:
    """One game at a time on TextWorld, with nothing cached and nothing left out."""

    def __init__(self) -> None:
        """Load the engine."""
        try:
            import textworld
            from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
            from textworld.envs import PddlEnv
        except ImportError as error:
            raise missing_extra("the stock engine", "alfworld", error) from error
        self._env: Any = AlfredDemangler(PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True)))
        self._loaded: GameData | None = None

    def close(self) -> None:
        """Do nothing: TextWorld cannot unload its library."""

    def start(self, data: GameData) -> Reply:
        """Load a game, unless it is loaded already, and start it."""
        with _unchanged():
            if self._loaded is not data:
                self._env.load(data)
                self._loaded = data
            return self._reply(self._env.reset())

    def step(self, command: str) -> Reply:
        """Play one command."""
        return self._reply(self._env.step(command)[0])

    @staticmethod
    def _reply(state: Any) -> Reply:
        return Reply(state["feedback"], tuple(state["admissible_commands"]), bool(state["won"]))


@contextlib.contextmanager
def _unchanged() -> Iterator[None]:
    """Keep what the engine prints from C++ away, and ``sys.argv`` as it is."""
    sys.stdout.flush()
    argv, saved, nowhere = sys.argv, os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(nowhere)
        sys.argv = argv
