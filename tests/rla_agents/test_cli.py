"""The rla command: what it accepts, and one line for everything that it does not."""

import errno
import subprocess
import sys
import types
from pathlib import Path

import pytest

from rla_agents.cli import main
from rla_agents.launch import read_launch
from rla_envs import env_ids
from tests.rla_agents.fake_run import fake_run


@pytest.fixture
def refused(capsys):
    """Run the command, and return the one line with which it refuses."""

    def run(*words):
        assert main(list(words)) == 2
        captured = capsys.readouterr()
        assert captured.err.startswith("rla: error: ")
        assert captured.err.count("\n") == 1
        assert captured.out == ""
        return captured.err

    return run


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tarin"], "unknown command 'tarin'. Did you mean 'train'?"),
        (["train", "--env", "RLA/AlfWrld-v0"], "Did you mean 'RLA/AlfWorld-v0'?"),
        (["train", "--curriculum.name", "thomson"], "Did you mean 'thompson'?"),
        (["train", "--curriculum.arguments", "binns=3"], "Did you mean 'bins'?"),
        (["train", "--iteration", "3"], "Did you mean --iterations?"),
        (["train", "--env", "RLA/GridNav-v0"], "expected an environment of texts"),
        (["train", "absent.toml"], "config absent.toml: cannot be read"),
        (["train", "."], "cannot be read (Is a directory)"),
        (["train", "--resume"], "--resume: expected --run-dir"),
        (["train", "--resume", "--run-dir", "absent"], "no run to resume in absent"),
        (["envs", "RLA/AlfWorld"], "Did you mean 'RLA/AlfWorld-v0'?"),
        (["envs", "no_such_module:X-v0"], "expected an importable module before ':'"),
        (["play"], "ENV"),
        (["play", "RLA/AlfWrld-v0"], "Did you mean 'RLA/AlfWorld-v0'?"),
        (["play", "RLA/AlfWorld-v0", "--difficulty", "recepticles=6"], "Did you mean 'receptacles'?"),
        (["play", "RLA/AlfWorld-v0", "--difficulty", "receptacles=9999"], "receptacles"),
        (["play", "RLA/AlfWorld-v0", "--difficulty", "receptacles"], "expected NAME=VALUE"),
        (["report"], "expected the folder of one run, got nothing"),
        (["report", "absent"], "run absent: expected the folder of a run"),
        (["report", "."], "expected config.toml or metrics.jsonl"),
        (["doctor", "who"], "expected no argument, got 'who'"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(refused, tmp_path, monkeypatch, words, expected):
    monkeypatch.chdir(tmp_path)
    assert expected in refused(*words)
    assert list(tmp_path.iterdir()) == []


def test_a_run_folder_is_not_overwritten(refused, tmp_path):
    fake_run(tmp_path / "run", iterations=1)
    assert "already holds a run" in refused("train", "--run-dir", str(tmp_path / "run"))


def test_short_and_dotted_options_reach_the_settings(tmp_path):
    (tmp_path / "c.toml").write_text("seed = 1\n[rollout]\ntasks = 5\n")
    words = "--model smollm2 --env RLA/AlfWorld-v0 --iterations 3 --seed 7 --rollout.rollouts 4 --quiet"
    launch = read_launch(
        [str(tmp_path / "c.toml"), *words.split(), "--run-dir", str(tmp_path / "r")], prog="rla train"
    )
    config = launch.config
    assert (launch.quiet, launch.resume) == (True, False)
    assert (config.policy.model, config.env.id) == ("smollm2", "RLA/AlfWorld-v0")
    assert (config.iterations, config.seed, config.run_dir) == (3, 7, str(tmp_path / "r"))
    assert (config.rollout.tasks, config.rollout.rollouts) == (5, 4)


def test_a_resumed_run_takes_its_saved_settings_under_the_command_line(tmp_path):
    fake_run(tmp_path / "run", iterations=40, seed=3)
    launch = read_launch(
        ["--resume", "--run-dir", str(tmp_path / "run"), "--iterations", "50"], prog="rla train"
    )
    assert launch.resume
    assert launch.config.curriculum.name == "threshold"
    assert (launch.config.seed, launch.config.iterations) == (3, 50)


def test_resume_with_the_command_of_the_first_start_works_even_if_nothing_was_saved_yet(tmp_path):
    (tmp_path / "c.toml").write_text("seed = 9\n")
    launch = read_launch(
        [str(tmp_path / "c.toml"), "--run-dir", str(tmp_path / "run"), "--resume"], prog="rla train"
    )
    assert (launch.resume, launch.config.seed) == (True, 9)


def test_without_a_run_folder_the_first_free_one_is_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "demo-1").mkdir(parents=True)
    assert Path(read_launch([], prog="rla demo", preset="demo").config.run_dir) == Path("runs/demo-2")
    assert Path(read_launch([], prog="rla train").config.run_dir) == Path("runs/tiny-1")


