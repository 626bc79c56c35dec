"""A supervisor that is a process on this machine, at the other end of a pair of sockets."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import IO

from rla_envs.coding.sandbox.box import START_SECONDS
from rla_envs.errors import InfrastructureError


class ProcessChannel:
    """Starts a supervisor and talks to it.

    The supervisor ends when its socket does, whichever thread started it and
    however this process ends. (bubblewrap's own ``--die-with-parent`` follows
    the starting thread: it would take the box away with a worker of a pool.)
    Processes forked from this one that execute nothing, such as those of
    ``multiprocessing``'s "fork", let go of the socket at once.
    """

    def __init__(
        self, command: Callable[[int, int], list[str]], environment: dict[str, str], reports_pid: bool
    ) -> None:
        """Start the command.

        Args:
            command: Given the descriptor of the socket, and one to write
                information to, returns what to execute.
            environment: Environment to execute it with.
            reports_pid: Whether it writes JSON with the ``child-pid`` of the
                supervisor to the second descriptor; else it is the supervisor.

        Raises:
            InfrastructureError: If it cannot be started.
        """
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(START_SECONDS)
        # A file and not a pipe: bubblewrap would die of writing to a pipe whose reader was killed,
        # and leave the process behind that waits for its word.
        self._info = os.memfd_create("info")
        self._reports_pid, self._closed = reports_pid, False
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the channel
        words = command(theirs.fileno(), self._info)
        try:
            self._process = subprocess.Popen(
                words,
                env=environment,
                pass_fds=(theirs.fileno(), self._info),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                cwd="/",
            )
        except OSError as error:
            self.let_go()
            raise InfrastructureError(f"cannot start {words[0]} ({error})") from error
        finally:
            theirs.close()
        _channels.add(self)

    @property
    def started_pid(self) -> int:
        """Process id of what was started, on this machine: a number that is nobody else's now."""
        return self._process.pid

    @property
    def pid(self) -> int | None:
        """Process id of the supervisor, on this machine; None if it is not there yet."""
        if not self._reports_pid:
            return self._process.pid
        told = os.pread(self._info, 1 << 12, 0)
        try:
            return int(json.loads(told)["child-pid"])
        except (ValueError, KeyError):
            return None

    def last_words(self) -> str:
        """Return what was printed as errors while it started."""
        self._errors.seek(0)
        return " ".join(self._errors.read(2000).decode("utf-8", "replace").split())

    def send(self, data: bytes) -> None:
        """Send all bytes; raises OSError if the other side is gone."""
        self._socket.sendall(data)

    def receive(self, size: int, deadline: float) -> bytes:
        """Return some bytes; raises OSError if none come until the deadline, or no more can come."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError("no answer in time")
        data = self._socket.recv(min(size, 1 << 20))
        if not data:
            raise ConnectionError("it has ended")
        return data

    def close(self) -> None:
        """Kill the supervisor, which takes all its processes with it, and wait."""
        if self._closed:
            return
        _channels.discard(self)
        pid = self.pid
        if pid is not None and self._process.poll() is None:  # else it ends when its socket does
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        self.let_go()
        self._process.wait()

    def let_go(self) -> None:
        """Close what is open here, as a forked process must: the supervisor belongs to another."""
        if not self._closed:
            self._closed = True
            self._socket.close()
            self._errors.close()
            os.close(self._info)


_channels: weakref.WeakSet[ProcessChannel] = weakref.WeakSet()


def _let_go_of_all() -> None:
    for channel in list(_channels):
        channel.let_go()


os.register_at_fork(after_in_child=_let_go_of_all)
