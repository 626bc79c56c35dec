"""Opening a sandbox by the name of its backend."""

from __future__ import annotations

from rla_envs.coding.sandbox.protocol import Sandbox
from rla_envs.errors import InfrastructureError

BACKENDS = ("bubblewrap", "docker", "rlimits")
"""Names of the backends; only the first two isolate."""


def open_sandbox(backend: str = "bubblewrap", *, retries: int = 2) -> Sandbox:
    """Return a running sandbox; close it, or use it in a ``with`` statement.

    Args:
        backend: ``"bubblewrap"``, ``"docker"``, or ``"rlimits"`` (no
            isolation at all: the program can read what you can read; warns).
        retries: How often a test is tried again after the machinery failed.

    Raises:
        UnknownNameError: On an unknown backend.
        InfrastructureError: If the backend cannot run here; says what to do.
    """
    raise InfrastructureError(f"sandbox backend {backend!r} is not there yet (retries={retries})")


def why_unavailable(backend: str = "bubblewrap") -> str | None:
    """Return why a backend cannot run here, in one line; None if it can."""
    return f"sandbox backend {backend!r} is not there yet"
