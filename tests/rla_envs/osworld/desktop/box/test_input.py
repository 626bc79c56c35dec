"""What is typed arrives exactly, and the server sees what a person's hands would do."""

import os
import re
import shutil
import string
import subprocess
import sys
import unicodedata

import pytest

pytest.importorskip("Xlib", reason="needs the extra 'osworld'")

from Xlib import X
from Xlib.display import Display

from rla_envs.osworld.desktop.box import input as box_input
from rla_envs.osworld.desktop.box import windows
from rla_envs.osworld.desktop.box.input import Input
from tests.rla_envs.osworld.desktop.box.conftest import keys

EVERY_LAYOUT = "éÉøØñÑžŽőŐ ZzYy #{}[]@~^|\\<>/?_'\"`"


def text(string):
    return {"type": "text", "text": string}


@pytest.mark.parametrize(
    "written",
    [
        string.printable[:-6] + " " + string.punctuation,
        "Доброе утро — αβγ ß ñ €",
        "ÀÉÎÕÜ àéîõü Łł Ğğ İı ẞß ŒœÆæ",
        "漢字かなカナ한글 ไทย עברית",
        "😀🎉👩\u200d💻 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0010fffd",
        "one\ttab\nand a line\n\nand another",
        unicodedata.normalize("NFD", "é ñ Å"),
        "".join(map(chr, range(0x4E00, 0x4E00 + 150))) * 2,
        "The quick brown Fox, 0123456789. " * 60,
    ],
    ids=["ascii", "cyrillic", "capitals", "scripts", "beyond-bmp", "lines", "combining", "cjk300", "long"],
)
def test_a_text_arrives_exactly(editor, written):
    assert editor.write(text(written)) == written


def test_a_text_arrives_exactly_in_a_program_that_answers_no_pings(x_session, display, user_input, settler):
    if shutil.which("xterm") is None:
        pytest.skip("needs the program xterm")
    path = x_session.folder / "cat.txt"
    terminal = x_session.start("xterm", "-title", "cat", "-e", f"cat > {path}")
    assert windows.wait_for_window(display, lambda window: window["title"] == "cat" and window["active"], 20)
    written = "é <漢字> Привет 😀\n" + "".join(map(chr, range(0x4E00, 0x4E00 + 120))) + "\n"
    assert user_input.perform([text(written)]) == ""
    assert settler.wait(60)
    assert user_input.perform(keys("ctrl", "d")) == ""
    terminal.wait(20)
    assert path.read_text(encoding="utf-8") == written


@pytest.mark.parametrize("layout", ["us", "de", "fr", "us -variant dvorak", "ru", "us,ru", "gr,us"])
def test_a_text_arrives_exactly_in_every_layout_and_leaves_it_in_force(x_session, editor, layout):
    x_session.run("setxkbmap", *layout.split())
    try:
        told = x_session.run("setxkbmap", "-query")
        plain = x_session.run("xkbcomp", "-xkb", x_session.name, "-")
        written = EVERY_LAYOUT + " Привет αβγ 漢 😀"
        assert editor.write(text(written)) == written
        assert x_session.run("setxkbmap", "-query") == told
        after = x_session.run("xkbcomp", "-xkb", x_session.name, "-")
        assert _keys(plain)
        assert _keys(plain) <= _keys(after)  # what is new are keys that the layout left empty
    finally:
        x_session.run("setxkbmap", "us")


def _keys(keymap):
    """The lines of a keymap that say what is on a key, without what numbers its types."""
    return {line for line in keymap.splitlines() if line.strip().startswith("key <") and "[" in line}


def test_the_second_group_of_a_layout_is_typed_in_when_it_is_in_force(x_session, editor):
    x_session.run("setxkbmap", "us,ru", "-option", "grp:win_space_toggle")
    try:
        written = "Привет, World! ёЁ 漢"
        assert editor.write(*keys("win", "space"), text(written), *keys("win", "space")) == written
    finally:
        x_session.run("setxkbmap", "us", "-option", "")


