"""Many AlfWorld games at once in one process: how fast they go, and how much memory each takes."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import rla_envs
from benchmarks.memory import held
from benchmarks.speed.figures import Figure, side_by_side
from benchmarks.stock_alfworld import StockEngine
from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.alfworld.game import game_data
from rla_envs.alfworld.scene import Scene

_ENV = "RLA/AlfWorld-v0"
_MEMBERS, _STEPS, _STOCK_MEMBERS = 256, 50, 6
_clock = time.process_time


def side_by_side_figures(difficulty: dict[str, Any], rounds: int, quick: bool) -> Sequence[Iterator[Figure]]:
    """Return the figures: a batch beside separate environments; memory beside the shipped engine's.

    Args:
        difficulty: Of the games.
        rounds: How often each is measured.
        quick: With next to no members.
    """
    members, steps = (2, 2) if quick else (_MEMBERS, _STEPS)
    stock_members = 2 if quick else _STOCK_MEMBERS

    def step(mode: str, number: int) -> dict[str, float]:
        return {"steps, new games included": measure_steps(mode, members, steps, number, difficulty)}

    def memory(measure: Callable[..., float], count: int) -> dict[str, float]:
        # In a process of its own: it must not find memory that an earlier measurement gave back.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            return {"memory a game": pool.submit(measure, count, steps, difficulty).result()}

    return [
        side_by_side(
            f"{members} games at once (peer: separate environments),",
            rounds,
            lambda number: step("batch", number),
            lambda number: step("sync", number),
            "rate",
        ),
        side_by_side(
            "15 x 12",
            rounds,
            lambda _: memory(measure_memory, members),
            lambda _: memory(measure_stock_memory, stock_members),
            "memory",
        ),
    ]


def measure_steps(mode: str, members: int, steps: int, number: int, difficulty: dict[str, Any]) -> float:
    """Return seconds of processor time per step of a member, with random possible commands.

    Args:
        mode: ``"batch"`` or ``"sync"``, as for :func:`rla_envs.make_vec`.
        members: How many.
        steps: Steps of each, automatic resets to new games included.
        number: Number of the round; every round, and either mode, plays games of its own.
        difficulty: Of the games.
    """
    envs = rla_envs.make_vec(_ENV, members, mode, difficulty=difficulty)
    seconds = _play(envs, steps, 10**6 * (2 * number + (mode == "sync")))
    envs.close()
    return seconds / (members * steps)


def _play(envs: Any, steps: int, seed: int) -> float:
    _, infos = envs.reset(seed=seed)
    rng, seconds = np.random.default_rng(seed), 0.0
    for _ in range(steps):
        commands = tuple([c[int(rng.integers(len(c)))] for c in infos["admissible_commands"]])
        begun = _clock()
        _, _, _, _, infos = envs.step(commands)
        seconds += _clock() - begun
    return seconds


def measure_memory(members: int, steps: int, difficulty: dict[str, Any]) -> float:
    """Return bytes per different game of a batch, after some steps of each."""
    first = rla_envs.make_vec(_ENV, 1, "batch", difficulty=difficulty)
    _play(first, steps, 1)
    before = held()
    envs = rla_envs.make_vec(_ENV, members, "batch", difficulty=difficulty)
    _play(envs, steps, 0)
    return (held() - before) / members


def measure_stock_memory(members: int, steps: int, difficulty: dict[str, Any]) -> float:
    """Return bytes per different game of the shipped engine, beyond the first, just after its start."""
    env = AlfWorldEnv(difficulty=difficulty)
    engines = []
    for number in range(members + 1):
        env.reset(seed=number)
        engines.append(StockEngine())
        engines[-1].start(game_data(Scene.from_payload(env.task.payload)))
        if number == 0:
            before = held()
    return (held() - before) / members
