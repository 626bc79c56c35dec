"""Desktops in Docker containers: of OSWorld's image, or of any other that speaks its protocol."""

from __future__ import annotations

import contextlib
import os
import time
import weakref
from pathlib import Path
from typing import Any

from rla_envs.errors import InfrastructureError, InputError, missing_extra
from rla_envs.osworld.desktop.remote import RemoteDesktop

IMAGE = "happysixd/osworld-docker"
"""OSWorld's image; it must be there already."""
DISK_VARIABLE = "RLA_OSWORLD_VM"
"""Environment variable with the path of OSWorld's virtual disk (``Ubuntu.qcow2``), which its image boots."""
START_SECONDS = 300.0
"""How long a machine may take to answer (OSWorld's own limit)."""

_PORT = "5000/tcp"
_LOOK_SECONDS = 1.0
_MACHINE = {"DISK_SIZE": "32G", "RAM_SIZE": "4G", "CPU_CORES": "4"}
"""What OSWorld's image gives its machine, as its own provider sets it."""


class DockerDesktop(RemoteDesktop):
    """A desktop in a container of its own, which is removed when it is closed or this process exits.

    Its port is bound to a free one of the loopback interface. Its screen is
    the image's own. A process that is killed leaves its container behind; it
    has the label ``rlanything.desktop``.

    Args:
        screen_size: What the screen is to be.
        image: Docker image; None for OSWorld's, which needs :data:`DISK_VARIABLE`.

    Raises:
        MissingExtraError: If the docker package is not installed.
        InputError: If OSWorld's disk is not there, or the screen has another size.
        InfrastructureError: If no daemon answers, or the container does not start.
    """

    def __init__(self, screen_size: tuple[int, int], image: str | None = None) -> None:
        """Start the container and wait until its server answers; see the class."""
        client = _connect()
        try:
            container = _run(client, image or IMAGE)
        except BaseException:
            client.close()
            raise
        self._remove = weakref.finalize(self, _remove, client, container)
        try:
            self._wait(container)
        except BaseException:
            self._remove()
            raise
        if self.screen_size != screen_size:
            self.close()
            raise InputError(
                f"screen_size: the image's screen is {self.screen_size[0]} x {self.screen_size[1]}, "
                f"got {screen_size}; make the environment with screen_size={self.screen_size}"
            )

    def close(self) -> None:
        """Remove the container. A second call does nothing."""
        super().close()
        self._remove()

    def _wait(self, container: Any) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                container.reload()
                bound = container.attrs["NetworkSettings"]["Ports"].get(_PORT) or []
            except _failures() as error:
                raise InfrastructureError(f"the container is lost ({_line(error)})") from error
            if container.status in ("exited", "dead"):
                said = container.logs(tail=5).decode("utf-8", "replace")
                raise InfrastructureError(f"the container has ended: {' '.join(said.split())[-300:]}")
            if bound:
                try:
                    super().__init__(f"http://127.0.0.1:{bound[0]['HostPort']}")
                    return
                except InfrastructureError as error:
                    problem = str(error)
            else:
                problem = "it has no port yet"
            if time.monotonic() > deadline:
                raise InfrastructureError(f"the container's desktop did not start in time: {problem}")
            time.sleep(_LOOK_SECONDS)


def _run(client: Any, image: str) -> Any:
    options: dict[str, Any] = {"environment": dict(_MACHINE), "devices": [], "volumes": {}}
    if Path("/dev/kvm").exists():
        options["devices"] = ["/dev/kvm"]
    else:
        options["environment"]["KVM"] = "N"
    disk = os.environ.get(DISK_VARIABLE)
    if image == IMAGE and (not disk or not Path(disk).is_file()):
        raise InputError(
            f"provider 'docker': expected {DISK_VARIABLE} to be the path of OSWorld's virtual disk "
            f"(Ubuntu.qcow2), got {disk!r}; or name an image that brings its own desktop"
        )
    if disk:
        options["volumes"] = {str(Path(disk).resolve()): {"bind": "/System.qcow2", "mode": "ro"}}
    try:
        return client.containers.run(
            image,
            detach=True,
            cap_add=["NET_ADMIN"],
            ports={_PORT: ("127.0.0.1", None)},
            labels={"rlanything.desktop": str(os.getpid())},
            **options,
        )
    except _failures() as error:
        raise InfrastructureError(f"cannot start a container of {image} ({_line(error)})") from error


def _connect() -> Any:
    try:
        import docker
    except ImportError as error:
        raise missing_extra("the docker provider", "osworld", error) from error
    try:
        client = docker.from_env()
        client.ping()
    except _failures() as error:
        raise InfrastructureError(
            f"the docker provider needs a running Docker daemon ({_line(error)})"
        ) from error
    return client


def _failures() -> tuple[type[Exception], ...]:
    import docker
    import requests

    return (docker.errors.DockerException, requests.RequestException, OSError)


def _remove(client: Any, container: Any) -> None:
    with contextlib.suppress(*_failures()):
        container.remove(force=True, v=True)
    client.close()


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
