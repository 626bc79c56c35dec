"""Metrics over HTML pages and accessibility trees."""

import pytest

from rla_envs.errors import InputError
from rla_envs.osworld.metrics import METRICS

PAGE = (
    "<html><head><title>T</title></head><body><table><tr>"
    "<td sdnum='1;0'>a</td><td>b</td></tr></table></body></html>"
)


@pytest.mark.parametrize(
    ("page", "options", "score"),
    [
        (PAGE, {}, 1.0),
        (PAGE.replace("<table>", "\n<table>\n "), {}, 1.0),
        (PAGE.replace("1;0", "2;0"), {}, 0.0),
        (PAGE.replace("1;0", "2;0"), {"ignore_sdnum": True}, 1.0),
        (PAGE.replace("<td>b</td>", ""), {}, 0.0),
        (PAGE.replace("</body>", "<p>more</p></body>"), {}, 0.0),
        (PAGE.replace(">b<", ">c<"), {"ignore_sdnum": True}, 0.0),
        (PAGE.replace("<td>b</td>", "<th>b</th>"), {}, 0.0),
        ("", {}, 0.0),
    ],
)
def test_pages_have_the_same_elements(tmp_path, page, options, score):
    mine, reference = tmp_path / "a.html", tmp_path / "b.html"
    mine.write_text(page)
    reference.write_text(PAGE)
    assert METRICS["compare_htmls"](str(mine), str(reference), **options) == score
    assert METRICS["compare_htmls"](None, str(reference), **options) == 0.0


TREE = """<desktop-frame xmlns:attr="https://accessibility.ubuntu.example.org/ns/attributes">
<application name="Thunderbird"><tool-bar attr:id="MsgHeadersToolbar"><label name="To"/>
<label attr:class="pill-label" name="Fox &lt;fox@a.org&gt;">Fox</label>
</tool-bar></application></desktop-frame>
"""
PILL = 'tool-bar[attr|id=MsgHeadersToolbar] label[name=To]~[attr|class="pill-label"][name*="{}@a.org"]'


@pytest.mark.parametrize(
    ("rules", "score"),
    [
        ([{"selectors": [PILL.format("fox")]}], 1.0),
        ([{"selectors": [PILL.format("cow")]}], 0.0),
        ([{"selectors": [PILL.format("cow"), PILL.format("fox")]}], 1.0),
        ([{"selectors": [PILL.format("fox")]}, {"xpath": "//label[@name='Cc']"}], 0.0),
        ([{"xpath": "//label[@attr:class='pill-label']", "text": "Fox"}], 1.0),
        ([{"xpath": "//label", "text": "fox"}], 0.0),
        ([{"xpath": "//label", "text": "fox", "exact": False}], 2 / 3),
    ],
)
def test_accessibility_trees_have_the_elements_looked_for(rules, score):
    metric = METRICS["check_accessibility_tree"]
    assert metric(TREE, rules) == pytest.approx(score)
    assert metric("<desktop-frame/>", rules) == 0.0
    assert metric("no tree", rules) == 0.0
    assert metric(None, rules) == 0.0


@pytest.mark.parametrize("rule", [{}, {"xpath": "//["}, {"selectors": ["a["]}, {"xpath": "/" * 3000}])
def test_selectors_that_make_no_sense_are_refused(rule):
    with pytest.raises(InputError):
        METRICS["check_accessibility_tree"](TREE, [rule])


def test_the_panel_of_slides_is_open_where_the_tree_shows_it():
    metric = METRICS["check_left_panel"]
    assert metric('<a><document-frame name="Slides View"/></a>') == 1.0
    assert metric('<a><document-frame name="Drawing View"/></a>') == 0.0
    assert metric('<a><panel name="Slides View"/></a>') == 0.0
    assert metric("") == 0.0
    assert metric(None) == 0.0
