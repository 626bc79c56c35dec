"""The first program in a box: starts the desktop, serves it, and ends with the socket that it was given.

Usage: ``python -m box.start DESCRIPTOR OPTIONS``, where the descriptor is one
end of a pair of Unix sockets and the options are JSON: ``width``, ``height``,
``uid``, ``processes``, ``file_mb``, ``memory_mb``,
``clock_library`` (path, or null) and ``clock_offset`` (seconds to add to the machine's clock).
"""

from __future__ import annotations

import json
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

RUN = "/run/user/1000"
SOCKET = f"{RUN}/rla.sock"
"""Where programs in the box reach the server."""

_HOME = Path("/home/user")
_TEMPLATE = Path("/opt/rla/home")
_START_SECONDS = 20.0
_FOLDERS = ("Desktop", "Documents", "Downloads", "Music", "Pictures", "Public", "Templates", "Videos")


class StartError(RuntimeError):
    """A part of the desktop did not start; the message says which, and what it printed."""


def session_environment(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables that programs of the session have, on top of the server's own."""
    variables = {
        "DISPLAY": ":0",
        "XDG_RUNTIME_DIR": RUN,
        "XDG_CURRENT_DESKTOP": "openbox",
        "XDG_SESSION_TYPE": "x11",
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={RUN}/bus",
        "GTK_MODULES": "gail:atk-bridge",
        "GTK_OVERLAY_SCROLLING": "0",
        "QT_ACCESSIBILITY": "1",
        "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
        "SAL_USE_VCLPLUGIN": "gtk3",
        "GDK_BACKEND": "x11",
        "GSETTINGS_BACKEND": "keyfile",
        "LIBGL_ALWAYS_SOFTWARE": "1",
        "PYTHONPATH": "/opt/rla/box/shims:/opt/rla/lib",
        "RLA_BOX_SOCKET": SOCKET,
    }
    if options["clock_library"]:
        # Only what a person would read off a clock: timers and waits stay as they are.
        variables |= {
            "LD_PRELOAD": options["clock_library"],
            "FAKETIME": f"{options['clock_offset']:+.6f}",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
    return variables


class Session:
    """The programs that make up a desktop, in the order in which they need each other."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Start them all and wait until each is ready; raises :class:`StartError`."""
        self.environment = {**os.environ, **session_environment(options)}
        self.clock_offset = float(options["clock_offset"])
        os.mkdir("/tmp/.X11-unix", 0o1777)
        x_ready, x_told = os.pipe()
        bus_ready, bus_told = os.pipe()
        screen = f"{options['width']}x{options['height']}x24"
        self.x_server = self._start(
            ["Xvfb", ":0", "-screen", "0", screen, "-nolisten", "tcp", "-noreset", "-ac",
             "-displayfd", str(x_told)],
            x_told,
        )  # fmt: skip
        self.bus = self._start(
            ["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address=unix:path={RUN}/bus",
             f"--print-address={bus_told}"],
            bus_told,
        )  # fmt: skip
        fill_home(time.time() + self.clock_offset)
        _wait_for(bus_ready, self.bus, "the message bus")
        self.accessibility = self._start(["/usr/libexec/at-spi-bus-launcher", "--launch-immediately"])
        _wait_for(x_ready, self.x_server, "the X server")
        self.window_manager = self._start(["openbox", "--sm-disable"])
        switch_on_accessibility()
        self._wait_for_window_manager()

    def parts(self) -> dict[str, subprocess.Popen[bytes]]:
        """Return the programs by what they are."""
        return {
            "the X server": self.x_server,
            "the message bus": self.bus,
            "the accessibility bus": self.accessibility,
            "the window manager": self.window_manager,
        }

    def _start(self, command: list[str], told: int | None = None) -> subprocess.Popen[bytes]:
        log = open(f"/tmp/.{os.path.basename(command[0])}.log", "wb")  # noqa: SIM115 - the program's own
        process = subprocess.Popen(
            command,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=() if told is None else (told,),
        )
        log.close()
        if told is not None:
            os.close(told)
        return process

    def _wait_for_window_manager(self) -> None:
        from Xlib import X, Xatom
        from Xlib.display import Display

        display = Display(":0")
        root = display.screen().root
        root.change_attributes(event_mask=X.PropertyChangeMask, background_pixel=0x2E5A88)
        root.clear_area()
        check = display.intern_atom("_NET_SUPPORTING_WM_CHECK")
        end = time.monotonic() + _START_SECONDS
        while not root.get_full_property(check, Xatom.WINDOW):
            if time.monotonic() > end or self.window_manager.poll() is not None:
                raise StartError(f"the window manager did not start: {_log('openbox')}")
            select.select([display], [], [], 0.02)
            while display.pending_events():
                display.next_event()
        display.close()


def fill_home(now: float) -> None:
    """Fill the home with what every episode begins with, made at one moment (seconds since 1970)."""
    for path in _TEMPLATE.glob("*"):
        place = _HOME / path.name.replace("dot-", ".", 1)
        if path.is_dir():
            shutil.copytree(path, place, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copyfile(path, place)
    for folder in _FOLDERS:
        (_HOME / folder).mkdir(exist_ok=True)
    for path in (_HOME, *_HOME.rglob("*")):
        os.utime(path, (now, now), follow_symlinks=False)


def switch_on_accessibility() -> None:
    """Tell applications that somebody reads their accessibility trees."""
    from jeepney import DBusAddress, Properties
    from jeepney.io.blocking import open_dbus_connection

    with open_dbus_connection(f"unix:path={RUN}/bus") as connection:
        status = Properties(DBusAddress("/org/a11y/bus", "org.a11y.Bus", "org.a11y.Status"))
        reply = connection.send_and_get_reply(status.set("IsEnabled", "b", True), timeout=_START_SECONDS)
        if reply.header.message_type.name == "error":
            raise StartError(f"the accessibility bus did not start: {reply.body}")


def _wait_for(ready: int, process: subprocess.Popen[bytes], name: str) -> None:
    """Wait until a program has written a line to a pipe."""
    told = b""
    while not told.endswith(b"\n"):
        readable, _, _ = select.select([ready], [], [], _START_SECONDS)
        part = os.read(ready, 256) if readable else b""
        told += part
        if part:
            continue
        raise StartError(f"{name} did not start (exit status {process.poll()}): {_log(process.args[0])}")  # type: ignore[index]
    os.close(ready)


def _log(program: object) -> str:
    try:
        return " ".join(Path(f"/tmp/.{program}.log").read_text(errors="replace").split())[-500:]
    except OSError:
        return ""


def become_user(uid: int) -> None:
    """Give the box's folders to its user and become that user, if we are root."""
    if os.getuid() != 0:
        return
    for folder in (_HOME, Path(RUN)):
        os.chown(folder, uid, uid)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _limit(options: Mapping[str, Any]) -> None:
    for kind, value in (
        (resource.RLIMIT_NPROC, options["processes"]),
        (resource.RLIMIT_FSIZE, options["file_mb"] << 20),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 4096),
        (resource.RLIMIT_MEMLOCK, 64 << 10),
    ):
        hard = resource.getrlimit(kind)[1]
        limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (limit, limit))


def keep_house(control: socket.socket, server: int, burials: int) -> NoReturn:
    """Be the first process of the box: bury the dead, and end when the server or the host is gone.

    For each, a line is written to ``burials``: its exit status (minus the signal that ended it), its name.

    With the first process, the kernel ends all others; no other process of the
    box can stop or kill it.
    """
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poll = select.poll()
    poll.register(control, select.POLLRDHUP)
    poll.register(woken, select.POLLIN)
    while True:
        with suppress(ChildProcessError):
            while (dead := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                if dead.si_pid == server:
                    os._exit(1)
                _tell(burials, dead)
                os.waitpid(dead.si_pid, 0)
        for descriptor, _ in poll.poll():
            if descriptor != woken:
                os._exit(0)
            os.read(woken, 4096)


def _tell(burials: int, dead: os.waitid_result) -> None:
    """Write how a process ended that has not been buried yet; not where nobody reads."""
    code = dead.si_status if dead.si_code == os.CLD_EXITED else -dead.si_status
    with suppress(OSError):
        name = Path(f"/proc/{dead.si_pid}/comm").read_text(errors="replace").replace("\n", " ").strip()
        os.write(burials, f"{code} {name}\n".encode())


def main() -> None:
    """Start the desktop and serve it until the other end of the socket is closed."""
    control = socket.socket(fileno=int(sys.argv[1]))
    options = json.loads(sys.argv[2])
    become_user(options["uid"])
    read, write = os.pipe()
    os.set_blocking(write, False)  # a box full of the dead must not hold up their burial
    server = os.fork()
    if server:
        os.close(read)
        keep_house(control, server, write)
    os.close(write)
    _limit(options)
    try:
        session = Session(options)
        from .server import serve

        with open(read, errors="replace") as burials:
            serve(control, session, options, burials)
    except StartError as error:
        control.sendall(json.dumps({"error": str(error)}).encode() + b"\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
