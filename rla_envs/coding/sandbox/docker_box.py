"""Boxes in Docker containers, on this machine or another one that the Docker client is set to.

A container is the box, and its default user may make no namespaces: between
tests the supervisor empties ``/tmp`` instead, and there is nothing else that a
program could write to.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from typing import Any

from rla_envs.coding.sandbox.box import ENVIRONMENT, Box, interpreter_command
from rla_envs.errors import InfrastructureError, missing_extra

IMAGE = "python:3.11-slim"
"""Image with ``python3`` 3.11 or newer; it must be there already."""
MEMORY = "4g"
"""Memory of a whole box; limits of a test above this cannot be kept."""

_THREADS = 128
_NOBODY = "65534:65534"
_STDOUT, _STDERR = 1, 2
_STREAM_HEADER = struct.Struct(">BxxxI")


def start() -> Box:
    """Start a box in a container.

    Raises:
        MissingExtraError: If the docker package is not installed.
        InfrastructureError: If no daemon answers, or it does not start the container.
    """
    try:
        import docker
        import requests
    except ImportError as error:
        raise missing_extra("the docker sandbox", "coding", error) from error
    failures = (docker.errors.DockerException, requests.RequestException, OSError)
    try:
        client = docker.from_env()
    except failures as error:
        reason = " ".join(str(error).split())
        raise InfrastructureError(f"the docker sandbox needs a running Docker daemon ({reason})") from error
    try:
        machine = client.info()["Architecture"]
        channel = ContainerChannel(client, _create(client))
    except failures as error:
        client.close()
        if isinstance(error, docker.errors.ImageNotFound):
            raise InfrastructureError(
                f"the docker sandbox needs an image; type: docker pull {IMAGE}"
            ) from error
        raise InfrastructureError(f"cannot start a container ({error})") from error
    return Box(channel, machine, namespaces=False, uid=None, threads=None, workdir="/tmp", tmp_mb=0)


def _create(client: Any) -> Any:
    """Create a container that has nothing but an interpreter, and that ends with its input."""
    return client.containers.create(
        IMAGE,
        interpreter_command("python3", 0, 1),
        environment=ENVIRONMENT,
        stdin_open=True,
        network_mode="none",
        ipc_mode="none",
        read_only=True,
        tmpfs={"/tmp": "size=64m,mode=1777,noexec,nosuid,nodev"},
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        user=_NOBODY,
        pids_limit=_THREADS,
        mem_limit=MEMORY,
        memswap_limit=MEMORY,
        auto_remove=True,
        hostname="sandbox",
    )


class ContainerChannel:
    """The standard streams of a container, which ends when they do."""

    pid = None
    """A container may be anywhere."""

    def __init__(self, client: Any, container: Any) -> None:
        """Attach to a created container and start it."""
        self._client, self._container = client, container
        self._data, self._errors = b"", b""
        streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        try:
            self._stream = container.attach_socket(params=streams)
            self._socket: socket.socket = getattr(self._stream, "_sock", self._stream)
            container.start()
        except BaseException:
            container.remove(force=True)
            raise

    def send(self, data: bytes) -> None:
        """Send all bytes to its standard input."""
        self._socket.sendall(data)

    def receive(self, size: int, deadline: float) -> bytes:
        """Return some bytes of its standard output; raises OSError if none come until the deadline."""
        while not self._data:
            kind, length = _STREAM_HEADER.unpack(self._read(_STREAM_HEADER.size, deadline))
            content = self._read(length, deadline)
            if kind == _STDOUT:
                self._data = content
            elif kind == _STDERR:
                self._errors = (self._errors + content)[-2000:]
        part, self._data = self._data[:size], self._data[size:]
        return part

    def _read(self, size: int, deadline: float) -> bytes:
        data = bytearray()
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while len(data) < size:
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise TimeoutError("no answer in time")
            part = self._socket.recv(size - len(data))
            if not part:
                raise ConnectionError("it has ended")
            data += part
        return bytes(data)

    def last_words(self) -> str:
        """Return what it printed as errors, on one line."""
        return " ".join(self._errors.decode("utf-8", "replace").split())

    def close(self) -> None:
        """Kill the container; the daemon removes it."""
        import docker

        self._stream.close()
        self._socket.close()
        try:
            self._container.remove(force=True)
        except docker.errors.APIError:
            pass  # it is gone, or on its way
        finally:
            self._client.close()
