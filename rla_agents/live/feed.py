"""What the open pages have to be told: the state of one run folder, as numbered changes.

Nothing runs in the background: each page that waits asks in turn, and the
first to ask after a while reads the folder for all of them.
"""

from __future__ import annotations

import math
import secrets
import threading
import time
import tomllib
from collections import deque
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from rla_agents.live.training import TrainingView
from rla_agents.live.view import Page, View
from rla_agents.report.run import Row
from rla_agents.report.screenshots import screenshot_file
from rla_agents.report.trajectories import LIMIT
from rla_envs.errors import InputError

INTERVAL = 0.5
"""Least seconds between two looks at the folder."""

_REST = 4.0
"""Rest after a look, in the time it took: of a long run the page must not take a core from the run itself."""


class Change(NamedTuple):
    """What a page must do to show the newest state.

    Attributes:
        id: Name of the state it shows then.
        reset: Whether to drop the episodes it has.
        parts: HTML of the parts that changed, by name.
        episodes: Episodes to add, the oldest first.
    """

    id: str
    reset: bool
    parts: dict[str, str]
    episodes: list[Row]


class Feed:
    """The state of a run folder that may not be there yet.

    Args:
        folder: The run folder.
        clock: Seconds from any start.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Look at nothing yet; see the class for the arguments."""
        self.folder, self._clock = folder, clock
        self._lock = threading.Lock()
        # A server that was started again knows nothing of what the last one said.
        self._run_id = secrets.token_hex(4)
        self._version = self._reset = 0
        self._parts: dict[str, tuple[int, str]] = {}
        self._episodes: deque[tuple[int, Row]] = deque(maxlen=LIMIT)
        self._view: View | None = None
        self._fresh = False
        self._config: tuple[int, int, int] | None = None
        self._next_look = -math.inf

    def change(self, since: str) -> Change | None:
        """Look at the folder if it is time, and return what is new since a state, if anything.

        Args:
            since: ``id`` of the last change that the page got; anything else asks for everything.
        """
        with self._lock:
            begun = self._clock()
            if begun >= self._next_look:
                behind = self._look()
                ended = self._clock()
                self._next_look = ended + (0.0 if behind else max(INTERVAL, _REST * (ended - begun)))
            run_id, _, number = since.partition(".")
            known = run_id == self._run_id and number.isdecimal() and len(number) < 16
            version = int(number) if known else -1
            if version >= self._version:
                return None
            reset = version < self._reset
            return Change(
                id=f"{self._run_id}.{self._version}",
                reset=reset,
                parts={name: html for name, (changed, html) in self._parts.items() if changed > version},
                episodes=[row for changed, row in self._episodes if reset or changed > version],
            )

    def screenshot(self, name: str) -> bytes:
        """Return a screenshot's file if one of the episodes names it and it can be read, else nothing."""
        with self._lock:
            named = any(
                name == place.get("screenshot")
                for _, episode in self._episodes
                for place in (episode, *episode["steps"])
            )
        path = screenshot_file(self.folder, name) if named else None
        try:
            return path.read_bytes() if path else b""
        except OSError:
            return b""

    def _look(self) -> bool:
        """Read what is new, and return whether there is more to read at once.

        A state that cannot be read is said on the page, which goes on looking.
        """
        try:
            if self._view is None or self._config_identity() != self._config:
                self._begin()
            return self._poll()
        except (InputError, OSError, ValueError) as error:
            self._view = None
            cause = " ".join(str(error).split())
            self._show(Page(notes=[f"This run cannot be read: {cause}. Looking again."]).parts())
            return False

    def _begin(self) -> None:
        self._view = None
        if self._episodes:
            self._version += 1
            self._reset = self._version
            self._episodes.clear()
        self._config = self._config_identity()
        if self._config is None:
            self._show(Page(notes=[waiting(self.folder)]).parts())
        else:
            self._view = view_of(self.folder)
            self._fresh = True

    def _poll(self) -> bool:
        until = self._clock() + INTERVAL
        changed, more, behind = False, True, False
        while more and self._view is not None:
            polled = self._view.poll()
            changed |= self._fresh or polled.changed
            self._fresh = False
            behind = polled.more
            more = polled.replaced or (behind and self._clock() < until)
            if polled.replaced:
                self._begin()
            elif polled.episodes:
                self._version += 1
                self._episodes.extend((self._version, row) for row in polled.episodes[-LIMIT:])
        if changed and self._view is not None:
            self._show(self._view.page().parts())
        return behind

    def _show(self, parts: dict[str, str]) -> None:
        changed = {name: html for name, html in parts.items() if self._parts.get(name, (0, None))[1] != html}
        if changed:
            self._version += 1
            self._parts |= {name: (self._version, html) for name, html in changed.items()}

    def _config_identity(self) -> tuple[int, int, int] | None:
        try:
            status = (self.folder / "config.toml").stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size


def waiting(folder: Path) -> str:
    """Return in a sentence why there is nothing to see of a folder without config.toml."""
    if folder.is_dir():
        return f"{folder} holds no run yet (no config.toml). The page fills as soon as one begins."
    return f"{folder} does not exist yet. The page fills as soon as a run begins there."


def view_of(folder: Path) -> View:
    """Return the view of a run folder, of training or a benchmark.

    Raises:
        InputError: If its config.toml cannot be read, or is that of neither.
    """
    path = folder / "config.toml"
    try:
        config = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: expected the settings of a run ({error})") from error
    if "suite_hash" in config:
        # By name: benchmarks stand above this package, which knows nothing of them but this view.
        made: View = import_module("benchmarks.bench.live").BenchView(folder)
        return made
    if not isinstance(config.get("env"), dict) and "iterations" not in config:
        raise InputError(f"{path}: expected the settings of a training run or a benchmark, got another file")
    return TrainingView(folder)