def test_a_layout_that_empties_the_spare_keys_is_noticed(x_session, editor):
    for layout in ("us", "de", "us"):
        x_session.run("setxkbmap", layout)
        assert editor.write(text("漢字 ж")) == "漢字 ж"


def test_caps_lock_and_a_held_shift_do_not_change_a_text(editor):
    shift = {"type": "key", "key": "shift"}
    assert editor.write(*keys("capslock"), text("aBcж"), *keys("capslock")) == "aBcж"
    held = [{**shift, "down": True}, text("aBc<1漢ж"), {**shift, "down": False}]
    assert editor.write(*held) == "aBc<1漢ж"


def test_keys_pressed_by_name_do_what_is_on_them(editor):
    events = [text("ab"), *keys("left"), *keys("A"), *keys("home"), *keys("<"), *keys("END"), *keys("num7")]
    assert editor.write(*events, *keys("enter"), *keys("space"), *keys("é")) == "<aAb7\n é"


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([text("ab\x07c")], r"U\+0007"),
        ([text("half \ud83d")], r"U\+D83D"),
        ([text("\ufffe")], r"U\+FFFE"),
        (keys("ctr"), "unknown key 'ctr': .* did you mean 'ctrl'"),
        (keys("xyzzy"), "unknown key 'xyzzy'"),
        (
            [{"type": "move", "x": 1280, "y": 720}],
            r"\(1280, 720\) is off the screen: x is 0 to 1279, y 0 to 719",
        ),
        ([{"type": "move", "x": -5, "y": 10}], r"\(-5, 10\) is off the screen"),
        ([{"type": "move", "x": 10**9, "y": 0}], "off the screen"),
        ([{"type": "move", "x": 12.7, "y": 3}], "expected x as int, got 12.7"),
        ([{"type": "button", "button": "fourth", "down": True}], "unknown button 'fourth'"),
        ([{"type": "scroll", "dx": 0, "dy": -(10**9)}], "at most 10000 clicks"),
        ([{"type": "pause", "seconds": float("nan")}], "cannot pause for nan s"),
        ([{"type": "jump"}], "unknown event"),
        ([{"type": "move", "x": 1}], "expected y as int, got None"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_done(user_input, display, events, message):
    user_input.perform([{"type": "move", "x": 100, "y": 100}])
    problem = user_input.perform([{"type": "move", "x": 200, "y": 200}, *events])
    assert "\n" not in problem
    assert re.search(message, problem)
    pointer = display.screen().root.query_pointer()
    assert (pointer.root_x, pointer.root_y) == (100, 100)


def test_what_takes_too_long_is_left_unfinished_and_said_and_no_key_stays_down(editor, monkeypatch):
    assert editor.write(text("old")) == "old"
    written = "".join(map(chr, range(0x4E00, 0x4E00 + 4000)))
    held, released = keys("shift")
    with monkeypatch.context() as patch:
        patch.setattr(box_input, "_LONGEST_SECONDS", 0.5)
        problem = editor.user.perform([*keys("ctrl", "a"), held, text(written), released])
    said = re.search(r"left unfinished: (\d+) of 4000 characters were typed", problem)
    assert said
    assert 0 < int(said[1]) < 4000
    assert editor.user._down == {}
    assert editor.user.perform(keys("ctrl", "s")) == ""
    editor._wait_for_title(f"{editor.path} - Mousepad")
    assert editor.path.read_text(encoding="utf-8").removesuffix("\n") == written[: int(said[1])]


def test_a_layout_without_an_empty_key_is_an_error_and_no_endless_wait(x_session):
    display = Display(x_session.name)
    try:
        last = display.display.info.max_keycode
        for keycode in range(8, last + 1):
            if not any(display.get_keyboard_mapping(keycode, 1)[0]):
                display.change_keyboard_mapping(keycode, [(ord("x"), ord("x"))])
        user = Input(display)
        for events in ([text("a𓀀")], keys("f24")):  # not bound by the other tests
            assert "the layout leaves no key free" in user.perform(events)
        assert user.perform(keys("a")) == ""
        user.close()
    finally:
        x_session.run("setxkbmap", "us")
        display.close()


@pytest.mark.parametrize("corner", [(0, 0), (1279, 0), (0, 719), (1279, 719)])
def test_corners_are_ordinary_places(user_input, display, corner):
    for place in (corner, (640, 360), corner):
        assert user_input.perform([{"type": "move", "x": place[0], "y": place[1]}]) == ""
        pointer = display.screen().root.query_pointer()
        assert (pointer.root_x, pointer.root_y) == place


class Log:
    """A window that keeps every key and button event that it gets."""

    def __init__(self, name):
        self.display = Display(name)
        screen = self.display.screen()
        mask = X.KeyPressMask | X.KeyReleaseMask | X.ButtonPressMask | X.ButtonReleaseMask
        self.window = screen.root.create_window(
            300, 200, 200, 100, 0, screen.root_depth, override_redirect=True, event_mask=mask
        )
        self.window.map()
        self.window.set_input_focus(X.RevertToParent, X.CurrentTime, onerror=None)
        self.display.sync()

    def events(self):
        """Return what came so far, as (kind, key or button, server time in ms)."""
        self.display.sync()
        found = [self.display.next_event() for _ in range(self.display.pending_events())]
        return [(event.type, event.detail, event.time) for event in found if event.type != X.MappingNotify]

    def close(self):
        self.display.close()


@pytest.fixture
def log(x_session):
    window = Log(x_session.name)
    yield window
    window.close()


@pytest.fixture(params=["idle", "busy"])
def load(request):
    """Nothing else to do for the machine, or more than it can do at once."""
    count = 2 * (os.cpu_count() or 1) if request.param == "busy" else 0
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    yield
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.usefixtures("load")
def test_every_release_is_later_than_its_press_in_order_and_without_repeats(user_input, log):
    up = log.display.keysym_to_keycode(0xFF52)
    a = log.display.keysym_to_keycode(ord("a"))
    ctrl = log.display.keysym_to_keycode(0xFFE3)
    events = [event for _ in range(10) for event in keys("up")] + [text("aaaa"), *keys("ctrl", "a")]
    assert user_input.perform(events) == ""
    seen = log.events()
    taps = [up] * 10 + [a] * 4
    expected = [(kind, keycode) for keycode in taps for kind in (X.KeyPress, X.KeyRelease)]
    expected += [(X.KeyPress, ctrl), (X.KeyPress, a), (X.KeyRelease, a), (X.KeyRelease, ctrl)]
    assert [event[:2] for event in seen] == expected
    pressed = {}
    for kind, keycode, moment in seen:
        if kind == X.KeyPress:
            pressed[keycode] = moment
        else:
            assert moment > pressed.pop(keycode)


def test_a_held_key_is_not_repeated(user_input, log):
    down = {"type": "key", "key": "a", "down": True}
    user_input.perform([down, {"type": "pause", "seconds": 0.8}, down, {**down, "down": False}])
    assert [kind for kind, *_ in log.events()] == [X.KeyPress, X.KeyRelease]


def test_buttons_and_the_wheel_reach_the_window_under_the_pointer(user_input, log):
    click = [{"type": "button", "button": "right", "down": down} for down in (True, False)]
    scroll = {"type": "scroll", "dx": -1, "dy": 2}
    user_input.perform([{"type": "move", "x": 350, "y": 250}, *click, scroll])
    seen = log.events()
    assert [event[:2] for event in seen] == [
        (kind, button) for button in (3, 4, 4, 6) for kind in (X.ButtonPress, X.ButtonRelease)
    ]
    assert seen[1][2] > seen[0][2]


def test_clicks_of_two_actions_are_not_taken_for_a_double_click(user_input, log):
    click = [{"type": "button", "button": "left", "down": down} for down in (True, False)]
    move = {"type": "move", "x": 350, "y": 250}
    user_input.perform([move, *click])
    user_input.perform([move, *click])
    times = [moment for kind, _, moment in log.events() if kind == X.ButtonPress]
    assert times[1] - times[0] > 400  # what GTK takes for a double click
