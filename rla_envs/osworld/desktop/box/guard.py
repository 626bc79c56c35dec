"""Keeps a box within its memory, and knows which part of the desktop has ended."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress

from .start import Session

_PERIOD = 0.5
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Guard:
    """Looks at all processes of the box twice a second.

    A box has no memory account of its own where the machine lends none, so
    when its processes take more together than they may, the largest ends, as
    the kernel would have it.
    """

    def __init__(self, session: Session, memory_mb: int) -> None:
        """Start looking."""
        self._session, self._limit = session, memory_mb << 20
        self._spared = {os.getpid(), *(part.pid for part in session.parts().values())}
        self.killed: list[str] = []
        threading.Thread(target=self._watch, daemon=True).start()

    def ended(self) -> str:
        """Return which part of the desktop has ended; empty if all run."""
        return ", ".join(
            name for name, process in self._session.parts().items() if process.poll() is not None
        )

    def _watch(self) -> None:
        pause = threading.Event()
        while not pause.wait(_PERIOD):
            sizes = {pid: size for pid in _processes() if (size := _resident(pid))}
            if sum(sizes.values()) > self._limit:
                candidates = {pid: size for pid, size in sizes.items() if pid not in self._spared}
                if candidates:
                    largest = max(candidates, key=candidates.__getitem__)
                    self.killed.append(f"{_name(largest)} ended: the box was out of memory")
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(largest, signal.SIGKILL)


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _resident(pid: int) -> int:
    """Return the memory of a process in bytes without what it shares with files; 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            fields = file.read().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * _PAGE


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return "a program"
