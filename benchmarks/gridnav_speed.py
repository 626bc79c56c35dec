"""How fast GridNav is: one environment, bare, made and adaptive; and many, as objects and in NumPy.

All play random actions, automatic resets included. Times are processor time of
this one process, so other work on the machine disturbs them little.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import rla_envs
from benchmarks.progress import tracked
from benchmarks.running import machine
from rla_envs.errors import InputError
from rla_envs.files import write_atomic

_clock = time.process_time
_ID, _ADAPTIVE = "RLA/GridNav-v0", "RLA/GridNav-Adaptive-v0"

DIFFICULTIES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "hardest": {"size": 20, "obstacle_density": 0.4, "goal_distance": 1.0, "wind": 0.5, "goal_moving": 0.5},
}
MEMBERS = (16, 256, 4096)


def measure_one(env: gym.Env[Any, Any], steps: int) -> dict[str, float]:
    """Return steps per second of one environment, with and without its resets, and seconds per reset."""
    actions = np.random.default_rng(0).integers(0, 5, steps).tolist()
    env.reset(seed=0)
    resetting, resets, begun = 0.0, 0, _clock()
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            before = _clock()
            env.reset()
            resetting, resets = resetting + _clock() - before, resets + 1
    seconds = _clock() - begun
    return {
        "steps_per_second": steps / seconds,
        "steps_per_second_without_resets": steps / (seconds - resetting),
        "seconds_per_reset": resetting / max(resets, 1),
    }


def measure_many(envs: gym.vector.VectorEnv[Any, Any, Any], steps: int) -> float:
    """Return steps per second, all members counted."""
    rounds = max(40, steps // envs.num_envs)
    actions = np.random.default_rng(0).integers(0, 5, (rounds, envs.num_envs))
    envs.reset(seed=0)
    begun = _clock()
    for row in actions:
        envs.step(row)
    return rounds * envs.num_envs / (_clock() - begun)


def measure(steps: int, members: Sequence[int], quiet: bool) -> dict[str, Any]:
    """Return all figures, by difficulty."""
    figures: dict[str, Any] = {}
    for name in tracked(DIFFICULTIES, "difficulties", len(DIFFICULTIES), quiet):
        difficulty = DIFFICULTIES[name]
        made = gym.make(_ID, difficulty=difficulty)
        adaptive = gym.make(_ADAPTIVE, curriculum="uniform", difficulty=difficulty)
        figures[name] = {
            "unwrapped": measure_one(made.unwrapped, steps),
            "gymnasium.make": measure_one(made, steps),
            "adaptive": measure_one(adaptive, steps),
            # A step of the sync vector costs the same for any number of members.
            "sync": measure_many(rla_envs.make_vec(_ID, 16, "sync", difficulty=difficulty), steps),
            "vector": {
                str(count): measure_many(
                    rla_envs.make_vec(_ID, count, "vector_entry_point", difficulty=difficulty), steps
                )
                for count in members
            },
        }
    return figures


def _table(figures: Mapping[str, Any]) -> list[str]:
    lines = ["steps per second of processor time on one core"]
    for name, row in figures.items():
        lines.append(f"difficulty: {name}")
        for what in ("unwrapped", "gymnasium.make", "adaptive"):
            one = row[what]
            lines.append(
                f"  {what:16}{one['steps_per_second']:>12,.0f}   "
                f"{one['steps_per_second_without_resets']:,.0f} without resets, "
                f"{one['seconds_per_reset'] * 1e6:,.0f} us a reset"
            )
        lines.append(f"  {'sync vector':16}{row['sync']:>12,.0f}")
        lines += [f"  {count + ' in NumPy':16}{rate:>12,.0f}" for count, rate in row["vector"].items()]
    return lines


def main(argv: Sequence[str]) -> int:
    """Run the measurement, print a table and write the numbers; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed gridnav", description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="write all numbers to a file")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--steps", type=int, default=50_000, help="steps per figure")
    parser.add_argument("--members", type=int, nargs="+", default=MEMBERS, help="sizes of the vectors")
    options = parser.parse_args(argv)
    if options.steps < 1 or min(options.members) < 1:
        raise InputError(
            f"--steps and --members: expected 1 or more, got {options.steps} and {options.members}"
        )
    figures = measure(options.steps, options.members, options.quiet)
    sys.stdout.write("\n".join(_table(figures)) + "\n")
    if options.json:
        text = json.dumps({"machine": machine(), "difficulties": figures}, indent=2) + "\n"
        write_atomic(Path(options.json), text)
    return 0
