"""What the tree is written as: valid XML whatever applications say, in OSWorld's names, with true places."""

import xml.etree.ElementTree as ET

import pytest

pytest.importorskip("jeepney", reason="needs the extra 'osworld'")
pytest.importorskip("openpyxl", reason="needs the extra 'osworld'")

from openpyxl.utils.cell import coordinate_from_string, get_column_letter

from rla_envs.osworld.desktop.box._osworld_xml import MAX_TEXT, NAMESPACES, desktop, element
from rla_envs.osworld.desktop.box._table import cell_name, cell_place
from rla_envs.osworld.desktop.box._walk import SHOWING, VISIBLE, Kind, Node

GTK = {"toolkit": "gtk"}


def node(role, extents=None, attributes=None, *children, **fields):
    kind = Kind(role=role, attributes=attributes or {}, actions=fields.pop("actions", []))
    fields = {"states": SHOWING | VISIBLE} | fields
    return Node((":1.1", "/x"), kind, extents=extents, children=list(children), **fields)


def written(root):
    (found,) = ET.fromstring(desktop([element(root)]))
    return found


def at(found):
    return found.get(f"{{{NAMESPACES['cp']}}}screencoord")


@pytest.mark.parametrize("row", [0, 8, 9, 1_048_575])
@pytest.mark.parametrize("column", [0, 25, 26, 51, 52, 701, 702, 16_383])
def test_cells_are_named_as_spreadsheets_name_them(row, column):
    name = cell_name(row, column)
    letters, number = coordinate_from_string(name)
    assert (letters, number) == (get_column_letter(column + 1), row + 1)
    assert cell_place(name) == (row, column)


@pytest.mark.parametrize("name", ["", "A", "1", "A0", "a1", "A1:B2", "ABCD1", "Ä1", "file.txt"])
def test_other_names_name_no_cell(name):
    assert cell_place(name) is None


@pytest.mark.parametrize(
    "text", ["a\0b\x1bc", "\ud800x", "<&>\"'", "]]>", "line\nline\ttab\rreturn", "😀 ünïcode"]
)
def test_any_text_gives_valid_xml_and_comes_back_without_what_xml_cannot_carry(text):
    possible = "".join(
        char for char in text if char in "\n\t\r" or (char >= " " and not "\ud800" <= char <= "\udfff")
    )
    found = written(
        node("push button", name=text, text=text, attributes={text or "x": text}, actions=[(text, text, "")])
    )
    assert found.tag == "push-button"
    assert found.text == possible
    assert found.get("name") == possible


def test_long_text_is_cut():
    assert len(written(node("text", text="x" * (MAX_TEXT + 5))).text) == MAX_TEXT


def test_states_values_and_actions_have_osworlds_names():
    found = written(
        node(
            "slider",
            (1, 2, 30, 4),
            states=SHOWING | VISIBLE | 1 << 8 | 1 << 12,
            value={"CurrentValue": 5.0, "MinimumValue": 0.0},
            actions=[("do it", "does it", "<Alt>d"), ("", "", "")],
        )
    )
    plain = {name: value for name, value in found.attrib.items() if not name.startswith("{")}
    spaced = {name: value for name, value in found.attrib.items() if name.startswith("{")}
    assert plain == {"name": ""}
    assert spaced == {
        f"{{{NAMESPACES[prefix]}}}{name}": value
        for prefix, name, value in (
            ("st", "enabled", "true"), ("st", "focused", "true"),
            ("st", "showing", "true"), ("st", "visible", "true"),
            ("cp", "screencoord", "(1, 2)"), ("cp", "size", "(30, 4)"),
            ("val", "value", "5.0"), ("val", "min", "0.0"),
            ("act", "do-it_desc", "does it"), ("act", "do-it_kb", "<Alt>d"),
        )
    }  # fmt: skip


def test_what_does_not_show_has_no_place():
    assert at(written(node("frame", (1, 2, 3, 4), states=0))) is None


def test_what_is_painted_into_a_widget_lies_where_the_widget_lies():
    button = node("push button", (5, 60, 10, 10), GTK)
    cell = node("table cell", (41, 157, 77, 20))
    painted = node("root pane", (0, 19, 1280, 676), {}, cell, button)
    found = written(node("panel", (0, 44, 1280, 676), GTK, painted))
    places = {each.tag: at(each) for each in found.iter()}
    assert places == {
        "panel": "(0, 44)", "root-pane": "(0, 44)", "table-cell": "(41, 182)", "push-button": "(5, 60)",
    }  # fmt: skip


def test_what_does_not_fill_a_widget_keeps_its_place():
    found = written(node("panel", (0, 44, 1280, 676), GTK, node("label", (10, 50, 40, 20))))
    assert at(found[0]) == "(10, 50)"


def test_rows_that_are_scrolled_away_and_menu_bars_that_are_not_drawn_are_left_out():
    bar = node("menu bar", (0, 0, 10, 10))
    rows = [node("table cell", (0, top, 10, 10)) for top in (5, -(1 << 31))]
    found = written(node("root pane", (0, 0, 10, 10), {}, bar, *rows))
    assert [each.tag for each in found] == ["table-cell"]
