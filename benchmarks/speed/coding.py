"""The sandbox: isolated programs beside unisolated ones, and beside a grader that works as LiveBench's does.

Everything runs on one core, by wall clock. Both graders grade the same
submissions and must agree on each; see ``benchmarks.coding_peer`` for what the
other one is. The peer of single tests is a new Python process for each, as most
graders start one; it isolates nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks import coding_peer
from benchmarks.speed.figures import Figure, side_by_side
from rla_envs.coding import Grader, Problem
from rla_envs.coding.sandbox import Status, open_sandbox, why_unavailable
from rla_envs.errors import InfrastructureError

TITLE = "isolated in the sandbox, unisolated; one core, wall clock"

TESTS = 10
"""Tests of a submission."""
BATCH = 100
"""Calls of a function asked for at once."""

INPUTS = [
    f"{n}\n{' '.join(str((i * 7919 + n) % 1000) for i in range(n))}\n" for n in range(3, 3 + 9 * TESTS, 9)
]
_READ = "n = int(input())\nxs = list(map(int, input().split()))\n"
ANSWERS = [
    "print(sum(xs))",
    "total = 0\nfor x in xs:\n    total += x\nprint(total)",
    "import itertools\nprint(list(itertools.accumulate(xs))[-1])",
    "def main():\n    from functools import reduce\n    print(reduce(lambda a, b: a + b, xs))\nmain()",
    "print(sum(xs) if n < 40 else sum(xs) + 1)",
    "print(sum(xs) // (n - 21))",
]
"""Four programs that are right, one that is wrong for large inputs, and one that raises for one input."""
_FUNCTION = "def add(a, b):\n    return a + b\n"
_CALLER = f"{_FUNCTION}import json\nprint(json.dumps([add(*pair) for pair in json.loads(input())]))\n"


class _Effort(NamedTuple):
    """How much is measured in a round: tests, batches of calls, and passes over the submissions."""

    tests: int = 60
    batches: int = 5
    passes: int = 2


def why_missing() -> str:
    """Return why there is no sandbox here; empty if there is one."""
    return why_unavailable("bubblewrap") or ""


def measurements(rounds: int, quick: bool) -> Sequence[Iterator[Figure]]:
    """Return the figures: a test, a call, a submission."""
    effort = _Effort(2, 1, 1) if quick else _Effort()
    return [
        side_by_side(
            "",
            rounds,
            lambda _: {"test that reads its input": measure_stdin(effort.tests)},
            lambda _: {"test that reads its input": measure_stdin_processes(effort.tests)},
        ),
        side_by_side(
            "",
            rounds,
            lambda _: {f"function call, {BATCH} at once": measure_calls(effort.batches)},
            lambda _: {f"function call, {BATCH} at once": measure_calls_in_processes(effort.batches)},
        ),
        _submissions(rounds, effort.passes),
    ]


def _submissions(rounds: int, passes: int) -> Iterator[Figure]:
    verdicts: dict[str, list[list[list[bool]]]] = {"ours": [], "peer": []}

    def ours(_: int) -> dict[str, float]:
        return _per_test(*grade_ours(passes), verdicts, "ours")

    def peer(_: int) -> dict[str, float]:
        return _per_test(*grade_peer(passes), verdicts, "peer")

    yield from side_by_side(
        f"submissions of {TESTS} tests, test by test (peer: LiveBench's way),", rounds, ours, peer
    )


def _per_test(
    seconds: float, passed: list[list[bool]], verdicts: dict[str, list[list[list[bool]]]], side: str
) -> dict[str, float]:
    verdicts[side].append(passed)
    first = next(iter(verdicts["ours"] + verdicts["peer"]))
    if passed != first:
        raise InfrastructureError(f"expected equal verdicts of both graders, got {passed} and {first}")
    return {"tests": seconds / sum(map(len, passed))}


def problem() -> Problem:
    """Return the problem that the submissions answer: the sum of a list."""
    tests = [(text, f"{_sum(text)}\n") for text in INPUTS]
    return Problem.stdin("Print the sum of the numbers on the second line.", tests, time_limit=6)


def _sum(text: str) -> int:
    return sum(map(int, text.split()[1:]))


@contextlib.contextmanager
def _one_core() -> Iterator[None]:
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def measure_stdin(tests: int) -> float:
    """Return the median seconds of so many tests of a program that reads its input, in the sandbox."""
    with _one_core(), open_sandbox() as sandbox:
        # The first few warm it up.
        runs = sandbox.run_stdin(_READ + ANSWERS[0], (INPUTS[i % TESTS] for i in range(tests + TESTS)))
        times = []
        for _ in range(tests + TESTS):
            before = time.perf_counter()
            run = next(runs)
            times.append(time.perf_counter() - before)
            _require(run.status is Status.OK, f"status {run.status}")
    return statistics.median(times[TESTS:])


def measure_stdin_processes(tests: int) -> float:
    """Return the median seconds of so many tests, each in a new Python process."""
    times = []
    with _one_core():
        for i in range(tests):
            given = INPUTS[i % TESTS]
            before = time.perf_counter()
            printed = _python(_READ + ANSWERS[0], given)
            times.append(time.perf_counter() - before)
            _require(int(printed) == _sum(given), f"output {printed!r}")
    return statistics.median(times)


def measure_calls(batches: int) -> float:
    """Return the median seconds a call takes, over so many batches in the sandbox."""
    times = []
    with _one_core(), open_sandbox() as sandbox:
        for _ in range(batches + 1):
            calls = [[i, 2 * i] for i in range(BATCH)]
            before = time.perf_counter()
            runs = list(sandbox.run_functional(_FUNCTION, "add", calls))
            times.append((time.perf_counter() - before) / BATCH)
            _require([run.value for run in runs] == [3 * i for i in range(BATCH)], "other values")
    return statistics.median(times[1:])


def measure_calls_in_processes(batches: int) -> float:
    """Return the median seconds a call takes, over so many batches, each in a new Python process."""
    times = []
    with _one_core():
        for _ in range(batches):
            before = time.perf_counter()
            printed = _python(_CALLER, json.dumps([[i, 2 * i] for i in range(BATCH)]))
            times.append((time.perf_counter() - before) / BATCH)
            _require(json.loads(printed) == [3 * i for i in range(BATCH)], f"output {printed!r}")
    return statistics.median(times)


def grade_ours(passes: int) -> tuple[float, list[list[bool]]]:
    """Grade every submission in the sandbox.

    Returns:
        Seconds for all of them (of each the median over the passes), and which tests each passed.
    """
    asked = problem()
    with _one_core(), Grader() as grader:
        grader.grade_code(asked, _READ + ANSWERS[0])
        return _graded(
            passes,
            lambda code: [test.passed for test in grader.grade_code(asked, code, stop_at="failure").tests],
        )


def grade_peer(passes: int) -> tuple[float, list[list[bool]]]:
    """Grade every submission as LiveBench does; returns as :func:`grade_ours`."""
    cases = [(case.input, case.output) for case in problem().tests]
    with _one_core():
        return _graded(passes, lambda code: coding_peer.grade(code, cases, 6))


def _graded(passes: int, grade: coding_peer.Grade) -> tuple[float, list[list[bool]]]:
    times: dict[str, list[float]] = {answer: [] for answer in ANSWERS}
    for _ in range(passes):
        passed = []
        for answer in ANSWERS:
            before = time.perf_counter()
            passed.append(grade(_READ + answer))
            times[answer].append(time.perf_counter() - before)
    return sum(map(statistics.median, times.values())), passed


def _python(source: str, given: str) -> str:
    words = [sys.executable, "-I", "-S", "-c", source]
    return subprocess.run(words, input=given, capture_output=True, text=True, check=True).stdout


def _require(holds: bool, got: str) -> None:
    if not holds:
        raise InfrastructureError(f"expected every test of the measurement to pass, got {got}")
