"""Metrics over text files: lines, CSV, JSON, settings, mail."""

import pytest

from rla_envs.errors import InputError
from rla_envs.osworld.metrics import METRICS

XCU = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema">
<item oor:path="/org.openoffice.Office.Writer/DefaultFont"><prop oor:name="{font_prop}" oor:op="fuse">
<value>{font}</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Save/Document">
<prop oor:name="AutoSaveTimeIntervall" oor:op="fuse">
<value>{minutes}</value></prop></item>
<item oor:path="/org.openoffice.Office.Impress/Misc/Start">
<prop oor:name="EnablePresenterScreen" oor:op="fuse">
<value>{presenter}</value></prop></item>
</oor:items>
"""


def xcu(font="Times New Roman", font_prop="Standard", minutes="3", presenter="false"):
    return XCU.format(font=font, font_prop=font_prop, minutes=minutes, presenter=presenter)


CSV = "name,mail\nAnn,ann@a.org\nBob,bob@b.org\n"
PACKAGE = '{"name": "happy", "background": {"scripts": ["b.js"]}, "size": 3}'
PACKAGE_RULES = {
    "expect": [
        {"key": ["name"], "method": "eq", "ref": "happy"},
        {"key": ["background", "scripts"], "method": "eq", "ref": ["b.js"]},
    ],
    "unexpect": [{"key": ["size"], "method": "gt", "ref": 5}],
}
PREFS = 'user_pref("a.b", true);\nuser_pref("n", 3);\n// user_pref("c", 1);\nuser_pref("s", "x\\"y");\n'
PREF_RULES = {
    "expect": {"a.b": {"method": "eq", "ref": True}, "s": {"method": "re", "ref": "^x"}},
    "unexpect": {"n": {"method": "gt", "ref": 5}},
}
FILTERS = """version="9"
logging="no"
name="To \\"Work\\""
enabled="yes"
type="17"
action="Move to folder"
actionValue="mailbox://x"
condition="AND (subject,contains,discount) OR (from,is,a@b.org)"
"""
FILTER_RULES = {
    "expect": [
        {
            "enabled": "yes",
            "action": "Move to folder",
            "condition": [
                "AND (subject,contains,discount)",
                "OR (from,is,a@b.org)",
            ],
        }
    ]
}
KEYS = '// Place your key bindings here\n[{"key": "ctrl+j", "command": "focus"}]'


@pytest.mark.parametrize(
    ("name", "expected", "options", "right", "wrong"),
    [
        ("compare_config", {"expected": "a\n"}, {}, ["a\n"], ["a", "", "b\n"]),
        ("file_contains", {"expected": ["CPU", "%idle"]}, {}, ["%idle of CPU"], ["CPU", "", "cpu %idle"]),
        (
            "check_line_number",
            {"expected": "2"},
            {},
            ["at 23:59:59\nx\n00:00:60"],
            ["24:00:00\n1:02:03", "10:00:00", ""],
        ),
        (
            "check_list",
            {"expect": [r"\bjdk-\d+$"], "unexpect": ["err"]},
            {},
            ["a\njdk-17\n"],
            ["jdk-17\nerr", "jdk", ""],
        ),
        ("check_list", {"unexpect": [".+"]}, {}, ["", "\n\n"], ["x", "\n x"]),
        (
            "check_csv",
            {"expect": [{"mail": "bob@b.org"}], "unexpect": [{"name": "Eve"}]},
            {},
            [CSV],
            [
                CSV.replace("bob@", "bub@"),
                CSV + "Eve,e\n",
                "",
            ],
        ),
        (
            "check_json",
            PACKAGE_RULES,
            {},
            [PACKAGE],
            [
                PACKAGE.replace("b.js", "c.js"),
                PACKAGE.replace("3", "6"),
                '{"name": "happy"}',
                "[]",
                "not JSON",
                "",
            ],
        ),
        (
            "check_json",
            {"expect": [{"key": ["author", 0], "method": "eq", "ref": "A"}]},
            {"is_yaml": True},
            [
                "author: [A, B]\n",
            ],
            [
                "author: [B]\n",
                "author: A: b",
                "",
                "author: &a [A]\nb: *a\n",
                "!!python/object/apply:os.getcwd []",
            ],
        ),
        (
            "check_json_settings",
            {"expected": {"a": 1, "b": {"c": True}}},
            {},
            ['{"b": {"c": true}, "a": 1, "d": 0}'],
            [
                '{"a": 1}',
                '{"a": 2, "b": {"c": true}}',
                "[]",
                "",
            ],
        ),
        (
            "check_json_keybindings",
            {"expected": {"key": "ctrl+j", "command": "focus"}},
            {},
            [
                KEYS,
                KEYS.split("\n")[1],
            ],
            [KEYS.replace("ctrl+j", "ctrl+k"), "{}", "", KEYS + ","],
        ),
        (
            "find_default_font",
            {"font_name": "Times New Roman"},
            {},
            [xcu()],
            [
                xcu(font="Arial"),
                xcu(font_prop="Heading"),
                "<items/>",
                "not XML",
                "",
            ],
        ),
        (
            "check_auto_saving_time",
            {"minutes": 3},
            {},
            [xcu()],
            [xcu(minutes="10"), xcu(minutes="x"), "<items/>", ""],
        ),
        (
            "check_config_status",
            {"key": "undo-levels", "value": "100"},
            {},
            ["# GIMP\n(undo-levels 100)\n"],
            [
                "(undo-levels 5)",
                "#(undo-levels 100)",
                "(undo 100)",
                "",
            ],
        ),
        (
            "check_config_status",
            {"key": ["tool", "size"], "value": "2"},
            {},
            ["(tool size 2)"],
            ["(tool x 2)", "tool 2"],
        ),
        (
            "check_thunderbird_prefs",
            PREF_RULES,
            {},
            [PREFS],
            [
                PREFS.replace("true", "false"),
                PREFS.replace("3)", "6)"),
                "",
            ],
        ),
        (
            "check_thunderbird_filter",
            FILTER_RULES,
            {},
            [FILTERS],
            [
                FILTERS.replace("discount", "x"),
                FILTERS.replace("yes", "no"),
                "",
            ],
        ),
    ],
)
def test_right_files_score_one_and_wrong_ones_zero(tmp_path, name, expected, options, right, wrong):
    file = tmp_path / "result"
    for wanted, contents in ((1.0, right), (0.0, wrong)):
        for text in contents:
            file.write_text(text)
            assert METRICS[name](str(file), expected, **options) == wanted, text
    assert METRICS[name](str(tmp_path / "missing"), expected, **options) == 0.0
    assert METRICS[name](None, expected, **options) == 0.0


@pytest.mark.parametrize(
    ("name", "expected", "options", "right", "wrong"),
    [
        (
            "compare_text_file",
            "a b\n",
            {},
            ["a b\n", "a b\r\n", "\ufeffa b\n"],
            ["a b", "A b\n", "a  b\n", ""],
        ),
        ("compare_text_file", "a b\n", {"ignore_blanks": True}, ["a\t b", "\na\nb"], ["ab", "A b"]),
        ("compare_text_file", "a B\n", {"ignore_case": True}, ["A b\n"], ["a b", "ab\n"]),
        (
            "compare_csv",
            "a,B\n1, 2\n",
            {},
            ["a,B\n1, 2\n", "a,B\r\n1, 2"],
            ["a,b\n1, 2\n", "a,B\n", "a,B\n1, 2 \n"],
        ),
        (
            "compare_csv",
            "a,B\n1,2\n",
            {"strict": False, "ignore_case": True},
            [" A,b\n1,2 "],
            ["a,b\n1,3", "a, b\n1,2"],
        ),
        (
            "compare_result_files",
            "42.5",
            {},
            ["42.50001", "It is 42.5 days.", " 42.5\n"],
            ["42.6", "none", ""],
        ),
        ("compare_result_files", "yes", {}, ["yes\n"], ["yes sir", "no"]),
        ("diff_text_file", "a\nb\n", {}, ["a\nb\n", "a\nb"], ["", "x\ny"]),
        (
            "compare_python_pure_text",
            "x = 1\nif x:\n    y\n",
            {},
            [
                "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\nx = 1  \n\nif x:\n\ty\n",
            ],
            [
                "x = 1\nif x:\n  y\n",
                "```\nx = 1\nif x:\n    y\n```",
                "x = 1\n# coding: utf-8\nif x:\n    y\n",
                "",
            ],
        ),
    ],
)
def test_texts_are_compared_with_the_reference(tmp_path, name, expected, options, right, wrong):
    file, reference = tmp_path / "result", tmp_path / "reference"
    reference.write_text(expected)
    for wanted, contents in ((1.0, right), (0.0, wrong)):
        for text in contents:
            file.write_bytes(text.encode())
            assert METRICS[name](str(file), str(reference), **options) == wanted, text
    assert METRICS[name](str(tmp_path / "missing"), str(reference), **options) == 0.0
    with pytest.raises(InputError):
        METRICS[name](str(file), str(tmp_path / "missing"), **options)


def test_one_of_several_csv_references_is_enough(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(name)
    assert METRICS["compare_csv"](str(tmp_path / "b"), [str(tmp_path / name) for name in "ab"]) == 1.0
    assert METRICS["compare_csv"](str(tmp_path / "b"), [str(tmp_path / "a")]) == 0.0


def test_the_share_of_common_lines_is_the_score(tmp_path):
    mine, reference = tmp_path / "a", tmp_path / "b"
    mine.write_text("1\n2\n3\n4\n")
    reference.write_text("1\n2\n5\n")
    assert METRICS["diff_text_file"](str(mine), str(reference)) == pytest.approx(2 * 2 / 7)


def test_the_presenter_console_is_off_only_where_it_says_so(tmp_path):
    file = tmp_path / "registrymodifications.xcu"
    metric = METRICS["check_presenter_console_disable"]
    for text, wanted in ((xcu(), 1.0), (xcu(presenter="true"), 0.0), ("<items/>", 0.0), ("", 0.0)):
        file.write_text(text)
        assert metric(str(file)) == wanted
    assert metric(None) == 0.0


def test_old_encodings_are_read(tmp_path):
    file = tmp_path / "a.txt"
    for encoding in ("utf-8", "utf-16", "latin-1", "utf-8-sig"):
        file.write_bytes("Ärger".encode(encoding))
        assert METRICS["file_contains"](str(file), {"expected": ["Ärger"]}) == 1.0


MESSAGE = (
    "From - Mon Jan  1 00:00:00 2024\nX-Mozilla-Status: {status}\nX-Mozilla-Keys: {keys}\n"
    "Subject: {subject}\n\nHi\n\n"
)


def folder(*messages):
    return "".join(
        MESSAGE.format(**{"status": "0001", "keys": "", "subject": "a"} | message) for message in messages
    )


@pytest.mark.parametrize(
    ("options", "mine", "score"),
    [
        ({}, [{"subject": "b"}, {}], 1.0),
        ({}, [{}], 0.0),
        ({}, [{}, {"subject": "c"}], 0.0),
        ({}, [{}, {"subject": "b"}, {"subject": "x", "status": "0009"}], 1.0),
        ({"remove_deleted": False}, [{}, {"subject": "b"}, {"subject": "x", "status": "0009"}], 0.0),
        ({}, [{}, {}, {"subject": "b"}], 1.0),
        ({"remove_duplicate": False}, [{}, {}, {"subject": "b"}], 0.0),
        ({}, [{"status": "0000"}, {"subject": "b"}], 0.0),
        ({"ignore_status": True}, [{"status": "0000"}, {"subject": "b"}], 1.0),
        ({"ignore_keys": True}, [{"keys": "$label1"}, {"subject": "b"}], 1.0),
    ],
)
def test_folders_of_mail_hold_the_same_messages(tmp_path, options, mine, score):
    (tmp_path / "mine").write_text(folder(*mine))
    (tmp_path / "reference").write_text(folder({}, {"subject": "b"}))
    metric = METRICS["check_thunderbird_folder"]
    assert metric(str(tmp_path / "mine"), str(tmp_path / "reference"), **options) == score
    assert metric([str(tmp_path / "mine")] * 2, [str(tmp_path / "reference")], **options) == 0.0


def test_a_single_exported_message_is_compared_too(tmp_path):
    (tmp_path / "a.eml").write_text("Subject: a\n\nHi\n")
    (tmp_path / "b.eml").write_text("Subject: b\n\nHi\n")
    metric = METRICS["check_thunderbird_folder"]
    assert metric(str(tmp_path / "a.eml"), str(tmp_path / "a.eml")) == 1.0
    assert metric(str(tmp_path / "b.eml"), str(tmp_path / "a.eml")) == 0.0
