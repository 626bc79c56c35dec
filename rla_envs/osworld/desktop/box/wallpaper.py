"""The picture behind the windows."""

from __future__ import annotations

import io

from PIL import Image, ImageOps
from Xlib.display import Display

from .server import RequestError


class Wallpaper:
    """Shows a picture as the root window's background, as large as the screen and cut to its form."""

    def __init__(self, display: Display) -> None:
        """Show nothing yet."""
        self._display = display
        self.content: bytes | None = None

    def show(self, path: str) -> None:
        """Show a picture file; raises RequestError if it is none."""
        with open(path, "rb") as file:
            content = file.read()
        screen = self._display.screen()
        size = (screen.width_in_pixels, screen.height_in_pixels)
        try:
            picture = ImageOps.fit(Image.open(io.BytesIO(content)).convert("RGB"), size)
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            raise RequestError(f"not a picture that can be shown: {path} ({error})") from error
        pixmap = screen.root.create_pixmap(*size, screen.root_depth)
        pixmap.put_pil_image(screen.root.create_gc(), 0, 0, picture)
        screen.root.change_attributes(background_pixmap=pixmap)
        screen.root.clear_area()
        pixmap.free()
        self._display.sync()
        self.content = content
