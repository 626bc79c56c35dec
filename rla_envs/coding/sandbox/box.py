"""One box: a supervisor somewhere else, and the channel to it."""

from __future__ import annotations

import platform
import time
from pathlib import Path
from typing import Any, Protocol

from rla_envs.coding.sandbox import guest, seccomp
from rla_envs.coding.sandbox.guest import frames
from rla_envs.errors import InfrastructureError

START_SECONDS = 60.0
"""How long a box may take to start."""
_READ_AHEAD = 1 << 16

_MODULES = ("frames", "linux", "values", "confine", "pipes", "program", "suite", "warm", "watch", "zygote")
_BOOT = """
import os, sys, types
def read(size):
    data = b""
    while len(data) < size:
        part = os.read(int(sys.argv[1]), size - len(data))
        if not part:
            os._exit(1)
        data += part
    return data
sources = eval(read(int(read(8))))
sys.modules["guest"] = package = types.ModuleType("guest")
package.__path__ = []
for name, source in sources.items():
    sys.modules["guest." + name] = module = types.ModuleType("guest." + name)
    module.__package__ = "guest"
    setattr(package, name, module)
    exec(compile(source, "guest/" + name + ".py", "exec"), module.__dict__)
sys.modules["guest.zygote"].main(int(sys.argv[1]), int(sys.argv[2]))
"""
ENVIRONMENT = {
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin:/bin",
    "PYTHONHASHSEED": "0",
    "TZ": "UTC",
}
"""All that programs see of an environment: the same everywhere."""


class Channel(Protocol):
    """A stream of bytes to a supervisor, and the handle on it."""

    @property
    def pid(self) -> int | None:
        """Process id of the supervisor, if it is a process of this machine."""
        ...

    def send(self, data: bytes) -> None:
        """Send all bytes; raises OSError if the other side is gone."""
        ...

    def receive(self, size: int, deadline: float) -> bytes:
        """Return at least one and at most ``size`` bytes.

        Raises:
            OSError: If none come until the deadline (``time.monotonic``), or the other side is gone.
        """
        ...

    def last_words(self) -> str:
        """Return what the supervisor printed as errors, on one line; its own reason for not starting."""
        ...

    def close(self) -> None:
        """End the supervisor with all its processes, and wait for them."""
        ...


def interpreter_command(python: str, requests: int, replies: int) -> list[str]:
    """Return the command that starts a supervisor on two file descriptors.

    Neither site-packages nor the user's start-up files are read.
    """
    return [python, "-P", "-s", "-S", "-B", "-X", "utf8", "-c", _BOOT, str(requests), str(replies)]


def boot_message() -> bytes:
    """Return what a started interpreter reads first: the supervisor's own source."""
    folder = Path(guest.__file__).parent
    sources = repr({name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in _MODULES}).encode()
    return b"%8d" % len(sources) + sources


class Box:
    """A started supervisor; runs one request at a time."""

    def __init__(self, channel: Channel, machine: str | None = None, **config: Any) -> None:
        """Start the supervisor at the other end of a channel.

        Args:
            channel: Leads to an interpreter started by :func:`interpreter_command`.
            machine: Kind of processor there; this one's by default.
            **config: Fields of :class:`~rla_envs.coding.sandbox.guest.confine.Config`, but for the filter.

        Raises:
            InfrastructureError: If it does not start.
        """
        self.channel = channel
        self._received = bytearray()
        try:
            program = seccomp.build_filter(machine or platform.machine())
            self.send(boot_message())
            header = {**config, "own_pid": seccomp.OWN_PID}
            self.send(frames.pack(header, [len(program)]) + program)
            self.hello, _ = self.receive(START_SECONDS)
        except InfrastructureError as error:
            reason = f"{error}: {channel.last_words()}".strip(": ")
            channel.close()
            raise InfrastructureError(reason) from error

    def send(self, data: bytes) -> None:
        """Send bytes to the supervisor; raises InfrastructureError if it is gone."""
        try:
            self.channel.send(data)
        except OSError as error:
            raise InfrastructureError(f"the sandbox is gone ({error})") from error

    def receive(self, seconds: float) -> tuple[dict[str, Any], list[bytes]]:
        """Return the next reply; raises InfrastructureError if none comes in so many seconds."""
        deadline = time.monotonic() + seconds

        def read(size: int) -> bytes:
            while len(self._received) < size:
                wanted = max(size - len(self._received), _READ_AHEAD)
                self._received += self.channel.receive(wanted, deadline)
            data = bytes(self._received[:size])
            del self._received[:size]
            return data

        try:
            header, sizes = frames.unpack(read)
            return header, [read(size) for size in sizes]
        except (OSError, frames.BrokenStreamError) as error:
            raise InfrastructureError(f"the sandbox does not answer ({error})") from error

    def close(self) -> None:
        """End it with all its processes."""
        self.channel.close()
