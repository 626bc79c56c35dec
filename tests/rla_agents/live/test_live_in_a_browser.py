"""The live page in a real Chromium: it follows the run, keeps text as text, and comes back after a loss."""

import json
import shutil

import pytest

from rla_agents.files import append_jsonl, truncate_jsonl
from tests.browser import CHROMIUM, Browser
from tests.rla_agents.fake_run import HOSTILE, fake_run
from tests.rla_agents.live.served import served

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium or chrome is installed")
FILES = ("metrics.jsonl", "events.jsonl", "traces.jsonl")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def whole(tmp_path):
    return fake_run(tmp_path / "whole", iterations=4)


def rows(folder, name, iteration):
    lines = (folder / name).read_text().splitlines()
    return [row for row in map(json.loads, lines) if row["iteration"] == iteration]


def count(browser):
    return browser.run("document.getElementById('count').textContent")


def test_it_follows_a_run_from_before_its_beginning(tmp_path, whole, browser):
    folder = tmp_path / "run"
    with served(folder) as server:
        browser.open(server.url)
        browser.wait("document.getElementById('part-notes').textContent.includes('does not exist yet')")
        shutil.copytree(whole, folder)
        browser.wait("document.getElementById('count').textContent === '152 of 152'")
        assert browser.run("document.querySelectorAll('#part-health svg').length") == 8
        append_jsonl(folder / "events.jsonl", [{"iteration": 3, "event": "critic_ignored", "reason": "no"}])
        browser.wait("document.querySelector('#part-alarms li.open')")
        for name in FILES:
            truncate_jsonl(folder / name, lambda row: row["iteration"] < 1)
        browser.wait("document.getElementById('count').textContent === '68 of 68'")
        browser.wait("document.getElementById('part-alarms').textContent.includes('Nothing is wrong')")
    assert browser.faults == []


def test_what_is_being_read_stays_open_while_episodes_come_in(tmp_path, whole, browser):
    new = rows(whole, "traces.jsonl", 3)
    truncate_jsonl(whole / "traces.jsonl", lambda row: row["iteration"] in (0, 1))
    with served(whole) as server:
        browser.open(server.url)
        browser.wait("document.getElementById('count').textContent === '16 of 16'")
        browser.run("document.getElementById('list').focus()")
        browser.key("j")
        browser.key("j")
        selected = "document.querySelector('#list [aria-selected=true]')"
        before = browser.run(f"{selected}.id")
        assert browser.run(f"[...list.children].indexOf({selected})") == 2
        browser.run("document.getElementById('episode').dataset.mine = 'kept'")
        append_jsonl(whole / "traces.jsonl", [{**row, "prompt": HOSTILE} for row in new])
        browser.wait("document.getElementById('count').textContent === '24 of 24'")
        assert browser.run(f"{selected}.id") == before
        # The new ones stand above it.
        assert browser.run(f"[...list.children].indexOf({selected})") == 10
        browser.run("list.children[0].click()")
        assert browser.run("document.querySelector('#episode .prompt').textContent") == HOSTILE
        assert browser.run("document.querySelectorAll('#episode img, #episode script').length") == 0
    assert browser.faults == []


def test_a_lost_connection_is_said_and_so_is_its_return(tmp_path, whole, browser):
    new = rows(whole, "traces.jsonl", 3)
    truncate_jsonl(whole / "traces.jsonl", lambda row: row["iteration"] == 0)
    with served(whole) as server:
        port = server.server_address[1]
        browser.open(server.url)
        browser.wait("document.getElementById('count').textContent === '8 of 8'")
        assert browser.run("document.getElementById('state').textContent") == "Connected."
    browser.wait("document.getElementById('state').textContent.startsWith('Connection lost at')")
    assert count(browser) == "8 of 8"
    append_jsonl(whole / "traces.jsonl", new)
    with served(whole, port):
        browser.wait("document.getElementById('state').textContent.startsWith('Connected again at')")
        browser.wait("document.getElementById('count').textContent === '16 of 16'")
        append_jsonl(whole / "traces.jsonl", new[:1])
        browser.wait("document.getElementById('count').textContent === '17 of 17'")
    assert browser.faults == []


def test_a_script_that_got_into_the_page_would_not_run(whole, browser):
    with served(whole) as server:
        browser.open(server.url)
        browser.run(
            "document.getElementById('part-notes').innerHTML = '<img src=x onerror=\"window.hacked = 1\">'"
        )
        browser.run(
            "{const s = document.createElement('script'); s.text = 'hacked = 1'; document.body.append(s)}"
        )
        browser.run("new Promise((done) => setTimeout(done, 100))")
        assert browser.run("window.hacked") is None
        refused = len(browser.faults)
        browser.faults.clear()
        assert refused >= 2
