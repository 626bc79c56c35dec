"""Desktops on this machine: each in a box of its own, without a virtual machine."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import platform
import signal
import socket
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from PIL import Image

from rla_envs.errors import InfrastructureError
from rla_envs.osworld.actions.events import Event, to_json
from rla_envs.osworld.desktop import bubblewrap
from rla_envs.osworld.desktop.base import LATE_SECONDS, SETTLE_SECONDS, Screenshot, View, Window
from rla_envs.osworld.desktop.http import OSWorldClient, RefusedError
from rla_envs.osworld.desktop.seccomp import build_filter

START_SECONDS = 60.0
_FIRST_UID = 0x71000000
"""Users that boxes run as when we are root: one a box, far above those that accounts have."""


@dataclass(frozen=True)
class BoxLimits:
    """What a box may use.

    Attributes:
        memory_mb: Memory of all its processes together, in MiB; beyond it the
            largest application ends.
        processes: Processes and threads.
        home_mb: Room for files in the home, in MiB (they are kept in memory).
        tmp_mb: Room in each of the folders for temporary files, in MiB.
        file_mb: Size of one file, in MiB.
    """

    memory_mb: int = 3072
    processes: int = 768
    home_mb: int = 512
    tmp_mb: int = 256
    file_mb: int = 256


class LocalDesktop(OSWorldClient):
    """A real desktop in a box of its own on this machine.

    bubblewrap makes the box: no network, the machine's programs read-only, a
    home at ``/home/user`` and all other files in memory, an unprivileged user,
    a filter of system calls. In it run Xvfb, openbox, a message bus, the
    accessibility bus, and a server of OSWorld's HTTP protocol, which takes
    connections from this process only. The box ends with this object or with
    this process, however that ends, and nothing of it remains.

    Args:
        screen_size: Width and height of the screen, in pixels.
        limits: What the box may use.
        clock: Seconds since 1970 that the box's clock shows when it starts; None
            for the machine's. Needs the Debian package libfaketime.

    Raises:
        InfrastructureError: If it cannot be started; says what is missing.
    """

    def __init__(
        self,
        screen_size: tuple[int, int] = (1280, 720),
        limits: BoxLimits = BoxLimits(),
        clock: float | None = None,
    ) -> None:
        """Start the box and wait until its desktop is there; see the class."""
        super().__init__(self._open_connection)
        self._screen_size = screen_size
        self._control, theirs = socket.socketpair()
        self._control.settimeout(START_SECONDS)
        self._control_lock = threading.Lock()
        self._closed = False
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the box
        self._info = os.memfd_create("info")
        privileged = _is_privileged()
        uid = _next_uid() if privileged else bubblewrap.UID
        options = _options(screen_size, limits, clock, uid)
        try:
            with (
                _files(bubblewrap.own_files(uid)) as files,
                _files({"": build_filter(platform.machine())}) as filters,
            ):
                command = bubblewrap.command(files, filters[""], vars(limits), privileged)
                command[1:1] = ["--info-fd", str(self._info)]
                command += [
                    *bubblewrap.interpreter(),
                    "-m",
                    "box.start",
                    str(theirs.fileno()),
                    json.dumps(options),
                ]
                descriptors = (theirs.fileno(), self._info, filters[""], *files.values())
                self._process = _start(command, bubblewrap.environment(), descriptors, self._errors)
        except BaseException:
            self._let_go()
            raise
        finally:
            theirs.close()
        _boxes.add(self)
        try:
            self._wait_until_ready()
        except BaseException:
            self.close()
            raise

    @property
    def screen_size(self) -> tuple[int, int]:
        """Width and height of the screen, in pixels."""
        return self._screen_size

    @property
    def pid(self) -> int | None:
        """Process id on this machine of the first process in the box; None once it has ended."""
        try:
            pid = int(json.loads(os.pread(self._info, 1 << 12, 0))["child-pid"])
        except (OSError, ValueError, KeyError):
            return None
        return pid if self._process.poll() is None else None

    def observe(self, tree: bool = True, settle: float = SETTLE_SECONDS, late: bool = False) -> View:
        """Wait up to ``settle`` seconds for the desktop to come to rest, and return what is to be seen."""
        body = {"tree": tree, "settle": settle, "late": LATE_SECONDS if late else 0.0}
        try:
            content, headers = self.request("POST", "/rla/observe", body, timeout=settle + 60)
        except RefusedError as error:
            raise InfrastructureError(f"the desktop cannot be observed: {error}") from error
        width, height = (int(number) for number in headers["X-Screen"].split("x"))
        size = int(headers["X-Pixels"])
        picture = Image.frombuffer("RGB", (width, height), content[:size], "raw", "BGRX", 0, 1)
        return View(np.asarray(picture), content[size:].decode(), headers["X-Settled"] == "1")

    def screenshot(self) -> Screenshot:
        """Return the screen as it is now."""
        return self.observe(tree=False, settle=0.0).screenshot

    def perform(self, events: Sequence[Event]) -> str:
        """Carry out events in order; return what could not be done, in a line."""
        pauses = sum(getattr(event, "seconds", 0.0) for event in events)
        body = {"events": [to_json(event) for event in events]}
        try:
            return str(self.ask("/rla/input", body, timeout=pauses + 120.0)["error"])
        except RefusedError as error:
            raise InfrastructureError(f"the desktop takes no input: {error}") from error

    def windows(self) -> list[Window]:
        """Return the top-level windows that an application opened, lowest first."""
        return [Window(**window) for window in self.ask("/rla/windows")["windows"]]

    def health(self) -> tuple[str, tuple[str, ...]]:
        """Return which parts of the desktop have ended, and what crashed or took too much."""
        answer = self.ask("/rla/health")
        return str(answer["ended"]), tuple(answer["killed"])

    def pass_connection(self, connection: socket.socket) -> None:
        """Have the box's server answer a connection that somebody made to this process."""
        with self._control_lock:
            try:
                socket.send_fds(self._control, [b"c"], [connection.fileno()])
            except OSError as error:
                raise InfrastructureError(f"the desktop is lost: {error}") from error

    def close(self) -> None:
        """End the desktop and everything in it, and wait. A second call does nothing."""
        super().close()
        if self._closed:
            return
        _boxes.discard(self)
        pid = self.pid
        if pid is not None:  # else it ends when its socket does
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        self._let_go()
        self._process.wait()

    def _let_go(self) -> None:
        """Close what is open here, as a forked process must: the box belongs to another."""
        if not self._closed:
            self._closed = True
            self._control.close()
            self._errors.close()
            os.close(self._info)

    def _open_connection(self, timeout: float) -> http.client.HTTPConnection:
        if self._closed:
            raise InfrastructureError("the desktop is closed")
        ours, theirs = socket.socketpair()
        with theirs:
            self.pass_connection(theirs)
        ours.settimeout(timeout)
        connection = http.client.HTTPConnection("desktop")
        connection.sock = ours
        return connection

    def _wait_until_ready(self) -> None:
        try:
            told = self._control.makefile("rb").readline(1 << 16)
        except OSError as error:
            raise InfrastructureError(f"the desktop did not start within {START_SECONDS:g} s") from error
        answer = json.loads(told or b"{}")
        if not answer.get("ready"):
            raise InfrastructureError(
                f"the desktop did not start: {answer.get('error') or self._last_words()}"
            )

    def _last_words(self) -> str:
        self._errors.seek(0)
        return " ".join(self._errors.read(4000).decode("utf-8", "replace").split())[-1000:]


