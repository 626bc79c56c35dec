"""Bringing the interpreter into the state that every test starts from, the same on every machine."""

from __future__ import annotations

import _sitebuiltins
import builtins
import importlib
import os
import random
import sys
import threading

from . import program, values

_WARM_MODULES = """
array bisect cmath collections.abc copy dataclasses datetime decimal fractions functools heapq io itertools
json math operator queue random re statistics string sys textwrap threading time typing
"""
"""Modules that programs often import: once here instead of in every test."""

_WARM_PROGRAM = b"""
import sys
from collections import Counter, defaultdict, deque
from typing import List

class Solution:
    def add(self, a: int, b: int) -> int:
        return a + b

def main():
    n = len("3 1 2".split())
    rows = sorted([list(map(int, "3 1 2".split())) for _ in range(n)], key=lambda row: -row[0])
    counts = defaultdict(int)
    for row in rows:
        for item in row:
            counts[item] += item * 2 % 7
    try:
        raise ValueError("x")
    except ValueError as error:
        print(n, rows, dict(counts), f"{n:03d} {1 / n:.3f}", str(error), Counter("abca"), deque([1]))
    sys.stdout.write(" ".join(map(str, rows[0])) + "\\n")

if __name__ == "__main__":
    main()
"""
"""Run once, so that what Python makes ready at first use is there before the first fork."""

_RECURSION = 50_000
"""Deeper than CPython's own 1000; the limit that LiveBench's grader sets."""
_THREAD_STACK = 8 << 20


def warm_up() -> None:
    """Import, run and set what programs should find ready."""
    for name in _WARM_MODULES.split():
        importlib.import_module(name)
    builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D")
    builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D")
    for name in ("PWD", "LD_LIBRARY_PATH"):  # where things are on this machine is nobody's business
        os.environ.pop(name, None)
    os.cpu_count = lambda: 1
    os.sched_getaffinity = lambda pid: {0}
    threading.stack_size(_THREAD_STACK)
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(encoding="utf-8", errors="strict")  # type: ignore[union-attr]
    program.execute(_WARM_PROGRAM)
    sys.stdout.flush()
    program.error_text(ValueError())
    values.decode(values.encode([1, "a", (2.5, None), {"b": {3}}]))
    del sys.modules["__main__"]
    sys.argv = [program.FILENAME]
    sys.setrecursionlimit(_RECURSION)
    random.seed(0)  # a test is to go the same way every time
