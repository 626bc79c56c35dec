"""The live page says what a benchmark's files say while it runs."""

import dataclasses
import json

import pytest

from benchmarks.bench.report import write_report
from benchmarks.bench.schema import SUMMARY, dump_json
from rla_agents.live.feed import Feed
from tests.benchmarks.bench.bench_runs import CONFIG, HOSTILE, episode, ten, write_run
from tests.parsed_page import Page
from tests.rla_agents.live.served import EagerFeed


@pytest.fixture
def folder(tmp_path):
    return write_run(tmp_path / "run", ten()[:4], summary=False)


@pytest.fixture
def feed(folder):
    return EagerFeed(folder)


def add(folder, traces):
    with (folder / "traces.jsonl").open("a") as file:
        file.writelines(dump_json(trace) + "\n" for trace in traces)


def text(change, part):
    return Page(change.parts[part]).text


def test_it_follows_a_run_to_its_end(folder, feed):
    first = feed.change("")
    assert "100.0% 4 of 4 scored episodes" in text(first, "cards")
    assert "Episodes 4 of 10" in text(first, "cards")
    assert "Nothing is wrong" in text(first, "alarms")
    add(folder, ten()[4:])
    second = feed.change(first.id)
    assert [shown["task"] for shown in second.episodes] == [f"task-{i}" for i in range(4, 10)]
    assert "66.7% 6 of 9 scored episodes" in text(second, "cards")
    assert "The machinery broke 1 episode(s)" in text(second, "alarms")
    assert "the agent raised ValueError: no" in text(second, "alarms")
    assert "last 10" in text(second, "success")
    # Finished: the runner writes the traces anew, in their order.
    write_run(folder, ten())
    third = feed.change(second.id)
    assert "Episodes 10 finished" in text(third, "cards")


def test_a_run_that_is_finished_into_a_new_file_starts_over_with_the_same_figures(folder, feed):
    add(folder, ten()[:3:-1])
    first = feed.change("")
    (folder / "new").write_text("".join(dump_json(trace) + "\n" for trace in ten()))
    (folder / "new").rename(folder / "traces.jsonl")
    second = feed.change(first.id)
    assert second.reset
    assert [shown["place"] for shown in second.episodes] == list(range(10))
    assert "cards" not in second.parts


def test_it_agrees_with_the_report(folder, feed):
    write_run(folder, ten())
    change, page = feed.change(""), Page(write_report(folder).read_text(encoding="utf-8"))
    assert change.episodes == page.episodes
    for part in ("difficulty", "success"):
        for tag, attributes in Page(change.parts[part]).tags:
            if tag == "svg" and attributes["aria-label"] != "Success as episodes end":
                assert attributes["aria-label"] in [a["aria-label"] for t, a in page.tags if t == "svg"]
    assert "6 of 9 scored episodes" in page.text
    summary = json.loads((folder / SUMMARY).read_text())
    assert f"({summary['cells']['easy']['wins']}/{summary['cells']['easy']['n']})" in text(change, "success")


def test_votes_and_speed_are_those_of_the_episodes(folder, feed):
    change = feed.change("")
    # Each episode has a good, a malformed and a bad vote, took 0.25 s of the agent and 0.75 s of the task.
    assert "50.0% (4/8)" in text(change, "votes")
    assert "malformed 33.3% (4/12)" in text(change, "votes")
    assert "Episodes a second 1.00" in text(change, "cards")
    assert "Tokens a second 48.0" in text(change, "cards")
    assert "Episodes per second of one job, episode 4: 1" in text(change, "throughput")


def test_rows_of_another_kind_are_said_and_the_rest_is_shown(folder, feed):
    with (folder / "traces.jsonl").open("a") as file:
        file.write('{"position": 4}\nnot json\n')
    add(folder, ten()[5:6])
    change = feed.change("")
    assert "2 unreadable line(s) of traces.jsonl" in text(change, "notes")
    assert len(change.episodes) == 5


def test_hostile_text_stays_text(tmp_path):
    traces = [
        dataclasses.replace(
            trace, final=HOSTILE, cell=HOSTILE, error=HOSTILE if trace.error else "", difficulty={HOSTILE: i}
        )
        for i, trace in enumerate(ten())
    ]
    plain = Feed(write_run(tmp_path / "plain", ten())).change("")
    config = dataclasses.replace(CONFIG, suite=HOSTILE, agent=HOSTILE)
    loud = Feed(write_run(tmp_path / "loud", traces, config)).change("")
    known = {tag for html in plain.parts.values() for tag, _ in Page(html).tags}
    for html in loud.parts.values():
        for tag, attributes in Page(html).tags:
            assert tag in known
            assert not any(name.startswith("on") for name in attributes)
    assert loud.episodes[0]["steps"][-1]["next"] == HOSTILE


def test_an_adaptive_run_says_that_it_may_end_sooner(tmp_path):
    config = dataclasses.replace(CONFIG, protocol="adaptive")
    folder = write_run(tmp_path / "run", [episode(0)], config, summary=False)
    assert "of at most 10" in text(Feed(folder).change(""), "cards")
