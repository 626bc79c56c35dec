"""Play the generated tasks' witnesses and near-misses on real desktops: which score, and which must not.

``python -m benchmarks.osworld_families --seeds 3 --json OUT`` prints a table, a
row for each family. Exit code 0 if every witness scored 1 and all else 0, 1 if
not, 2 on bad input.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.progress import tracked
from benchmarks.running import exit_code, machine
from rla_envs.difficulty import Value, complete_difficulty
from rla_envs.errors import InfrastructureError
from rla_envs.files import write_atomic
from rla_envs.osworld.actions.pyautogui_text import parse
from rla_envs.osworld.desktop.opening import open_desktop
from rla_envs.osworld.difficulty import PARAMETERS
from rla_envs.osworld.families import build, families, find_family, sample_payload
from rla_envs.osworld.tasks import evaluate, parse_task, setup

DIFFICULTIES: Sequence[Mapping[str, Value]] = (
    {"edits": 1},
    {"edits": 3, "vagueness": 1, "distractor_files": 2, "distractor_windows": 1},
    {"edits": 2, "start": 1, "distractor_files": 4},
    {"edits": 3, "start": 2, "distractor_windows": 2},
)
"""What is asked for in turn, from seed to seed."""


@dataclass(frozen=True)
class Played:
    """One episode.

    Attributes:
        nothing: Score before anything was done.
        score: Score at the end.
        seconds: How long it took, with the start of the desktop.
    """

    nothing: float
    score: float
    seconds: float


@dataclass(frozen=True)
class Row:
    """One way of playing one task: ``"witness"``, ``"not saved"``, or what a near-miss gets wrong."""

    family: str
    seed: int
    way: str
    nothing: float
    score: float
    seconds: float
    problem: str = ""

    @property
    def right(self) -> bool:
        """Whether it scored what it should."""
        return not self.problem and self.nothing == 0.0 and self.score == float(self.way == "witness")


def trial(family: str, seed: int, difficulty: Mapping[str, Value]) -> dict[str, Any]:
    """Draw the payload of one task."""
    rng = np.random.default_rng(seed)
    given = {"applications": len(find_family(family).applications), **difficulty}
    return sample_payload(family, complete_difficulty(PARAMETERS, given, rng), "train", rng)


def play(payload: Mapping[str, Any], steps: Sequence[str]) -> Played:
    """Play actions in a task on a fresh desktop, and score the end."""
    started = time.monotonic()
    task = parse_task(build(payload).task_json("trial"))
    with open_desktop("local") as desktop:
        setup(desktop, task)
        nothing = evaluate(desktop, task, []).score
        history = [parse(step, desktop.screen_size) for step in steps]
        for action in history:
            desktop.perform(action.events)
            desktop.observe(tree=False)
        score = evaluate(desktop, task, history).score
    return Played(nothing, score, time.monotonic() - started)


def ways(payload: Mapping[str, Any], misses: bool) -> dict[str, Sequence[str]]:
    """Return ways to play a task: its witness, and those that must not count."""
    built = build(payload)
    found: dict[str, Sequence[str]] = {"witness": built.witness}
    if not misses:
        return found
    unsaved = [step for step in built.witness if "'ctrl', 's'" not in step]
    if len(unsaved) < len(built.witness):
        found["not saved"] = unsaved
    spec = payload["spec"]
    for wrong, job in find_family(payload["family"]).near_misses(spec["job"]).items():
        found[wrong] = build({**payload, "spec": {**spec, "job": job}}).witness
    return found


def measure(names: Sequence[str], seeds: int, misses: bool, quiet: bool) -> list[Row]:
    """Play every way of every task once; near-misses on the first seed of each family alone."""
    plans = []
    for seed in range(seeds):
        for name in names:
            payload = trial(name, seed, DIFFICULTIES[seed % len(DIFFICULTIES)])
            plans += [(name, seed, way, payload, s) for way, s in ways(payload, misses and seed == 0).items()]
    rows = []
    for name, seed, way, payload, steps in tracked(plans, "episodes", len(plans), quiet):
        try:
            rows.append(Row(name, seed, way, **asdict(play(payload, steps))))
        except InfrastructureError as error:
            rows.append(Row(name, seed, way, 0.0, 0.0, 0.0, str(error)))
    return rows


def table(rows: Sequence[Row]) -> str:
    """Return the outcome as text, a line for each family."""
    lines = [f"{'family':<22}{'witness':>9}{'nothing':>9}{'misses':>9}{'seconds':>9}"]
    for name in dict.fromkeys(row.family for row in rows):
        own = [row for row in rows if row.family == name]
        witness = [row for row in own if row.way == "witness"]
        misses = [row for row in own if row.way != "witness"]
        parts = (
            f"{sum(row.score == 1.0 for row in witness)}/{len(witness)}",
            f"{sum(row.nothing > 0 for row in own)}/{len(own)}",
            f"{sum(row.score > 0 for row in misses)}/{len(misses)}",
            f"{np.median([row.seconds for row in own]):.1f}",
        )
        lines.append(f"{name:<22}" + "".join(f"{part:>9}" for part in parts))
        lines += [
            f"  {row.way} at seed {row.seed}: {row.problem or row.score}" for row in own if not row.right
        ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; see the module for what it does and returns."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.osworld_families", description=__doc__)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="which; all if none is named")
    parser.add_argument("--seeds", type=int, default=1, help="tasks a family, at different difficulties")
    parser.add_argument("--no-misses", action="store_true", help="play witnesses only")
    parser.add_argument("--json", type=Path, help="write the outcome to this file")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    given = parser.parse_args(arguments)

    def run() -> int:
        names = [find_family(name).name for name in given.families] or families()
        rows = measure(names, given.seeds, not given.no_misses, given.quiet)
        sys.stdout.write(f"{table(rows)}\n")
        if given.json is not None:
            outcome = {**machine(), "rows": [{**asdict(row), "right": row.right} for row in rows]}
            write_atomic(given.json, json.dumps(outcome, indent=2) + "\n")
        return 0 if all(row.right for row in rows) else 1

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
