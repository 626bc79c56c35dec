"""The live page says what a training run's files say, as they grow, and to this machine alone."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

import pytest

from rla_agents.cli import main
from rla_agents.files import append_jsonl, truncate_jsonl
from rla_agents.live.view import Page as EmptyPage
from rla_agents.live.view import Polled
from rla_agents.report.page import render
from tests.parsed_page import Page
from tests.rla_agents.fake_run import HOSTILE, fake_run
from tests.rla_agents.live.served import EagerFeed, events, get, served

FILES = ("metrics.jsonl", "events.jsonl", "timings.jsonl", "traces.jsonl")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A finished run of six iterations."""
    folder = fake_run(tmp_path_factory.mktemp("runs") / "whole", iterations=6)
    append_jsonl(folder / "timings.jsonl", [{"iteration": i, "seconds": 4.0} for i in range(6)])
    return folder


def lines(folder, name):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def begun(folder, whole, iterations):
    """Make a folder that holds the first iterations of a run, as a run leaves it between two of them."""
    shutil.copytree(whole, folder)
    for name in FILES:
        truncate_jsonl(folder / name, lambda row: row["iteration"] < iterations)
    return folder


def text(html):
    return Page(html).text


def test_a_finished_run_is_shown_whole(whole):
    change = EagerFeed(whole).change("")
    assert change.reset
    parts = {name: text(html) for name, html in change.parts.items()}
    assert "6 of 6" in parts["facts"]
    assert "Episodes a second 2 " in parts["cards"]
    assert "each iteration" in parts["success"]
    for chart in ("task_type", "receptacles", "closed_share, mean"):
        assert chart in parts["difficulty"]
    assert "good, in lost episodes" in parts["votes"]
    assert "Tokens written per second, iteration 5: 2.28e+03" in parts["throughput"]
    assert "Gradient norm before clipping" in parts["health"]
    assert [episode["phase"] for episode in change.episodes][-1] == "eval_after"


def test_outcomes_by_difficulty_are_those_of_the_training_episodes(whole):
    shown = text(EagerFeed(whole).change("").parts["difficulty"])
    for value in range(3, 9):
        rows = [r for r in lines(whole, "traces.jsonl") if r["phase"] == "train"]
        outcomes = [row["success"] for row in rows if row["difficulty"]["receptacles"] == value]
        assert f"({sum(outcomes)}/{len(outcomes)})" in shown


def test_only_what_is_new_is_sent_and_a_half_written_line_waits(tmp_path, whole):
    folder = begun(tmp_path / "run", whole, 3)
    source = EagerFeed(folder)
    first = source.change("")
    assert source.change(first.id) is None
    row = next(row for row in lines(whole, "traces.jsonl") if row["iteration"] == 3)
    line = json.dumps({**row, "task_id": "the-new-one"}) + "\n"
    with (folder / "traces.jsonl").open("a") as file:
        file.write(line[:100])
        file.flush()
        assert source.change(first.id) is None
        file.write(line[100:])
    second = source.change(first.id)
    assert not second.reset
    assert [episode["task"] for episode in second.episodes] == ["the-new-one"]
    assert "success" not in second.parts
    assert "difficulty" in second.parts
    append_jsonl(folder / "metrics.jsonl", [r for r in lines(whole, "metrics.jsonl") if r["iteration"] == 3])
    third = source.change(second.id)
    assert (third.episodes, set(third.parts) >= {"facts", "success", "health"}) == ([], True)
    late = source.change(first.id)
    assert (late.id, late.episodes) == (third.id, second.episodes)


def test_a_resumed_run_starts_over(tmp_path, whole):
    folder = begun(tmp_path / "run", whole, 5)
    source = EagerFeed(folder)
    first = source.change("")
    for name in FILES:
        truncate_jsonl(folder / name, lambda row: row["iteration"] < 2)
    second = source.change(first.id)
    assert second.reset
    assert "2 of 6" in text(second.parts["facts"])
    assert {episode["iteration"] for episode in second.episodes} == {-1, 0, 1}
    assert source.change(second.id) is None


def test_an_id_of_another_server_or_of_nobody_gets_everything(whole):
    other, source = EagerFeed(whole).change(""), EagerFeed(whole)
    for since in (other.id, "", "x", "1.2.3", f"{source.change('').id}9999999999999999999", "\u0663.\u0663"):
        change = source.change(since)
        assert change.reset
        assert len(change.episodes) > 100


