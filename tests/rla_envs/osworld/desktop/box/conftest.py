"""An X display with a window manager, for the tests of what runs inside a box."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytest.importorskip("Xlib", reason="needs the extra 'osworld'")

from Xlib.display import Display

from rla_envs.osworld.desktop.box import windows
from rla_envs.osworld.desktop.box.input import Input
from rla_envs.osworld.desktop.box.settle import Settler

PROGRAMS = ("Xvfb", "openbox", "dbus-daemon", "mousepad", "setxkbmap")
SIZE = (1280, 720)

OPENBOX = """<openbox_config xmlns="http://openbox.org/3.4/rc">
<keyboard><rebindOnMappingNotify>no</rebindOnMappingNotify></keyboard>
</openbox_config>"""
"""Without this openbox takes 37 ms of processor time for each spare key that gets a character."""


@dataclass
class XSession:
    """A display, the environment of its programs, and a connection to it."""

    environment: dict[str, str]
    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.environment["DISPLAY"]

    def start(self, *command: str, **options: object) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command,
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **options,  # type: ignore[arg-type]
        )
        self.processes.append(process)
        return process

    def run(self, *command: str) -> str:
        return subprocess.run(
            command, env=self.environment, check=True, capture_output=True, text=True, timeout=20
        ).stdout

    def end(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def x_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[XSession]:
    """A running display of 1280x720 pixels."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        pytest.skip(f"needs the programs {', '.join(missing)} (`make desktop` installs them)")
    folder = tmp_path_factory.mktemp("x")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder),
        "LANG": "C.UTF-8",
        "GDK_BACKEND": "x11",
        "GSETTINGS_BACKEND": "memory",
        "NO_AT_BRIDGE": "1",
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder}/bus",
    }
    session = XSession(environment, folder)
    try:
        read_end, write_end = os.pipe()
        size = f"{SIZE[0]}x{SIZE[1]}x24"
        session.start(
            *f"Xvfb -displayfd {write_end} -screen 0 {size} -nolisten tcp -noreset -ac".split(),
            pass_fds=(write_end,),
        )
        os.close(write_end)
        with os.fdopen(read_end, encoding="ascii") as told:
            environment["DISPLAY"] = f":{told.readline().strip()}"
        session.start("dbus-daemon", "--session", "--nofork", f"--address=unix:path={folder}/bus")
        (folder / "rc.xml").write_text(OPENBOX, encoding="utf-8")
        session.start("openbox", "--config-file", str(folder / "rc.xml"))
        yield session
    finally:
        session.end()


@pytest.fixture(scope="session")
def display(x_session: XSession) -> Iterator[Display]:
    """A connection of the test's own."""
    connection = Display(x_session.name)
    yield connection
    connection.close()


@pytest.fixture(scope="session")
def user_input(x_session: XSession) -> Iterator[Input]:
    """The pointer and the keyboard."""
    connection = Display(x_session.name)
    user = Input(connection)
    yield user
    user.close()
    connection.close()


@pytest.fixture(scope="session")
def settler(display: Display) -> Iterator[Settler]:
    """What waits for rest."""
    waiter = Settler(display)
    yield waiter
    waiter.close()


def keys(*names: str) -> list[dict[str, object]]:
    """The events of a hotkey."""
    return [{"type": "key", "key": name, "down": True} for name in names] + [
        {"type": "key", "key": name, "down": False} for name in reversed(names)
    ]


@dataclass
class Editor:
    """A text editor with a file."""

    path: Path
    display: Display
    user: Input
    window: dict[str, object]

    def write(self, *events: dict[str, object]) -> str:
        """Replace the text by what some events type, save it with Ctrl+S, and return what the file holds."""
        assert windows.activate(self.display, self.path.name)
        assert self.user.perform([*keys("ctrl", "a"), *keys("delete"), *events]) == ""
        self._wait_for_title(f"*{self.path} - Mousepad")
        assert self.user.perform(keys("ctrl", "s")) == ""
        self._wait_for_title(f"{self.path} - Mousepad")
        return self.path.read_text(encoding="utf-8").removesuffix("\n")

    def _wait_for_title(self, title: str) -> None:
        shown = windows.wait_for_window(self.display, lambda window: window["title"] == title, 20)
        assert shown, [window["title"] for window in windows.list_windows(self.display)]


@pytest.fixture(scope="session")
def editor(x_session: XSession, display: Display, user_input: Input) -> Editor:
    """Mousepad with a file, in front."""
    path = x_session.folder / "written.txt"
    path.write_text("old\n", encoding="utf-8")
    process = x_session.start("mousepad", "--disable-server", str(path))
    window = windows.wait_for_window(
        display, lambda window: window["pid"] == process.pid and path.name in window["title"], 20
    )
    assert window is not None
    return Editor(path, display, user_input, window)