def _options(
    screen_size: tuple[int, int], limits: BoxLimits, clock: float | None, uid: int
) -> dict[str, Any]:
    width, height = screen_size
    library = None if clock is None else bubblewrap.clock_library()
    offset = 0.0 if clock is None else clock - time.time()
    size = {"width": width, "height": height}
    return {**size, "uid": uid, "clock_offset": offset, "clock_library": library, **vars(limits)}


@contextlib.contextmanager
def _files(contents: Mapping[str, str | bytes]) -> Any:
    """Lend descriptors of files in memory with these contents."""
    with contextlib.ExitStack() as stack:
        descriptors = {}
        for name, content in contents.items():
            descriptors[name] = descriptor = os.memfd_create("file")
            stack.callback(os.close, descriptor)
            os.write(descriptor, content.encode() if isinstance(content, str) else content)
            os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptors


def _start(
    command: list[str], environment: dict[str, str], descriptors: tuple[int, ...], errors: IO[bytes]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            env=environment,
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise InfrastructureError(f"cannot start {command[0]} ({error})") from error


_uid_lock = threading.Lock()
_uids_given = 0


def _next_uid() -> int:
    """Return a user for a box: another for each of this process, and of the machine's other processes."""
    global _uids_given
    with _uid_lock:
        _uids_given = (_uids_given + 1) % 4096
        return _FIRST_UID + os.getpid() % (1 << 12) * 4096 + _uids_given


def _is_privileged() -> bool:
    """Return whether we are root and may become others; in some containers root is not."""
    status = Path("/proc/self/status").read_text()
    effective = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return os.geteuid() == 0 and bool(int(effective, 16) & 1 << 7)


_boxes: weakref.WeakSet[LocalDesktop] = weakref.WeakSet()


def _let_go_of_all() -> None:
    for box in list(_boxes):
        box._let_go()


os.register_at_fork(after_in_child=_let_go_of_all)
