"""Agents to compare with: chance, the first thing possible, and a known solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.bench.desktop import is_desktop, random_action
from rla_envs.errors import InputError


class RandomAgent:
    """Draws an admissible command, where the environment lists them, else an action of its space.

    A random text is no action on a desktop: there it draws clicks, keys and words.
    """

    def reset(self, task_info: Mapping[str, Any]) -> None:
        """Seed the draws with the episode's seed."""
        self._rng = np.random.default_rng(task_info["seed"])
        self._space = task_info["action_space"]
        self._space.seed(task_info["seed"] % (1 << 32))
        self._seen = task_info.get("observation_space")

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """Return a random action."""
        commands = info.get("admissible_commands")
        if commands:
            return commands[int(self._rng.integers(len(commands)))]
        if is_desktop(self._seen, self._space):
            return random_action(observation, self._seen, self._rng)
        return self._space.sample()


class FirstAdmissible:
    """Takes the first admissible command, or the least action; nothing about the task matters to it."""

    def reset(self, task_info: Mapping[str, Any]) -> None:
        """Look at the actions; text without a list of commands is answered by the empty text."""
        self._least = int(getattr(task_info["action_space"], "start", 0))
        self._text = task_info["action_space"].contains("")

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """Return the first action."""
        commands = info.get("admissible_commands")
        if commands:
            return commands[0]
        return "" if self._text else self._least


class Oracle:
    """Plays the solution that the environment's check of the task found: an upper bound, no contestant."""

    def reset(self, task_info: Mapping[str, Any]) -> None:
        """Take the solution.

        Raises:
            InputError: If none is known.
        """
        if not task_info["witness"]:
            raise InputError("no solution of this task is known, so there is nothing for the oracle to play")
        self._plan = iter(task_info["witness"])

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """Return the solution's next action."""
        return next(self._plan)
