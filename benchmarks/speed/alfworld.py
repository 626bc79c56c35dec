"""AlfWorld's games: the native engine beside TextWorld's as alfworld ships it.

Both play random admissible commands of the same games, with the list of
admissible commands at every step. Times are processor time of this one process,
so other work on the machine disturbs them little. The rules, which all games
have in common, were compiled before.
"""

from __future__ import annotations

import functools
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.speed.alfworld_many import side_by_side_figures
from benchmarks.speed.figures import Figure, side_by_side
from benchmarks.stock_alfworld import StockEngine
from rla_envs.alfworld.difficulty import PARAMETERS
from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.alfworld.game import GameData, game_data
from rla_envs.alfworld.generator import sample_scene
from rla_envs.alfworld.native.engine import NativeEngine
from rla_envs.difficulty import complete_difficulty, parse_difficulty

TITLE = "native engine, the engine that alfworld ships; processor time"

SIZES = ((6, 6), (15, 12), (25, 24), (40, 24), (80, 40))
"""Objects and receptacles."""

_clock = time.process_time


class _Effort(NamedTuple):
    """How much is played in a round.

    Attributes:
        games: New games of ours; the shipped engine loads one.
        resets: Resets of ours; the shipped engine makes one.
        episodes: Episodes of one game, of ours.
        steps: Steps an episode of ours.
        stock_steps: Steps of the shipped engine.
    """

    games: int = 8
    resets: int = 500
    episodes: int = 16
    steps: int = 50
    stock_steps: int = 20


_QUICK = _Effort(games=1, resets=2, episodes=1, steps=3, stock_steps=1)


def why_missing() -> str:
    """Return why the shipped engine cannot be measured; empty if it can."""
    StockEngine()
    return ""


def measurements(rounds: int, quick: bool) -> Sequence[Iterator[Figure]]:
    """Return the figures: for every size, then of many games side by side."""
    effort = _QUICK if quick else _Effort()
    sizes = [_of_size(size, rounds, effort) for size in (SIZES[:1] if quick else SIZES)]
    return [*sizes, *side_by_side_figures(_difficulty(15, 12), rounds, quick)]


def _of_size(size: tuple[int, int], rounds: int, effort: _Effort) -> Iterator[Figure]:
    yield from side_by_side(
        "{} x {}".format(*size),
        rounds,
        lambda number: measure_native(size, number, effort) | measure_environment(size, number, effort),
        lambda number: measure_stock(size, number, effort),
    )


def _difficulty(objects: int, receptacles: int) -> dict[str, Any]:
    return {"objects": objects, "receptacles": receptacles}


@functools.cache
def _game(size: tuple[int, int], seed: int) -> GameData:
    rng = np.random.default_rng(seed)
    stated = parse_difficulty(PARAMETERS, _difficulty(*size))
    return game_data(sample_scene("train", complete_difficulty(PARAMETERS, stated, rng), rng))


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


def measure_native(size: tuple[int, int], number: int, effort: _Effort) -> dict[str, float]:
    """Return seconds per new game, reset and step of the native engine.

    ``new game`` is loading and starting a game never seen before, and ``first
    step`` a step of its first episode; ``reset`` starts a game again, and
    ``step`` is over many episodes of one game, as in the training of one task.
    """
    first = 1000 * number
    games = [_game(size, seed) for seed in range(first, first + effort.games)]
    NativeEngine(check_goal=False).start(_game(size, first + effort.games))
    _settle()
    news: list[float] = []
    firsts: list[float] = []
    for data in games:
        engine = NativeEngine(check_goal=False)
        news.append(_timed(lambda: engine.start(data)))  # noqa: B023 - called at once
        firsts += _steps(engine, data, number, effort.steps)
    reset = _timed(lambda: [engine.start(data) for _ in range(effort.resets)]) / effort.resets
    steps = [t for seed in range(effort.episodes) for t in _steps(engine, data, seed, effort.steps)]
    return {"new game": _mean(news), "reset": reset, "first step": _mean(firsts), "step": _mean(steps)}


def measure_environment(size: tuple[int, int], number: int, effort: _Effort) -> dict[str, float]:
    """Return seconds per new task, reset and step of the whole environment.

    ``new task`` draws a task, checks that it can be won, and starts it, which
    the shipped engine does not do; ``reset`` and ``step`` play one task again
    and again.
    """
    env = AlfWorldEnv(difficulty=_difficulty(*size))
    env.reset(seed=number)
    news = [_timed(env.reset) for _ in range(effort.games)]
    task, resets, steps = env.task, [], []
    for seed in range(effort.episodes):
        rng = np.random.default_rng(seed)
        before = _clock()
        _, info = env.reset(options={"task": task})
        resets.append(_clock() - before)
        for _ in range(effort.steps):
            command = info["admissible_commands"][int(rng.integers(len(info["admissible_commands"])))]
            before = _clock()
            _, _, terminated, truncated, info = env.step(command)
            steps.append(_clock() - before)
            if terminated or truncated:
                break
    return {"env new task": _mean(news), "env reset": _mean(resets), "env step": _mean(steps)}


def measure_stock(size: tuple[int, int], number: int, effort: _Effort) -> dict[str, float]:
    """Return seconds per new game, reset and step of the shipped engine, under the names of ours."""
    engine, data = StockEngine(), _game(size, 1000 * number)
    _settle()
    new = _timed(lambda: engine.start(data))
    reset = _timed(lambda: engine.start(data))
    step = _mean(list(_steps(engine, data, number, effort.stock_steps)))
    ours = {"new game": new, "env new task": new, "reset": reset, "env reset": reset}
    return ours | dict.fromkeys(("first step", "step", "env step"), step)
