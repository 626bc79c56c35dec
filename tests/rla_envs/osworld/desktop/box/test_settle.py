"""Rest is told from movement, and nothing is waited for beyond the time allowed."""

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

pytest.importorskip("Xlib", reason="needs the extra 'osworld'")
pytest.importorskip("mss", reason="needs the extra 'osworld'")

from Xlib.display import Display

from rla_envs.osworld.desktop.box.screen import Screen
from tests.rla_envs.osworld.desktop.box.conftest import keys

LONG = 60.0
"""Seconds that no wait in these tests needs; one that did would be seen as a test that takes a minute."""


class Animation:
    """A window of changing colours."""

    def __init__(self, name, period):
        self.display = Display(name)
        screen = self.display.screen()
        self.window = screen.root.create_window(
            10, 10, 200, 200, 0, screen.root_depth, override_redirect=True
        )
        self.window.map()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(period,))
        self.thread.start()

    def _run(self, period):
        colour = 0
        while not self.over.wait(period):
            colour = (colour + 0x010203) & 0xFFFFFF
            context = self.window.create_gc(foreground=colour)
            self.window.fill_rectangle(context, 0, 0, 2, 20)
            self.display.sync()
            context.free()

    def end(self):
        self.over.set()
        self.thread.join()
        self.display.close()


@pytest.fixture
def animate(x_session):
    running = []
    yield lambda period: running.append(Animation(x_session.name, period))
    for animation in running:
        animation.end()


def test_an_idle_desktop_is_at_rest(settler, editor):
    assert settler.wait(LONG)
    assert settler.wait(LONG)


def test_a_window_that_moves_for_ever_is_not_at_rest(settler, animate):
    animate(0.005)
    assert settler.wait(0.5) is False


def test_a_blinking_caret_does_not_keep_the_desktop_from_resting(settler, animate):
    animate(0.1)
    for _ in range(5):
        assert settler.wait(LONG)


def test_a_hung_application_is_waited_for_no_longer_than_allowed(settler, editor):
    pid = editor.window["pid"]
    settler.wait(LONG)
    signal_sent = time.monotonic()
    try:
        os.kill(pid, signal.SIGSTOP)
        assert settler.wait(0.3) is False
        assert time.monotonic() - signal_sent >= 0.3
    finally:
        os.kill(pid, signal.SIGCONT)
    assert settler.wait(LONG)


def test_what_a_key_does_is_on_the_screen_when_the_desktop_rests(x_session, settler, editor):
    editor.write({"type": "text", "text": "x"})
    with Screen(x_session.name) as screen:
        assert settler.wait(LONG)
        picture = np.frombuffer(screen.grab(), np.uint8)
        for key in "abcdefgh":
            editor.user.perform(keys(key))
            assert settler.wait(LONG)
            before, picture = picture, np.frombuffer(screen.grab(), np.uint8)
            assert not np.array_equal(before, picture)


def test_a_program_that_is_starting_is_waited_for(x_session, settler):
    settler.wait(LONG)
    done = x_session.folder / "done"
    x_session.start(sys.executable, "-c", f"sum(range(10**7)); open({str(done)!r}, 'x').close()")
    assert settler.wait(LONG)
    assert done.exists()


def test_a_change_is_waited_for(settler, animate):
    settler.wait(LONG)
    assert settler.wait_for_change(0.0) is False
    animate(0.05)
    assert settler.wait_for_change(LONG) is True
