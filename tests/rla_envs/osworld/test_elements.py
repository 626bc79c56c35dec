"""The elements of a tree as lines: what can be clicked, where its middle is, and what it says."""

import pytest

from rla_envs.errors import InputError
from rla_envs.osworld.elements import describe_elements, list_elements

XML = """<desktop-frame xmlns:st="https://accessibility.ubuntu.example.org/ns/state"
    xmlns:cp="https://accessibility.ubuntu.example.org/ns/component">
  <menu name="File" st:showing="true" cp:screencoord="(10, 20)" cp:size="(40, 20)"/>
  <menu name="Hidden" st:showing="false" cp:screencoord="(10, 20)" cp:size="(40, 20)"/>
  <panel name="Nothing" st:showing="true" cp:screencoord="(0, 0)" cp:size="(90, 90)"/>
  <text name="" st:showing="true" st:focused="true" cp:screencoord="(0, 40)" cp:size="(200, 101)">two
    lines</text>
  <menu name="File" st:showing="true" cp:screencoord="(60, 20)" cp:size="(40, 20)"/>
</desktop-frame>"""


def test_lines_name_role_text_state_and_the_middle():
    assert describe_elements(XML, 9) == (
        '(30, 30) menu "File"\n(100, 90) text: two lines (focused)\n(80, 30) menu "File"'
    )


def test_equal_names_are_told_apart_and_the_rest_is_cut():
    assert [element.key for element in list_elements(XML, 9)] == [
        ("menu", "File", 1),
        ("text", "", 1),
        ("menu", "File", 2),
    ]
    assert len(list(list_elements(XML, 1))) == 1


def test_what_is_no_tree_is_refused():
    with pytest.raises(InputError, match="expected XML, got '<a'"):
        list(list_elements("<a", 9))
