"""Keeps a box within its memory, and knows what has ended that should not have."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from typing import IO

from .start import Session

CRASHES = frozenset({"SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP"})
"""Signals that a program brings upon itself; by others it is closed, or its user ends it."""

_PERIOD = 0.5
_MOST_NOTES = 100
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SIGNALS = {int(number): number.name for number in signal.Signals}


class Guard:
    """Looks at all processes of the box twice a second.

    A box has no memory account of its own where the machine lends none, so
    when its processes take more together than they may, the largest ends, as
    the kernel would have it.
    """

    def __init__(self, session: Session, memory_mb: int, burials: IO[str]) -> None:
        """Start looking; ``burials`` has a line for each orphan that ended: its status and name."""
        self._session, self._limit = session, memory_mb << 20
        self._spared = {os.getpid(), *(part.pid for part in session.parts().values())}
        self.killed: list[str] = []
        threading.Thread(target=self._watch, daemon=True).start()
        threading.Thread(target=self._read, args=(burials,), daemon=True).start()

    def note_end(self, name: str, code: int) -> None:
        """Note that a program ended, if it crashed.

        Args:
            name: The program.
            code: Its exit status; minus a signal, or 128 and the signal where a
                program that watched it says so (LibreOffice's ``oosplash``).
        """
        number = -code if code < 0 else code - 128
        if _SIGNALS.get(number) in CRASHES:
            self._note(f"{name} crashed ({_SIGNALS[number]})")

    def _note(self, line: str) -> None:
        if len(self.killed) < _MOST_NOTES:
            self.killed.append("".join(letter if letter.isprintable() else "?" for letter in line))

    def ended(self) -> str:
        """Return which part of the desktop has ended; empty if all run."""
        return ", ".join(
            name for name, process in self._session.parts().items() if process.poll() is not None
        )

    def _read(self, burials: IO[str]) -> None:
        for line in burials:
            code, _, name = line.rstrip("\n").partition(" ")
            with suppress(ValueError):
                self.note_end(name, int(code))

    def _watch(self) -> None:
        pause = threading.Event()
        while not pause.wait(_PERIOD):
            sizes = {pid: size for pid in _processes() if (size := _resident(pid))}
            if sum(sizes.values()) > self._limit:
                candidates = {pid: size for pid, size in sizes.items() if pid not in self._spared}
                if candidates:
                    largest = max(candidates, key=candidates.__getitem__)
                    self._note(f"{_name(largest)} ended: the box was out of memory")
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
