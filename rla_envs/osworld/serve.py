"""A local desktop that speaks OSWorld's HTTP protocol on a port of this machine.

``python -m rla_envs.osworld.serve --port 5000`` starts one and serves it until
it is interrupted. OSWorld's own client works with it; see the documentation.
"""

from __future__ import annotations

import argparse
import select
import signal
import socket
import sys
from collections.abc import Sequence

from rla_envs.errors import InputError, RLAError
from rla_envs.osworld.desktop.local import LocalDesktop
from rla_envs.osworld.desktop.opening import CLOCK, SCREEN_SIZE, check_screen_size

_HOST = "127.0.0.1"
_LOOK_SECONDS = 1.0
"""How often it is looked whether the desktop still runs, while nobody connects."""


def listen(port: int) -> socket.socket:
    """Return a socket that listens on a port of the loopback interface; 0 chooses a free one.

    Raises:
        InputError: If the port is out of range or taken.
    """
    if not 0 <= port <= 65535:
        raise InputError(f"--port: expected a number from 0 to 65535, got {port}")
    try:
        return socket.create_server((_HOST, port), backlog=64)
    except OSError as error:
        raise InputError(
            f"--port: cannot listen on {_HOST}:{port} ({error.strerror}); choose another"
        ) from error


def serve(listener: socket.socket, desktop: LocalDesktop) -> None:
    """Hand every connection to the desktop, until it ends or the process is interrupted."""
    while desktop.pid is not None:
        ready, _, _ = select.select([listener], [], [], _LOOK_SECONDS)
        if ready:
            connection, _ = listener.accept()
            with connection:
                desktop.pass_connection(connection)


def main(words: Sequence[str] | None = None) -> int:
    """Serve a desktop; return 0 when interrupted, 1 if the desktop ended, 2 on bad input."""
    parser = argparse.ArgumentParser(prog="python -m rla_envs.osworld.serve", description=__doc__)
    parser.add_argument("--port", type=int, default=5000, help="port on 127.0.0.1; 0 chooses a free one")
    parser.add_argument("--screen", default="x".join(map(str, SCREEN_SIZE)), help="width x height in pixels")
    parser.add_argument(
        "--machine-clock", action="store_true", help="show the machine's time, not a fixed one"
    )
    arguments = parser.parse_args(words)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        size = check_screen_size(_size(arguments.screen))
        with (
            listen(arguments.port) as listener,
            LocalDesktop(size, clock=None if arguments.machine_clock else CLOCK) as desktop,
        ):
            print(f"http://{_HOST}:{listener.getsockname()[1]}", flush=True)  # noqa: T201 - the command's output
            serve(listener, desktop)
    except KeyboardInterrupt:
        return 0
    except RLAError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 2 if isinstance(error, InputError) else 1
    print("the desktop ended", file=sys.stderr)  # noqa: T201
    return 1


def _size(text: str) -> object:
    try:
        return tuple(int(part) for part in text.lower().split("x"))
    except ValueError:
        return text


if __name__ == "__main__":
    sys.exit(main())
