"""A long run of desktops: what it must find nothing of, and that it finds what is there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import osworld_soak
from rla_envs.osworld.desktop import packages

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def local_desktops():
    missing = packages.missing()
    if missing:
        pytest.skip(f"a real desktop needs Debian packages: {' '.join(missing)}")


def test_nothing_is_left_of_processes_that_are_killed_while_they_start_desktops(local_desktops, tmp_path):
    # In a process of its own: it makes itself the parent of all that is orphaned.
    words = ["--resets", "0", "--kills", "5", "--trees", "0", "--quiet", "--json", str(tmp_path / "out.json")]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.osworld_soak", *words],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    figures = json.loads((tmp_path / "out.json").read_text())
    assert figures["kills"] == {"count": 5, "faults": []}


LEAKING = """
import subprocess
subprocess.Popen(["sleep", "1000"], start_new_session=True)
print("started", flush=True)
input()
"""


def test_a_process_that_outlives_the_one_that_started_it_is_found():
    code = (
        "from benchmarks import osworld_soak as soak\n"
        f"soak.GONE_WITHIN, soak._START = 0.2, {LEAKING!r}\n"
        "print(list(soak.kills(1)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("['sleep 1000 ']\n", "")


def test_what_grows_is_a_fault_and_what_swings_is_none():
    steady = [osworld_soak.Sample(i, 1.0, 40 + i % 3, 2, 3, 9, 5, 100) for i in range(40)]
    assert set(osworld_soak.growth(steady).values()) == {0.0}
    starting = [*steady[:12], steady[12]._replace(processes=30), *steady[13:]]
    assert osworld_soak.growth(starting)["processes"] == 0.0
    for name in osworld_soak.GROWING:
        leaking = [s._replace(**{name: getattr(s, name) + i // 10}) for i, s in enumerate(steady)]
        assert osworld_soak.growth(leaking)[name] == 2.0


def test_windows_are_told_by_their_titles_and_menus():
    tree = "<desktop-frame><frame name='a'><panel><menu name='File'/></panel></frame></desktop-frame>"
    assert osworld_soak.windows_in(tree) == {"a": ("File",)}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--resets", "-1"], "--resets: expected 0 or more, got -1"),
        (["--tasks", "/nonexistent"], "--tasks: expected a folder with a task that can run here"),
    ],
)
def test_bad_arguments_are_one_line_and_exit_2(capsys, words, message):
    assert osworld_soak.main([*words, "--quiet"]) == 2
    assert message in capsys.readouterr().err
