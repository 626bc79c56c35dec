import contextlib
import os
import re
import select
import subprocess
import sys

import pytest

from benchmarks.bench import runner
from benchmarks.bench.agents import find_agent
from benchmarks.bench.episode import Played
from benchmarks.bench.report import write_report
from benchmarks.bench.runner import run_suite
from benchmarks.bench.schema import read_run
from benchmarks.bench.suites import load_suite
from rla_agents.cli import main
from rla_envs.errors import InputError

HERE = "tests.benchmarks.bench.misbehaving"
TOY = "tests.rla_envs.toy_env:RLATest/Toy-v0"
FAILURES = {
    "raises": r"act\(\) raised ValueError: no idea x+\.\.\.$",
    "hangs": r"act\(\) took longer than 2 s$",
    "none": r"returned None; expected an action of Unicode\(40\)$",
    "wrong type": r"returned a ndarray; expected",
    "flood": r"returned 10,000,000 characters; the most is 1,048,576$",
    "too long": r"returned 'x+' of type str; expected an action of Unicode\(40\)$",
    "exits": r"act\(\) raised SystemExit: 0$",
    "is killed": r"killed by signal 9 \(SIGKILL\)$",
    "leaves": r"exited with code 3$",
    "blames the machinery": "raised InfrastructureError: not my fault$",
    "fails to reset": r"reset\(\) raised KeyError: 'no such cell'$",
}


def write_suite(path, *cells, **settings):
    """Write a suite of cells (name, tasks, further TOML lines) of the toy game."""
    lines = [f"{key} = {value!r}" for key, value in {"name": "toy", **settings}.items()]
    for name, tasks, *further in cells:
        lines += ["[[cells]]", f"name = {name!r}", f"tasks = {tasks}"]
        lines += further if any("env_id" in line for line in further) else [f"env_id = '{TOY}'", *further]
    path.write_text("\n".join(lines))
    return str(path)


def test_every_way_to_fail_is_a_loss_with_a_cause_and_the_rest_of_the_run_is_intact(tmp_path):
    names = [*FAILURES, "claims", "fine"]
    suite = load_suite(write_suite(tmp_path / "s.toml", *((name, 1) for name in names), step_seconds=2.0))
    summary = run_suite(suite, find_agent(f"{HERE}:ByCell"), tmp_path / "run", jobs=2, quiet=True)
    run = read_run(tmp_path / "run")
    by_cell = {trace.cell: trace for trace in run.traces}
    for name, cause in FAILURES.items():
        trace = by_cell[name]
        assert (trace.success, trace.stop) == (False, "agent_error")
        assert "\n" not in trace.error
        assert len(trace.error) < 400
        assert re.search(cause, trace.error), trace.error
    assert by_cell["fine"].success
    assert by_cell["fine"].prompt_tokens == 7
    assert by_cell["fine"].completion_tokens == 0
    # The agent says it won; the environment's verdict counts.
    assert by_cell["claims"].claim
    assert (by_cell["claims"].success, by_cell["claims"].stop) == (False, "budget")
    assert (summary.success.wins, summary.success.n) == (1, 13)
    assert summary.success.agent_errors == 11
    assert summary.complete
    assert write_report(tmp_path / "run").exists()


