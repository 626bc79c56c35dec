"""Show that something goes on, to people only."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

_SHOWN_FROM = 50
"""Fewer steps are done before one could read of them."""


@contextlib.contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Count steps on one line of a terminal's standard error; where there is none, say nothing.

    Args:
        what: What is being done.
        total: Number of steps.

    Yields:
        What to call after each step.
    """
    done = 0
    shown = total >= _SHOWN_FROM and sys.stderr.isatty()

    def advance() -> None:
        nonlocal done
        done += 1
        if shown and (done % 10 == 0 or done == total):
            sys.stderr.write(f"\r{what}: {done} of {total}")
            sys.stderr.flush()

    try:
        yield advance
    finally:
        if shown:
            sys.stderr.write("\n")
