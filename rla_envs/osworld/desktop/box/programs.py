"""Whether programs are starting or at work, which may not have shown anything yet."""

from __future__ import annotations

import os
import time

_START_SECONDS = 10.0
"""How long a program counts as starting; what one does later is seen by its windows."""

_BUSY_SHARE = 0.1
"""Share of a processor that tells a program at work from one that waits (a blinking caret takes 0.01)."""


class Programs:
    """The programs of one display, as they come.

    Args:
        name: Name of the display; only programs with this ``DISPLAY`` in their environment count.
    """

    def __init__(self, name: str) -> None:
        """Note the programs that are there already."""
        self._display = f"DISPLAY={name}".encode()
        self._known: set[int] = set()
        self._starting: dict[int, tuple[float, float]] = {}  # until when, and processor time so far
        self._ours: dict[int, float] = {}  # processor time of each that came later
        self._looked_at = self._weighed_at = time.monotonic()
        self.are_starting()
        self._starting.clear()
        self._ours.clear()

    def are_starting(self) -> bool:
        """Return whether, since the last call, a program came or one that came lately was at work."""
        now = time.monotonic()
        busy = _BUSY_SHARE * (now - self._looked_at)
        self._looked_at = now
        running = {int(name) for name in os.listdir("/proc") if name.isdecimal()}
        active = False
        for pid, (end, before) in list(self._starting.items()):
            spent = _processor_seconds(pid)
            if spent is None or now > end:
                del self._starting[pid]
            else:
                active |= spent - before >= busy or _wants_to_run(pid)
                self._starting[pid] = (end, spent)
        for pid in running - self._known:
            spent = _processor_seconds(pid)
            if spent is not None and self._is_ours(pid):
                self._starting[pid] = (now + _START_SECONDS, spent)
                self._ours[pid] = spent
                active = True
        self._known = running
        return active

    def were_at_work(self) -> bool:
        """Return whether a program that :meth:`are_starting` has seen worked since the last such call."""
        now = time.monotonic()
        busy = _BUSY_SHARE * (now - self._weighed_at)
        self._weighed_at = now
        active = False
        for pid, before in list(self._ours.items()):
            spent = _processor_seconds(pid)
            if spent is None:
                del self._ours[pid]
                continue
            active |= spent - before >= busy
            self._ours[pid] = spent
        return active

    def _is_ours(self, pid: int) -> bool:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                return self._display in file.read().split(b"\0")
        except OSError:
            return False


def _wants_to_run(pid: int) -> bool:
    """Return whether a process queues for the processor or waits for the disk, rather than for an event."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2][:1] in b"RD"
    except OSError:
        return False


def _processor_seconds(pid: int) -> float | None:
    """Return the processor time that a process has used; None if there is no such process."""
    try:
        # The kernel's number for the clock of another process (clock_getcpuclockid(3)).
        return time.clock_gettime((~pid) << 3 | 2)
    except OSError:
        return None
