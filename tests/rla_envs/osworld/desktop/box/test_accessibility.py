"""The accessibility tree says what is on the screen and where, in the form that OSWorld's readers expect."""

import os
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
from ast import literal_eval
from dataclasses import dataclass

import pytest

pytest.importorskip("jeepney", reason="needs the extra 'osworld'")
pytest.importorskip("Xlib", reason="needs the extra 'osworld'")
pytest.importorskip("openpyxl", reason="needs the extra 'osworld'")

import openpyxl

from rla_envs.osworld.desktop.box import windows
from rla_envs.osworld.desktop.box.accessibility import Accessibility
from tests.rla_envs.osworld.desktop.box.conftest import keys

STATE = "{https://accessibility.ubuntu.example.org/ns/state}"
COMPONENT = "{https://accessibility.ubuntu.example.org/ns/component}"

ROWS, COLUMNS = 60, 4
FILES = 300
NOTE = 'First line\nSecond <line> & "more" ünïcode €'

PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Misc"><prop oor:name="ShowTipOfTheDay"
 oor:op="fuse"><value>false</value></prop></item>
</oor:items>
"""


def content(row, column):
    return f"row {row} & column {column}"


@dataclass
class Office:
    """A spreadsheet and a text editor on the display, and the reader of their trees."""

    reader: Accessibility
    display: object
    user: object
    settler: object
    pids: dict
    first_tree: str

    def tree(self):
        self.settler.wait(1.0)
        return ET.fromstring(self.reader.tree())

    def until(self, holds, what):
        """Read the tree until something holds of it; return the tree."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            tree = self.tree()
            if holds(tree):
                return tree
        pytest.fail(f"never in the tree: {what}\n{ET.tostring(tree, encoding='unicode')[:20000]}")

    def click(self, x, y):
        events = [{"type": "move", "x": x, "y": y}]
        events += [{"type": "button", "button": "left", "down": down} for down in (True, False)]
        assert self.user.perform(events) == ""

    def press(self, *names):
        assert self.user.perform(keys(*names)) == ""


@pytest.fixture(scope="module")
def office(x_session, display, user_input, settler):
    """LibreOffice Calc with a filled sheet, maximised, and mousepad with a note."""
    if shutil.which("localc") is None or shutil.which("wmctrl") is None:
        pytest.skip("needs LibreOffice Calc and wmctrl (`make desktop` installs them)")
    folder = x_session.folder / "office"
    (folder / "user").mkdir(parents=True)
    (folder / "user" / "registrymodifications.xcu").write_text(PROFILE)
    book = openpyxl.Workbook()
    for row in range(1, ROWS + 1):
        book.active.append([content(row, column) for column in range(1, COLUMNS + 1)])
    book.save(folder / "sheet.xlsx")
    (folder / "note.txt").write_text(NOTE, encoding="utf-8")
    for number in range(FILES):
        (folder / f"file{number:03}.txt").touch()
    environment = x_session.environment | {
        "NO_AT_BRIDGE": "0",
        "GTK_MODULES": "gail:atk-bridge",
        "SAL_USE_VCLPLUGIN": "gtk3",
    }
    commands = {
        "note.txt": ["mousepad", "--disable-server", str(folder / "note.txt")],
        "sheet.xlsx": [
            "soffice", f"-env:UserInstallation=file://{folder}", "--norestore", "--nologo",
            "--nofirststartwizard", "--calc", str(folder / "sheet.xlsx"),
        ],
    }  # fmt: skip
    started = []
    reader = Accessibility()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DBUS_SESSION_BUS_ADDRESS", environment["DBUS_SESSION_BUS_ADDRESS"])
        try:
            for command in commands.values():
                started.append(
                    subprocess.Popen(
                        command, env=environment, start_new_session=True, stderr=subprocess.DEVNULL
                    )
                )
            pids = {}
            for title in commands:
                window = windows.wait_for_window(
                    display, lambda window, title=title: title in window["title"], 60
                )
                assert window, f"{title} was not shown"
                pids[title] = window["pid"]
            assert reader.wait_for(set(pids.values()), 60)
            yield Office(reader, display, user_input, settler, pids, reader.tree())
        finally:
            reader.close()
            for process in started:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def place(node):
    """Position and size of a node on the screen."""
    return literal_eval(node.get(f"{COMPONENT}screencoord")) + literal_eval(node.get(f"{COMPONENT}size"))


