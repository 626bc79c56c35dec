"""The speed measurement of GridNav runs, and writes what it prints."""

import json

import pytest

from benchmarks import speed


def test_all_figures_are_written(tmp_path, capsys):
    file = tmp_path / "speed.json"
    assert speed.main(["gridnav", "--steps", "60", "--members", "2", "3", "--json", str(file)]) == 0
    figures = json.loads(file.read_text())["difficulties"]
    assert set(figures) == {"default", "hardest"}
    for row in figures.values():
        assert all(row[name]["steps_per_second"] > 0 for name in ("unwrapped", "gymnasium.make", "adaptive"))
        assert set(row["vector"]) == {"2", "3"}
        assert row["sync"] > 0
        assert min(row["vector"].values()) > 0
    assert "3 in NumPy" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--steps", "0"], ["--members", "2", "0"]])
def test_counts_below_one_are_refused(arguments, capsys):
    assert speed.main(["gridnav", *arguments]) == 2
    assert "expected 1 or more" in capsys.readouterr().err
