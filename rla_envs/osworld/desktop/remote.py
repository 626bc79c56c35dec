"""A desktop behind an address: any server of OSWorld's HTTP protocol."""

from __future__ import annotations

import http.client
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

import numpy as np

from rla_envs.errors import InfrastructureError, InputError
from rla_envs.osworld.actions.events import Button, Event, Key, Move, Pause, Scroll, Text
from rla_envs.osworld.desktop.base import (
    LATE_SECONDS,
    SETTLE_SECONDS,
    Completed,
    Screenshot,
    View,
    Window,
)
from rla_envs.osworld.desktop.http import OSWorldClient, RefusedError

_PORT = 5000
_LOOK_SECONDS = 0.25
_INPUT_SECONDS = 120.0
_PREFIX = "import time, pyautogui as p; p.FAILSAFE = False; p.PAUSE = 0\n"


class RemoteDesktop(OSWorldClient):
    """A desktop that somebody else runs.

    It is used as it is found: nothing resets it between episodes, so each
    needs a server of its own or a caller that restores it. Only OSWorld's own
    endpoints are used. Actions are one program of pyautogui calls each.

    pyautogui types through the keyboard layout that it finds, so that texts
    are exact for the printable characters of ASCII, with the US layout of
    OSWorld's machines; any other character is refused by its name before
    anything is done. The desktop is at rest when two pictures in a row are the
    same.

    Args:
        address: ``"http://host:port"``, or ``"host:port"``; the port is 5000 if left out.

    Raises:
        InputError: If it is no such address.
        InfrastructureError: If no server answers there.
    """

    def __init__(self, address: str) -> None:
        """Ask for the size of the screen; see the class."""
        self._host, self._port = _parse(address)
        super().__init__(self._open_connection, f"the desktop at {self._host}:{self._port}")
        try:
            answer = self.ask("/screen_size", {})
            self._screen_size = (int(answer["width"]), int(answer["height"]))
        except (RefusedError, KeyError, TypeError, ValueError) as error:
            self.close()
            raise InfrastructureError(
                f"{address} is no server of OSWorld's protocol: it does not tell its screen's size ({error})"
            ) from error

    @property
    def screen_size(self) -> tuple[int, int]:
        """Width and height of the screen, in pixels."""
        return self._screen_size

    def observe(self, tree: bool = True, settle: float = SETTLE_SECONDS, late: bool = False) -> View:
        """Wait up to ``settle`` seconds for the desktop to come to rest, and return what is to be seen."""
        deadline = time.monotonic() + settle
        picture, settled = self.screenshot(), False
        while not settled and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(max(_LOOK_SECONDS, LATE_SECONDS * late), left))
            last, picture = picture, self.screenshot()
            settled = np.array_equal(last, picture)
        return View(picture, self.accessibility_tree() if tree else "", settled)

    def screenshot(self) -> Screenshot:
        """Return the screen as it is now."""
        try:
            return super().screenshot()
        except RefusedError as error:
            raise InfrastructureError(f"the desktop sends no screenshot: {error}") from error

    def accessibility_tree(self) -> str:
        """Return the accessibility tree as it is now, in OSWorld's XML form."""
        try:
            return super().accessibility_tree()
        except RefusedError as error:
            raise InfrastructureError(f"the desktop sends no accessibility tree: {error}") from error

    def perform(self, events: Sequence[Event]) -> str:
        """Carry out events in order; return what could not be done, in a line."""
        problem = next(filter(None, map(self._problem, events)), "")
        if problem or not events:
            return problem
        pauses = sum(event.seconds for event in events if isinstance(event, Pause))
        code = _PREFIX + "\n".join(map(_call, events))
        done = self.execute(["python", "-c", code], timeout=pauses + _INPUT_SECONDS)
        if done.returncode == 0:
            return ""
        said = (done.error or done.output).strip().splitlines()
        raise InfrastructureError(
            f"the desktop takes no input: {said[-1] if said else f'python ended with {done.returncode}'}"
        )

    def execute(self, command: Sequence[str] | str, shell: bool = False, timeout: float = 120.0) -> Completed:
        """Run a command in the session and wait for it; OSWorld's own server ends it after 120 s."""
        try:
            return super().execute(command, shell, timeout)
        except RefusedError as error:
            # OSWorld's server answers so if there is no such program, or it takes too long.
            return Completed(124 if "timed out" in str(error) else 127, "", str(error))

    def windows(self) -> list[Window]:
        """Return the top-level windows, by when they were opened: OSWorld's protocol tells no more."""
        listed = self.execute(["wmctrl", "-lGpx"])
        if listed.returncode != 0:
            raise InfrastructureError(f"the desktop lists no windows: {listed.error.strip()[-200:]}")
        active = self.execute(["xprop", "-root", "_NET_ACTIVE_WINDOW"]).output.rpartition("# ")[2].strip()
        number = int(active, 16) if active.startswith("0x") else 0
        return [window for line in listed.output.splitlines() if (window := _window_of(line, number))]

    def health(self) -> tuple[str, tuple[str, ...]]:
        """Return that nothing is known to have ended: the protocol does not tell."""
        return "", ()

    def _open_connection(self, timeout: float) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout)

    def _problem(self, event: Event) -> str:
        """Return why an event cannot be carried out; empty if it can."""
        match event:
            case Move(x, y) if not (0 <= x < self._screen_size[0] and 0 <= y < self._screen_size[1]):
                return f"the place ({x}, {y}) is off the screen"
            case Text(text):
                for character in text:
                    if character not in "\n\t" and not " " <= character <= "~":
                        return _untypable(character)
            case Key(key, _) if len(key) == 1 and not " " <= key <= "~":
                return _untypable(key)
        return ""


def _call(event: Event) -> str:
    match event:
        case Move(x, y):
            return f"p.moveTo({x}, {y})"
        case Button(button, down):
            return f"p.{'mouseDown' if down else 'mouseUp'}(button={button!r})"
        case Scroll(dx, dy):
            return "; ".join(f"p.{name}({n})" for name, n in (("hscroll", dx), ("vscroll", dy)) if n)
        case Key(key, down):
            return f"p.{'keyDown' if down else 'keyUp'}({key!r})"
        case Pause(seconds):
            return f"time.sleep({seconds!r})"
        case Text(text):
            # pyautogui types "<" as ">" on X: it is pressed as what it is on a US keyboard.
            parts = (f"p.write({part!r})" if part else "" for part in text.split("<"))
            return "\n".join(filter(None, "\np.hotkey('shift', ',')\n".join(parts).split("\n")))


def _untypable(character: str) -> str:
    return (
        f"the desktop cannot type {character!r} (U+{ord(character):04X}): pyautogui types ASCII only there; "
        "nothing was typed"
    )


def _window_of(line: str, active: int) -> Window | None:
    """Read a line of wmctrl: id, desktop, process, x, y, width, height, class, machine, title."""
    words = line.split(None, 9)
    if len(words) < 9:
        return None
    number, pid, x, y, width, height = (int(words[i], 0) for i in (0, 2, 3, 4, 5, 6))
    title = words[9] if len(words) > 9 else ""
    return Window(number, title, words[7], pid, x, y, width, height, number == active)


def _parse(address: str) -> tuple[str, int]:
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        host, port = parts.hostname, parts.port or _PORT
    except ValueError:
        host = None
    if host is None or parts.scheme != "http" or parts.path.strip("/") or parts.query or parts.username:
        raise InputError(
            f"address: expected http://host:port of a server of OSWorld's protocol, got {address!r}"
        )
    return host, port
