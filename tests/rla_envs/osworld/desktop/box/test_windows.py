"""The list of windows is the window manager's, and windows can be called by name."""

import threading

import pytest

pytest.importorskip("Xlib", reason="needs the extra 'osworld'")

from Xlib import X, Xutil
from Xlib.display import Display

from rla_envs.osworld.desktop.box import windows


class Window:
    """A window that closes when it is asked to."""

    def __init__(self, name, title, window_class):
        self.display = Display(name)
        screen = self.display.screen()
        self.window = screen.root.create_window(50, 60, 300, 200, 0, screen.root_depth)
        self.window.set_wm_class(*window_class)
        self.window.set_wm_normal_hints(flags=Xutil.USPosition | Xutil.USSize)
        self.set_title(title)
        self._protocols = self.display.intern_atom("WM_PROTOCOLS")
        self.window.set_wm_protocols([self.display.intern_atom("WM_DELETE_WINDOW")])
        self.window.map()
        self.display.flush()

    def set_title(self, title):
        utf8 = self.display.intern_atom("UTF8_STRING")
        self.window.change_property(self.display.intern_atom("_NET_WM_NAME"), utf8, 8, title.encode())
        self.display.flush()

    def wait_until_asked_to_close(self):
        while (event := self.display.next_event()).type != X.ClientMessage:
            pass
        assert event.client_type == self._protocols

    def close(self):
        self.display.close()


@pytest.fixture
def two_windows(x_session, display):
    """Two windows, the second above the first."""
    opened = []
    for title, window_class in (("Ünï – 漢字.txt", ("paper", "Paper")), ("Other paper", ("other", "Other"))):
        opened.append(Window(x_session.name, title, window_class))
        assert windows.wait_for_window(display, lambda w, t=title: w["title"] == t, 20)
        assert windows.activate(display, title)  # openbox may spare the user a new window while he types
        assert windows.wait_for_window(display, lambda w, t=title: w["title"] == t and w["active"], 20)
    yield opened
    for window in opened:
        window.close()


def ours(display, two_windows):
    ids = {window.window.id for window in two_windows}
    return [window for window in windows.list_windows(display) if window["id"] in ids]


def test_windows_are_listed_lowest_first_with_what_they_are(display, two_windows):
    lower, upper = ours(display, two_windows)
    assert lower["title"] == "Ünï – 漢字.txt"
    assert (lower["window_class"], upper["window_class"]) == ("paper.Paper", "other.Other")
    assert (lower["width"], lower["height"], lower["pid"]) == (300, 200, 0)
    assert (lower["active"], upper["active"]) == (False, True)


def test_the_place_of_a_window_is_that_of_its_own_pixels(display, two_windows):
    for listed, window in zip(ours(display, two_windows), two_windows, strict=True):
        corner = window.window.translate_coords(display.screen().root, 0, 0)
        assert (listed["x"], listed["y"]) == (-corner.x, -corner.y)


@pytest.mark.parametrize(
    ("name", "strict", "by_class", "title"),
    [
        ("ünï", False, False, "Ünï – 漢字.txt"),
        ("漢", False, False, "Ünï – 漢字.txt"),
        ("Ünï – 漢字.txt", True, False, "Ünï – 漢字.txt"),
        ("PAPER", False, True, "Ünï – 漢字.txt"),
        ("paper.Paper", True, True, "Ünï – 漢字.txt"),
        ("other pap", False, False, "Other paper"),
    ],
)
def test_a_window_is_activated_by_its_name(display, two_windows, name, strict, by_class, title):
    assert windows.activate(display, "Other" if title[0] == "Ü" else "Ünï")
    assert windows.activate(display, name, strict, by_class)
    active = windows.wait_for_window(display, lambda w: w["active"] and w["title"] == title, 20)
    assert active == ours(display, two_windows)[-1]


@pytest.mark.parametrize(
    ("name", "strict", "by_class"),
    [("nothing", False, False), ("Ünï", True, False), ("paper.paper", True, True), ("Ünï", False, True)],
)
def test_no_other_window_is_taken(display, two_windows, name, strict, by_class):
    before = ours(display, two_windows)
    assert not windows.activate(display, name, strict, by_class)
    assert not windows.close(display, name, strict, by_class)
    assert ours(display, two_windows) == before


def test_a_window_is_asked_to_close(display, two_windows):
    assert windows.close(display, "other", by_class=True)
    two_windows[1].wait_until_asked_to_close()


def test_a_window_that_comes_or_changes_its_title_is_noticed(x_session, display, two_windows):
    change = threading.Timer(0.05, two_windows[0].set_title, ["Saved"])
    change.start()
    assert windows.wait_for_window(display, lambda window: window["title"] == "Saved", 20)
    change.join()
    assert windows.wait_for_window(display, lambda window: window["title"] == "Never", 0.05) is None
