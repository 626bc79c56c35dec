"""The grader that works as LiveBench's, and what a long run of submissions must not do."""

import pytest

from benchmarks import coding_peer, coding_soak
from rla_envs.coding.sandbox import why_unavailable


@pytest.fixture(scope="module", autouse=True)
def _bubblewrap():
    reason = why_unavailable("bubblewrap")
    if reason:
        pytest.skip(reason)


@pytest.mark.parametrize(
    ("source", "passed"),
    [
        ("print(int(input()) * 2)", [True, True]),
        ("import sys\nprint(2 * int(sys.stdin.readline()))", [True, True]),
        ("x = int(input())\nprint(x * 2 if x < 5 else 0)", [True, False]),
        ("print(1 / 0)", [False]),
        ("not python", [False]),
        ("while True: pass", [False]),
    ],
)
def test_the_other_grader_stops_at_the_first_failure(source, passed):
    assert coding_peer.grade(source, [("3", "6\n"), ("7", "14")], time_limit=1) == passed


def test_a_short_soak_finds_no_leak_and_no_other_verdict(capsys, monkeypatch):
    monkeypatch.setattr(coding_soak, "_QUICK", coding_soak._QUICK[::4])
    monkeypatch.setattr(coding_soak, "_LONG", coding_soak._LONG[-1:])
    assert coding_soak.main(["--submissions", "60", "--quiet"]) == 0
    assert "different verdicts: 0" in capsys.readouterr().out


def test_a_soak_notices_a_verdict_that_is_not_a_fresh_sandboxs(capsys, monkeypatch):
    monkeypatch.setattr(coding_soak, "_QUICK", coding_soak._QUICK[:1])
    monkeypatch.setattr(coding_soak, "_LONG", coding_soak._LONG[:0] or coding_soak._QUICK[:1])
    monkeypatch.setattr(coding_soak, "fresh_outcome", lambda submission: [])
    assert coding_soak.main(["--submissions", "4", "--quiet"]) == 1
    assert "different verdicts: 4" in capsys.readouterr().out


def test_a_soak_notices_what_grows():
    steady = [coding_soak.Sample(i, 0, 9, 100, 100) for i in range(8)]
    grown = [sample._replace(descriptors=9 + i) for i, sample in enumerate(steady)]
    assert coding_soak.growth(steady)[1:] == (0, 0, 0, 0)
    assert coding_soak.growth(grown).descriptors > 0
