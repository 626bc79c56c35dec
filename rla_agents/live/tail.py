"""Read a file of JSON lines while another process writes it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from rla_agents.report.run import Row, parse_row

_CHUNK = 4 << 20
"""Bytes read at once, so that a page of a long run shows something soon."""

_MARK = 128
"""Bytes before the place read so far that tell whether the file is still the same."""


class News(NamedTuple):
    """What a file has gained since it was last read.

    Attributes:
        rows: Its new rows.
        replaced: Whether what was read before is gone (the file was cut, replaced or removed): nothing
            was read, and the next call starts at the beginning.
        more: Whether there is more to read at once.
    """

    rows: list[Row]
    replaced: bool = False
    more: bool = False


class Tail:
    """Where the reading of one file stands.

    A last line without its end is left for the next time; other lines that
    hold no JSON object are counted in ``unreadable`` and passed over.

    Args:
        path: The file; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        """Start at the beginning; see the class for the arguments."""
        self.path = path
        self.unreadable = 0
        self._offset = 0
        self._mark = b""
        self._identity = (0, 0)

    def read(self) -> News:
        """Return what is new.

        Raises:
            OSError: If the file is there and cannot be read.
        """
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return News([], self._start_over())
        with file:
            status = os.fstat(file.fileno())
            # A resumed run writes a new file, or cuts the old one and may have filled it again since.
            file.seek(max(0, self._offset - _MARK))
            if self._offset and (
                (status.st_dev, status.st_ino) != self._identity or file.read(len(self._mark)) != self._mark
            ):
                return News([], self._start_over())
            self._identity = status.st_dev, status.st_ino
            file.seek(self._offset)
            data = file.read(_CHUNK)
            while data and b"\n" not in data and (longer := file.read(len(data))):
                data += longer
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        self._mark = (self._mark + whole)[-_MARK:]
        return News(self._parsed(whole), more=bool(whole) and self._offset < status.st_size)

    def _parsed(self, data: bytes) -> list[Row]:
        rows = []
        for line in data.split(b"\n"):
            row = parse_row(line) if line.strip() else None
            if row is not None:
                rows.append(row)
            elif line.strip():
                self.unreadable += 1
        return rows

    def _start_over(self) -> bool:
        """Forget the file; return whether anything had been read of it."""
        begun = self._offset > 0
        self._offset, self._mark, self.unreadable = 0, b"", 0
        return begun
