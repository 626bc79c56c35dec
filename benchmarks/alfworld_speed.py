"""How fast AlfWorld's games are: the native engine next to TextWorld's as it is shipped, in one run.

Both play the same random admissible commands of the same games, with the list
of admissible commands at every step. Times are processor time of this one
process, so other work on the machine disturbs them little. The shipped engine
has as long as --stock-seconds for each size, at least for one load and two
resets and steps.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.alfworld_many import MODES, measure_many
from benchmarks.progress import tracked
from benchmarks.running import machine
from benchmarks.stock_alfworld import StockEngine
from rla_envs.alfworld.difficulty import PARAMETERS
from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.alfworld.game import GameData, game_data
from rla_envs.alfworld.generator import sample_scene
from rla_envs.alfworld.native.engine import NativeEngine
from rla_envs.difficulty import complete_difficulty, parse_difficulty
from rla_envs.errors import InputError
from rla_envs.files import write_atomic

SIZES = ((6, 6), (15, 12), (25, 24), (40, 24), (80, 40))
"""Objects and receptacles."""

_GAMES, _EPISODE = 20, 50
_clock = time.process_time
_Row = dict[str, Any]


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


def measure_stock(games: Sequence[GameData], steps: int, seconds: float) -> dict[str, float]:
    """Return seconds per new game, reset and step of the shipped engine.

    Args:
        games: The games; of the last that is loaded the resets and steps are measured.
        steps: How many steps to play at most.
        seconds: How long to go on; new games have a third of it.
    """
    engine, news = StockEngine(), []
    begun = _clock()
    for data in games[:3]:
        news.append(_timed(lambda: engine.start(data)))  # noqa: B023 - called at once
        if _clock() - begun > seconds / 3:
            break
    resets = [_timed(lambda: engine.start(data)) for _ in range(2)]
    played: list[float] = []
    for taken in _steps(engine, data, 0, steps):
        played.append(taken)
        if len(played) > 1 and _clock() - begun > seconds:
            break
    return {"new_game": _mean(news), "reset": _mean(resets), "step": _mean(played)}


def measure_native(games: Sequence[GameData], episodes: int) -> dict[str, float]:
    """Return seconds per new game, reset and step of the native engine.

    ``new_game`` is loading and starting a game never seen before, and
    ``first_step`` a step of its first episode; ``reset`` starts a game again,
    and ``step`` is over many episodes of one game, as in the training of one
    task. The rules, which all games have in common, were compiled before.
    """
    NativeEngine(check_goal=False).start(games[-1])
    news: list[float] = []
    firsts: list[float] = []
    for seed, data in enumerate(games[:-1]):
        engine = NativeEngine(check_goal=False)
        news.append(_timed(lambda: engine.start(data)))  # noqa: B023 - called at once
        firsts += _steps(engine, data, seed, _EPISODE)
    data = games[0]
    engine.start(data)
    reset = _timed(lambda: [engine.start(data) for _ in range(1000)]) / 1000
    steps = [t for seed in range(episodes) for t in _steps(engine, data, seed, _EPISODE)]
    return {"new_game": _mean(news), "reset": reset, "first_step": _mean(firsts), "step": _mean(steps)}


def measure_environment(objects: int, receptacles: int, episodes: int) -> dict[str, float]:
    """Return seconds per reset and step of the whole environment.

    ``new_task`` draws a task, checks that it can be won, and starts it, which
    the shipped engine does not do; ``reset`` and ``step`` play one task again
    and again.
    """
    env = AlfWorldEnv(difficulty=_difficulty(objects, receptacles))
    env.reset(seed=0)
    news = [_timed(env.reset) for _ in range(_GAMES)]
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
    return {"new_task": _mean(news), "reset": _mean(resets), "step": _mean(steps)}


def measure(size: tuple[int, int], options: argparse.Namespace) -> _Row:
    """Return the figures of one size, with how many times faster than the shipped engine we are."""
    objects, receptacles = size
    games = _games(objects, receptacles, _GAMES + 1)
    _settle()
    native = measure_native(games, options.episodes)
    row: _Row = {"objects": objects, "receptacles": receptacles, "native": native}
    row["environment"] = measure_environment(objects, receptacles, options.episodes)
    if options.stock_steps:
        _settle()
        stock = row["stock"] = measure_stock(games, options.stock_steps, options.stock_seconds)
        ours = {f"environment_{name}": taken for name, taken in row["environment"].items()} | native
        row["times"] = {name: stock[_counterpart(name)] / taken for name, taken in ours.items()}
    return row


def _counterpart(name: str) -> str:
    """Return which figure of the shipped engine one of ours is compared with."""
    if name.endswith("step"):
        return "step"
    return "new_game" if name.endswith(("new_game", "new_task")) else "reset"


def _table(rows: Sequence[_Row]) -> Iterator[str]:
    yield "microseconds of processor time; in brackets, how many times faster than the shipped engine"
    for row in rows:
        yield f"{row['objects']} objects x {row['receptacles']} receptacles"
        for where in ("stock", "native", "environment"):
            cells = []
            for name, taken in row.get(where, {}).items():
                key = f"environment_{name}" if where == "environment" else name
                times = row.get("times", {}).get(key) if where != "stock" else None
                cells.append(f"{name} {taken * 1e6:,.1f}" + (f" [{times:,.0f}x]" if times else ""))
            if cells:
                yield f"  {where:12}{'   '.join(cells)}"


def _many_table(many: dict[str, dict[str, dict[str, float]]]) -> Iterator[str]:
    for what, modes in many.items():
        batch, sync = (modes[mode] for mode in MODES)
        yield (
            f"{batch['games']:.0f} members of 15 x 12, {what.replace('_', ' ')}, resets included: "
            f"batch {batch['steps_per_second']:,.0f} steps/s, sync {sync['steps_per_second']:,.0f}"
        )
        if what == "different_games":
            yield (
                f"  {batch['bytes_per_game_at_start'] / 1e3:,.0f} kB per member at the start, "
                f"{batch['bytes_per_game_after_play'] / 1e3:,.0f} kB after {_EPISODE} steps of each"
            )


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed alfworld", description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="write all numbers, in seconds, to a file")
    parser.add_argument("--stock-steps", type=int, default=20, help="steps of the shipped engine; 0 for none")
    parser.add_argument("--stock-seconds", type=float, default=30.0, help="its time for each size")
    parser.add_argument("--episodes", type=int, default=40, help=f"episodes of {_EPISODE} steps per size")
    parser.add_argument("--games", type=int, default=256, help="games side by side; 0 for none")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    options = parser.parse_args(argv)
    for name, least in (("stock_steps", 0), ("stock_seconds", 0), ("episodes", 1), ("games", 0)):
        if getattr(options, name) < least:
            raise InputError(f"--{name.replace('_', '-')}: expected {least} or more")
    return options


def main(argv: Sequence[str]) -> int:
    """Run the measurement, print a table and write the numbers; return the exit code."""
    options = _options(argv)
    # First, while the memory that the process holds is not yet that of TextWorld.
    many = measure_many(options.games, _EPISODE, _difficulty(15, 12)) if options.games else {}
    measured = (measure(size, options) for size in SIZES)
    rows = list(tracked(measured, "sizes", len(SIZES), options.quiet))
    sys.stdout.write("\n".join([*_table(rows), *_many_table(many)]) + "\n")
    if options.json:
        numbers = {"machine": machine(), "sizes": rows, "side_by_side": many}
        write_atomic(Path(options.json), json.dumps(numbers, indent=2) + "\n")
    return 0
