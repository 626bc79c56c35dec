"""Waits until the desktop has come to rest."""

from __future__ import annotations

import time
from typing import Any

from Xlib.ext import damage

from .applications import Applications
from .programs import Programs

QUIET_SECONDS = 0.04
"""Time without a change after which a desktop is at rest: more than two frames of 1/60 s."""

_PROMPT_SECONDS = 0.05
"""An application that needs longer than this to answer was busy, and may have something to show.

Waiting ones take 1 to 10 ms, more where programs queue for the processor.
"""


class Settler:
    """Tells when the applications have handled their input and nothing on the screen changes any more.

    The rule, without any fixed wait: every application answers; then
    nothing is drawn and no window comes or goes for a short while; then every
    application answers at once, and no program is about to start. A caret that
    blinks is no obstacle, since it keeps still for longer than the short while;
    what an application does later by a timer of its own is not waited for.

    Args:
        display: Connection to the X server (an ``Xlib.display.Display``); only its name is used.
    """

    def __init__(self, display: Any) -> None:
        """Connect to the X server and watch the whole screen."""
        self._applications = Applications(display.get_display_name())
        self._display = self._applications.display
        self._programs = Programs(display.get_display_name())
        damage.query_version(self._display)
        root = self._display.screen().root
        self._damage = damage.damage_create(root, damage.DamageReportNonEmpty)
        self._display.sync()

    def wait(self, timeout: float, quiet: float = QUIET_SECONDS, idle: bool = False) -> bool:
        """Wait for rest.

        Args:
            timeout: Longest time to wait, in seconds.
            quiet: How long nothing may change, in seconds.
            idle: Whether no program may have worked in that time, whatever it showed.

        Returns:
            Whether the desktop is at rest; False if it still moved, or an
            application did not answer, when the time was over.
        """
        deadline = time.monotonic() + timeout
        if not self._answers(deadline):
            return False
        self._programs.were_at_work()
        while True:
            if not self._is_quiet(deadline, quiet):
                return False
            asked_at = time.monotonic()
            if not self._answers(deadline):
                return False
            was_prompt = time.monotonic() - asked_at <= _PROMPT_SECONDS
            at_work = self._programs.were_at_work() and idle
            if self._programs.are_starting() or at_work or not was_prompt:
                continue
            if not self._changes(0.0):
                return True

    def wait_for_change(self, timeout: float) -> bool:
        """Wait until something changes on the screen; return whether it did within ``timeout`` seconds."""
        return self._changes(timeout)

    def close(self) -> None:
        """Close the connection to the X server."""
        self._applications.close()

    def _answers(self, deadline: float) -> bool:
        self._applications.ask()
        while not self._applications.are_done:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._changes(left)
        return True

    def _is_quiet(self, deadline: float, quiet: float) -> bool:
        quiet_since = time.monotonic()
        while (now := time.monotonic()) < deadline:
            left = quiet_since + quiet - now
            if left <= 0:
                return True
            if self._changes(left):
                quiet_since = time.monotonic()
        return False

    def _changes(self, timeout: float) -> bool:
        """Wait for events; return whether one of them tells of a change to be seen."""
        events = self._applications.events(timeout)
        if events:
            damage.damage_subtract(self._display, self._damage)
            self._display.flush()
        return bool(events)
