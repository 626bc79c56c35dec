"""The speed benchmark runs both engines over each size and writes what it measured."""

import json

import pytest

pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")
pytest.importorskip("rla_envs.alfworld.textworld_engine")

from benchmarks import alfworld_speed, speed


def test_every_figure_of_ours_stands_next_to_the_shipped_engines(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(alfworld_speed, "SIZES", ((6, 6),))
    monkeypatch.setattr(alfworld_speed, "_GAMES", 2)
    monkeypatch.setattr(alfworld_speed, "_EPISODE", 3)
    path = tmp_path / "speed.json"
    small = ["--stock-steps", "1", "--stock-seconds", "0", "--episodes", "1", "--games", "2", "--quiet"]
    assert speed.main(["alfworld", *small, "--json", str(path)]) == 0
    numbers = json.loads(path.read_text())
    (row,) = numbers["sizes"]
    stock, native, times = row["stock"], row["native"], row["times"]
    assert times["new_game"] == pytest.approx(stock["new_game"] / native["new_game"])
    assert times["first_step"] == pytest.approx(stock["step"] / native["first_step"])
    assert times["environment_new_task"] == pytest.approx(stock["new_game"] / row["environment"]["new_task"])
    assert min(times.values()) > 0
    for modes in numbers["side_by_side"].values():
        assert {figures["games"] for figures in modes.values()} == {2}
        assert min(figures["steps_per_second"] for figures in modes.values()) > 0
    out = capsys.readouterr().out
    assert "6 objects x 6 receptacles" in out
    assert "steps/s" in out


@pytest.mark.parametrize("words", [["--games", "-1"], ["--episodes", "0"], ["--stock-seconds", "-1"]])
def test_a_wrong_number_is_one_line_and_exit_code_2(capsys, words):
    assert speed.main(["alfworld", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith(words[0])
    assert error.count("\n") == 1
