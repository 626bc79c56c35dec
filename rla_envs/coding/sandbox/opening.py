"""Opening a sandbox by the name of its backend."""

from __future__ import annotations

from collections.abc import Callable

from rla_envs.coding.sandbox import bubblewrap, docker_box, rlimits
from rla_envs.coding.sandbox.box import Box
from rla_envs.coding.sandbox.boxed import BoxedSandbox
from rla_envs.coding.sandbox.protocol import Sandbox
from rla_envs.errors import RLAError, unknown_name

_STARTERS: dict[str, Callable[[], Box]] = {
    "bubblewrap": bubblewrap.start,
    "docker": docker_box.start,
    "rlimits": rlimits.start,
}
BACKENDS = tuple(_STARTERS)
"""Names of the backends; only the first two isolate."""


def open_sandbox(backend: str = "bubblewrap", *, retries: int = 2) -> Sandbox:
    """Return a running sandbox; close it, or use it in a ``with`` statement.

    Args:
        backend: ``"bubblewrap"``, ``"docker"``, or ``"rlimits"`` (no
            isolation at all: the program can read what you can read; warns).
        retries: How often a test is tried again after the machinery failed.

    Raises:
        UnknownNameError: On an unknown backend.
        MissingExtraError: If the backend needs a package that is not installed.
        InfrastructureError: If the backend cannot run here; says what to do.
    """
    if backend not in _STARTERS:
        raise unknown_name("sandbox backend", backend, BACKENDS)
    return BoxedSandbox(_STARTERS[backend], retries)


def why_unavailable(backend: str = "bubblewrap") -> str | None:
    """Return why a backend cannot run here, in one line; None if it can."""
    try:
        open_sandbox(backend).close()
    except RLAError as error:
        return str(error)
    return None
