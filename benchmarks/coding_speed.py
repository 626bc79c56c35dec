"""How fast coding answers are graded in the sandbox, next to a grader that works as LiveBench's does.

Everything runs on one core. Both grade the same submissions in turn, and must
agree on each; see ``benchmarks.coding_peer`` for what the other one is.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from benchmarks import coding_peer
from benchmarks.running import machine
from rla_envs.coding import Grader, Problem
from rla_envs.coding.sandbox import Sandbox, Status, open_sandbox
from rla_envs.errors import InputError, RLAError
from rla_envs.files import write_atomic

TESTS = 10
"""Tests of a submission."""
BATCH = 100
"""Calls of a function asked for at once."""

_INPUTS = [
    f"{n}\n{' '.join(str((i * 7919 + n) % 1000) for i in range(n))}\n" for n in range(3, 3 + 9 * TESTS, 9)
]
_READ = "n = int(input())\nxs = list(map(int, input().split()))\n"
_ANSWERS = [
    "print(sum(xs))",
    "total = 0\nfor x in xs:\n    total += x\nprint(total)",
    "import itertools\nprint(list(itertools.accumulate(xs))[-1])",
    "def main():\n    from functools import reduce\n    print(reduce(lambda a, b: a + b, xs))\nmain()",
    "print(sum(xs) if n < 40 else sum(xs) + 1)",
    "print(sum(xs) // (n - 21))",
]
"""Four programs that are right, one that is wrong for large inputs, and one that raises for one input."""
_FUNCTION = "def add(a, b):\n    return a + b\n"
_Result = TypeVar("_Result")


def problem() -> Problem:
    """Return the problem that the submissions answer: the sum of a list."""
    tests = [(text, f"{sum(map(int, text.split()[1:]))}\n") for text in _INPUTS]
    return Problem.stdin("Print the sum of the numbers on the second line.", tests, time_limit=6)


def measure_stdin(sandbox: Sandbox, tests: int) -> list[float]:
    """Return the seconds of each of so many tests of a program that reads its input."""
    runs = sandbox.run_stdin(_READ + _ANSWERS[0], (_INPUTS[i % TESTS] for i in range(tests)))
    times = []
    for _ in range(tests):
        run, seconds = _timed(lambda: next(runs))
        _require_ok(run.status)
        times.append(seconds)
    return times


def measure_functional(sandbox: Sandbox, batches: int) -> list[float]:
    """Return the seconds a call takes, for each of so many batches."""
    times = []
    for _ in range(batches):
        calls = [[i, 2 * i] for i in range(BATCH)]
        runs, seconds = _timed(lambda: list(sandbox.run_functional(_FUNCTION, "add", calls)))  # noqa: B023
        for i, run in enumerate(runs):
            _require_ok(run.status if run.value == 3 * i else Status.WRONG_ANSWER)
        times.append(seconds / BATCH)
    return times


def measure_submissions(rounds: int) -> dict[str, Any]:
    """Grade every submission with both graders in turn; return how fast each is, and how they agree.

    The time of a submission is the median over the rounds: other work on the machine disturbs that little.
    """
    asked = problem()
    cases = [(case.input, case.output) for case in asked.tests]
    ours: dict[str, list[float]] = {answer: [] for answer in _ANSWERS}
    theirs: dict[str, list[float]] = {answer: [] for answer in _ANSWERS}
    tests: dict[str, int] = {}
    cpu_ours = cpu_theirs = 0.0
    different = 0
    with Grader() as grader:
        grader.grade_code(asked, _READ + _ANSWERS[0])
        for _ in range(rounds):
            for answer in _ANSWERS:
                code = _READ + answer
                before = _cpu_of(grader.sandbox)
                verdict, seconds = _timed(lambda: grader.grade_code(asked, code, stop_at="failure"))  # noqa: B023
                ours[answer].append(seconds)
                between = _cpu_of(grader.sandbox)
                passed, seconds = _timed(lambda: coding_peer.grade(code, cases, 6))  # noqa: B023
                theirs[answer].append(seconds)
                cpu_ours += between - before
                cpu_theirs += _cpu_of(grader.sandbox) - between
                tests[answer] = len(verdict.tests)
                different += [test.passed for test in verdict.tests] != passed
    total, seconds = sum(tests.values()), sum(map(statistics.median, ours.values()))
    peer_seconds = sum(map(statistics.median, theirs.values()))
    return {
        "submissions": rounds * len(_ANSWERS),
        "tests": rounds * total,
        "different_verdicts": different,
        "ours": {"tests_per_second": total / seconds, "submission": seconds / len(_ANSWERS)},
        "peer": {"tests_per_second": total / peer_seconds, "submission": peer_seconds / len(_ANSWERS)},
        "times": peer_seconds / seconds,
        "times_by_processor_time": cpu_theirs / cpu_ours,
    }


def _timed(action: Callable[[], _Result]) -> tuple[_Result, float]:
    before = time.perf_counter()
    result = action()
    return result, time.perf_counter() - before


def _require_ok(status: Status) -> None:
    if status is not Status.OK:
        raise RLAError(f"expected every test of the measurement to pass, one ended with {status}")


def _cpu_of(sandbox: Sandbox) -> float:
    """Return the processor time of this process, its children, and the tests of a sandbox so far."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    own = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    pid = sandbox.supervisor_pid
    if pid is None:
        return own
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return own + sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _table(numbers: dict[str, Any]) -> Iterator[str]:
    stdin, functional, graded = numbers["stdin"], numbers["functional"], numbers["submissions"]
    yield "milliseconds a test on one core, isolation included"
    yield f"  program reading its input   median {1e3 * stdin['median']:.2f}, of {stdin['tests']} tests"
    yield f"  function, {BATCH} calls asked for at once   median {1e3 * functional['median']:.3f}"
    yield f"submissions of {TESTS} tests, the same {graded['submissions']} graded in turn by both"
    for name, whose in (("ours", "ours, isolated"), ("peer", "one that works as LiveBench's, unisolated")):
        row = graded[name]
        milliseconds = 1e3 * row["submission"]
        yield f"  {whose}: {row['tests_per_second']:.0f} tests/s, {milliseconds:.1f} ms a submission"
    yield (
        f"  ours is {graded['times']:.2f} times as fast, by processor time "
        f"{graded['times_by_processor_time']:.2f}; different verdicts: {graded['different_verdicts']}"
    )


