"""Opening a file in the application for its kind, and waiting until it is there to be used."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from .server import RequestError
from .settle import Settler

OPEN_SECONDS = 60.0
"""Longest time that an application may take to show a file."""
_SETTLE_SECONDS = 5.0
_LATE_SECONDS = 0.35
"""Writer and Impress bring scroll bars and sidebar up to date with a timer of 300 ms; Calc does not."""

_APPLICATIONS = (
    ("xlsx xls ods csv tsv", ("soffice", "--norestore", "--nologo", "--calc")),
    ("docx doc odt rtf", ("soffice", "--norestore", "--nologo", "--writer")),
    ("pptx ppt odp", ("soffice", "--norestore", "--nologo", "--impress")),
    ("png jpg jpeg xcf bmp gif", ("gimp",)),
    ("html htm pdf", ("chromium", "--no-sandbox")),
    ("mp3 mp4 wav mkv", ("vlc",)),
)
"""What opens a file by the end of its name; all others are text."""


class Opener:
    """Opens files."""

    def __init__(
        self,
        start: Callable[[list[str]], None],
        windows: Callable[[], list[dict[str, Any]]],
        settler: Settler,
    ) -> None:
        """Keep what is needed to start a program and to see what became of it."""
        self._start, self._windows, self._settler = start, windows, settler

    def open(self, path: str) -> None:
        """Open a file or folder; raises RequestError if no window shows it in time."""
        before = {window["id"]: window["title"] for window in self._windows()}
        command = application_for(path)
        try:
            self._start([*command, path])
        except OSError as error:
            raise RequestError(f"{command[0]} cannot be started: {error.strerror}", 501) from error
        self._wait_for_window(os.path.basename(path.rstrip("/")), before)
        if {"--writer", "--impress"} & set(command):
            self._settler.wait(_SETTLE_SECONDS, quiet=_LATE_SECONDS)
        else:
            self._settler.wait(_SETTLE_SECONDS)

    def _wait_for_window(self, name: str, before: dict[int, str]) -> None:
        stem = os.path.splitext(name)[0]
        end = time.monotonic() + OPEN_SECONDS
        while time.monotonic() < end:
            for window in self._windows():
                new = before.get(window["id"]) != window["title"]
                if new and (name in window["title"] or (stem and stem in window["title"])):
                    return
            self._settler.wait_for_change(0.25)
        raise RequestError(f"no window showed {name} within {OPEN_SECONDS:g} s", 504)


def application_for(path: str) -> list[str]:
    """Return the command that opens a file of this kind."""
    if os.path.isdir(path):
        return ["pcmanfm"]
    ending = os.path.splitext(path)[1][1:].lower()
    return next(
        (list(command) for endings, command in _APPLICATIONS if ending in endings.split()), ["mousepad"]
    )
