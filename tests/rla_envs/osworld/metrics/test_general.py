"""Metrics over text and JSON values."""

import pytest

from rla_envs.errors import InfrastructureError, InputError
from rla_envs.osworld.metrics import METRICS

FAVORITES = {"expected": ["thunderbird.desktop", "google-chrome.desktop"]}
FOLDER = {"expected": ["a.jpg", "b.jpg"]}
TIMEDATECTL = """               Local time: Thu 2024-01-25 12:56:06 WET
           Universal time: Thu 2024-01-25 12:56:06 UTC
                 RTC time: Thu 2024-01-25 12:56:05
                Time zone: {zone}
System clock synchronized: yes
"""
BAR = {"bookmark_bar": {"children": []}}
LIKED = {
    "bookmark_bar": {
        "children": [
            {
                "type": "folder",
                "name": "Liked Authors",
                "children": [
                    {"type": "url", "url": "https://a.org/"},
                    {"type": "url", "url": "https://b.org/"},
                ],
            },
            {"type": "url", "url": "https://c.org/"},
        ]
    }
}
LIKED_RULE = {
    "type": "liked_authors_websites_urls",
    "names": ["Liked Authors"],
    "urls": [["https://a.org/", "https://a.net/"], "https://b.org/"],
}
TABS = {"type": "url", "urls": ["https://github.com", "https://docs.python.org/3/"]}


@pytest.mark.parametrize(
    ("name", "expected", "options", "right", "wrong"),
    [
        ("exact_match", {"expected": "true\n"}, {}, ["true\n"], ["true", "", None, "True\n"]),
        ("compare_answer", {"expected": "4"}, {}, ["4"], ["5", "", None]),
        ("match_in_list", {"expected": ["Bing", "Microsoft Bing"]}, {}, ["Bing"], ["bing", None, ""]),
        (
            "is_in_list",
            {"expected": "/home/user/x"},
            {},
            [["/home/user/x", "b"]],
            [["/home/user/"], [], None],
        ),
        ("literal_match", "a b", {"ignore_case": True}, ["A b"], ["ab", None]),
        ("literal_match", "1", {}, [1, "1"], ["A", 1.0]),
        ("literal_match", ["A", "b"], {"type": "list"}, [["A", "b"], ("A", "b")], [["b", "A"], ["A"], "Ab"]),
        (
            "check_include_exclude",
            {"include": ["54", "x"], "exclude": ["error"]},
            {},
            ["x 54"],
            ["54", "x 54 error", "", None, 54],
        ),
        (
            "check_include_exclude",
            {"include": [], "exclude": ["Error:"]},
            {},
            ["fine", ""],
            ["Error: 1", None],
        ),
        ("is_extension_installed", {"type": "contain", "expected": "a.b"}, {}, ["a.b\nc.d"], ["a.c", None]),
        (
            "is_extension_installed",
            {"type": "not_contain", "expected": "a.b"},
            {},
            ["c.d", ""],
            ["a.b", None],
        ),
        (
            "check_gnome_favorite_apps",
            FAVORITES,
            {},
            ["['google-chrome.desktop', 'thunderbird.desktop']"],
            [
                "['google-chrome.desktop']",
                "['google-chrome.desktop', 'thunderbird.desktop', 'vim.desktop']",
                "['google-chrome.desktop', 'thunderbird.desktop', 'thunderbird.desktop']",
                "__import__('os').getcwd()",
                "[" * 5000,
                None,
            ],
        ),
        (
            "check_moved_jpgs",
            FOLDER,
            {},
            [{"children": [{"name": "b.jpg"}, {"name": "a.jpg"}]}],
            [
                {"children": [{"name": "b.jpg"}]},
                {"children": [{"name": "b.jpg"}, {"name": "a.jpg"}, {"name": "c.png"}]},
                {},
                None,
            ],
        ),
        (
            "check_direct_json_object",
            {"expected": {"a": 1, "b": ["x"]}},
            {},
            [
                {"a": 1, "b": ["x"], "c": 0},
                "{'a': 1, 'b': ['x']}\n",
                '{"a": 1, "b": ["x"]}',
            ],
            [{"a": 1}, {"a": 2, "b": ["x"]}, "no JSON", None, "[1]"],
        ),
        ("check_direct_json_object", {"expected": {"a": "it's"}}, {}, ['{"a": "it\'s"}'], ['{"a": "its"}']),
        (
            "check_direct_json_object",
            {"expected": {"k": ["Kili", "kili"]}, "expect_in_result": True},
            {},
            [{"k": "kili"}, {"k": ["x", "Kili"]}],
            [{"k": "Kil"}, {"k": None}, {}],
        ),
        (
            "check_direct_json_object",
            {"expected": {"q": "drip coffee"}, "expect_in_result": True},
            {},
            [{"q": "drip coffee maker"}],
            [{"q": "coffee"}, {}],
        ),
        (
            "check_direct_json_object",
            {"expected": {"l": ["a", "b"]}, "ignore_list_order": True},
            {},
            [{"l": ["b", "a"]}],
            [{"l": ["a"]}, {"l": ["a", "b", "b"]}, {"l": None}],
        ),
        (
            "is_expected_url_pattern_match",
            {"expected": [r"scholar\.google", "user=qR"]},
            {},
            [
                "https://scholar.google.com/citations?user=qR",
                {"url": "https://scholar.google.com/citations?user=qR"},
            ],
            ["https://scholar.google.com/", {"title": "x"}, None, ""],
        ),
        (
            "is_expected_search_query",
            {"expect": {"pattern": r"google\.com/search\?q=n(?:&|$)"}},
            {},
            [
                {"url": "https://www.google.com/search?q=n&x=1"},
            ],
            [{"url": "https://www.google.com/search?q=nn"}, {}, None],
        ),
        (
            "is_expected_active_tab",
            {"type": "url", "url": "https://www.a.org/x"},
            {},
            [
                "https://a.org/x",
                {"url": "https://WWW.A.ORG/x"},
            ],
            ["https://a.org/y", "https://a.org/x?q", "http://a.org/x", None],
        ),
        (
            "is_expected_active_tab_approximate",
            {"type": "url", "url": "https://a.org/x?p=1"},
            {},
            [
                "https://a.org/x?p=2",
            ],
            ["https://a.org/y?p=1", None],
        ),
        (
            "is_expected_tabs",
            TABS,
            {},
            [
                [{"url": "https://docs.python.org/3/"}, {"url": "https://github.com/"}],
            ],
            [[{"url": "https://github.com/"}], [], None, [{"url": "https://github.com/"}] * 2],
        ),
        (
            "is_expected_installed_extensions",
            {"expected": ["A", "B"]},
            {},
            [["B", "C", "A"]],
            [["A"], [], None],
        ),
        ("is_expected_bookmarks", LIKED_RULE, {}, [LIKED], [BAR, {}, None]),
        (
            "is_expected_bookmarks",
            {"type": "bookmark_bar_folders_names", "names": ["Liked Authors"]},
            {},
            [LIKED],
            [
                BAR,
                None,
            ],
        ),
        (
            "is_expected_bookmarks",
            {"type": "bookmark_bar_websites_urls", "urls": ["https://c.org/"]},
            {},
            [LIKED],
            [
                BAR,
                None,
            ],
        ),
    ],
)
def test_right_results_score_one_and_wrong_ones_zero(name, expected, options, right, wrong):
    for result in right:
        assert METRICS[name](result, expected, **options) == 1.0, result
    for result in wrong:
        assert METRICS[name](result, expected, **options) == 0.0, result


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("infeasible", [True], [False, None, 1, "FAIL"]),
        (
            "is_utc_0",
            [TIMEDATECTL.format(zone="Atlantic/Faroe (WET, +0000)")],
            [
                TIMEDATECTL.format(zone="Europe/Berlin (CET, +0100)"),
                "",
                None,
            ],
        ),
        ("check_text_enlarged", ["1.25\n"], ["1.0", "0.9", "large", None, "nan"]),
    ],
)
def test_metrics_of_the_result_alone(name, right, wrong):
    assert [METRICS[name](result) for result in right] == [1.0] * len(right)
    assert [METRICS[name](result) for result in wrong] == [0.0] * len(wrong)


