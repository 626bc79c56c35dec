"""How fast AlfWorld's games are: the native engine next to TextWorld's as it is shipped, in one run.

Both play the same random admissible commands of the same games, with the list
of admissible commands at every step. Times are processor time of this one
process, so other work on the machine disturbs them little.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stock_alfworld import StockEngine
from rla_envs.alfworld.difficulty import PARAMETERS
from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.alfworld.game import GameData, game_data
from rla_envs.alfworld.generator import sample_scene
from rla_envs.alfworld.native.engine import NativeEngine
from rla_envs.difficulty import complete_difficulty, parse_difficulty
from rla_envs.errors import InputError

SIZES = ((6, 6), (15, 12), (40, 24), (80, 40))
"""Objects and receptacles."""

_EPISODE = 50
_clock = time.process_time


def _difficulty(objects: int, receptacles: int) -> dict[str, Any]:
    return {"objects": objects, "receptacles": receptacles}


def _games(objects: int, receptacles: int, count: int) -> list[GameData]:
    games = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        stated = parse_difficulty(PARAMETERS, _difficulty(objects, receptacles))
        games.append(game_data(sample_scene("train", complete_difficulty(PARAMETERS, stated, rng), rng)))
    return games


def _timed(action: Callable[[], Any]) -> float:
    before = _clock()
    action()
    return _clock() - before


def _steps(engine: Any, data: GameData, seed: int, count: int) -> Iterator[float]:
    """Start a game and yield the time of each of some random steps."""
    rng, reply = np.random.default_rng(seed), engine.start(data)
    for _ in range(count):
        command = reply.commands[int(rng.integers(len(reply.commands)))]
        before = _clock()
        reply = engine.step(command)
        yield _clock() - before


def _settle() -> None:
    """Keep what lives already (TextWorld's modules, for one) out of the garbage collections to come."""
    gc.collect()
    gc.freeze()


def _mean(times: Sequence[float]) -> float:
    return sum(times) / len(times)


def measure_stock(games: Sequence[GameData], steps: int) -> dict[str, float]:
    """Return seconds per load, reset and step of the shipped engine."""
    engine = StockEngine()
    data = games[0]
    load = _timed(lambda: engine.start(data))
    resets = [_timed(lambda: engine.start(data)) for _ in range(2)]
    return {"load": load, "reset": _mean(resets), "step": _mean(list(_steps(engine, data, 0, steps)))}


def measure_native(games: Sequence[GameData], episodes: int) -> dict[str, float]:
    """Return seconds per load, reset and step of the native engine.

    ``step`` is over many episodes of one game, as in the training of one task;
    ``first_step`` over the first episode of each of several games.
    """
    loads: list[float] = []
    firsts: list[float] = []
    for seed, data in enumerate(games):
        engine = NativeEngine(check_goal=False)
        loads.append(_timed(lambda: engine.start(data)))  # noqa: B023 - called at once
        firsts += _steps(engine, data, seed, _EPISODE)
    data = games[0]
    engine.start(data)
    reset = _timed(lambda: [engine.start(data) for _ in range(1000)]) / 1000
    steps = [t for seed in range(episodes) for t in _steps(engine, data, seed, _EPISODE)]
    return {"load": _mean(loads), "reset": reset, "step": _mean(steps), "first_step": _mean(firsts)}


def measure_environment(objects: int, receptacles: int, episodes: int) -> dict[str, float]:
    """Return seconds per reset and step of the whole environment, playing one task again and again."""
    env = AlfWorldEnv(difficulty=_difficulty(objects, receptacles))
    env.reset(seed=0)
    task, resets, steps = env.task, [], []
    for seed in range(episodes):
        rng = np.random.default_rng(seed)
        before = _clock()
        _, info = env.reset(options={"task": task})
        resets.append(_clock() - before)
        for _ in range(_EPISODE):
            command = info["admissible_commands"][int(rng.integers(len(info["admissible_commands"])))]
            before = _clock()
            _, _, terminated, truncated, info = env.step(command)
            steps.append(_clock() - before)
            if terminated or truncated:
                break
    return {"reset": _mean(resets), "step": _mean(steps)}


def measure_many(count: int, steps: int) -> dict[str, float]:
    """Return memory per game, and steps per second, of many environments of different games side by side."""
    gc.collect()
    before = _resident()
    envs = [AlfWorldEnv(difficulty=_difficulty(15, 12)) for _ in range(count)]
    infos = [env.reset(seed=seed)[1] for seed, env in enumerate(envs)]
    gc.collect()
    started = _resident()
    rng, played, begun = np.random.default_rng(0), 0, _clock()
    for _ in range(steps):
        for i, env in enumerate(envs):
            commands = infos[i]["admissible_commands"]
            _, _, terminated, truncated, infos[i] = env.step(commands[int(rng.integers(len(commands)))])
            if terminated or truncated:
                infos[i] = env.reset(options={"task": env.task})[1]
            played += 1
    seconds = _clock() - begun
    return {
        "games": count,
        "bytes_per_game_at_start": (started - before) / count,
        "bytes_per_game_after_play": (_resident() - before) / count,
        "steps_per_second": played / seconds,
    }


def _resident() -> int:
    """Return the memory that this process holds, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def measure(sizes: Sequence[tuple[int, int]], stock_steps: int, episodes: int) -> list[dict[str, Any]]:
    """Return a row for each size, with how many times faster than the shipped engine we are."""
    rows = []
    for objects, receptacles in sizes:
        games = _games(objects, receptacles, 10)
        _settle()
        native = measure_native(games, episodes)
        row: dict[str, Any] = {"objects": objects, "receptacles": receptacles, "native": native}
        row["environment"] = measure_environment(objects, receptacles, episodes)
        if stock_steps:
            _settle()
            stock = row["stock"] = measure_stock(games, stock_steps)
            row["times"] = {
                **{name: stock[name] / native[name] for name in ("load", "reset", "step")},
                "first_step": stock["step"] / native["first_step"],
                **{
                    f"environment_{name}": stock[name] / row["environment"][name]
                    for name in ("reset", "step")
                },
            }
        rows.append(row)
    return rows


def _table(rows: Sequence[dict[str, Any]], many: dict[str, float]) -> Iterator[str]:
    yield "microseconds of processor time; in brackets, how many times faster than the shipped engine"
    for row in rows:
        yield f"{row['objects']} objects x {row['receptacles']} receptacles"
        for where, names in (
            ("stock", ("load", "reset", "step")),
            ("native", ("load", "reset", "step", "first_step")),
            ("environment", ("reset", "step")),
        ):
            cells = []
            for name in names if where in row else ():
                key = f"environment_{name}" if where == "environment" else name
                times = row.get("times", {}).get(key) if where != "stock" else None
                cells.append(f"{name} {row[where][name] * 1e6:,.1f}" + (f" [{times:,.0f}x]" if times else ""))
            if cells:
                yield f"  {where:12}{'   '.join(cells)}"
    yield (
        f"{many['games']:.0f} games of 15 x 12 in one process: {many['steps_per_second']:,.0f} steps/s, "
        f"{many['bytes_per_game_at_start'] / 1e3:,.0f} kB per game at the start, "
        f"{many['bytes_per_game_after_play'] / 1e3:,.0f} kB after {_EPISODE} steps each"
    )


def main(argv: Sequence[str]) -> int:
    """Run the measurement, print a table and write the numbers; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed alfworld", description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="write all numbers, in seconds, to a file")
    parser.add_argument("--stock-steps", type=int, default=20, help="steps of the shipped engine; 0 for none")
    parser.add_argument("--episodes", type=int, default=40, help=f"episodes of {_EPISODE} steps per size")
    parser.add_argument("--games", type=int, default=256, help="games side by side")
    options = parser.parse_args(argv)
    for name, least in (("stock_steps", 0), ("episodes", 1), ("games", 1)):
        if getattr(options, name) < least:
            raise InputError(f"--{name.replace('_', '-')}: expected {least} or more")
    rows = measure(SIZES, options.stock_steps, options.episodes)
    many = measure_many(options.games, _EPISODE)
    sys.stdout.write("\n".join(_table(rows, many)) + "\n")
    if options.json:
        machine = {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
        }
        numbers = {"machine": machine, "sizes": rows, "side_by_side": many}
        Path(options.json).write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    return 0
