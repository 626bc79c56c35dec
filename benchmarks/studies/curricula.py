"""All curricula compared: steps to a target success on a fixed held-out grid, with learners of every kind.

Run it with ``python -m benchmarks.studies.curricula --json OUT``. Every curriculum
keeps its defaults. OUT is written after every race; the same command goes on
where it stopped. With --docs it draws the figures and fills in docs/curricula.md
from the races in OUT.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

from benchmarks.progress import tracked
from benchmarks.studies.curricula_page import draw, tables
from benchmarks.studies.learners import SCENARIOS
from benchmarks.studies.output import replace_part, write_json
from benchmarks.studies.races import ARMS, GRIDNAV, Budget, Race, run
from benchmarks.studies.summary import summarize
from rla_envs.errors import InputError, RLAError

PAGE = "curricula.md"
SEEDS, QUICK_SEEDS = 5, 2
FULL = Budget(attempts=10_000, steps=81_920, target=0.7, every=4_096)
QUICK = Budget(attempts=800, steps=8_192, target=0.15, every=2_048)


def races(seeds: int) -> list[Race]:
    """Return all races: simulated learners first, then the real one; seed by seed.

    An unfinished study is thus a smaller one.
    """
    return [
        Race(name, arm, seed)
        for names in (SCENARIOS, (GRIDNAV,))
        for seed in range(seeds)
        for name in names
        for arm in ARMS
    ]


def finished(path: Path, budget: Budget) -> list[dict[str, Any]]:
    """Return the races that a file has already.

    Raises:
        InputError: If the file is of another study or budget.
    """
    if not path.exists():
        return []
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        records: list[dict[str, Any]] = content["races"]
        same = content["budget"] == budget._asdict()
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: expected races of this study, got {error!r}; name another file") from error
    if not same:
        raise InputError(
            f"{path}: expected races with the budget {budget._asdict()}, got {content['budget']}; "
            "name another file"
        )
    return records


def _run_all(
    todo: Sequence[Race], budget: Budget, jobs: int, minutes: float | None
) -> Iterator[dict[str, Any]]:
    """Yield the records of races in the order in which they finish."""
    start, waiting, running = time.monotonic(), iter(todo), set[Future[dict[str, Any]]]()
    # A fresh interpreter each: forking a process that draws a progress bar can lock up.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        while True:
            while len(running) < jobs and (minutes is None or time.monotonic() - start < 60.0 * minutes):
                race = next(waiting, None)
                if race is None:
                    break
                running.add(pool.submit(run, race, budget))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)


def _content(records: Sequence[Mapping[str, Any]], budget: Budget, planned: Sequence[Race]) -> dict[str, Any]:
    order = {race: number for number, race in enumerate(planned)}
    ordered = sorted(
        records,
        key=lambda r: order.get(Race(r["scenario"], r["arm"], r["seed"]), len(order)),
    )
    return {"budget": budget._asdict(), "planned": len(planned), "races": ordered}


def main(argv: Sequence[str]) -> int:
    """Run what is missing and write what was asked for; return the exit code, 1 if races are missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.curricula", description=__doc__)
    parser.add_argument("--json", metavar="FILE", type=Path, required=True, help="all races and the summary")
    parser.add_argument("--docs", metavar="DIR", type=Path, help="draw figures, fill in curricula.md there")
    parser.add_argument("--quick", action="store_true", help="a small budget: does it run?")
    parser.add_argument("--seeds", type=int, help=f"seeds a race ({SEEDS}; quick: {QUICK_SEEDS})")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="processes")
    parser.add_argument("--minutes", type=float, help="start no race after so many; run again to go on")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no tables")
    options = parser.parse_args(argv)
    seeds = options.seeds if options.seeds is not None else QUICK_SEEDS if options.quick else SEEDS
    for name, value in (("--seeds", seeds), ("--jobs", options.jobs)):
        if value < 1:
            raise InputError(f"{name}: expected 1 or more, got {value}")
    budget, planned = QUICK if options.quick else FULL, races(seeds)
    records = finished(options.json, budget)
    have = {Race(r["scenario"], r["arm"], r["seed"]) for r in records}
    todo = [race for race in planned if race not in have]
    for record in tracked(
        _run_all(todo, budget, options.jobs, options.minutes), "races", len(todo), options.quiet
    ):
        records.append(record)
        write_json(options.json, _content(records, budget, planned))
    content = _content(records, budget, planned)
    content["summary"] = summarize(content["races"])
    write_json(options.json, content)
    parts = tables(content)
    if not options.quiet:
        sys.stdout.write("\n\n".join(parts.values()) + "\n")
    if options.docs:
        draw(content, options.docs / "figures")
        for name, text in parts.items():
            replace_part(options.docs / PAGE, name, text)
    return int(not {*planned} <= {Race(r["scenario"], r["arm"], r["seed"]) for r in records})


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except RLAError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
