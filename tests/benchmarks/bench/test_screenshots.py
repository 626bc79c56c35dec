"""Screenshots are kept beside the traces, shown in both pages, and no other file is."""

import base64
import dataclasses
import io
import json
import os

import numpy as np
import pytest
from PIL import Image

from benchmarks.bench import screenshots
from benchmarks.bench.agents import find_agent
from benchmarks.bench.report import write_report
from benchmarks.bench.runner import run_suite
from benchmarks.bench.schema import read_run
from benchmarks.bench.screenshots import picture_of
from benchmarks.bench.suites import load_suite
from rla_agents.report.screenshots import screenshot_file, small_copy
from tests.benchmarks.bench.bench_runs import ten, write_run
from tests.browser import CHROMIUM, Browser
from tests.parsed_page import Page
from tests.rla_agents.live.served import get, served

SUITE = """
name = "screens"
[[cells]]
name = "doors"
tasks = 2
env_id = "tests.benchmarks.bench.screen_env:RLATest/Picture-v0"
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of two tasks of three doors, played by the oracle."""
    folder = tmp_path_factory.mktemp("screens")
    (folder / "suite.toml").write_text(SUITE)
    run_suite(load_suite(str(folder / "suite.toml")), find_agent("oracle"), folder / "run", quiet=True)
    return folder / "run"


def named(folder, name="screenshots/000000/0000.png"):
    """Return a run of which one trace names a screenshot."""
    first, *others = ten()
    steps = (dataclasses.replace(first.steps[0], screenshot=name), *first.steps[1:])
    return write_run(folder, [dataclasses.replace(first, steps=steps), *others])


def test_the_screen_before_each_action_and_after_the_last_is_kept(run):
    for trace in read_run(run).traces:
        assert trace.success
        names = [*(step.screenshot for step in trace.steps), trace.final_screenshot]
        assert names == [f"screenshots/{trace.position:06d}/{i:04d}.png" for i in range(4)]
        for opened, name in enumerate(names):
            with Image.open(run / name) as picture:
                pixels = np.asarray(picture)
            assert pixels.shape == (60, 90, 3)
            assert (pixels == 255).all(axis=(0, 2)).sum() == 10 * opened


def test_the_traces_do_not_hold_them_and_are_the_same_each_time(run, tmp_path):
    (tmp_path / "suite.toml").write_text(SUITE)
    run_suite(load_suite(str(tmp_path / "suite.toml")), find_agent("oracle"), tmp_path / "again", quiet=True)
    assert (tmp_path / "again" / "traces.jsonl").read_bytes() == (run / "traces.jsonl").read_bytes()
    assert len((run / "traces.jsonl").read_bytes()) < 10_000
    for path in (run / "screenshots").rglob("*.png"):
        assert (tmp_path / "again" / path.relative_to(run)).read_bytes() == path.read_bytes()


def test_a_later_try_leaves_no_screenshot_of_an_earlier_one(tmp_path):
    screenshots.write_screenshots(tmp_path, 3, {f"screenshots/000003/000{i}.png": b"old" for i in range(5)})
    screenshots.write_screenshots(tmp_path, 3, {"screenshots/000003/0000.png": b"new"})
    assert [p.read_bytes() for p in tmp_path.rglob("*.png")] == [b"new"]
    screenshots.write_screenshots(tmp_path, 3, {})
    assert not list((tmp_path / "screenshots").iterdir())


@pytest.mark.parametrize(
    "observation",
    [
        "text",
        {"screenshot": "text"},
        {"screenshot": np.zeros((4, 4, 3))},
        {"screenshot": np.zeros((4, 4), np.uint8)},
        {"screenshot": np.zeros((0, 4, 3), np.uint8)},
        np.zeros((4, 4, 3), np.uint8),
        None,
    ],
)
def test_other_observations_have_none(observation):
    assert picture_of(observation) == b""


def test_the_report_holds_small_copies_and_links_the_rest(run, monkeypatch):
    page = Page(write_report(run).read_text(encoding="utf-8"))
    assert "Screenshots are small copies." in page.text
    for episode in page.episodes:
        for place in (episode, *episode["steps"]):
            assert place["screenshot"].startswith("data:image/webp;base64,")
    monkeypatch.setattr(screenshots, "MOST_INLINE", 3)
    page = Page(write_report(run).read_text(encoding="utf-8"))
    assert "3 of 8 screenshots are small copies; the others are links" in page.text
    kept = [
        [place["screenshot"].startswith("data:") for place in (episode, *episode["steps"])]
        for episode in page.episodes
    ]
    # The last screen of both episodes, and the first of one.
    assert kept == [[True, False, False, True], [False, False, False, True]]


