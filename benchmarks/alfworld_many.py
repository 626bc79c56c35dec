"""How fast many AlfWorld games go side by side in one process, and how much memory each takes."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import rla_envs
from benchmarks.memory import held
from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.alfworld.game import game_data
from rla_envs.alfworld.scene import Scene

_ENV = "RLA/AlfWorld-v0"
_clock = time.process_time

MODES = ("batch", "sync")


def measure_many(
    games: int, steps: int, difficulty: dict[str, Any]
) -> dict[str, dict[str, dict[str, float]]]:
    """Measure different games, and then as many plays of one game, both ways.

    Args:
        games: Number of members.
        steps: Steps of each.
        difficulty: Difficulty parameters of the games.
    """
    # Other games for the second way, so that it finds nothing that the first has left. It does find the
    # memory that the first gave back, so memory is measured the first way only.
    different = {
        mode: measure_vector(mode, games, steps, number * 10**6, difficulty=difficulty)
        for number, mode in enumerate(MODES)
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "game.tw-pddl"
        env = AlfWorldEnv(difficulty=difficulty)
        env.reset(seed=0)
        path.write_text(json.dumps(game_data(Scene.from_payload(env.task.payload))), encoding="utf-8")
        same = {mode: measure_vector(mode, games, steps, 0, game_file=str(path)) for mode in MODES}
    return {"different_games": different, "one_game": same}


def measure_vector(mode: str, games: int, steps: int, seed: int, **keywords: Any) -> dict[str, float]:
    """Play a vector of games, with random possible commands.

    Args:
        mode: ``"batch"`` or ``"sync"``, as for :func:`rla_envs.make_vec`.
        games: Number of members.
        steps: Steps of each.
        seed: Seed of the games.
        **keywords: What the environment is made with.

    Returns:
        Steps a second of processor time, automatic resets included; how many
        of these there were; bytes per game at the start and in the end.
    """
    before = held()
    envs = rla_envs.make_vec(_ENV, games, mode, **keywords)
    _, infos = envs.reset(seed=seed)
    started = held()
    rng, resets, seconds = np.random.default_rng(seed), 0, 0.0
    for _ in range(steps):
        commands = tuple([c[int(rng.integers(len(c)))] for c in infos["admissible_commands"]])
        begun = _clock()
        _, _, terminations, truncations, infos = envs.step(commands)
        seconds += _clock() - begun
        resets += int((terminations | truncations).sum())
    after = held()
    envs.close()
    return {
        "games": games,
        "steps_per_second": games * steps / seconds,
        "resets": resets,
        "bytes_per_game_at_start": (started - before) / games,
        "bytes_per_game_after_play": (after - before) / games,
    }
