"""What the server in a box answers, endpoint by endpoint."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from Xlib.display import Display

from . import files, windows
from .accessibility import Accessibility
from .commands import Commands
from .guard import Guard
from .input import Input
from .opening import Opener
from .screen import Screen
from .server import Reply, Request, RequestError, Route
from .settle import QUIET_SECONDS, Settler
from .start import Session
from .wallpaper import Wallpaper

_LONGEST_SETTLE = 600.0
_RECORDING = "/tmp/recording.mp4"


class Box:
    """The desktop as the server sees it.

    One lock for each thing that cannot be used twice at a time: the screen,
    the pointer and keyboard, the accessibility bus.
    """

    def __init__(self, session: Session, guard: Guard) -> None:
        """Connect to the desktop's X server and buses."""
        self._guard = guard
        self._environment, self._clock_offset = session.environment, session.clock_offset
        os.environ.update(
            {name: session.environment[name] for name in ("DISPLAY", "DBUS_SESSION_BUS_ADDRESS")}
        )
        self._display = Display(":0")
        self._screen, self._screen_lock = Screen(), threading.Lock()
        self._input, self._input_lock = Input(Display(":0")), threading.Lock()
        self._settler, self._settle_lock = Settler(Display(":0")), threading.Lock()
        self._tree, self._tree_lock = Accessibility(), threading.Lock()
        self._window_lock = threading.Lock()
        self._commands = Commands(session.environment, self._has_window, guard.note_end)
        self._opener = Opener(self._commands.start, self._list, Settler(Display(":0")))
        self._wallpaper = Wallpaper(self._display)
        self._recorder: subprocess.Popen[bytes] | None = None

    def routes(self) -> Mapping[tuple[str, str], Route]:
        """Return what answers which request."""
        commands = self._commands
        return {
            ("GET", "/screenshot"): self.screenshot,
            ("GET", "/terminal"): self.terminal,
            ("GET", "/accessibility"): self.accessibility,
            ("GET", "/platform"): lambda _: Reply("Linux"),
            ("GET", "/cursor_position"): self.cursor_position,
            ("POST", "/screen_size"): self.screen_size,
            ("POST", "/window_size"): self.window_size,
            ("POST", "/desktop_path"): files.desktop_path,
            ("POST", "/wallpaper"): self.wallpaper,
            ("POST", "/list_directory"): files.tree,
            ("POST", "/file"): files.read,
            ("POST", "/execute"): commands.execute,
            ("POST", "/execute_with_verification"): commands.execute_with_verification,
            ("POST", "/run_python"): commands.run_python,
            ("POST", "/run_bash_script"): commands.run_bash_script,
            ("POST", "/start_recording"): self.start_recording,
            ("POST", "/end_recording"): self.end_recording,
            ("POST", "/setup/execute"): commands.execute,
            ("POST", "/setup/execute_with_verification"): commands.execute_with_verification,
            ("POST", "/setup/launch"): commands.launch,
            ("POST", "/setup/upload"): lambda request: files.write(request, self._clock_offset),
            ("POST", "/setup/download_file"): self.download_file,
            ("POST", "/setup/open_file"): self.open_file,
            ("POST", "/setup/activate_window"): self.activate_window,
            ("POST", "/setup/close_window"): self.close_window,
            ("POST", "/setup/change_wallpaper"): self.change_wallpaper,
            ("POST", "/rla/input"): self.input,
            ("POST", "/rla/observe"): self.observe,
            ("GET", "/rla/windows"): lambda _: Reply({"windows": self._list()}),
            ("GET", "/rla/health"): self.health,
        }

    def screenshot(self, request: Request) -> Reply:
        """Return the screen as a PNG."""
        with self._screen_lock:
            return Reply(self._screen.png(), content_type="image/png")

    def accessibility(self, request: Request) -> Reply:
        """Return the accessibility tree as XML, in JSON."""
        return Reply({"AT": self._read_tree()})

    def observe(self, request: Request) -> Reply:
        """Wait until the desktop is at rest; return the screen as BGRX bytes, and the tree after it.

        Fields ``settle`` (seconds to wait at most), ``late`` (seconds in which
        nothing may change and no program work, where the usual rest is not
        enough) and ``tree`` (whether to read it). The picture is taken before
        and after the tree is read; when something changed in between, both are
        taken again, once.
        """
        self._require_all()
        seconds = _number(request.body, "settle", 0.0, _LONGEST_SETTLE)
        end = time.monotonic() + seconds
        settled = self._settle(seconds, _number(request.body, "late", 0.0, _LONGEST_SETTLE))
        pixels, tree = self._pixels(), b""
        if request.body.get("tree"):
            for _ in range(2):
                tree = self._full_tree(end).encode("utf-8", "replace")
                after = self._pixels()
                changed, pixels = after != pixels, after
                if not changed:
                    break
        width, height = self._screen.size
        headers = {
            "X-Screen": f"{width}x{height}",
            "X-Settled": str(int(settled)),
            "X-Pixels": str(len(pixels)),
        }
        return Reply(pixels + tree, headers=headers)

    def input(self, request: Request) -> Reply:
        """Carry out ``events``, a list; then wait at most ``settle`` seconds for the desktop to rest."""
        events = request.body.get("events")
        if not isinstance(events, list):
            raise RequestError(f"events: expected a list, got {type(events).__name__}")
        self._require_all()
        with self._input_lock:
            error = self._input.perform(events)
        self._settle(_number(request.body, "settle", 0.0, _LONGEST_SETTLE))
        return Reply({"error": error})

    def terminal(self, request: Request) -> Reply:
        """Return the text of the topmost terminal; null if there is none."""
        terminals = ElementTree.fromstring(self._read_tree()).iter("terminal")
        texts = ["".join(terminal.itertext()) for terminal in terminals]
        return Reply({"output": texts[-1] if texts else None, "status": "success"})

    def cursor_position(self, request: Request) -> Reply:
        """Return where the pointer is: x and y in pixels."""
        with self._window_lock:
            place = self._display.screen().root.query_pointer()
        return Reply([place.root_x, place.root_y])

    def screen_size(self, request: Request) -> Reply:
        """Return the screen's width and height in pixels."""
        width, height = self._screen.size
        return Reply({"width": width, "height": height})

    def window_size(self, request: Request) -> Reply:
        """Return a window's width and height in pixels; field ``app_class_name``."""
        wanted = str(request.body.get("app_class_name", "")).lower()
        for window in reversed(self._list()):
            if wanted in str(window["window_class"]).lower():
                return Reply({"width": window["width"], "height": window["height"]})
        raise RequestError(f"no window of class {wanted!r}", 404)

    def open_file(self, request: Request) -> Reply:
        """Open a file in the application for its kind, and wait for its window; field ``path``."""
        path = os.path.expanduser(str(request.body.get("path", "")))
        if not os.path.exists(path):
            raise RequestError(f"no such file: {path}", 404)
        self._opener.open(path)
        return Reply("File opened successfully")

    def activate_window(self, request: Request) -> Reply:
        """Give the focus to a window; fields ``window_name``, ``strict``, ``by_class``."""
        return self._on_window(request, windows.activate)

    def close_window(self, request: Request) -> Reply:
        """Ask a window to close; fields ``window_name``, ``strict``, ``by_class``."""
        return self._on_window(request, windows.close)

    def download_file(self, request: Request) -> Reply:
        """Refuse: a box has no network."""
        raise RequestError("this desktop has no network; upload the file instead", 501)

    def change_wallpaper(self, request: Request) -> Reply:
        """Show a picture behind the windows; field ``path``."""
        path = os.path.expanduser(str(request.body.get("path", "")))
        if not os.path.isfile(path):
            raise RequestError(f"no such file: {path}", 404)
        with self._window_lock:
            self._wallpaper.show(path)
        return Reply("Wallpaper changed successfully")

    def wallpaper(self, request: Request) -> Reply:
        """Return the picture that is the wallpaper, as the file that was given."""
        if self._wallpaper.content is None:
            raise RequestError("no wallpaper is set", 404)
        return Reply(self._wallpaper.content)

    def start_recording(self, request: Request) -> Reply:
        """Start to film the screen with ffmpeg."""
        if self._recorder is not None and self._recorder.poll() is None:
            raise RequestError("already recording")
        width, height = self._screen.size
        grab = ["-f", "x11grab", "-draw_mouse", "1", "-s", f"{width}x{height}", "-i", ":0", "-r", "30"]
        try:
            self._recorder = subprocess.Popen(
                ["ffmpeg", "-y", *grab, "-c:v", "libx264", _RECORDING],
                env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except OSError as error:
            raise RequestError("recording needs ffmpeg, which is not installed", 501) from error
        return Reply({"status": "success", "message": "Started recording"})

    def end_recording(self, request: Request) -> Reply:
        """Stop filming and return the video."""
        if self._recorder is None:
            raise RequestError("not recording")
        self._recorder.communicate(b"q", timeout=30)
        self._recorder = None
        return Reply(Path(_RECORDING).read_bytes(), content_type="video/mp4")

    def health(self, request: Request) -> Reply:
        """Return which parts of the desktop have ended, and what crashed or took too much."""
        return Reply({"ended": self._guard.ended(), "killed": self._guard.killed})

    def _require_all(self) -> None:
        """Refuse where a part of the desktop has ended: what is seen then is not what an agent did."""
        ended = self._guard.ended()
        if ended:
            raise RequestError(f"{ended} ended", 503)

    def _on_window(self, request: Request, action: Any) -> Reply:
        name = str(request.body.get("window_name", ""))
        strict, by_class = bool(request.body.get("strict")), bool(request.body.get("by_class"))
        with self._window_lock:
            found = action(self._display, name, strict, by_class)
        if not found:
            raise RequestError(f"no window named {name!r}", 404)
        return Reply("Window found")

    def _settle(self, seconds: float, late: float = 0.0) -> bool:
        if seconds <= 0:
            return True
        with self._settle_lock:
            return bool(self._settler.wait(seconds, max(late, QUIET_SECONDS), idle=late > 0))

    def _pixels(self) -> bytes:
        with self._screen_lock:
            return bytes(self._screen.grab())

    def _read_tree(self) -> str:
        with self._tree_lock:
            return str(self._tree.tree())

    def _full_tree(self, end: float) -> str:
        """Return the tree; until ``end``, wait for windows that tell nothing of themselves yet."""
        shown = {int(window["pid"]) for window in self._list()}
        tree = self._read_tree()
        with self._tree_lock:
            silent = shown - self._tree.heard
            left = end - time.monotonic()
            if not silent or left <= 0 or not self._tree.wait_for(silent, left):
                return tree
        return self._read_tree()

    def _list(self) -> list[dict[str, Any]]:
        with self._window_lock:
            return list(windows.list_windows(self._display))

    def _has_window(self, title: str) -> bool:
        return any(title.lower() in str(window["title"]).lower() for window in self._list())


def _number(body: Mapping[str, Any], name: str, low: float, high: float) -> float:
    value = body.get(name, low)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise RequestError(f"{name}: expected a number from {low:g} to {high:g}, got {value!r}")
    return float(value)
