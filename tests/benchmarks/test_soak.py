"""What is kept for later is bounded, and a soak notices what is not."""

import functools
import json
import statistics
import tracemalloc

import pytest

pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")

from benchmarks import soak
from rla_envs.alfworld import env as env_module
from rla_envs.alfworld import sources
from rla_envs.alfworld.native import engine, pddl, playbook


@pytest.fixture
def small_caches(monkeypatch):
    """Make what is kept so small that a few hundred episodes fill it many times over."""
    for module, name in ((engine, "_compiled"), (sources, "open_game"), (pddl, "_goal")):
        monkeypatch.setattr(module, name, functools.lru_cache(4)(getattr(module, name).__wrapped__))
    monkeypatch.setattr(env_module, "open_game", sources.open_game)
    monkeypatch.setattr(env_module, "_CHECKS", env_module._Checks(4))
    monkeypatch.setattr(playbook, "_MAX_BOOKS", 2)
    monkeypatch.setattr(playbook, "_MAX_GOALS", 4)
    playbook._books.cache_clear()
    monkeypatch.setattr(soak, "_RECENT", 4)
    monkeypatch.setattr(soak, "_STEPS", 5)


def traced(episodes):
    """Return the bytes that are in use after each tenth of some episodes."""
    tracemalloc.start()
    try:
        return [tracemalloc.get_traced_memory()[0] for _ in soak.play(episodes, episodes // 10)]
    finally:
        tracemalloc.stop()


def test_no_game_and_no_episode_is_kept_for_good(small_caches):
    used = traced(200)
    assert statistics.median(used[6:]) < statistics.median(used[2:6]) + 1_000_000


def test_what_is_kept_is_bounded(small_caches):
    (sample,) = soak.play(60, 60)
    assert sample.tasks > 8
    assert engine._compiled.cache_info().currsize <= 4
    assert sources.open_game.cache_info().currsize <= 4
    assert len(env_module._CHECKS._verdicts) <= 4


def fake(held):
    return lambda episodes, every: (soak.Sample(i, i, i, bytes_) for i, bytes_ in enumerate(held, start=1))


@pytest.mark.parametrize(("held", "code"), [([10, 50, 50, 50], 0), ([10, 50, 60, 70], 1)])
def test_growth_after_the_first_quarter_fails_the_soak(monkeypatch, tmp_path, capsys, held, code):
    monkeypatch.setattr(soak, "play", fake([x * 1_000_000 for x in held]))
    path = tmp_path / "soak.json"
    assert soak.main(["alfworld", "--episodes", "4", "--quiet", "--json", str(path)]) == code
    assert json.loads(path.read_text())["growth_bytes"] == (held[3] - held[1]) * 1_000_000
    assert f"{held[3] - held[1]:+.1f} MB" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [(["alfword"], "Did you mean 'alfworld'"), (["alfworld", "--episodes", "0"], "--episodes: expected")],
)
def test_a_wrong_argument_is_one_line_and_exit_code_2(capsys, words, message):
    assert soak.main([*words, "--quiet"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
