"""`rla serve`: follow a run in the browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from rla_agents.command_line import parse
from rla_agents.live.feed import Feed, view_of, waiting
from rla_agents.live.server import LiveServer
from rla_envs.errors import InputError


@dataclass(frozen=True)
class ServeArguments:
    """Follow a run in the browser, on this machine only; Ctrl+C ends it, and the run goes on."""

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of a training run or a benchmark, finished or not; it need not be there yet."""
    port: int = 8765
    """Port of 127.0.0.1; 0 takes a free one."""
    quiet: bool = False
    """Do not print the page's address."""


def serve(words: Sequence[str]) -> int:
    """Serve the page that a command line asks for until it is interrupted, and return the exit code 0.

    Raises:
        InputError: If the folder holds something else than a run, or the port cannot be used.
    """
    arguments = parse(ServeArguments, words, prog="rla serve")
    if not 0 <= arguments.port <= 65535:
        raise InputError(f"--port: expected 0 to 65535, got {arguments.port}")
    folder = Path(arguments.run)
    found = check_folder(folder)
    with LiveServer(Feed(folder), arguments.port) as server:
        if not arguments.quiet:
            print(server.url, flush=True)  # noqa: T201
            if not found:
                print(waiting(folder), flush=True)  # noqa: T201
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            return 0
    return 0


def check_folder(folder: Path) -> bool:
    """Return whether a folder holds a run; False if it may still get one.

    Raises:
        InputError: If it holds something else.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"run {folder}: expected the folder of a run, got a file")
    if (folder / "config.toml").exists():
        view_of(folder)
        return True
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"run {folder}: expected the folder of a run; there are files, but no config.toml")
    return False