def main(argv: Sequence[str]) -> int:
    """Run the measurement, print a table and write the numbers; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed coding", description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="write all numbers, in seconds, to a file")
    parser.add_argument("--tests", type=int, default=300, help="tests of one program")
    parser.add_argument("--batches", type=int, default=20, help=f"batches of {BATCH} calls")
    parser.add_argument(
        "--rounds", type=int, default=10, help=f"times that {len(_ANSWERS)} submissions are graded"
    )
    options = parser.parse_args(argv)
    for name in ("tests", "batches", "rounds"):
        if getattr(options, name) < 1:
            raise InputError(f"--{name}: expected 1 or more, got {getattr(options, name)}")
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        with open_sandbox() as sandbox:
            measure_stdin(sandbox, 10)
            stdin = measure_stdin(sandbox, options.tests)
            functional = measure_functional(sandbox, options.batches)
        submissions = measure_submissions(options.rounds)
    finally:
        os.sched_setaffinity(0, cores)
    numbers = {
        "machine": machine(),
        "stdin": {"tests": len(stdin), "median": statistics.median(stdin), "least": min(stdin)},
        "functional": {"calls": BATCH * len(functional), "median": statistics.median(functional)},
        "submissions": submissions,
    }
    sys.stdout.write("\n".join(_table(numbers)) + "\n")
    if options.json:
        write_atomic(options.json, json.dumps(numbers, indent=2) + "\n")
    return 1 if submissions["different_verdicts"] else 0
