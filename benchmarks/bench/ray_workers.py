"""Ray workers as the place where episodes are played: many machines, the same results.

A worker is an actor that holds a :class:`~benchmarks.bench.episode.Table`, so an
agent and an environment run in processes of their own there too. What Ray
loses (a worker, a machine) is a failure of the machinery: the episode is
started again, as often as the suite allows, and never scored.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import secrets
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.bench.agents import AgentSpec
from benchmarks.bench.episode import Episode, Played, Table
from benchmarks.bench.schema import Config
from benchmarks.bench.suites import Suite
from rla_envs.errors import InfrastructureError, InputError, missing_extra

LOCAL = "local"
"""Address of the cluster that lives as long as the run."""

_EXPECTED = f"{LOCAL!r} or the HOST:PORT of a Ray cluster"

_SET_FOR_WORKERS = ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "PYTHONPATH", "RAY_AUTH_TOKEN")
"""Environment variables that Ray's workers get; what plays must see what it would see without Ray."""


class _LostError(Exception):
    """Ray lost the worker."""


def load_ray(address: str) -> Any:
    """Return the module ``ray``, imported so that it keeps to itself.

    Args:
        address: Of the cluster, or :data:`LOCAL`. Ray decides when it is imported whether a cluster that
            it starts listens on this machine's outer address or on loopback.

    Raises:
        MissingExtraError: If it is not installed.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if address == LOCAL or address.partition(":")[0] in ("127.0.0.1", "localhost"):
        # Without it Ray takes this machine's outer address for loopback.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    if address == LOCAL:
        # For this run alone: Ray would keep one in the home folder, where others of this machine may read it.
        os.environ["RAY_AUTH_MODE"], os.environ["RAY_AUTH_TOKEN"] = "token", secrets.token_hex(32)
    try:
        import ray
    except ImportError as error:
        raise missing_extra("rla bench run --ray", "ray", error) from error
    return ray


@contextlib.contextmanager
def ray_cluster(address: str, workers: int) -> Iterator[None]:
    """Connect to a cluster, or start one on loopback, and leave it, or end it, afterwards.

    Args:
        address: Of the cluster, or :data:`LOCAL`.
        workers: How many workers there will be, each with one CPU.

    Raises:
        MissingExtraError: If Ray is not installed.
        InputError: If there is no such cluster, or it has too few CPUs.
        InfrastructureError: If a cluster cannot be started here.
    """
    ray = load_ray(address)
    _knock(address)
    with tempfile.TemporaryDirectory(prefix="rla-ray-", ignore_cleanup_errors=True) as folder:
        where: dict[str, Any] = {"address": address}
        if address == LOCAL:
            where = {
                "address": LOCAL,
                "num_cpus": workers,
                "include_dashboard": False,
                "_node_ip_address": "127.0.0.1",
                "_temp_dir": folder,
            }
        # As the processes of a run without Ray, which inherit the command's import path.
        path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
        where["runtime_env"] = {"env_vars": {"PYTHONPATH": path}}
        try:
            ray.init(**where, log_to_driver=False, logging_level="error")
        except Exception as error:  # Ray raises its own, OSError, ValueError and RuntimeError
            ray.shutdown()
            cause = " ".join(str(error).split())[:300]
            if address == LOCAL:
                raise InfrastructureError(f"Ray cannot be started here: {cause}") from error
            raise InputError(f"--ray {address}: expected {_EXPECTED} ({cause})") from error
        try:
            _check(ray, address, workers)
            yield
        finally:
            ray.shutdown()


def _knock(address: str) -> None:
    """Check that something listens at HOST:PORT: Ray itself takes minutes to say that nothing does."""
    host, colon, port = address.rpartition(":")
    if not (colon and port.isdecimal()) or "/" in host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10.0).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"--ray {address}: nothing answers there ({error}); expected {_EXPECTED}") from error


def _check(ray: Any, address: str, workers: int) -> None:
    own = str(ray.util.get_node_ip_address())
    if address == LOCAL and not ipaddress.ip_address(own).is_loopback:
        raise InputError(
            f"--ray {LOCAL}: Ray would listen on {own} because it was imported before; "
            "set RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 before that, which keeps it on loopback"
        )
    cpus = int(ray.cluster_resources().get("CPU", 0))
    if cpus < workers:
        raise InputError(
            f"--jobs: expected at most {cpus}, the CPUs of the Ray cluster {address}, got {workers}"
        )


class RayTable:
    """A table on a Ray worker; it starts with the first episode, and again when it was lost.

    Args:
        suite: What is played.
        spec: Who plays.
        config: What is run.
        log: File that the agent's output is appended to, on machines that have its folder.
    """

    def __init__(self, suite: Suite, spec: AgentSpec, config: Config, log: Path) -> None:
        """Keep what to start; see the class for the arguments."""
        self._given = suite, spec, config, log
        self._config = config
        # Plays nothing: it makes the traces of episodes that the worker can no longer make.
        self._here = Table.of(suite, spec, config, None)
        self._actor: Any = None
        self._abandoned = False

    def play(self, episode: Episode) -> Played:
        """Play an episode; if the machinery or the worker breaks, again, as often as the suite allows.

        Raises:
            InputError: If the suite has no such task, or the agent cannot be made.
        """
        for tried in range(self._config.retries + 1):
            try:
                played: Played = self._call("play", episode, tried)
            except _LostError as error:
                lost = str(error)
                self._end()
            else:
                return played
        return self._here.broken(episode, f"Ray lost the worker: {lost}", self._config.retries)

    def ready(self) -> None:
        """Start the worker.

        Raises:
            InputError: If it cannot be started where Ray wants it.
        """
        try:
            self._call("ready")
        except _LostError as error:
            raise InputError(
                f"--ray: a worker does not start: {error}; its machine needs this package and what the agent "
                "imports, at the same places as here"
            ) from error

    def close(self) -> None:
        """End the worker and its processes."""
        if self._actor is not None:
            with contextlib.suppress(_LostError):
                self._call("close")
            self._end()

    def abandon(self) -> None:
        """Kill the worker and start no other, also while another thread plays."""
        self._abandoned = True
        self._end()

    def _call(self, method: str, *arguments: object) -> Any:
        import ray

        try:
            if self._actor is None:
                if self._abandoned:
                    raise InfrastructureError("the run is being stopped")
                # Lost episodes are counted and bounded here, so Ray must not repeat them itself.
                worker = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(_Worker)
                self._actor = worker.remote(self._given, _environment())
            return ray.get(getattr(self._actor, method).remote(*arguments))
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except ray.exceptions.RayError as error:
            raise _LostError(_cause(error)) from error

    def _end(self) -> None:
        actor, self._actor = self._actor, None
        if actor is not None:
            import ray

            ray.kill(actor)


class _Worker:
    """The actor: a table on whatever machine Ray chose."""

    def __init__(
        self, given: tuple[Suite, AgentSpec, Config, Path], environment: Mapping[str, str | None]
    ) -> None:
        for name, value in environment.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        suite, spec, config, log = given
        self._table = Table.of(suite, spec, config, log if log.parent.is_dir() else None)

    def ready(self) -> None:
        """Return: the worker was made."""

    def play(self, episode: Episode, tried: int) -> Played:
        return self._table.play(episode, tried)

    def close(self) -> None:
        self._table.close()


def _environment() -> dict[str, str | None]:
    """Return the variables that Ray changes for workers as they are here, None for those not set."""
    return {name: None if name == "RAY_AUTH_TOKEN" else os.environ.get(name) for name in _SET_FOR_WORKERS}


def _cause(error: Exception) -> str:
    """Return the sentence of a Ray error that says what happened: they are long, and full of numbers."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().splitlines() or [""]
    # What a worker's start raised comes last, after its traceback.
    sentence = lines[-1] if "creation task" in lines[0] else lines[0]
    return f"{type(error).__name__}: {sentence.strip()}"