def centre(node):
    x, y, width, height = place(node)
    return x + width // 2, y + height // 2


ENDINGS = (
    "item", "button", "heading", "label", "scrollbar", "searchbox", "textbox", "link", "tabelement",
    "textfield", "textarea", "menu",
)  # fmt: skip
TAGS = (
    "alert", "canvas", "check-box", "combo-box", "entry", "icon", "image", "paragraph", "scroll-bar",
    "section", "slider", "static", "table-cell", "terminal", "text",
)  # fmt: skip


def kept(tree):
    """The nodes that OSWorld's agents are shown: its documented filter for Ubuntu."""
    nodes = []
    for node in tree.iter():
        states = {name.removeprefix(STATE) for name in node.attrib if name.startswith(STATE)}
        if (
            (node.tag.startswith("document") or node.tag.endswith(ENDINGS) or node.tag in TAGS)
            and {"showing", "visible"} <= states
            and states & {"enabled", "editable", "expandable", "checkable"}
            and (node.get("name") or node.text)
        ):
            x, y, width, height = place(node)
            if x >= 0 and y >= 0 and width > 0 and height > 0:
                nodes.append(node)
    return nodes


def cells(tree):
    return {node.get("name"): node for node in tree.iter("table-cell")}


def named(tree, tag, name):
    return [node for node in tree.iter(tag) if node.get("name") == name]


def current_cell(tree):
    """What Calc's own name box says, which knows nothing of coordinates."""
    bar = named(tree, "tool-bar", "Formula Tool Bar")[0]
    return next(bar.iter("text")).text


def test_the_first_tree_after_a_cold_start_has_every_window_with_what_is_in_it(office):
    tree = ET.fromstring(office.first_tree)
    assert tree.tag == "desktop-frame"
    assert {application.get("name") for application in tree} >= {"mousepad", "soffice"}
    for title in office.pids:
        (frame,) = [frame for frame in tree.iter("frame") if title in frame.get("name")]
        assert named(frame, "menu", "File")
    assert "A1" in cells(tree)
    assert NOTE in [node.text for node in tree.iter("text")]


