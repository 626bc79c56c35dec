"""Getting a desktop: from which provider, and how to have the next one ready in time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rla_envs.errors import InfrastructureError, InputError, unknown_name
from rla_envs.osworld.desktop.base import Desktop

PROVIDERS = ("local", "docker", "remote")
SCREEN_SIZE = (1280, 720)
CLOCK = 1_718_445_600.0
"""What every desktop's clock shows when it starts, in seconds since 1970: 2024-06-15 10:00 UTC."""

_LARGEST_SCREEN = (3840, 2160)
_OFFICE = ["soffice", "--nodefault", "--norestore", "--nologo"]


def open_desktop(
    provider: str = "local",
    screen_size: tuple[int, int] = SCREEN_SIZE,
    address: str | None = None,
    image: str | None = None,
    office: bool = False,
) -> Desktop:
    """Start a desktop, or connect to one.

    Args:
        provider: ``"local"`` (a box on this machine), ``"docker"`` (OSWorld's
            container image) or ``"remote"`` (a server of OSWorld's protocol).
        screen_size: Width and height in pixels; what a remote one has is its own.
        address: Where the remote one is: ``"http://host:port"``.
        image: Docker image; None for OSWorld's.
        office: Whether LibreOffice is started at once, without a window, so
            that documents open faster. For local ones only.

    Raises:
        UnknownNameError: On an unknown provider.
        InputError: On arguments that the provider has no use for, or a screen size out of range.
        InfrastructureError: If it does not start or cannot be reached.
    """
    check_provider(provider, address, image)
    size = check_screen_size(screen_size)
    if provider == "local":
        from rla_envs.osworld.desktop.local import LocalDesktop

        desktop = LocalDesktop(size, clock=CLOCK)
        if office:
            desktop.launch(_OFFICE)
        return desktop
    if provider == "docker":
        from rla_envs.osworld.desktop.docker import DockerDesktop

        return DockerDesktop(size, image)
    from rla_envs.osworld.desktop.remote import RemoteDesktop

    return RemoteDesktop(str(address))


def check_provider(provider: str, address: str | None = None, image: str | None = None) -> None:
    """Check the arguments that say which desktop; raises as :func:`open_desktop`."""
    if provider not in PROVIDERS:
        raise unknown_name("desktop provider", provider, PROVIDERS)
    if (address is not None) != (provider == "remote"):
        raise InputError(
            f"address: expected one for provider 'remote' only, got {address!r} for {provider!r}"
        )
    if image is not None and provider != "docker":
        raise InputError(f"image: expected one for provider 'docker' only, got {image!r} for {provider!r}")


def check_screen_size(screen_size: object) -> tuple[int, int]:
    """Return a screen size as two integers; raises InputError if it is none from 320 x 240 to 3840 x 2160."""
    width_limit, height_limit = _LARGEST_SCREEN
    if isinstance(screen_size, list | tuple) and len(screen_size) == 2:
        width, height = screen_size
        whole = all(isinstance(n, int) and not isinstance(n, bool) for n in (width, height))
        if whole and 320 <= width <= width_limit and 240 <= height <= height_limit:
            return int(width), int(height)
    raise InputError(
        f"screen_size: expected width and height in pixels from 320 x 240 to {width_limit} x {height_limit}, "
        f"got {screen_size!r}"
    )


class DesktopSource:
    """Hands out one fresh desktop after another; the next can be started while one is in use.

    A desktop that starts in the background takes time from the one in use,
    about a second of one core, and saves as much at the next reset.

    Args:
        open_one: Starts a desktop.
    """

    def __init__(self, open_one: Callable[[], Desktop]) -> None:
        """Start nothing yet."""
        self._open_one = open_one
        self._next: _Pending | None = None

    def take(self) -> Desktop:
        """Return a fresh desktop, which is the caller's to close.

        Raises:
            InfrastructureError: If none could be started.
        """
        pending, self._next = self._next, None
        desktop = None if pending is None else pending.wait()
        return self._open_one() if desktop is None else desktop

    def prepare(self) -> None:
        """Start the next desktop in the background, if that has not been done."""
        if self._next is None:
            self._next = _Pending(self._open_one)

    def close(self) -> None:
        """End the desktop that nobody has taken."""
        pending, self._next = self._next, None
        if pending is not None:
            desktop = pending.wait()
            if desktop is not None:
                desktop.close()

    def __enter__(self) -> Self:
        """Return the source."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the source."""
        self.close()


class _Pending:
    """A desktop that is being started by a thread."""

    def __init__(self, open_one: Callable[[], Desktop]) -> None:
        self._open_one = open_one
        self._desktop: Desktop | None = None
        self._thread = threading.Thread(target=self._start, name="next desktop", daemon=True)
        self._thread.start()

    def _start(self) -> None:
        try:
            self._desktop = self._open_one()
        except InfrastructureError:  # whoever needs one next will try again, and be told
            self._desktop = None

    def wait(self) -> Desktop | None:
        """Return the desktop; None if it could not be started."""
        self._thread.join()
        return self._desktop