def test_a_folder_that_is_not_there_is_waited_for_and_one_that_goes_is_said(tmp_path, whole):
    folder = tmp_path / "runs" / "later"
    source = EagerFeed(folder)
    absent = source.change("")
    assert f"{folder} does not exist yet" in text(absent.parts["notes"])
    folder.mkdir(parents=True)
    empty = source.change(absent.id)
    assert "holds no run yet" in text(empty.parts["notes"])
    folder.rmdir()
    shutil.copytree(whole, folder)
    there = source.change(empty.id)
    assert text(there.parts["notes"]).strip() == ""
    assert there.episodes
    shutil.rmtree(folder)
    gone = source.change(there.id)
    assert gone.reset
    assert gone.episodes == []
    assert "does not exist yet" in text(gone.parts["notes"])


def test_what_cannot_be_read_is_said_and_read_once_it_can(tmp_path, whole):
    folder = begun(tmp_path / "run", whole, 2)
    good = (folder / "config.toml").read_text()
    (folder / "config.toml").write_text("iterations = ")
    source = EagerFeed(folder)
    broken = source.change("")
    assert "cannot be read" in text(broken.parts["notes"])
    (folder / "config.toml").write_text(good)
    assert "2 of 6" in text(source.change(broken.id).parts["facts"])


def test_alarms_come_and_end_as_the_run_says_them(tmp_path, whole):
    folder = begun(tmp_path / "run", whole, 4)
    source = EagerFeed(folder)
    first = source.change("")
    assert "Nothing is wrong" in text(first.parts["alarms"])
    append_jsonl(folder / "events.jsonl", [{"iteration": 4, "event": "stalled", "reason": "94% were wasted"}])
    second = source.change(first.id)
    assert "stalled" in text(second.parts["alarms"])
    assert "since iteration 4" in text(second.parts["alarms"])
    assert "94% were wasted" in text(second.parts["alarms"])
    append_jsonl(folder / "events.jsonl", [{"iteration": 5, "event": "recovered"}])
    third = source.change(second.id)
    assert "iteration 4 to 5" in text(third.parts["alarms"])
    assert ("li", {"class": "over"}) in Page(third.parts["alarms"]).tags


def test_the_first_look_at_a_long_run_shows_the_latest_episodes_and_no_more(tmp_path):
    folder = fake_run(tmp_path / "run", iterations=10, episodes=40)
    episodes = EagerFeed(folder).change("").episodes
    assert len(episodes) == 200
    expected = [row["task_id"] for row in lines(folder, "traces.jsonl")[-200:]]
    assert [episode["task"] for episode in episodes] == expected


def test_a_slow_look_is_followed_by_a_longer_rest(whole):
    class SlowView:
        looks = 0

        def poll(self):
            SlowView.looks += 1
            source.now += 10.0
            return Polled(False)

        def page(self):
            return EmptyPage()

    source = EagerFeed(whole)
    source.change("")
    source._view = SlowView()
    for _ in range(100):
        source.change("")
    # A look of 10 s and a rest of 40 s, in seconds of asking.
    assert SlowView.looks == 3


def test_hostile_text_stays_text(tmp_path, whole):
    folder = begun(tmp_path / "run", whole, 3)
    quiet = EagerFeed(folder).change("")
    for name in ("events.jsonl", "traces.jsonl"):
        rows = lines(folder, name)
        for row in rows:
            row["difficulty"] = {HOSTILE: len(str(row)) % 2, "kind": HOSTILE * (len(str(row)) % 2)}
            row |= {"reason": HOSTILE, "prompt": HOSTILE, "error": HOSTILE}
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    append_jsonl(folder / "events.jsonl", [{"iteration": 3, "event": "critic_ignored", "reason": HOSTILE}])
    append_jsonl(folder / "metrics.jsonl", [{"iteration": 3, f"difficulty/{HOSTILE}": 1.0}])
    loud = EagerFeed(folder).change("")
    allowed = {tag for html in quiet.parts.values() for tag, _ in Page(html).tags} | {"li", "b", "ul", "span"}
    for html in loud.parts.values():
        for tag, attributes in Page(html).tags:
            assert tag in allowed
            assert not any(name.startswith("on") for name in attributes)
    assert HOSTILE in " ".join(Page(loud.parts["alarms"]).text.split())
    assert loud.episodes[0]["prompt"] == HOSTILE