def test_osworlds_filter_finds_menus_buttons_cells_and_text(office):
    tree = office.tree()
    found = {(node.tag, node.get("name")) for node in kept(tree)}
    assert {("menu", "File"), ("menu", "Edit"), ("push-button", "Save"), ("table-cell", "A1")} <= found
    assert NOTE in [node.text for node in kept(tree) if node.tag == "text"]
    visible = cells(tree)
    assert len(visible) >= 4 * 15
    for row in range(1, len(visible) // COLUMNS + 1):
        for column in range(1, COLUMNS + 1):
            assert visible[f"{'ABCD'[column - 1]}{row}"].text == content(row, column)


def test_frames_are_where_the_x_server_has_them(office):
    tree = office.tree()
    for window in windows.list_windows(office.display):
        if window["pid"] in office.pids.values():
            (frame,) = named(tree, "frame", window["title"])
            # A frame includes its decorations; the first thing in it is what the window's contents fill.
            x, y, width, height = place(frame[0])
            expected = tuple(window[key] for key in ("x", "y", "width", "height"))
            assert (x, y, width, height) == expected


def arrange(office, how):
    windows.activate(office.display, "sheet.xlsx")
    change = {
        "maximised": ("-b", "add,maximized_vert,maximized_horz"),
        "free": ("-b", "remove,maximized_vert,maximized_horz"),
        "moved": ("-e", "0,140,60,820,560"),
    }
    for step in ("maximised",) if how == "maximised" else ("free", "moved"):
        subprocess.run(
            ["wmctrl", "-r", "sheet.xlsx", *change[step]],
            env={**os.environ, "DISPLAY": office.display.get_display_name()},
            check=True,
        )
        office.settler.wait(1.0)


@pytest.mark.parametrize("how", ["maximised", "free", "maximised after a dialog", "free after a dialog"])
def test_a_click_on_the_middle_of_a_cells_box_selects_that_cell(office, how):
    arrange(office, how.split()[0])
    if how.endswith("dialog"):
        office.press("ctrl", "1")
        office.until(lambda tree: named(tree, "dialog", "Format Cells"), "the dialog")
        office.press("esc")
        office.until(lambda tree: not named(tree, "dialog", "Format Cells"), "an end of the dialog")
    visible = list(cells(office.tree()))
    # The last row may be cut off at the bottom; a click on what is left of it scrolls.
    for name in (visible[0], visible[len(visible) // 2], visible[-1]):
        office.click(*centre(cells(office.tree())[name]))
        tree = office.until(lambda tree, name=name: current_cell(tree) == name, f"cell {name}")
        focused = [cell for cell, node in cells(tree).items() if node.get(f"{STATE}focused") == "true"]
        assert focused == [name]
    office.press("ctrl", "home")


def test_an_empty_cell_is_listed_while_it_has_the_focus(office):
    arrange(office, "maximised")
    cell = cells(office.tree())["D2"]
    x, y, width, height = place(cell)
    office.click(x + width + width // 2, y + height // 2)
    tree = office.until(lambda tree: current_cell(tree) == "E2", "cell E2")
    assert [name for name in cells(tree) if name.startswith("E")] == ["E2"]
    assert cells(tree)["E2"].text is None
    assert place(cells(tree)["E2"])[0] == x + width
    office.press("ctrl", "home")
    assert "E2" not in cells(office.until(lambda tree: current_cell(tree) == "A1", "cell A1"))


def test_an_open_menu_has_its_items_and_a_click_on_one_opens_what_it_says(office):
    arrange(office, "maximised")
    tree = office.tree()
    assert not named(tree, "menu-item", "Save As...")
    frame = next(frame for frame in tree.iter("frame") if "sheet.xlsx" in frame.get("name"))
    (menu,) = named(frame, "menu", "Insert")
    office.click(*centre(menu))
    tree = office.until(lambda tree: named(tree, "menu-item", "Function..."), "the menu's items")
    office.click(*centre(named(tree, "menu-item", "Function...")[0]))
    office.until(lambda tree: named(tree, "dialog", "Function Wizard"), "the dialog")
    office.press("esc")
    tree = office.until(lambda tree: not named(tree, "dialog", "Function Wizard"), "an end of the dialog")
    assert not named(tree, "menu-item", "Function...")


def test_a_long_list_has_the_rows_that_are_in_sight_and_a_click_selects_one(office):
    assert windows.activate(office.display, "note.txt")
    office.press("ctrl", "o")

    def files(tree):
        return {name: node for name, node in cells(tree).items() if name.startswith("file")}

    tree = office.until(files, "the list of files")
    names = list(files(tree))
    first = int(names[0][4:7])
    assert names == [f"file{number:03}.txt" for number in range(first, first + len(names))]
    assert 5 <= len(names) <= 40
    target = names[len(names) // 2]
    office.click(*centre(files(tree)[target]))
    office.until(lambda tree: files(tree)[target].get(f"{STATE}selected") == "true", f"{target} selected")
    office.press("esc")
    office.until(lambda tree: not files(tree), "an end of the list")


def test_the_bus_is_found_again_after_the_connection_broke(office):
    before = office.tree()
    office.reader._bus._socket.shutdown(2)
    assert len(cells(office.tree())) == len(cells(before)) > 0


def test_an_application_that_hangs_is_as_it_was_and_does_not_hold_up_the_others(office):
    office.tree()
    os.kill(office.pids["note.txt"], signal.SIGSTOP)
    try:
        tree = ET.fromstring(office.reader.tree())
        assert [node for node in tree.iter("text") if node.text == NOTE]
        assert cells(tree)
        unread = Accessibility()
        names = [application.get("name") for application in ET.fromstring(unread.tree())]
        unread.close()
        assert len(names) >= 2
        assert "soffice" in names
    finally:
        os.kill(office.pids["note.txt"], signal.SIGCONT)
    assert office.reader.wait_for({office.pids["note.txt"]}, 10)


def test_only_processes_that_can_be_read_are_waited_for(office):
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        assert office.reader.wait_for({sleeper.pid}, 60)
    finally:
        sleeper.kill()
        sleeper.wait()
    assert office.reader.wait_for({sleeper.pid}, 60)
    os.kill(office.pids["note.txt"], signal.SIGSTOP)
    try:
        assert not office.reader.wait_for({office.pids["note.txt"]}, 0.1)
    finally:
        os.kill(office.pids["note.txt"], signal.SIGCONT)


def test_an_application_that_ended_is_gone(office):
    office.tree()
    os.kill(office.pids["note.txt"], signal.SIGKILL)
    tree = office.until(
        lambda tree: "mousepad" not in [each.get("name") for each in tree], "an end of mousepad"
    )
    assert cells(tree)