def test_a_small_copy_is_small_and_shows_the_same(tmp_path):
    rng = np.random.default_rng(0)
    pixels = np.kron(rng.integers(0, 256, (9, 16, 3), dtype=np.uint8), np.ones((120, 120, 1), np.uint8))
    (tmp_path / "a.png").write_bytes(picture_of({"screenshot": pixels}))
    uri = small_copy(tmp_path / "a.png")
    with Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))) as copy:
        assert copy.size == (960, 540)
        again = np.asarray(copy.convert("RGB").resize((16, 9), Image.Resampling.BOX), float)
    assert np.abs(again - pixels[::120, ::120]).mean() < 25
    assert len(uri) < 40_000


BAD_NAMES = [
    "/etc/passwd",
    "../secret.png",
    "screenshots/../../secret.png",
    "screenshots/a/../b.png",
    "screenshots/a/b.svg",
    "screenshots/a/b.png\n",
    "javascript:alert(1)//screenshots/a/b.png",
    "http://evil.example/screenshots/a/b.png",
    "data:text/html,x",
    "screenshots/a/link.png",
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_leads_elsewhere_is_neither_read_nor_linked_nor_served(tmp_path, name):
    (tmp_path / "secret.png").write_bytes(picture_of({"screenshot": np.zeros((2, 2, 3), np.uint8)}))
    folder = named(tmp_path / "run", name)
    (folder / "screenshots" / "a").mkdir(parents=True)
    os.symlink(tmp_path / "secret.png", folder / "screenshots" / "a" / "link.png")
    assert screenshot_file(folder, name) is None
    shown = Page(write_report(folder).read_text(encoding="utf-8")).episodes[0]
    assert shown["screenshot"] == (name if name.endswith("link.png") else "")
    with served(folder) as server:
        get(server, "/")
        server.feed.change("")
        assert server.feed.screenshot(name) == b""


def test_a_picture_that_is_none_or_is_a_bomb_leaves_a_link(tmp_path):
    folder = named(tmp_path / "run")
    path = folder / "screenshots" / "000000" / "0000.png"
    path.parent.mkdir(parents=True)
    bomb = io.BytesIO()
    Image.new("1", (12_000, 9_000)).save(bomb, "PNG")
    for content in (b"", b"\x89PNG\r\n\x1a\n", b"<svg/>", bomb.getvalue(), bomb.getvalue()[:200]):
        path.write_bytes(content)
        assert small_copy(path) is None
    assert Page(write_report(folder).read_text(encoding="utf-8")).episodes[0]["screenshot"]


def test_the_live_page_serves_those_that_an_episode_names_and_no_other(run):
    (run / "screenshots" / "000000" / "other.png").write_bytes(b"x")
    with served(run) as server:
        assert get(server, "/screenshots/000000/0000.png")[0] == 404
        server.feed.change("")
        assert server.feed.screenshot("screenshots/000000/0000.png").startswith(b"\x89PNG")
        for path in ("000000/other.png", "000000/../../config.toml", "000009/0000.png"):
            assert get(server, f"/screenshots/{path}")[0] == 404


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium or chrome is installed")
def test_both_pages_show_them_in_a_real_browser(run, tmp_path):
    loaded = (
        "[...document.querySelectorAll('#episode img.screen')].map((i) => (i.loading = 'eager', i.complete "
        "&& i.naturalWidth)).join()"
    )
    page = write_report(run, out=tmp_path / "report.html")
    with Browser(tmp_path / "profile", size=(1280, 2400)) as browser, served(run) as server:
        for url in (f"file://{page}", server.url):
            browser.open(url)
            browser.wait(f"{loaded} === '90,90,90,90'")
        assert browser.faults == []


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium or chrome is installed")
def test_long_text_beside_a_screenshot_is_folded(tmp_path):
    first, *others = ten()
    end = {"final": "<tree/>" * 100, "final_screenshot": "screenshots/000000/0002.png"}
    page = write_report(write_run(tmp_path / "run", [dataclasses.replace(first, **end), *others]))
    with Browser(tmp_path / "profile") as browser:
        browser.open(f"file://{page}")
        folded = "document.querySelector('#episode tr:last-child td.result details')"
        assert browser.run(f"{folded}.open") is False
        assert browser.run(f"{folded}.querySelector('div').textContent") == end["final"]
        assert (
            browser.run("document.querySelector('#episode a.screen').getAttribute('href')")
            == (end["final_screenshot"])
        )
        assert browser.faults == []


def test_runs_without_screenshots_are_read_as_before(tmp_path):
    folder = write_run(tmp_path / "run", ten())
    rows = [json.loads(line) for line in (folder / "traces.jsonl").read_text().splitlines()]
    for row in rows:
        del row["final_screenshot"]
        for step in row["steps"]:
            del step["screenshot"]
    (folder / "traces.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_run(folder).traces == tuple(ten())
    assert "Screenshots" not in Page(write_report(folder).read_text(encoding="utf-8")).text
