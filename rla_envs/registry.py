"""The ids of the environments here, and vector environments that keep text intact."""

from __future__ import annotations

import importlib
from typing import Any

import gymnasium as gym

from rla_envs.errors import InputError, unknown_name

# Our names, and Gymnasium's.
_MODES = {
    "sync": "sync",
    "async": "async",
    "batch": "vector_entry_point",
    "vector_entry_point": "vector_entry_point",
}

# Entry points are strings: a callable would break EnvSpec.to_json, and importing
# one here would load its engine. The adaptive ids live in the package above.
_ENVIRONMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "RLA/AlfWorld-v0": ("rla_envs.alfworld.env:AlfWorldEnv", {}),
    "RLA/AlfWorld-Adaptive-v0": ("wrappers.critic_feedback:make_adaptive", {"env_id": "RLA/AlfWorld-v0"}),
    "RLA/GridNav-v0": ("rla_envs.gridnav.env:GridNavEnv", {}),
    "RLA/GridNav-Adaptive-v0": ("wrappers.critic_feedback:make_adaptive", {"env_id": "RLA/GridNav-v0"}),
    "RLA/OSWorld-v0": ("rla_envs.osworld.env:OSWorldEnv", {}),
    "RLA/OSWorld-Adaptive-v0": ("wrappers.critic_feedback:make_adaptive", {"env_id": "RLA/OSWorld-v0"}),
    "RLA/OSWorld-Text-v0": ("wrappers.desktop_text:make_text", {"env_id": "RLA/OSWorld-v0"}),
    "RLA/LiveBenchCoding-v0": ("rla_envs.coding.env:LiveBenchCodingEnv", {}),
    "RLA/LiveBenchCoding-Adaptive-v0": (
        "wrappers.critic_feedback:make_adaptive",
        {"env_id": "RLA/LiveBenchCoding-v0"},
    ),
}
# Those that step many members at once.
_VECTOR_ENTRY_POINTS = {
    "RLA/AlfWorld-v0": "rla_envs.alfworld.vector:AlfWorldVectorEnv",
    "RLA/GridNav-v0": "rla_envs.gridnav.vector:GridNavVectorEnv",
}


def register_environments() -> None:
    """Register every id with Gymnasium; a second call changes nothing."""
    for env_id, (entry_point, kwargs) in _ENVIRONMENTS.items():
        if env_id not in gym.registry:
            gym.register(
                env_id,
                entry_point=entry_point,
                vector_entry_point=_VECTOR_ENTRY_POINTS.get(env_id),
                kwargs=kwargs,
            )


def env_ids() -> list[str]:
    """Return the ids of all environments of this package, sorted.

    Each can be given to ``gymnasium.make``, also as ``"rla_envs:ID"`` without
    an import. Making one whose optional packages are absent raises
    :class:`~rla_envs.errors.MissingExtraError`, which says what to install.
    """
    return sorted(_ENVIRONMENTS)


def find_env(env_id: str) -> str:
    """Return the id under which Gymnasium knows an environment.

    Args:
        env_id: A registered id; ``"module:ID"`` imports the module first.

    Raises:
        UnknownNameError: If there is none of that name; suggests the closest one.
        InputError: If the module before the ``:`` cannot be found.
    """
    if not isinstance(env_id, str):
        raise unknown_name("environment", env_id, _ENVIRONMENTS)
    module, _, name = env_id.rpartition(":")
    if module:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise InputError(
                f"environment {env_id!r}: expected an importable module before ':'; {error}"
            ) from error
    if name not in gym.registry:
        raise unknown_name("environment", name, _ENVIRONMENTS)
    return name


def make_vec(
    env_id: str, num_envs: int, mode: str = "sync", **kwargs: Any
) -> gym.vector.VectorEnv[Any, Any, Any]:
    """Make a vector environment whose text observations arrive as they were sent.

    All modes give the same episodes: member ``i`` of ``reset(seed=s)`` starts
    with seed ``s + i`` and goes on from there over its automatic resets.
    ``AsyncVectorEnv`` by itself passes observations through shared memory,
    which Gymnasium 1.4 fills with "0" characters for ``Text`` and refuses for
    other text spaces; here the workers send them through pipes.

    ``reset(options=...)`` holds for the first episode of each member only,
    since automatic resets pass no options. To change the difficulty of all
    later episodes, use ``envs.call("set_difficulty", {...})``. The vectors of
    stable-baselines3 keep the same rule: there it is ``set_options({"difficulty":
    {...}})`` before a reset, and ``env_method("set_difficulty", {...})``.

    Args:
        env_id: A registered id, ours or a third party's; ``"module:ID"``
            imports the module first.
        num_envs: Number of members.
        mode: ``"sync"`` (one after the other in this process), ``"async"`` (a
            process each), or ``"batch"``, which Gymnasium calls
            ``"vector_entry_point"`` (all at once, where the environment offers it).
        **kwargs: Passed to ``gymnasium.make`` for every member.

    Raises:
        UnknownNameError: On an unknown id or mode; suggests the closest one.
        InputError: If ``num_envs`` is not a positive integer, the module
            before the ``:`` cannot be found, or the environment does not offer
            this mode.
    """
    name = find_env(env_id)
    if mode not in _MODES:
        raise unknown_name("vector mode", mode, _MODES)
    if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
        raise InputError(f"num_envs: expected an integer of 1 or more, got {num_envs!r}")
    kind = _MODES[mode]
    if kind == "vector_entry_point" and gym.spec(name).vector_entry_point is None:
        raise InputError(f"environment {name!r} has no vectorised implementation; use 'sync' or 'async'")
    vector_kwargs = {"shared_memory": False} if mode == "async" else {}
    return gym.make_vec(name, num_envs, vectorization_mode=kind, vector_kwargs=vector_kwargs, **kwargs)
