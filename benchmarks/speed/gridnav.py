"""GridNav: one environment beside a grid world that Gymnasium ships, and many in NumPy beside many objects.

All play random actions, automatic resets included. Times are processor time of
this one process, so other work on the machine disturbs them little.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

import rla_envs
from benchmarks.speed.figures import Figure, side_by_side

TITLE = "GridNav, each line's peer in brackets; processor time"

_clock = time.process_time
_ID, _ADAPTIVE = "RLA/GridNav-v0", "RLA/GridNav-Adaptive-v0"
_STEPS = 20_000
_MEMBERS = (16, 256, 4096)

DIFFICULTIES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "hardest": {"size": 20, "obstacle_density": 0.4, "goal_distance": 1.0, "wind": 0.5, "goal_moving": 0.5},
}


def why_missing() -> str:
    """Return an empty string: it needs nothing but the core."""
    return ""


def measurements(rounds: int, quick: bool) -> Sequence[Iterator[Figure]]:
    """Return the figures: of one environment, and of many, by difficulty."""
    steps, sizes = (40, (2,)) if quick else (_STEPS, _MEMBERS)
    pieces = []
    for name, difficulty in DIFFICULTIES.items():
        pieces += [
            _one(f"{name}, bare (FrozenLake 8x8, bare)", rounds, steps, _bare(difficulty), _frozen_lake),
            _one(f"{name}, adaptive (bare)", rounds, steps, _adaptive(difficulty), _bare(difficulty)),
            *(_many(f"{name}, {n} in NumPy (sync)", rounds, steps, n, difficulty) for n in sizes),
        ]
    return pieces


def _bare(difficulty: Mapping[str, Any]) -> Any:
    return lambda: gym.make(_ID, difficulty=difficulty).unwrapped


def _adaptive(difficulty: Mapping[str, Any]) -> Any:
    return lambda: gym.make(_ADAPTIVE, curriculum="uniform", difficulty=difficulty)


def _frozen_lake() -> gym.Env[Any, Any]:
    return gym.make("FrozenLake-v1", map_name="8x8").unwrapped


def _one(label: str, rounds: int, steps: int, ours: Any, peer: Any) -> Iterator[Figure]:
    yield from side_by_side(
        label,
        rounds,
        lambda number: {"": measure_one(ours(), steps, number)},
        lambda number: {"": measure_one(peer(), steps, number)},
        "rate",
    )


def _many(
    label: str, rounds: int, steps: int, members: int, difficulty: Mapping[str, Any]
) -> Iterator[Figure]:
    def measure(mode: str, count: int, number: int) -> dict[str, float]:
        envs = rla_envs.make_vec(_ID, count, mode, difficulty=difficulty)
        return {"": measure_many(envs, steps, number)}

    yield from side_by_side(
        label,
        rounds,
        lambda number: measure("vector_entry_point", members, number),
        # A step of the sync vector costs the same for any number of members.
        lambda number: measure("sync", min(members, 16), number),
        "rate",
    )


def measure_one(env: gym.Env[Any, Any], steps: int, seed: int) -> float:
    """Return seconds per step of one environment, its resets included."""
    actions = np.random.default_rng(seed).integers(0, env.action_space.n, steps).tolist()  # type: ignore[attr-defined]
    env.reset(seed=seed)
    begun = _clock()
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
    return (_clock() - begun) / steps


def measure_many(envs: gym.vector.VectorEnv[Any, Any, Any], steps: int, seed: int) -> float:
    """Return seconds per step of a member."""
    rounds = max(40, steps // envs.num_envs)
    actions = np.random.default_rng(seed).integers(0, 5, (rounds, envs.num_envs))
    envs.reset(seed=seed)
    begun = _clock()
    for row in actions:
        envs.step(row)
    seconds = _clock() - begun
    envs.close()
    return seconds / (rounds * envs.num_envs)
