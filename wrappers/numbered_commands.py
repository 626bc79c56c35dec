"""Choose among an environment's admissible commands by number."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from rla_envs.errors import InputError
from rla_envs.spaces import Unicode
from wrappers.curricula.base import check_number

COMMAND_LIMIT = 128
"""Longest command in characters; bounds the length of the observation."""


class NumberedCommands(gym.Wrapper[str, Any, str, str], RecordConstructorArgs):
    """Replace free-text actions by the index of an admissible command.

    The commands are those that the wrapped environment last listed in
    ``info["admissible_commands"]``, in its order. The observation gains one
    numbered line per command, the form in which RLAnything's policies act in
    text games (arXiv 2602.02488); ``info["action_mask"]`` marks the indices
    that name a command, as ``action_space.sample(mask)`` takes it.

    An index beyond the list is in the action space, so it is played: as a text
    that names no command, which costs a step, with the cause in
    ``info["rla"]["last_action_error"]``.

    Args:
        env: An environment with text observations and text actions that lists
            ``admissible_commands`` in its info.
        max_commands: Size of the action space. A longer list is an error, not
            cut: a cut list could hide the only winning command.

    Raises:
        InputError: At ``reset`` or ``step`` if the environment lists no
            command (after the last step it need not), more than
            ``max_commands``, or one of more than 128 characters; at ``step``
            if the action is not in the action space.

    Example:
        >>> import gymnasium as gym
        >>> import rla_envs
        >>> from wrappers import NumberedCommands
        >>> env = NumberedCommands(gym.make("RLA/AlfWorld-v0"))
        >>> observation, info = env.reset(seed=0)
        >>> observation.splitlines()[-1].endswith(info["admissible_commands"][-1])
        True
    """

    def __init__(self, env: gym.Env[str, str], max_commands: int = 256) -> None:
        """Wrap ``env``; see the class for the arguments."""
        RecordConstructorArgs.__init__(self, max_commands=max_commands)
        gym.Wrapper.__init__(self, env)
        check_number("max_commands", max_commands, 1, integer=True)
        text_limit = getattr(env.observation_space, "max_length", None)
        if text_limit is None:
            raise InputError(f"NumberedCommands needs text observations, got {env.observation_space}")
        self.max_commands = max_commands
        self.action_space = spaces.Discrete(max_commands)
        line_limit = COMMAND_LIMIT + len(f"\n{max_commands}) ")
        self.observation_space = Unicode(text_limit + max_commands * line_limit)
        self._commands: tuple[str, ...] = ()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode and number its first commands."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._numbered(observation, info, over=False)

    def step(self, action: int | np.integer[Any]) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """Run the command with this index."""
        if not self.action_space.contains(action):
            raise InputError(
                f"action: expected a command number from 0 to {self.max_commands - 1}, got {action!r}"
            )
        listed = action < len(self._commands)
        command = self._commands[action] if listed else f"command {action}"
        count = len(self._commands)
        observation, reward, terminated, truncated, info = self.env.step(command)
        if not listed:
            error = f"{command} was chosen, but only {count} are listed; mask with info['action_mask']"
            info = {**info, "rla": {**info.get("rla", {}), "last_action_error": error}}
        observation, info = self._numbered(observation, info, over=terminated or truncated)
        return observation, reward, terminated, truncated, info

    def _numbered(self, observation: str, info: dict[str, Any], over: bool) -> tuple[str, dict[str, Any]]:
        commands = tuple(info.get("admissible_commands", ()))
        if not (over or commands) or len(commands) > self.max_commands:
            raise InputError(
                f"{self.env} lists {len(commands)} admissible commands, expected 1 to {self.max_commands}; "
                "raise max_commands, or wrap an environment that lists them"
            )
        for command in commands:
            if len(command) > COMMAND_LIMIT:
                raise InputError(
                    f"command: expected at most {COMMAND_LIMIT} characters, got {command[:40]!r}..."
                )
        self._commands = commands
        mask = np.zeros(self.max_commands, dtype=np.int8)
        mask[: len(commands)] = 1
        lines = (f"{index}) {command}" for index, command in enumerate(commands))
        return "\n".join((observation, *lines)), {**info, "action_mask": mask}
