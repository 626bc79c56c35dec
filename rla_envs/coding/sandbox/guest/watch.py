"""Following one test while it runs: its clocks, its results, and whether the parent is still there."""

from __future__ import annotations

import os
import select
import signal
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .pipes import Child

SLEEP_GRACE = 1.0
"""Seconds of own time (running or asleep) on top of the time limit after which a program is stopped."""
STARVED = 30.0
"""Seconds of wall clock, on top of ten time limits, after which a test that got no core is given up."""

_SHORTEST_WAIT, _LONGEST_WAIT = 0.002, 0.25
_ANNOUNCEMENT = struct.Struct("<cI")
_LONGEST_ERROR = 1 << 16


class Watch:
    """Watches a process from the moment its test is given to it.

    Attributes:
        started: Whether the program itself was reached.
        wait_status: How the process ended, as ``os.wait4`` says.
        cpu_seconds: Processor time of the test, or of the call that was the last.
    """

    def __init__(
        self,
        child: Child,
        header: dict[str, Any],
        proc: int | None,
        requests: int,
        send: Callable[[dict[str, Any], tuple[int, int, int]], None],
    ) -> None:
        """Start the clocks.

        Args:
            child: The process.
            header: The request; has its limits and the number of calls.
            proc: Descriptor of ``/proc``, or None.
            requests: Readable when the parent is gone: it sends nothing while a test runs.
            send: Sends the parent a header and a part of a file: one result.
        """
        self.child, self.proc, self.requests, self.send = child, proc, requests, send
        self.limit: float = header["limits"]["time_limit"]
        self.value_bytes: int = header["limits"]["value_bytes"]
        self.calls_left: int = header["calls"]
        self.batch_seconds: float = header["batch_seconds"]
        self.started = False
        self.wait_status, self.cpu_seconds = 0, 0.0
        self._announced, self._offset = b"", 0
        self._cpu_before = 0.0
        self._restart()
        self._first = self._began

    def until_end(self) -> str:
        """Wait until the process ends or must be stopped; after this no process of the test is left.

        Returns:
            The status it was stopped with; empty if it ended by itself.
        """
        poll = select.poll()
        watched = [self.child.pidfd, self.requests] + [self.child.results] * (self.calls_left > 0)
        for fd in watched:
            poll.register(fd, select.POLLIN)
        status, ended = "", False
        while not status and not ended:
            left = self.limit - self._cpu_used()
            ready = dict(poll.poll(1000 * min(max(left, _SHORTEST_WAIT), _LONGEST_WAIT)))
            ended = self.child.pidfd in ready
            if ended or self.child.results in ready:
                status = self._take_results()
            if ready.get(self.child.results) == select.POLLHUP:
                poll.unregister(self.child.results)
            if not status and not ended:
                status = "stopped" if self.requests in ready else self._overdue()
        if not ended:
            os.kill(self.child.pid, signal.SIGKILL)
            self._take_results()
        _, self.wait_status, usage = os.wait4(self.child.pid, 0)
        self.cpu_seconds = max(0.0, usage.ru_utime + usage.ru_stime - self._cpu_before)
        return status

    def _take_results(self) -> str:
        """Send on what the process has announced; return a status if it must be stopped for it."""
        with suppress(BlockingIOError):
            while data := os.read(self.child.results, 1 << 12):
                self._announced += data[0 if self.started else 1 :]
                self.started = True
                while len(self._announced) >= _ANNOUNCEMENT.size:
                    status = self._send_result()
                    if status:
                        return status
        return ""

    def _send_result(self) -> str:
        """Send on one result; return a status if the process must be stopped now."""
        kind, length = _ANNOUNCEMENT.unpack_from(self._announced)
        self._announced = self._announced[_ANNOUNCEMENT.size :]
        longest = max(self.value_bytes, _LONGEST_ERROR)
        if self.calls_left == 0 or length > longest or kind not in b"VEML":
            return "runtime_error"  # no such result can be
        self.send({"result": kind.decode(), "cpu": self._cpu_used()}, (self.child.out, self._offset, length))
        self._offset += length
        self.calls_left -= 1
        self._restart()
        # The parent may want no more after a wrong answer: it asks again for the rest.
        return "stopped" if self.calls_left and self._began > self._first + self.batch_seconds else ""

    def _restart(self) -> None:
        """Begin to count anew: a test starts, or the next call in one process."""
        self._began, self._cpu_before = time.monotonic(), self._cpu()

    def _cpu(self) -> float:
        """Return the processor time of the process, in seconds."""
        clock = (~self.child.pid << 3) | 2  # MAKE_PROCESS_CPUCLOCK in the kernel's posix-timers
        try:
            return time.clock_gettime(clock)
        except OSError:  # it has ended
            return self._cpu_before

    def _cpu_used(self) -> float:
        return self._cpu() - self._cpu_before

    def _overdue(self) -> str:
        """Return the status to stop the process with; empty while it may go on.

        The wall clock alone decides nothing: on a loaded machine it also counts
        the time in which others had the cores.
        """
        if self._cpu_used() > self.limit:
            return "timeout"
        wall = time.monotonic() - self._began
        if wall > self.limit + SLEEP_GRACE and self._own_time(wall) > self.limit + SLEEP_GRACE:
            return "timeout"
        return "infrastructure" if wall > 10 * self.limit + STARVED else ""

    def _own_time(self, wall: float) -> float:
        """Return how much of the wall clock the process was running or asleep.

        The kernel tells how long each thread has waited for a core. Where it
        does not, a core shared with three others is allowed for.
        """
        waits = list(self._waits())
        return wall - max(waits) if waits else wall / 4

    def _waits(self) -> list[float]:
        waits: list[float] = []
        if self.proc is None:
            return waits
        tasks = f"{self.child.pid}/task"
        with suppress(OSError):
            folder = os.open(tasks, os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.proc)
            try:
                for task in os.listdir(folder):
                    fd = os.open(f"{task}/schedstat", os.O_RDONLY, dir_fd=folder)
                    try:
                        waits.append(int(os.read(fd, 100).split()[1]) / 1e9)
                    finally:
                        os.close(fd)
            finally:
                os.close(folder)
        return waits
