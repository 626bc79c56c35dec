"""Play very many episodes in one process and see whether its memory stays as it is.

Run it with ``python -m benchmarks.soak alfworld --episodes 100000``. One
episode in five is of a new task; the others play one of the last tasks again.
Commands are random possible ones, and now and then one that is not. The exit
code is 1 if the process holds more in the last quarter than in the second by
more than --limit megabytes: what is kept for later is bounded, and the bounds
are reached in the first quarter.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.memory import held
from benchmarks.progress import tracked
from benchmarks.running import exit_code
from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.errors import InputError, unknown_name
from rla_envs.files import write_atomic
from rla_envs.task import Task

SUBJECTS = ("alfworld",)
_NEW, _RECENT, _STEPS, _SAMPLES = 0.2, 32, 12, 100


class Sample(NamedTuple):
    """How things stood after some episodes.

    Attributes:
        episodes: Episodes played.
        steps: Commands played.
        tasks: Different tasks played.
        held: Bytes that the process held.
    """

    episodes: int
    steps: int
    tasks: int
    held: int


def play(episodes: int, every: int, seed: int = 0) -> Iterator[Sample]:
    """Play episodes; yield a sample after every so many."""
    rng, env = np.random.default_rng(seed), AlfWorldEnv()
    recent: deque[Task] = deque(maxlen=_RECENT)
    steps = tasks = 0
    env.reset(seed=seed)
    for episode in range(1, episodes + 1):
        if not recent or rng.random() < _NEW:
            sizes = {"receptacles": int(rng.integers(6, 16)), "objects": int(rng.integers(6, 21))}
            _, info = env.reset(options={"difficulty": sizes})
            recent.append(env.task)
            tasks += 1
        else:
            _, info = env.reset(options={"task": recent[int(rng.integers(len(recent)))]})
        for _ in range(_STEPS):
            commands = info["admissible_commands"]
            command = commands[int(rng.integers(len(commands)))] if rng.random() < 0.95 else "dance"
            _, _, terminated, truncated, info = env.step(command)
            steps += 1
            if terminated or truncated:
                break
        if episode % every == 0 or episode == episodes:
            yield Sample(episode, steps, tasks, held())
    env.close()


def growth(samples: Sequence[Sample]) -> float:
    """Return by how many bytes more is held in the last quarter than in the second."""
    count = len(samples)
    second = [sample.held for sample in samples[count // 4 : count // 2]]
    last = [sample.held for sample in samples[3 * count // 4 :]]
    return statistics.median(last) - statistics.median(second or last)


def _table(samples: Sequence[Sample], seconds: float) -> Iterator[str]:
    yield f"{'episodes':>10}{'tasks':>10}{'steps':>12}{'MB held':>10}"
    for sample in samples[:: max(1, len(samples) // 20)]:
        yield f"{sample.episodes:>10,}{sample.tasks:>10,}{sample.steps:>12,}{sample.held / 1e6:>10.1f}"
    last = samples[-1]
    yield (
        f"{last.episodes:,} episodes, {last.tasks:,} tasks and {last.steps:,} steps in {seconds:,.0f} s of "
        f"processor time; {growth(samples) / 1e6:+.1f} MB from the second quarter to the last"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the soak; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("subject", help=f"what to play: {', '.join(SUBJECTS)}")
    parser.add_argument("--episodes", type=int, default=100_000, help="episodes (default: 100000)")
    parser.add_argument(
        "--limit", type=float, default=16.0, metavar="MB", help="growth to allow (default: 16)"
    )
    parser.add_argument("--json", metavar="FILE", help="write all samples to a file")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    options = parser.parse_args(argv)
    return exit_code(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    if options.subject not in SUBJECTS:
        raise unknown_name("subject", options.subject, SUBJECTS)
    if options.episodes < 1:
        raise InputError(f"--episodes: expected a positive number, got {options.episodes}")
    every = max(1, options.episodes // _SAMPLES)
    total = -(-options.episodes // every)
    played = play(options.episodes, every)
    begun = time.process_time()
    samples = list(tracked(played, f"hundredths of {options.episodes:,} episodes", total, options.quiet))
    seconds = time.process_time() - begun
    sys.stdout.write("\n".join(_table(samples, seconds)) + "\n")
    grown = growth(samples)
    if options.json:
        numbers: dict[str, Any] = {
            "samples": [sample._asdict() for sample in samples],
            "growth_bytes": grown,
            "processor_seconds": seconds,
        }
        write_atomic(Path(options.json), json.dumps(numbers, indent=2) + "\n")
    return 1 if grown > options.limit * 1e6 else 0


if __name__ == "__main__":
    sys.exit(main())
