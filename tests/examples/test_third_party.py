import os
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from benchmarks.bench.agents import find_agent
from benchmarks.bench.runner import run_suite
from benchmarks.bench.schema import read_run
from benchmarks.bench.suites import load_suite
from rla_envs.conformance import check_adaptive_env, check_names

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "third_party"
SUITE = PACKAGE / "rla_example" / "guess.toml"
ENV = "rla_example:RLAExample/Guess-v0"


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(str(PACKAGE))


@pytest.mark.parametrize("check", check_names())
def test_the_environment_passes_every_check_that_ours_pass(check):
    check_adaptive_env(ENV, tasks=20, checks=[check])


def test_the_agent_plays_the_suite_as_halving_must(tmp_path):
    summary = run_suite(
        load_suite(str(SUITE)), find_agent("rla_example.agent:Bisector"), tmp_path, quiet=True
    )
    # Ten halvings suffice for 1000 numbers; seven find 127 of them.
    assert summary.cells["small"].wins == summary.cells["large"].wins == 20
    assert summary.cells["too few guesses"].wins < 10
    for trace in read_run(tmp_path).traces:
        assert trace.claim is not None
        assert len(trace.steps) <= trace.difficulty["guesses"]


@pytest.mark.skipif(
    not os.environ.get("RLA_TEST_INSTALL"), reason="set RLA_TEST_INSTALL=1: downloads packages"
)
def test_installed_into_a_fresh_environment_it_is_found_by_name(tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"

    def run(*words):
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    # Copies: building in place would leave files behind.
    ours, theirs = tmp_path / "rlanything", tmp_path / "third_party"
    for name in ("rla_envs", "wrappers", "rla_agents", "benchmarks"):
        shutil.copytree(ROOT / name, ours / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, ours)
    shutil.copytree(PACKAGE, theirs)
    run(python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", f"{ours}[bench]", theirs)
    rla = tmp_path / "venv" / "bin" / "rla"
    assert "bisector" in run(rla, "bench", "suites")
    run(
        rla, "bench", "run", SUITE, "--agent", "bisector", "--out", tmp_path / "run", "--jobs", "2", "--quiet"
    )
    assert read_run(tmp_path / "run").summary.cells["large"].wins == 20
    checked = f"from rla_envs.conformance import check_adaptive_env; check_adaptive_env({ENV!r})"
    run(python, "-c", checked)