@pytest.fixture
def loop(monkeypatch):
    """Put a training loop in place that does what the test says."""

    def install(train):
        module = types.ModuleType("rla_agents.loop")
        module.train = train
        monkeypatch.setitem(sys.modules, "rla_agents.loop", module)

    return install


def test_an_interrupt_says_how_to_go_on(loop, capsys, tmp_path):
    def interrupted(config, resume, quiet):
        raise KeyboardInterrupt

    loop(interrupted)
    assert main(["train", "--run-dir", str(tmp_path / "r")]) == 130
    assert f"rla train --resume --run-dir {tmp_path / 'r'}" in capsys.readouterr().err


def test_a_full_disk_is_one_line(loop, refused, tmp_path):
    def full(config, resume, quiet):
        raise OSError(errno.ENOSPC, "No space left on device", "traces.jsonl")

    loop(full)
    assert "disk full while writing traces.jsonl" in refused("train", "--run-dir", str(tmp_path / "r"))


def test_a_fault_of_our_own_is_not_hidden(loop, tmp_path):
    def broken(config, resume, quiet):
        raise AssertionError("a bug")

    loop(broken)
    with pytest.raises(AssertionError):
        main(["train", "--run-dir", str(tmp_path / "r")])


def test_demo_runs_the_preset_and_prints_where_the_report_is(loop, capsys, tmp_path):
    seen = []
    loop(lambda config, resume, quiet: seen.append(config))
    assert main(["demo", "--run-dir", str(tmp_path / "r"), "--quiet"]) == 0
    assert seen[0].policy.model == "tiny"
    assert capsys.readouterr().out.strip() == str((tmp_path / "r" / "report.html").resolve())


def test_report_prints_the_page_it_made(capsys, tmp_path):
    fake_run(tmp_path / "run", iterations=2)
    assert main(["report", str(tmp_path / "run")]) == 0
    assert Path(capsys.readouterr().out.strip()).stat().st_size > 10_000


def test_envs_lists_every_id_and_every_parameter(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["envs"]) == 0
    listed = capsys.readouterr().out
    for env_id in env_ids():
        assert env_id in listed
    for word in ("closed_containers", "step_budget", "smaller", "pick_clean_then_place_in_recep"):
        assert word in listed


@pytest.mark.parametrize("words", [["--help"], ["envs"], ["envs", "--help"], ["play", "--help"]])
def test_the_command_starts_without_torch(words):
    code = (
        "import sys; from rla_agents.cli import main; code = main(sys.argv[1:]);"
        "heavy = {'torch', 'transformers', 'textworld'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_help_names_every_command(capsys):
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n  {name}" in listed for name in ("train", "demo", "envs", "play", "report", "doctor"))
    assert main([]) == 2


@pytest.mark.parametrize("command", ["train", "demo", "envs", "play", "report", "doctor"])
def test_every_command_has_help(capsys, command):
    assert main([command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: rla {command}")
