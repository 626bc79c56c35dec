"""What every desktop offers, wherever it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rla_envs.osworld.actions.events import Event

Screenshot = NDArray[np.uint8]
"""A picture of shape (height, width, 3), red, green and blue from 0 to 255."""

SETTLE_SECONDS = 3.0
"""Longest time that a desktop is waited for after an action."""

LATE_SECONDS = 0.35
"""Time without a change in which the short timers of applications run out.

GTK holds a button that a key pressed for 250 ms before it acts
(``ACTIVATE_TIMEOUT`` of its GtkButton), and draws it when it lets it go: the
Enter that ends its Save As dialog saves half a second later. Writer and
Impress bring their toolbars up to date after 300 ms.
"""


@dataclass(frozen=True)
class Completed:
    """A command that ended: its exit status, and what it printed as text."""

    returncode: int
    output: str
    error: str


@dataclass(frozen=True)
class Window:
    """A top-level window, with its geometry in pixels (without decorations) and whether it has the focus."""

    id: int
    title: str
    window_class: str
    pid: int
    x: int
    y: int
    width: int
    height: int
    active: bool


@dataclass(frozen=True)
class View:
    """What is to be seen at one moment.

    Attributes:
        screenshot: The screen.
        accessibility_tree: The same in OSWorld's XML form; empty if not asked for.
        settled: Whether the desktop had come to rest before the picture was taken.
    """

    screenshot: Screenshot
    accessibility_tree: str
    settled: bool


class Desktop(Protocol):
    """A running desktop.

    Every method raises :class:`~rla_envs.errors.InfrastructureError` when the
    desktop is lost or does not answer in time; after that it can only be closed.
    """

    @property
    def screen_size(self) -> tuple[int, int]:
        """Width and height of the screen, in pixels."""

    def observe(self, tree: bool = True, settle: float = SETTLE_SECONDS, late: bool = False) -> View:
        """Wait up to ``settle`` seconds for the desktop to come to rest, and return what is to be seen.

        Args:
            tree: Whether the accessibility tree is wanted.
            settle: Longest time to wait, in seconds.
            late: Whether to wait also for what applications do by short timers
                after an input: :data:`LATE_SECONDS` must pass in which nothing changes
                and, where that can be known, no program is at work.
        """

    def screenshot(self) -> Screenshot:
        """Return the screen as it is now."""

    def accessibility_tree(self) -> str:
        """Return the accessibility tree as it is now, in OSWorld's XML form."""

    def perform(self, events: Sequence[Event]) -> str:
        """Carry out events in order.

        Returns:
            What could not be done, in a line (a key that does not exist, a
            place off the screen); empty if all was done.
        """

    def windows(self) -> list[Window]:
        """Return the top-level windows that an application opened, lowest first."""

    def execute(self, command: Sequence[str] | str, shell: bool = False, timeout: float = 120.0) -> Completed:
        """Run a command in the desktop's session and wait for it.

        A command that takes longer than ``timeout`` seconds is killed and
        reported with the return code 124.
        """

    def launch(self, command: Sequence[str] | str, shell: bool = False) -> None:
        """Start a command in the desktop's session, without waiting for it.

        Raises:
            InputError: If there is no such program.
        """

    def open_file(self, path: str) -> None:
        """Open a file in the application for its kind, and wait until its window is there and at rest."""

    def activate_window(self, name: str, strict: bool = False, by_class: bool = False) -> bool:
        """Give the focus to a window; return whether there is one.

        Args:
            name: Its title, or a part of it; with ``strict`` the whole title.
            strict: Whether the title must be exactly this one.
            by_class: Whether ``name`` is the window's class.
        """

    def close_window(self, name: str, strict: bool = False, by_class: bool = False) -> bool:
        """Ask a window to close; return whether there is one. Arguments as for :meth:`activate_window`."""

    def read_file(self, path: str) -> bytes:
        """Return a file's content.

        Raises:
            FileNotFoundError: If there is no such file.
        """

    def write_file(self, path: str, data: bytes) -> None:
        """Write a file, with the folders above it."""

    def terminal_output(self) -> str | None:
        """Return the text in the topmost terminal window, as the user sees it; None if there is none."""

    def health(self) -> tuple[str, tuple[str, ...]]:
        """Return which parts of the desktop have ended ("" if none), and what crashed or had to be ended."""

    def close(self) -> None:
        """End the desktop and everything in it. A second call does nothing."""

    def __enter__(self) -> Self:
        """Return the desktop."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Close the desktop."""
