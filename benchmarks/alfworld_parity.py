"""Play many games on the native engine and on TextWorld's, and count every answer that differs.

Run it with ``python -m benchmarks.alfworld_parity --games 1000``. Games of all
task types, splits and many sizes are drawn from their number; each is played
with random, repeated and nonsense commands, started again, won by a shortest
plan and played on. The exit code is 1 if any answer differs.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from benchmarks.progress import tracked
from benchmarks.running import exit_code
from rla_envs.alfworld.difficulty import PARAMETERS
from rla_envs.alfworld.game import game_data
from rla_envs.alfworld.generator import sample_scene
from rla_envs.alfworld.native.engine import NativeEngine
from rla_envs.alfworld.plan import Planner
from rla_envs.alfworld.scene import TASK_TYPES, Scene
from rla_envs.alfworld.splits import SPLITS
from rla_envs.difficulty import complete_difficulty, parse_difficulty

NONSENSE = ("", "  look  ", "LOOK", "put mug 1 in/on desk 1", "{1+1}", "#intro#", "go to", "gehe zu Tür")
_LARGE = 50
"""Every so many games a large one is played."""


class Outcome(NamedTuple):
    """What came of one game.

    Attributes:
        steps: Commands played.
        restarts: Times the game was started.
        won: Whether the plan won it, and no earlier command of the plan.
        differences: For each answer that differs, where and how, in one line.
    """

    steps: int
    restarts: int
    won: bool
    differences: tuple[str, ...]


def draw_scene(number: int) -> Scene:
    """Return the scene of a game, always the same for the same number."""
    rng = np.random.default_rng(number)
    large = number % _LARGE == _LARGE - 1
    stated = {
        "task_type": TASK_TYPES[number % len(TASK_TYPES)],
        "receptacles": int(rng.integers(20, 30)) if large else int(rng.integers(5, 16)),
        "objects": int(rng.integers(30, 50)) if large else int(rng.integers(6, 24)),
        "distractors": int(rng.integers(0, 3)),
        "closed_containers": float(rng.integers(0, 3)) / 2,
        "place_unnamed": int(rng.integers(0, 2)),
    }
    full = complete_difficulty(PARAMETERS, parse_difficulty(PARAMETERS, stated), rng)
    return sample_scene(SPLITS[number // len(TASK_TYPES) % len(SPLITS)], full, rng)


def compare(number: int, steps: int, reference: Any) -> Outcome:
    """Play one game on both engines.

    Args:
        number: Number of the game.
        steps: Commands to play.
        reference: The engine to compare with.
    """
    scene = draw_scene(number)
    data, plan = game_data(scene), Planner(scene).plan() or ()
    rng, native = np.random.default_rng(number), NativeEngine()
    differences = []
    wins = []

    def note(what: str, ours: Any, expected: Any) -> None:
        if ours != expected:
            differences.append(f"game {number}, {what}: {ours!r} instead of {expected!r}"[:2000])

    expected = reference.start(data)
    note("start", native.start(data), expected)
    before, command = max(steps - len(plan), 0) * 2 // 3, "look"
    for turn in range(steps):
        if turn == before:
            expected = reference.start(data)
            note("start again", native.start(data), expected)
        if before <= turn < before + len(plan):
            command = plan[turn - before]
        elif turn % 7 == 5:
            command = NONSENSE[int(rng.integers(len(NONSENSE)))]
        elif turn % 7 != 4:
            command = expected.commands[int(rng.integers(len(expected.commands)))]
        expected = reference.step(command)
        note(f"step {turn + 1}, {command!r}", native.step(command), expected)
        if before <= turn < before + len(plan):
            wins.append(expected.won)
    won = wins == [False] * (len(plan) - 1) + [True]
    return Outcome(steps, 2, won, tuple(differences))


def _reference(name: str) -> Any:
    if name == "stock":
        from benchmarks.stock_alfworld import StockEngine

        return StockEngine()
    from rla_envs.alfworld.textworld_engine import TextWorldEngine

    return TextWorldEngine()


def _play(numbers: Sequence[int], steps: int, reference: str) -> list[Outcome]:
    engine = _reference(reference)
    outcomes = [compare(number, steps, engine) for number in numbers]
    engine.close()
    return outcomes


def play_all(first: int, games: int, steps: int, reference: str, jobs: int) -> Iterator[Outcome]:
    """Yield the outcome of each game, a few games per engine."""
    chunks = [range(i, min(i + 10, first + games)) for i in range(first, first + games, 10)]
    if jobs == 1:
        for chunk in chunks:
            yield from _play(chunk, steps, reference)
        return
    with ProcessPoolExecutor(jobs) as pool:
        results = pool.map(_play, chunks, itertools.repeat(steps), itertools.repeat(reference))
        for outcomes in results:
            yield from outcomes


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alfworld_parity", description=__doc__)
    parser.add_argument("--games", type=int, default=1000, help="number of games (default: 1000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first game (default: 0)")
    parser.add_argument("--steps", type=int, default=50, help="commands per game (default: 50)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument(
        "--reference",
        choices=("textworld", "stock"),
        default="textworld",
        help="TextWorld with its parses cached, or exactly as shipped, about three times slower",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    options = parser.parse_args(argv)
    for name in ("games", "steps", "jobs"):
        if getattr(options, name) < 1:
            parser.error(f"--{name}: expected a positive number, got {getattr(options, name)}")
    return exit_code(lambda: _report(options))


def _report(options: argparse.Namespace) -> int:
    played = play_all(options.first, options.games, options.steps, options.reference, options.jobs)
    games = steps = starts = won = differences = 0
    for outcome in tracked(played, "games", options.games, options.quiet):
        games += 1
        steps += outcome.steps
        starts += outcome.restarts
        won += outcome.won
        differences += len(outcome.differences)
        for line in outcome.differences[:3]:
            sys.stderr.write(f"{line}\n")
    sys.stdout.write(
        f"{games} games, {steps} steps and {starts} starts compared with {options.reference}: "
        f"{differences} differences; the plan won {won} games\n"
    )
    return 1 if differences or won < games else 0


if __name__ == "__main__":
    sys.exit(main())