def test_the_page_needs_nothing_but_itself_and_runs_its_own_scripts_only(whole):
    with served(whole) as server:
        status, headers, body = get(server, "/")
        page = Page(body)
        assert (status, headers["Cache-Control"]) == (200, "no-store")
        policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
        assert "unsafe" not in policy["script-src"]
        assert policy["script-src"].count("sha256-") == len(page.scripts) - 1 == 2
        for tag, attributes in page.tags:
            assert tag not in ("link", "iframe", "img", "object", "embed", "base")
            assert attributes.get("href", "#").startswith("#")
            assert "src" not in attributes
        assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::1]:1"])
@pytest.mark.parametrize("path", ["/", "/events"])
def test_other_hosts_are_refused(whole, host, path):
    with served(whole) as server:
        status, _, body = get(server, path, Host=host)
        assert status == 403
        assert "whole" not in body


def test_a_tunnel_may_have_another_port(whole):
    with served(whole) as server:
        assert get(server, "/", Host="localhost:9999")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/config.toml",
        "/../config.toml",
        "/%2e%2e/config.toml",
        "//etc/passwd",
        "/events/..",
        "/screenshots/0",
    ],
)
def test_nothing_else_is_served(whole, path):
    with served(whole) as server:
        status, _, body = get(server, path)
        assert status == 404
        assert "root" not in body


def test_it_listens_on_loopback_alone(whole):
    with served(whole) as server:
        assert server.socket.getsockname()[0] == "127.0.0.1"
        assert server.socket.family == socket.AF_INET


def test_a_page_that_comes_back_gets_what_it_missed(tmp_path, whole):
    folder = begun(tmp_path / "run", whole, 3)
    with served(folder) as server:
        with events(server) as changes:
            first = next(changes)
            assert first["reset"]
            row = next(row for row in lines(whole, "traces.jsonl") if row["iteration"] == 3)
            append_jsonl(folder / "traces.jsonl", [{**row, "task_id": "pushed"}])
            pushed = next(changes)
            assert [episode["task"] for episode in pushed["episodes"]] == ["pushed"]
        append_jsonl(folder / "traces.jsonl", [{**row, "task_id": "missed"}])
        with events(server, Last_Event_ID=pushed["id"]) as changes:
            back = next(changes)
            assert not back["reset"]
            assert [episode["task"] for episode in back["episodes"]] == ["missed"]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda path: path.write_text(""), "expected the folder of a run, got a file"),
        (lambda path: (path.mkdir(), (path / "a.txt").write_text("")), "there are files, but no config.toml"),
        (lambda path: (path.mkdir(), (path / "config.toml").write_text("a = ")), "expected the settings"),
        (lambda path: (path.mkdir(), (path / "config.toml").write_text("a = 1")), "got another file"),
    ],
)
def test_what_is_no_run_is_refused_in_one_line(tmp_path, capsys, make, expected):
    make(tmp_path / "run")
    assert main(["serve", str(tmp_path / "run"), "--port", "0"]) == 2
    said = capsys.readouterr().err
    assert expected in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("port", "expected"), [("70000", "expected 0 to 65535"), ("a", "expected an integer")]
)
def test_a_port_that_is_none_is_refused_in_one_line(whole, capsys, port, expected):
    assert main(["serve", str(whole), "--port", port]) == 2
    assert expected in capsys.readouterr().err


def test_a_port_in_use_is_refused_in_one_line(whole, capsys):
    with served(whole) as server:
        assert main(["serve", str(whole), "--port", str(server.server_address[1])]) == 2
    said = capsys.readouterr().err
    assert "is in use; name another with --port" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("quiet", [True, False])
def test_an_interrupt_ends_it_cleanly_while_a_page_is_open(whole, quiet):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # As from a terminal: whatever started these tests may have told its children to ignore interrupts.
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from rla_agents.cli import main; sys.exit(main())"
    )
    words = ["serve", str(whole), "--port", str(port), *(["--quiet"] if quiet else [])]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    page = None
    while page is None:
        assert process.poll() is None
        try:
            page = socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            os.sched_yield()
    with page:
        page.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert b"200" in page.recv(100)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert out == ("" if quiet else f"http://127.0.0.1:{port}/\n")


def test_the_trajectories_are_shown_by_the_reports_own_viewer():
    with_script = render("viewer.html", selection={"episodes": [1], "total": 1, "rule": ""})
    live = render("live.html", name="", titles={}, follow="", most=1, selection={"episodes": [], "rule": ""})
    assert re.findall(r"<script>.*?</script>", with_script, re.S)[0] in live
