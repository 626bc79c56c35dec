"""What a sandbox takes and gives back, whichever backend runs it.

A sandbox runs programs and reports what they did. It never sees an expected
output, so it cannot say whether an answer is right: the caller compares.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

from rla_envs.errors import InputError


class Status(enum.StrEnum):
    """How one test of a program ended."""

    OK = "ok"
    """It ran to its end; for the grader: and gave the expected answer."""
    WRONG_ANSWER = "wrong_answer"
    """It ran, and the answer is not the expected one. Given by the grader, and by a ``unittest`` suite."""
    RUNTIME_ERROR = "runtime_error"
    """It raised, left with an exit code other than 0, crashed, or returned what is not a plain value."""
    TIMEOUT = "timeout"
    """It used up its processor time, or slept for too long."""
    MEMORY = "memory"
    """It asked for more memory than its limit."""
    OUTPUT_LIMIT = "output_limit"
    """It wrote or returned more than its limit."""
    INFRASTRUCTURE = "infrastructure"
    """The sandbox failed, not the program; says nothing about it and must never be scored."""


@dataclass(frozen=True)
class Limits:
    """What one test may use.

    Attributes:
        time_limit: Seconds of processor time, all threads together. Waiting
            for a busy core costs nothing, so a loaded machine changes no
            verdict. A program that sleeps is stopped once its own time
            (running or asleep) is over ``time_limit`` + 1 s.
        memory_mb: MiB of address space on top of the interpreter's own. Each
            thread's stack counts whole (8 MiB unless the program says).
        output_bytes: Most bytes of standard output, of standard error, of a
            returned value in its JSON form, and of any file it writes.

    Raises:
        InputError: If a limit is not positive, or is larger than can be set.
    """

    time_limit: float = 6.0
    memory_mb: int = 1024
    output_bytes: int = 16 << 20

    def __post_init__(self) -> None:
        """Refuse limits that cannot be set."""
        for name, least, most in (
            ("time_limit", 0.01, 86_400),
            ("memory_mb", 16, 1 << 20),
            ("output_bytes", 1, 256 << 20),
        ):
            value = getattr(self, name)
            kinds = (int, float) if name == "time_limit" else (int,)
            if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
                raise InputError(f"{name}: expected a number from {least} to {most}, got {value!r}")


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class Run:
    """What one test of a program did.

    Attributes:
        status: How it ended; never ``WRONG_ANSWER`` except for ``unittest``.
        stdout: What it wrote to standard output (``run_stdin`` only; what a
            called function prints is thrown away). May be cut short unless
            the status is ``OK``.
        value: What the function returned (``run_functional`` with status
            ``OK``), made of ``None, bool, int, float, str, bytes, list,
            tuple, set, frozenset, dict`` of exactly these types, so that
            comparing it runs no foreign code.
        error: One readable text (valid Unicode, at most 4000 characters)
            that says what went wrong; empty when nothing did.
        cpu_seconds: Processor time it used.
        exit_code: Its exit code; None if it was killed or only a function was called.
    """

    status: Status
    stdout: bytes = b""
    value: Any = field(default=None, repr=False)  # showing a huge integer raises
    error: str = ""
    cpu_seconds: float = 0.0
    exit_code: int | None = None

    @property
    def text(self) -> str:
        """Standard output for people; bytes that are no UTF-8 are shown escaped.

        To compare, decode ``stdout`` strictly; invalid bytes are a wrong answer.
        """
        return self.stdout.decode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class SuiteRun(Run):
    """What a ``unittest`` suite said about a program.

    The suite and the program share one interpreter, so a program that sets out
    to can forge this: trust it only where programs cooperate. Caught are a
    suite with another number of tests than expected, skipped tests, and test
    machinery that lets a failing check pass.

    Attributes:
        outcomes: ``(name, outcome)`` of each test in the order it ran, with
            outcomes ``passed, failed, error, skipped``.
    """

    outcomes: tuple[tuple[str, str], ...] = ()


class Sandbox(Protocol):
    """Runs untrusted Python programs; a context manager.

    Tests do not see one another: each starts from the same state, in an empty
    ``/tmp``. (Calls of one program may share a process for a while, but the
    program is executed anew for each.) One sandbox runs one test at a time; calls from several threads
    wait for one another, so give each thread its own. Results come one at a
    time: leaving the loop early runs no further tests.

    When the machinery fails, a test is tried again in a fresh box a bounded
    number of times; then its status is ``INFRASTRUCTURE``. A program cannot
    bring that about.

    What a program finds: Python's standard library and nothing else, one
    core, no environment, UTF-8, ``/dev/stdin`` and ``/dev/null``, threads
    (64 at most, in its address space), a recursion limit of 50000, ``random``
    seeded with 0, and CPython's limit of 4300 digits. Processes, sockets,
    links, ``/proc`` and shared memory are refused with an OSError.
    """

    infrastructure_failures: int
    """How often the machinery has failed, retries included."""

    @property
    def supervisor_pid(self) -> int | None:
        """Process id on this machine of the process above all tests now; None if there is none here."""
        ...

    def run_stdin(self, source: str, inputs: Iterable[str | bytes], limits: Limits = ...) -> Iterator[Run]:
        """Run a program from its start once per input, as ``python solution.py < input``."""
        ...

    def run_functional(
        self, source: str, entry_point: str, calls: Sequence[Sequence[Any]], limits: Limits = ...
    ) -> Iterator[Run]:
        """Call a function, or a method of a fresh ``Solution()``, once per argument list.

        The program is executed anew for each call, so nothing it keeps (in the
        module, class or instance) reaches the next.

        Args:
            source: The program.
            entry_point: Name of a method of the class ``Solution`` if it has
                one of that name, else of a module-level function; or
                ``Class.method``.
            calls: Positional arguments of each call, of the types that
                ``Run.value`` may have.
            limits: What each call may use.
        """
        ...

    def run_unittest(self, source: str, tests_source: str, expected: int, limits: Limits = ...) -> SuiteRun:
        """Run a ``unittest`` suite against a program, in one module, program first.

        Args:
            source: The program.
            tests_source: Source of the ``unittest.TestCase`` classes.
            expected: Number of tests that must run; at least 1.
            limits: What the whole suite may use.
        """
        ...

    def close(self) -> None:
        """End every process of the sandbox and wait for them."""
        ...

    def __enter__(self) -> Self:
        """Return the sandbox."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the sandbox."""
        ...