def test_fuzzy_match_is_the_similarity_of_the_texts():
    # 2 x 3 letters in common of 3 + 5.
    assert METRICS["fuzzy_match"]("abc", {"expected": "abcde"}) == pytest.approx(6 / 8)
    assert METRICS["fuzzy_match"]("xyz", {"expected": "abc"}) == 0.0
    assert METRICS["fuzzy_match"](None, {"expected": "abc"}) == 0.0


def test_the_clipboard_may_be_named_as_the_reference():
    clipboard = METRICS["is_in_vm_clickboard"]
    assert clipboard({"expected": ["a", "b"]}, "b and a") == 1.0
    assert clipboard({"expected": "a"}, "b") == 0.0
    assert clipboard.score({"expected": "a"}, None, from_desktop={"expected"}) == 0.0


@pytest.mark.parametrize(
    ("name", "expected", "options"),
    [
        ("exact_match", {"expect": 1}, {}),
        ("exact_match", "text", {}),
        ("check_include_exclude", {"includes": ["a"]}, {}),
        ("is_extension_installed", {"type": "contains", "expected": "a"}, {}),
        ("literal_match", "a", {"type": "dict"}),
        ("literal_match", "a", {"type": "list"}),
        ("is_expected_tabs", {"type": "title", "urls": []}, {}),
        ("is_expected_bookmarks", {"type": "folders"}, {}),
        ("check_direct_json_object", {"expected": [1]}, {}),
        ("is_expected_url_pattern_match", {"expected": ["("]}, {}),
    ],
)
def test_rules_that_make_no_sense_are_refused_not_scored(name, expected, options):
    with pytest.raises(InputError):
        METRICS[name]("a", expected, **options)


def test_a_reference_that_could_not_be_worked_out_is_no_failure_of_the_agent():
    with pytest.raises(InfrastructureError):
        METRICS["check_direct_json_object"]({"a": 1}, {"expected": {"a": "__EVALUATION_FAILED__"}})


def test_a_pattern_that_never_ends_is_cut_off():
    with pytest.raises(InputError, match="takes more than"):
        METRICS["is_expected_url_pattern_match"]("a" * 60 + "!", {"expected": [r"^(?:a|a)*b?(?:a|aa)+$"]})
