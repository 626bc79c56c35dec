"""What the screen shows."""

from __future__ import annotations

from io import BytesIO
from types import TracebackType

import mss
from PIL import Image


class Screen:
    """The whole screen, read through shared memory with the X server.

    Not for use by several threads at once.

    Args:
        display: Name of the display, such as ``":1"``; None for that of the environment.
    """

    def __init__(self, display: str | None = None) -> None:
        """Connect to the X server."""
        self._mss = mss.MSS(display=display)
        self._monitor = self._mss.monitors[0]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self._monitor["width"], self._monitor["height"]

    def grab(self) -> bytes:
        """Return the pixels row by row, four bytes each: blue, green, red and one without meaning."""
        return bytes(self._mss.grab(self._monitor).bgra)

    def png(self) -> bytes:
        """Return the screen as a PNG file, compressed lightly: speed counts for more than size here."""
        picture = Image.frombuffer("RGB", self.size, self.grab(), "raw", "BGRX", 0, 1)
        file = BytesIO()
        picture.save(file, "PNG", compress_level=1)
        return file.getvalue()

    def close(self) -> None:
        """Close the connection to the X server."""
        self._mss.close()

    def __enter__(self) -> Screen:
        """Return the screen."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the connection."""
        self.close()
