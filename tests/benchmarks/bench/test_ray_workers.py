"""Ray workers play what processes play, and one that is lost costs nothing but time."""

import json
import os
import socket
import subprocess
import sys
from importlib.util import find_spec

import pytest

from benchmarks.bench import ray_workers
from benchmarks.bench.agents import find_agent
from benchmarks.bench.episode import Episode
from benchmarks.bench.runner import _config, run_suite
from benchmarks.bench.schema import read_run
from benchmarks.bench.stage import Contents
from benchmarks.bench.suites import load_suite
from rla_agents.cli import main
from rla_envs.errors import MissingExtraError
from tests.benchmarks.bench.test_runner import wait_until_dead, write_suite

HERE = "tests.benchmarks.bench.misbehaving"
LOOPBACK = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")
RESULTS = ("traces.jsonl", "summary.json")

with_ray = pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")


def rla(*words, **environment):
    """Run `rla` in a process of its own: Ray leaves threads and settings in the one that imports it."""
    command = "import sys; from rla_agents.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", command, *map(str, words)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@with_ray
def test_ray_workers_give_the_bytes_that_processes_give(tmp_path):
    words = ["bench", "run", "smoke", "--agent", "first-admissible", "--limit", "5", "--jobs", "2", "--quiet"]
    done = rla(*words, "--ray", "local", "--out", tmp_path / "ray")
    assert done.returncode == 0, done.stderr
    assert main([*words, "--out", str(tmp_path / "processes")]) == 0
    for name in RESULTS:
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "processes" / name).read_bytes()


@with_ray
def test_a_lost_worker_is_tried_again_and_ray_keeps_to_loopback_and_ends_with_the_run(tmp_path):
    suite, marker = write_suite(tmp_path / "s.toml", ("a", 3), ("b", 3)), tmp_path / "marker"
    agent = f"{HERE}:KillsTheRayWorker"
    words = ["bench", "run", suite, "--agent", agent, "--jobs", "2", "--quiet", "--ray", "local"]
    done = rla(*words, "--out", tmp_path / "killed", MARKER=str(marker))
    assert done.returncode == 0, done.stderr
    traces = read_run(tmp_path / "killed").traces
    assert [trace.success for trace in traces] == [True] * 6
    assert sorted(trace.retries for trace in traces) == [0] * 5 + [1]
    seen = json.loads(marker.read_text())
    assert seen["listening"]
    assert [address for address in seen["listening"] if address.split(":")[0] not in LOOPBACK] == []
    assert len(seen["processes"]) > 3
    for pid in seen["processes"]:
        wait_until_dead(pid)


def test_a_worker_that_never_lives_leaves_an_unscored_episode(tmp_path, monkeypatch):
    suite = load_suite(write_suite(tmp_path / "s.toml", ("a", 1)))
    spec = find_agent("random")
    table = ray_workers.RayTable(
        suite, spec, _config(suite, spec, [Contents(1, "")], 0, 0, 1), tmp_path / "log"
    )

    def lost(*arguments):
        raise ray_workers._LostError("it died")

    monkeypatch.setattr(table, "_call", lost)
    played = table.play(Episode(0, 0, 0, 0))
    assert (played.trace.success, played.trace.stop, played.trace.retries) == (None, "infrastructure", 2)
    assert played.trace.error == "Ray lost the worker: it died"


def test_without_ray_it_says_what_to_install_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    for name in ("USAGE_STATS_ENABLED", "ENABLE_WINDOWS_OR_OSX_CLUSTER", "AUTH_MODE", "AUTH_TOKEN"):
        monkeypatch.setenv(f"RAY_{name}", "")
    suite = load_suite(write_suite(tmp_path / "s.toml", ("a", 1)))
    with pytest.raises(MissingExtraError, match=r"pip install 'rlanything\[ray\]'"):
        run_suite(suite, find_agent("random"), tmp_path / "run", quiet=True, ray="local")
    assert not (tmp_path / "run").exists()


@with_ray
def test_an_address_where_nothing_is_is_bad_input(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    done = rla("bench", "run", "smoke", "--agent", "random", "--ray", address, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert f"--ray {address}: nothing answers there" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()
