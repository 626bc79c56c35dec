"""Make environments and read their difficulty parameters without making one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

from rla_envs.adaptive import AdaptiveEnv
from rla_envs.difficulty import DifficultyParameter
from rla_envs.errors import InputError
from rla_envs.registry import find_env


def make_env(env_id: str, kwargs: Mapping[str, Any]) -> gym.Env[Any, Any]:
    """Make an environment.

    Args:
        env_id: As for :func:`rla_envs.registry.find_env`.
        kwargs: Its keywords.

    Raises:
        InputError: If there is none of that name, or it does not take these keywords.
    """
    name = find_env(env_id)
    try:
        # Gymnasium's checker takes a reset that raised for one that returned, and fails at the next step.
        return gym.make(name, disable_env_checker=True, **kwargs)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise InputError(f"environment {name} does not take these settings: {error}") from error


def difficulty_parameters(env_id: str) -> tuple[DifficultyParameter, ...]:
    """Return an environment's difficulty parameters without making one.

    Raises:
        MissingExtraError: If its module needs packages that are not installed.
    """
    spec = gym.spec(env_id)
    # Every environment registered here has a string or class entry point.
    creator = load_env_creator(cast(str, spec.entry_point))
    if not isinstance(creator, type):
        # An adaptive id: a function that wraps the environment it names.
        return difficulty_parameters(spec.kwargs["env_id"])
    return cast("type[AdaptiveEnv[object, object]]", creator).difficulty_parameters
