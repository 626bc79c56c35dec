"""The desktop's accessibility tree, in OSWorld's XML form, read fast."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from pathlib import Path

from . import _atspi, _osworld_xml
from ._atspi import Bus, pack_strings
from ._walk import Kind, Walk
from ._wire import Reference

MAX_NODES = 20_000
"""Nodes of one application that are read; those beyond are left out."""
SILENCE_SECONDS = 0.7
"""An application that answers nothing for so long is taken to hang."""

_START_SECONDS = 10.0  # the first question starts the registry
_EVENTS = ("window:create", "object:children-changed")
_CHANGES = "type='signal',path_namespace='/org/a11y/atspi'"
_POLL_SECONDS = 0.1  # between looks at what tells of no change, such as a new process


class Accessibility:
    """Reads the accessibility tree of the session that it runs in.

    The bus is found through the session bus (``DBUS_SESSION_BUS_ADDRESS``) at
    the first use, and again if it went away. Applications offer their trees
    only where somebody listens for events, so events are registered for.
    """

    heard: set[int]
    """Processes whose windows had something in them at the last reading."""

    def __init__(self) -> None:
        """Make a reader that has read nothing yet."""
        self.heard = set()
        self._lock = threading.Lock()
        self._bus: Bus | None = None
        self._kinds: dict[Reference, dict[Reference, Kind]] = {}
        self._last: dict[Reference, str] = {}

    def tree(self) -> str:
        """Return the tree of all applications, as it is now.

        An application that hangs appears as it was last seen, or with what it
        said until then; one that ended does not appear. Text is cut to
        20,000 characters, an application to 20,000 nodes, a node to 1,024
        children and depth to 50.

        Raises:
            OSError: If there is no accessibility bus.
        """
        with self._lock:
            try:
                return self._read(self._connected())
            except OSError:
                self._disconnect()
                return self._read(self._connected())

    def wait_for(self, pids: set[int], timeout: float) -> bool:
        """Wait until the applications of these processes can be read.

        One can when it is known to the accessibility bus, each of its main
        windows that shows has a title and children, and two readings in a row
        find as many nodes. Processes without any accessibility library are
        not waited for: they will never be known.

        Returns:
            Whether all can be read; False after ``timeout`` seconds.

        Raises:
            OSError: If there is no accessibility bus.
        """
        deadline = time.monotonic() + timeout
        with self._lock:
            self._connected()  # stays registered when the connection below is closed
        waiting = {pid for pid in pids if _can_register(pid)}
        with closing(_open()) as bus:
            bus.ask(_atspi.DAEMON, _atspi.ADD_MATCH, pack_strings(_CHANGES))
            sizes: dict[Reference, int] = {}
            kinds = dict(self._kinds)
            while waiting:
                signals = bus.signals
                walks = [
                    Walk(bus, each, kinds.get(each, {}), MAX_NODES)
                    for each in _applications(bus)
                    if _pid(bus, each) in waiting
                ]
                bus.run([walk.conversation for walk in walks], max(deadline - time.monotonic(), 0.0))
                found = {walk.root.reference: walk.size for walk in walks if _has_content(walk)}
                waiting -= {_pid(bus, each) for each, size in found.items() if sizes.get(each) == size}
                sizes, kinds = found, {walk.root.reference: walk.kinds for walk in walks}
                waiting = {pid for pid in waiting if _can_register(pid)}
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                if waiting and not found and bus.signals == signals:
                    bus.receive(min(left, _POLL_SECONDS))
        return not waiting

    def close(self) -> None:
        """Close the connection; the next reading opens another."""
        with self._lock:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._bus is not None:
            self._bus.close()
            self._bus = None
        self._kinds.clear()
        self._last.clear()

    def _connected(self) -> Bus:
        if self._bus is None:
            self._bus = _open()
        return self._bus

    def _read(self, bus: Bus) -> str:
        applications = _applications(bus)
        walks = [Walk(bus, each, self._kinds.get(each, {}), MAX_NODES) for each in applications]
        bus.run([walk.conversation for walk in walks], SILENCE_SECONDS)
        kinds, last = {}, {}
        for walk in walks:
            application = walk.root.reference
            if walk.conversation.abandoned:
                kinds[application] = self._kinds.get(application, {})
                last[application] = self._last.get(application) or _osworld_xml.element(walk.root)
            elif walk.answered:
                kinds[application] = walk.kinds
                last[application] = _osworld_xml.element(walk.root)
        self._kinds, self._last = kinds, last
        self.heard = {_pid(bus, walk.root.reference) for walk in walks if _has_content(walk)}
        return _osworld_xml.desktop(sorted(last.values()))  # not by who came first, which is chance


def _open() -> Bus:
    bus = Bus()
    for event in _EVENTS:
        # The empty array of properties and the empty name of an application stand for all.
        body = pack_strings(event)
        body += b"\0" * (-len(body) % 4) + b"\0" * 4 + pack_strings("")
        bus.ask(_atspi.REGISTRY, _atspi.REGISTER_EVENT, body, _START_SECONDS)
    return bus


def _applications(bus: Bus) -> list[Reference]:
    found = bus.ask(_atspi.DESKTOP, _atspi.GET_CHILDREN, b"", _START_SECONDS)
    if found is None:
        raise ConnectionError("the registry of the accessibility bus does not answer")
    return list(found)


def _pid(bus: Bus, application: Reference) -> int:
    return bus.ask(_atspi.DAEMON, _atspi.GET_PID, pack_strings(application[0])) or 0


def _has_content(walk: Walk) -> bool:
    """Whether there is a window to be seen, and none that is still being filled."""
    shown = [window for window in walk.root.children if window.showing]
    main = [window for window in shown if window.kind.role == "frame"]
    return any(window.children for window in shown) and all(
        window.name and window.children for window in main
    )


def _can_register(pid: int) -> bool:
    """Whether a process lives and has loaded a library through which it offers its tree."""
    try:
        loaded = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return False
    return any(library in loaded for library in ("libatk-bridge", "libatspi", "libQt"))
