"""The speed suite: no figure without its peer, none of a run that failed, and the reason in its place."""

import json
import math
import sys
import types

import pytest

from benchmarks import coding_peer
from benchmarks.speed import figures, suite
from benchmarks.speed.figures import side_by_side
from rla_envs.coding.sandbox import why_unavailable
from rla_envs.errors import missing_extra


def constant(value):
    return lambda number: {"thing": value}


def broken(number):
    raise RuntimeError("the peer's server\nis gone")


def part(monkeypatch, **attributes):
    """Make a module the suite's only part."""
    module = types.ModuleType("benchmarks.speed.made_up")
    vars(module).update({"TITLE": "made up", "why_missing": lambda: "", **attributes})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(suite, "PARTS", {"made-up": module.__name__})


def figures_of(*pieces):
    return lambda rounds, quick: [side_by_side(name, rounds, ours, peer) for name, ours, peer in pieces]


def test_ratios_are_taken_within_a_round_so_that_a_machine_that_slows_down_changes_none():
    slowdown = (1, 2, 8)
    (figure,) = side_by_side("a", 3, lambda i: {"": 1.0 * slowdown[i]}, lambda i: {"": 3.0 * slowdown[i]})
    assert figure.ours == figures.Spread(median=2, low=1, high=8)
    assert figure.times == figures.Spread(median=3, low=3, high=3)


def test_the_sides_take_turns_at_going_first():
    order = []
    measures = [lambda i, side=side: order.append(side) or {"": 1.0} for side in ("ours", "peer")]
    list(side_by_side("a", 3, *measures))
    assert order == ["ours", "peer", "peer", "ours", "ours", "peer"]


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_a_time_that_cannot_be_is_a_failure_and_not_infinitely_fast(bad):
    (figure,) = side_by_side("a", 2, constant(1.0), constant(bad))
    assert "the peer failed in round 1: expected a positive figure" in figure.failure
    assert (figure.ours, figure.peer, figure.times) == (None, None, None)


def test_one_failed_round_of_either_side_leaves_no_figure():
    def fails_late(number):
        return broken(number) if number == 2 else {"thing": 1.0}

    for sides in ((constant(1.0), fails_late), (fails_late, constant(1.0))):
        (figure,) = side_by_side("a", 3, *sides)
        assert figure.times is None
        assert "failed in round 3: RuntimeError: the peer's server is gone" in figure.failure


def test_a_failed_peer_shows_no_number_anywhere_and_makes_the_exit_code_1(monkeypatch, tmp_path, capsys):
    file = tmp_path / "speed.json"
    pieces = (("good", constant(1.0), constant(2.0)), ("bad", constant(1.0), broken))
    part(monkeypatch, measurements=figures_of(*pieces))
    assert suite.main(["--quiet", "--json", str(file)]) == 1
    good, bad = json.loads(file.read_text())["parts"]["made-up"]["figures"]
    assert good["times"] == {"median": 2, "low": 2, "high": 2}
    assert set(bad) == {"name", "unit", "rounds", "failure"}
    shown = capsys.readouterr().out.splitlines()
    assert "2x (2 to 2)" in shown[1]
    assert "no figure: the peer failed in round 1" in shown[2]


def test_a_part_that_cannot_run_is_skipped_with_the_reason_and_shows_no_figure(monkeypatch, tmp_path, capsys):
    file = tmp_path / "speed.json"

    def lacks_an_extra():
        raise missing_extra("the peer", "alfworld", ImportError("no module named 'textworld'"))

    for why in (lambda: "there is no sandbox here", lacks_an_extra):
        part(monkeypatch, why_missing=why, measurements=figures_of(("a", broken, broken)))
        assert suite.main(["--quiet", "--json", str(file)]) == 0
        (told,) = json.loads(file.read_text())["parts"].values()
        assert set(told) == {"title", "skipped"}
        assert f"skipped: {told['skipped']}" in capsys.readouterr().out
    assert "alfworld" in told["skipped"]


def test_a_figure_is_shown_in_a_unit_that_fits():
    assert figures.shown(0.00123, "time") == "1.23 ms"
    assert figures.shown(2.5e-7, "time") == "0.25 us"
    assert figures.shown(1 / 69500, "rate") == "69,500/s"
    assert figures.shown(512_000, "memory") == "512 kB"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["alfwrld"], "Did you mean 'alfworld'?"),
        (["--rounds", "0"], "--rounds: expected 1 or more, got 0"),
    ],
)
def test_a_wrong_word_is_one_line_and_exit_code_2(capsys, words, said):
    assert suite.main(words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", suite.PARTS)
def test_every_figure_of_ours_stands_beside_a_peers(name, tmp_path, capfd):
    file = tmp_path / "speed.json"
    words = [name, "--quick", "--rounds", "1", "--quiet", "--json", str(file)]
    assert suite.main(words) == 0
    told = json.loads(file.read_text())["parts"][name]
    if "skipped" in told:
        pytest.skip(told["skipped"])
    assert told["figures"]
    for figure in told["figures"]:
        assert figure["times"]["median"] == pytest.approx(figure["peer"]["median"] / figure["ours"]["median"])
    shown = capfd.readouterr()
    assert shown.out.count("x (") == len(told["figures"])
    assert shown.err == ""


def test_graders_that_disagree_are_a_failure(monkeypatch, capsys):
    if why_unavailable("bubblewrap"):
        pytest.skip(why_unavailable("bubblewrap"))
    monkeypatch.setattr(coding_peer, "grade", lambda source, tests, time_limit: [True])
    assert suite.main(["coding", "--quick", "--rounds", "1", "--quiet"]) == 1
    assert "expected equal verdicts of both graders" in capsys.readouterr().out
