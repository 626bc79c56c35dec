"""Every attack is contained, and neither this machine nor the next test notices."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rla_envs.coding.sandbox import Limits, open_sandbox
from tests.rla_envs.coding.sandbox.attacks import ATTACKS, FORGERIES, PRELUDE

LIMITS = Limits(time_limit=0.25, memory_mb=256, output_bytes=4 << 20)
GOOD = "import os\nprint(sum(map(int, input().split())), os.listdir('/tmp'))"
REPOSITORY = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def canary(tmp_path_factory):
    path = tmp_path_factory.mktemp("host") / "canary"
    path.write_text("secret")
    return path


def run_attack(sandbox, attack, canary):
    # Filling 256 MiB takes a busy machine longer than all else an attack does.
    limits = replace(LIMITS, time_limit=5.0) if attack.name.startswith("memory bomb") else LIMITS
    (run,) = sandbox.run_stdin(PRELUDE + attack.source.replace("CANARY", str(canary)), ["input"], limits)
    return run


def assert_that_the_next_test_is_unaffected(sandbox):
    (after,) = sandbox.run_stdin(GOOD, ["1 2 3"], LIMITS)
    assert (after.status, after.stdout) == ("ok", b"6 []\n")


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_is_contained(sandbox, canary, attack):
    before = sandbox.infrastructure_failures
    run = run_attack(sandbox, attack, canary)
    assert "BROKE" not in run.text
    assert run.status in attack.ends, run
    if tuple(attack.ends) == ("ok",) and "os._exit" not in attack.source:
        assert "HELD" in run.text
    assert sandbox.infrastructure_failures == before, "it must not pass for a fault of the machinery"
    assert_that_the_next_test_is_unaffected(sandbox)
    assert canary.read_text() == "secret"


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_result_is_never_the_expected_one(sandbox, name):
    before = sandbox.infrastructure_failures
    runs = list(sandbox.run_functional(FORGERIES[name], "f", [[1], [2]], LIMITS))
    assert len(runs) == 2
    for run in runs:
        assert run.status in ("ok", "runtime_error", "timeout", "memory", "output_limit")
        assert type(run.value) in (type(None), bool, int, float, str, list, dict)
        assert (run.value == 42) is False
        run.error.encode()
    assert sandbox.infrastructure_failures == before
    assert_that_the_next_test_is_unaffected(sandbox)


def test_there_are_at_least_sixty_attacks_of_different_names_each_with_the_layer_that_stops_it():
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 60
    assert all(attack.layer for attack in ATTACKS)


SCAN = """
import ctypes, gc, re
libc = ctypes.CDLL(None)
libc.sbrk.restype = ctypes.c_void_p
libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
things = [*gc.get_objects(), *(part for thing in gc.get_objects() for part in gc.get_referents(thing))]
end = libc.sbrk(0)
starts = {id(thing) >> 16 << 16 for thing in things} | set(range(end - (16 << 20) >> 16 << 16, end, 1 << 16))
read = found = 0
for start in starts:
    for page in range(start, start + (1 << 16), 4096):
        if libc.mincore(page, 4096, ctypes.create_string_buffer(1)) == 0:
            read += 1
            found += re.search(b'(?:MARKE[R]){50}', ctypes.string_at(page, 4096)) is not None
print(read > 1000, found)
"""


def test_no_trace_of_a_program_or_its_input_is_in_the_memory_of_the_next(sandbox):
    marked = f"x = '{'MARKER' * 100}'\nprint(x, input())\n"
    called = f"x = '{'MARKER' * 100}'\ndef f(a): return a + x"
    for _ in range(3):
        assert next(sandbox.run_stdin(marked, ["MARKER" * 100])).status == "ok"
        assert next(sandbox.run_functional(called, "f", [["MARKER" * 100]])).status == "ok"
    (run,) = sandbox.run_stdin(SCAN, [""])
    assert (run.status, run.text) == ("ok", "True 0\n"), run
    (run,) = sandbox.run_stdin(f"x = '{'MARKER' * 100}'\n{SCAN}", [""])
    assert run.text not in ("", "True 0\n"), "the search finds nothing even where there is something"


@pytest.fixture
def no_walls():
    with pytest.warns(RuntimeWarning, match="does NOT isolate"):
        sandbox = open_sandbox("rlimits")
    with sandbox:
        yield sandbox


@pytest.mark.parametrize("attack", [a for a in ATTACKS if a.breaks_out], ids=lambda attack: attack.name)
def test_an_attack_on_what_is_outside_does_get_through_where_there_are_no_walls(no_walls, canary, attack):
    assert "BROKE" in run_attack(no_walls, attack, canary).text


@pytest.mark.skipif(os.geteuid() != 0, reason="this is already an ordinary user's run")
def test_every_attack_is_contained_for_an_ordinary_user_as_well(bubblewrap):
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts="]
    words += ["--import-mode=importlib", "-k", "contained or forged or memory", __file__]
    command = [sys.executable, str(Path(__file__).with_name("ordinary_user.py")), str(REPOSITORY), *words]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert f"{len(ATTACKS) + len(FORGERIES) + 1} passed" in done.stdout
