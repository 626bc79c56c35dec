"""AlfWorld's engine exactly as alfworld and TextWorld ship it, behind the interface of ours."""

from __future__ import annotations

import sys
from typing import Any

from rla_envs.alfworld.game import GameData
from rla_envs.alfworld.reply import Reply
from rla_envs.alfworld.silence import silenced
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
        argv = sys.argv  # the planner's translator overwrites it
        try:
            with silenced():
                if self._loaded is not data:
                    self._env.load(data)
                    self._loaded = data
                return self._reply(self._env.reset())
        finally:
            sys.argv = argv

    def step(self, command: str) -> Reply:
        """Play one command."""
        return self._reply(self._env.step(command)[0])

    @staticmethod
    def _reply(state: Any) -> Reply:
        return Reply(state["feedback"], tuple(state["admissible_commands"]), bool(state["won"]))