def test_a_killed_run_is_finished_by_the_same_command_with_the_same_bytes(tmp_path, capsys):
    suite = write_suite(tmp_path / "s.toml", ("a", 5), ("b", 4))
    words = ["bench", "run", suite, "--agent", f"{HERE}:KillsTheRunner", "--seed", "3", "--quiet", "--out"]
    marker, killed, whole = tmp_path / "marker", str(tmp_path / "killed"), str(tmp_path / "whole")
    command = [
        sys.executable,
        "-c",
        "import sys; from rla_agents.cli import main; sys.exit(main(sys.argv[1:]))",
    ]
    environment = {**os.environ, "MARKER": str(marker)}
    died = subprocess.run([*command, *words, killed], env=environment, check=False)
    assert died.returncode == -9
    assert len(read_run(killed).traces) == 4
    wait_until_dead(int(marker.read_text()))
    # The kill may also have cut a line short.
    with (tmp_path / "killed" / "traces.jsonl").open("a") as file:
        file.write('{"position": 8, "ce')
    os.environ["MARKER"] = str(marker)
    try:
        assert main([*words, killed]) == 0
        assert main([*words, whole, "--jobs", "3"]) == 0
    finally:
        del os.environ["MARKER"]
    for name in ("traces.jsonl", "summary.json"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert "toy: " in capsys.readouterr().out
    other = [word if word != "3" else "4" for word in words]
    assert main([*other, whole]) == 2
    assert "holds a run with seed = 3, this one has 4" in capsys.readouterr().err


def wait_until_dead(pid):
    """A process that outlives the runner would go on playing, and hold the GPU."""
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        try:
            assert select.select([descriptor], [], [], 60)[0], "the agent outlived the runner"
        finally:
            os.close(descriptor)


def test_broken_machinery_is_retried_shown_never_scored_and_played_again(tmp_path, capsys):
    mended = tmp_path / "mended"
    flaky = "env_id = 'tests.benchmarks.bench.flaky_env:RLATest/Flaky-v0'"
    suite = write_suite(
        tmp_path / "s.toml", ("fine", 2), ("flaky", 2, flaky, f"env = {{ mended = '{mended}' }}")
    )
    words = ["bench", "run", suite, "--agent", "oracle", "--out", str(tmp_path / "run"), "--quiet"]
    assert main(words) == 1
    run = read_run(tmp_path / "run")
    assert [trace.success for trace in run.traces] == [True, True, None, None]
    assert run.traces[2].error == "environment: the sandbox died"
    assert run.traces[2].retries == 2
    assert len(run.traces[2].steps) == 1
    assert (run.summary.success.wins, run.summary.success.n) == (2, 2)
    assert run.summary.success.infrastructure_errors == 2
    assert not run.summary.complete
    assert "the same command plays them again" in capsys.readouterr().err
    mended.touch()
    assert main(words) == 0
    run = read_run(tmp_path / "run")
    assert [trace.success for trace in run.traces] == [True] * 4
    assert run.summary.complete


def test_a_step_budget_used_up_is_a_loss_and_a_win_on_the_last_step_is_a_win(tmp_path):
    pytest.importorskip("alfworld", reason="AlfWorld's games")
    lines = ("env_id = 'RLA/AlfWorld-v0'", "difficulty = { step_budget = 1.0 }")
    suite = load_suite(write_suite(tmp_path / "s.toml", ("tight", 2, *lines)))
    won = run_suite(suite, find_agent("oracle"), tmp_path / "won", quiet=True)
    lost = run_suite(suite, find_agent(f"{HERE}:Looker"), tmp_path / "lost", quiet=True)
    assert (won.success.wins, lost.success.wins) == (2, 0)
    assert (won.stops, lost.stops) == ({"solved": 2}, {"budget": 2})
    for run in (read_run(tmp_path / "won"), read_run(tmp_path / "lost")):
        assert [len(trace.steps) for trace in run.traces] == [trace.optimal_length for trace in run.traces]
    # Who plays does not change what is played.
    assert won.tasks_hash == lost.tasks_hash


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nosuch", "--agent", "random"], "unknown suite 'nosuch'"),
        (["smoke", "--agent", "randon"], "unknown agent 'randon'. Did you mean 'random'?"),
        (["smoke", "--agent", "random", "--jobs", "0"], "jobs: expected an integer of 1 or more, got 0"),
        (["SUITE", "--agent", "random"], "cell 'lost': unknown environment 'RLA/Nowhere-v0'"),
        (["smoke", "--agent", "openai:gpt"], "expected openai:MODEL@URL"),
        (["smoke", "--agent", "nowhere.py:Agent"], "there is no file nowhere.py"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing_behind(tmp_path, capsys, words, complaint):
    lost = write_suite(tmp_path / "s.toml", ("lost", 1, "env_id = 'RLA/Nowhere-v0'"))
    out = tmp_path / "run"
    given = [lost if word == "SUITE" else word for word in words]
    assert main(["bench", "run", *given, "--out", str(out), "--quiet"]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_an_agent_that_cannot_be_made_is_bad_input(tmp_path, capsys):
    suite = write_suite(tmp_path / "s.toml", ("a", 1))
    (tmp_path / "broken.py").write_text(
        "class Agent:\n    def __init__(self):\n        raise OSError('no weights')\n"
    )
    words = ["bench", "run", suite, "--agent", f"{tmp_path}/broken.py:Agent", "--out", str(tmp_path / "run")]
    assert main([*words, "--quiet"]) == 2
    assert "cannot be made: OSError: no weights" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_an_interrupted_run_scores_nothing_that_was_in_flight(tmp_path):
    """Stopping the run kills the agents; that must not look like agents that died."""
    suite = write_suite(tmp_path / "s.toml", ("hangs", 2))
    words = ["bench", "run", suite, "--agent", f"{HERE}:InterruptsTheRunner", "--quiet"]
    command = "import sys; from rla_agents.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", command, *words, "--out", str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr.strip() == "rla: interrupted"
    assert (tmp_path / "run" / "config.toml").exists()
    assert not (tmp_path / "run" / "traces.jsonl").exists()


def test_episodes_that_end_after_the_stop_are_not_written(tmp_path):
    suite, spec = load_suite(write_suite(tmp_path / "s.toml", ("a", 2))), find_agent("oracle")
    run_suite(suite, spec, tmp_path / "run", quiet=True)
    before = (tmp_path / "run" / "traces.jsonl").read_bytes()
    files = runner._Files(tmp_path / "run", read_run(tmp_path / "run").config, 1)
    played = Played(files.traces[0], files.timings[0], {})
    files.close()
    files.add(played)
    assert (tmp_path / "run" / "traces.jsonl").read_bytes() == before


def test_two_runs_do_not_write_one_folder(tmp_path):
    suite = load_suite(write_suite(tmp_path / "s.toml", ("a", 1)))
    with runner._alone(tmp_path / "run"), pytest.raises(InputError, match="is being written by another run"):
        run_suite(suite, find_agent("oracle"), tmp_path / "run", quiet=True)
    assert run_suite(suite, find_agent("oracle"), tmp_path / "run", quiet=True).complete


def test_a_folder_with_another_suite_is_refused(tmp_path):
    spec = find_agent(f"{HERE}:made")
    run_suite(load_suite(write_suite(tmp_path / "s.toml", ("a", 1))), spec, tmp_path / "run", quiet=True)
    harder = load_suite(write_suite(tmp_path / "s.toml", ("a", 1, "difficulty = { doors = 5 }")))
    with pytest.raises(InputError, match="holds a run with suite_hash = "):
        run_suite(harder, spec, tmp_path / "run", quiet=True)
