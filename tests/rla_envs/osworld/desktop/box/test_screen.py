"""The picture is what is on the screen, pixel for pixel."""

from io import BytesIO

import numpy as np
import pytest

pytest.importorskip("Xlib", reason="needs the extra 'osworld'")
pytest.importorskip("mss", reason="needs the extra 'osworld'")

from PIL import Image
from Xlib.display import Display

from rla_envs.osworld.desktop.box.screen import Screen
from tests.rla_envs.osworld.desktop.box.conftest import SIZE

RED, GREEN, BLUE = 200, 100, 50


@pytest.fixture
def screen(x_session):
    """A screen with a window of one colour, 100x50 pixels at (10, 20)."""
    display = Display(x_session.name)
    root = display.screen()
    pixel = RED << 16 | GREEN << 8 | BLUE
    window = root.root.create_window(
        10, 20, 100, 50, 0, root.root_depth, override_redirect=True, background_pixel=pixel
    )
    window.map()
    display.sync()
    with Screen(x_session.name) as screen:
        yield screen
    display.close()


def test_the_size_is_that_of_the_display(screen):
    assert screen.size == SIZE


def test_the_pixels_are_rows_of_blue_green_red(screen):
    pixels = np.frombuffer(screen.grab(), np.uint8).reshape(SIZE[1], SIZE[0], 4)
    inside = np.zeros(SIZE[::-1], bool)
    inside[20:70, 10:110] = True
    assert (pixels[inside, :3] == (BLUE, GREEN, RED)).all()
    assert not (pixels[~inside, :3] == (BLUE, GREEN, RED)).all(axis=1).any()


def test_the_png_shows_the_same(screen):
    for _ in range(100):  # a window of an earlier test may still be going away
        before, png, after = screen.grab(), screen.png(), screen.grab()
        if before == after:
            break
    picture = np.asarray(Image.open(BytesIO(png)))
    pixels = np.frombuffer(after, np.uint8).reshape(SIZE[1], SIZE[0], 4)
    assert np.array_equal(picture, pixels[..., 2::-1])
