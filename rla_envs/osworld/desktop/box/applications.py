"""Whether the applications have handled what was sent to them."""

from __future__ import annotations

import os
import select
import time
from typing import Any

from Xlib import X
from Xlib.display import Display
from Xlib.protocol import event

from . import windows

_PROCESS_LOOK_SECONDS = 0.005
"""Time between two looks at a process that cannot be asked."""
_STILL_LOOKS = 4
"""Looks in a row at which a process must have slept; between two keys it sleeps for an instant."""


class Applications:
    """Asks applications for a sign of life, and notices what happens to their windows.

    A window that takes part in the ``_NET_WM_PING`` protocol (GTK, Qt, Chromium,
    LibreOffice) is sent a ping, which its application answers in turn, after
    everything that it was sent before. Of other windows (xterm) the process is
    watched: a program that waits has read all that was there for it.

    Args:
        name: Name of the display, such as ``":1"``.
    """

    def __init__(self, name: str) -> None:
        """Connect to the X server."""
        self.display = Display(name)
        self.display.set_error_handler(_ignore)  # a window may be gone before what it is sent arrives
        self._root = self.display.screen().root
        self._root.change_attributes(event_mask=X.SubstructureNotifyMask)
        self._protocols = self.display.intern_atom("WM_PROTOCOLS")
        self._ping = self.display.intern_atom("_NET_WM_PING")
        self._serial = 0
        self._asked: set[int] = set()
        self._watched: dict[int, tuple[str, ...]] = {}
        self._still: dict[int, int] = {}
        self.display.sync()

    @property
    def are_done(self) -> bool:
        """Whether all that were asked have answered."""
        return not self._asked and not self._watched

    def ask(self) -> None:
        """Ask every application that has a window, dropping answers to earlier questions."""
        self._serial = self._serial % 0x7FFFFFFF + 1
        self._asked.clear()
        self._watched.clear()
        for window in windows.client_windows(self.display):
            protocols = windows.read_property(self.display, window, "WM_PROTOCOLS")
            if self._ping in (protocols or ()):
                message = event.ClientMessage(
                    window=window,
                    client_type=self._protocols,
                    data=(32, [self._ping, self._serial, window.id, 0, 0]),
                )
                window.send_event(message)
                self._asked.add(window.id)
            else:
                pid = windows.read_property(self.display, window, "_NET_WM_PID")
                if pid:
                    self._watched[int(pid[0])] = _process(int(pid[0]))
        self.display.flush()

    def events(self, timeout: float) -> list[Any]:
        """Wait for events of the display, at most for some seconds; return those that are no answers."""
        if self._watched:
            timeout = min(timeout, _PROCESS_LOOK_SECONDS)
        if not self.display.pending_events():
            select.select([self.display], [], [], max(0.0, timeout))
        others = []
        while self.display.pending_events():
            found = self.display.next_event()
            if found.type == X.ClientMessage and found.client_type == self._protocols:
                answer = list(found.data[1])
                if answer[:2] == [self._ping, self._serial]:
                    self._asked.discard(answer[2])
            else:
                if found.type == X.DestroyNotify:
                    self._asked.discard(found.window.id)
                others.append(found)
        for pid, before in list(self._watched.items()):
            now = self._watched[pid] = _process(pid)
            self._still[pid] = self._still.get(pid, 0) + 1 if now == before and now[:1] == ("S",) else 0
            if not now or self._still[pid] >= _STILL_LOOKS:
                del self._watched[pid], self._still[pid]
        return others

    def wait(self, timeout: float) -> bool:
        """Ask, and wait until all have answered; return whether they did so in time."""
        deadline = time.monotonic() + timeout
        self.ask()
        while not self.are_done:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self.events(left)
        return True

    def wait_until_idle(self, timeout: float) -> bool:
        """Wait until the application with the focus has read what it was sent, and done all it has to do.

        Returns:
            Whether it had in time.
        """
        deadline = time.monotonic() + timeout
        self.wait(timeout)
        active = windows.read_property(self.display, self._root, "_NET_ACTIVE_WINDOW")
        window = self.display.create_resource_object("window", int(active[0])) if active else None
        pid = windows.read_property(self.display, window, "_NET_WM_PID") if window else None
        if pid:
            self._watched[int(pid[0])] = _process(int(pid[0]))
        while not self.are_done:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self.events(left)
        return True

    def close(self) -> None:
        """Close the connection to the X server."""
        self.display.close()


def _ignore(*_: object) -> None:
    """Do nothing."""


def _process(pid: int) -> tuple[str, ...]:
    """Return a process's state and how often its threads gave up the processor; nothing if there is none.

    The state is "S" if all threads sleep.
    """
    state, switches = "S", []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8", errors="replace") as file:
                fields = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
            state = state if fields["State"][:1] == "S" else fields["State"][:1]
            switches += [thread, fields["voluntary_ctxt_switches"], fields["nonvoluntary_ctxt_switches"]]
    except OSError:
        return ()
    return (state, *switches)
