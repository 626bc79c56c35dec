"""Run very many mixed programs in one sandbox: verdicts stay those of a fresh one, and nothing leaks.

Run it with ``python -m benchmarks.coding_soak --submissions 10000``. Programs
are drawn at random from right, wrong, broken and hostile ones of all three
kinds. The exit code is 1 if a verdict differs from that of a sandbox opened for
that program alone, if the machinery failed, or if processes, file descriptors
or (beyond --limit megabytes) memory grew from the second quarter to the last.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.memory import held
from benchmarks.progress import tracked
from benchmarks.running import exit_code
from rla_envs.coding.sandbox import Limits, Run, Sandbox, open_sandbox
from rla_envs.errors import InputError, RLAError
from rla_envs.files import write_atomic

LIMITS = Limits(time_limit=0.3, memory_mb=128, output_bytes=1 << 20)
_SAMPLES = 100
_SUITE = "import unittest\nclass Tests(unittest.TestCase):\n    def test_f(self): self.assertEqual(f(2), 4)\n"

_STDIN = (
    "print(sum(map(int, input().split())))",
    "import sys\nprint(len(sys.stdin.read()))",
    "print(1 / 0)",
    "import os; os._exit(3)",
    "import os; os.abort()",
    "import sys; sys.exit(0)",
    "print('x' * (2 << 20))",
    "import random\nprint(random.random(), hash('x'))",
    "import threading\nt = threading.Thread(target=print, args=(5,)); t.start()",
    "import os\nprint(os.listdir('/tmp'))\nopen('/tmp/note', 'w').write('x' * 9999)\nos.fork()",
    "import socket\nsocket.socket()",
    "import ctypes\nctypes.string_at(0)",
    "import os\nprint(sorted(os.environ), os.getpid())",
    "not python",
    "print('\\ud800')",
    "import sys\nsys.stdout.buffer.write(bytes(range(256)))",
)
_FUNCTIONAL = (
    "def f(x): return [x, (x, {x: 1})]",
    "seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen)",
    "def f(x): return 10 // (x - 2)",
    "def f(x): return object()",
    "import os\ndef f(x): return os._exit(0) if x == 1 else x",
    "def f(x):\n    if x == 2: x = bytearray(1 << 30)\n    return x",
    "def f(x): return 'x' * (1 << 20)",
)
_UNITTEST = ("def f(x): return 2 * x", "def f(x): return x", "f = None", "import sys; sys.exit()")
_SLOW = (
    "while True: pass",
    "import time; time.sleep(9)",
    "sorted(range(10 ** 9))",
    "x = []\nwhile True: x.append(bytearray(1 << 20))",
    "def f(n): return f(n)\nf(1)",
)
_SLOW_SHARE = 0.01


class Submission(NamedTuple):
    """A program and how it is run."""

    kind: str
    source: str


class Sample(NamedTuple):
    """How things stood after some submissions: counts, and bytes held by this process and the supervisor."""

    submissions: int
    processes: int
    descriptors: int
    held: int
    supervisor: int


_QUICK = [
    *(Submission("stdin", source) for source in _STDIN),
    *(Submission("functional", source) for source in _FUNCTIONAL),
    *(Submission("unittest", source) for source in _UNITTEST),
]
_LONG = [Submission("stdin", source) for source in _SLOW]


def outcome(sandbox: Sandbox, submission: Submission) -> list[tuple[str, bytes, str]]:
    """Return what each test of a submission came to: status, output and value."""
    runs: list[Run]
    if submission.kind == "stdin":
        runs = list(sandbox.run_stdin(submission.source, ["1 2 3", "4"], LIMITS))
    elif submission.kind == "functional":
        runs = list(sandbox.run_functional(submission.source, "f", [[i] for i in range(4)], LIMITS))
    else:
        runs = [sandbox.run_unittest(submission.source, _SUITE, 1, LIMITS)]
    return [(str(run.status), run.stdout if run.status == "ok" else b"", repr(run.value)) for run in runs]


def fresh_outcome(submission: Submission) -> list[tuple[str, bytes, str]]:
    """Return the same from a sandbox that has run nothing else."""
    with open_sandbox() as sandbox:
        return outcome(sandbox, submission)


def soak(
    submissions: int, every: int, differed: Callable[[Submission], object], seed: int = 0
) -> Iterator[Sample]:
    """Run submissions in one sandbox; yield a sample after every so many.

    Args:
        submissions: How many to run.
        every: How many between two samples.
        differed: Called with each whose outcome is not that of a fresh sandbox.
        seed: Decides which are run.

    Raises:
        RLAError: At the end, if the machinery failed in between.
    """
    rng = np.random.default_rng(seed)
    expected = {submission: fresh_outcome(submission) for submission in (*_QUICK, *_LONG)}
    with open_sandbox() as sandbox:
        for number in range(1, submissions + 1):
            among = _LONG if rng.random() < _SLOW_SHARE else _QUICK
            submission = among[int(rng.integers(len(among)))]
            if outcome(sandbox, submission) != expected[submission]:
                differed(submission)
            if number % every == 0 or number == submissions:
                yield _sample(sandbox, number)
        if sandbox.infrastructure_failures:
            raise RLAError(f"the machinery failed {sandbox.infrastructure_failures} times")


def _sample(sandbox: Sandbox, number: int) -> Sample:
    pid = sandbox.supervisor_pid
    if pid is None:
        raise RLAError("expected a sandbox on this machine")
    folder = Path(f"/proc/{pid}")
    children = len(Path(folder / f"task/{pid}/children").read_text().split())
    spares = len(os.listdir(folder / "fd")) - 5 * children  # each process that is ready has five
    descriptors = len(os.listdir("/proc/self/fd")) + spares
    resident = int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    return Sample(number, _below(pid) - children, descriptors, held(), resident)


def _below(pid: int) -> int:
    """Return how many processes there are below one."""
    children = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return len(children) + sum(map(_below, children))


def growth(samples: Sequence[Sample]) -> Sample:
    """Return by how much the least of each number in the last quarter is over that in the second.

    The least, since a sample may be taken while the supervisor still clears up after a test.
    """
    count = len(samples)
    second, last = samples[count // 4 : count // 2] or samples[-1:], samples[3 * count // 4 :]
    least = (map(min, zip(*part, strict=True)) for part in (last, second))
    return Sample(*(after - before for after, before in zip(*least, strict=True)))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the soak; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coding_soak", description=__doc__)
    parser.add_argument("--submissions", type=int, default=10_000, help="default: 10000")
    parser.add_argument("--limit", type=float, default=4.0, metavar="MB", help="growth to allow (default: 4)")
    parser.add_argument("--json", metavar="FILE", help="write all samples to a file")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    options = parser.parse_args(argv)
    return exit_code(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    if options.submissions < 1:
        raise InputError(f"--submissions: expected 1 or more, got {options.submissions}")
    every = max(1, options.submissions // _SAMPLES)
    different: list[Submission] = []
    samples, begun = [], time.perf_counter()
    found = soak(options.submissions, every, different.append)
    total = -(-options.submissions // every)
    samples = list(tracked(found, f"hundredths of {options.submissions:,} submissions", total, options.quiet))
    grown, seconds = growth(samples), time.perf_counter() - begun
    sys.stdout.write(
        f"{options.submissions:,} submissions in {seconds:,.0f} s; different verdicts: {len(different)}\n"
        f"from the second quarter to the last: {grown.processes:+d} processes, {grown.descriptors:+d} "
        f"descriptors, {grown.held / 1e6:+.1f} MB here, {grown.supervisor / 1e6:+.1f} MB in the supervisor\n"
    )
    for submission in different[:10]:
        sys.stdout.write(f"differs: {submission}\n")
    if options.json:
        numbers: dict[str, Any] = {
            "samples": [sample._asdict() for sample in samples],
            "growth": grown._asdict(),
            "different_verdicts": len(different),
            "seconds": seconds,
        }
        write_atomic(options.json, json.dumps(numbers, indent=2) + "\n")
    leaks = grown.processes > 0 or grown.descriptors > 0
    leaks = leaks or max(grown.held, grown.supervisor) > options.limit * 1e6
    return 1 if different or leaks else 0


if __name__ == "__main__":
    sys.exit(main())
