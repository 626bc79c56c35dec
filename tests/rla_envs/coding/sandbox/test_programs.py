"""What programs find in the sandbox, and how it says what became of them."""

import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from rla_envs.coding.sandbox import Limits, Status, open_sandbox
from rla_envs.coding.sandbox.interpreter import base_interpreter
from rla_envs.errors import InputError, UnknownNameError

SHORT = Limits(time_limit=0.3, memory_mb=256, output_bytes=4 << 20)
SUM = "n = int(input())\nprint(sum(map(int, input().split())))"


def run(sandbox, source, given="", limits=SHORT):
    (only,) = sandbox.run_stdin(source, [given], limits)
    return only


def call(sandbox, source, *arguments, limits=SHORT):
    (only,) = sandbox.run_functional(source, "f", [arguments], limits)
    return only


def test_a_program_reads_its_input_and_prints(sandbox):
    runs = list(sandbox.run_stdin(SUM, ["3\n1 2 3\n", b"2\n40 2", "0\n\n"]))
    assert [(r.status, r.stdout, r.exit_code, r.error) for r in runs] == [
        ("ok", b"6\n", 0, ""),
        ("ok", b"42\n", 0, ""),
        ("ok", b"0\n", 0, ""),
    ]


def test_no_more_tests_run_than_are_asked_for(sandbox):
    given = iter(["1\n1", "1\n2", "1\n3"])
    runs = sandbox.run_stdin(SUM, given)
    assert next(runs).stdout == b"1\n"
    assert list(given) == ["1\n2", "1\n3"]


@pytest.mark.parametrize(
    "reading",
    [
        "import sys; data = sys.stdin.read()",
        "import sys; data = sys.stdin.buffer.read().decode()",
        "data = open(0).read()",
        "import os; data = os.read(0, 99).decode()",
        "data = open('/dev/stdin').read()",
        "import sys; data = ''.join(sys.stdin)",
        "import io, os, sys; data = io.BytesIO(os.read(0, os.fstat(0).st_size)).readline().decode()",
        "import fileinput; data = ''.join(fileinput.input())",
        "global data; data = input()",
    ],
)
def test_every_way_to_read_the_input_works(sandbox, reading):
    assert run(sandbox, f"{reading}\nprint(len(data), data)", "héé 😀").stdout == "5 héé 😀\n".encode()


@pytest.mark.parametrize(
    "printing",
    [
        "import sys; sys.stdout.write('out\\n')",
        "import sys; sys.stdout.buffer.write(b'out\\n')",
        "import os; os.write(1, b'out\\n')",
        "open(1, 'w').write('out\\n')",
        "file = open(1, 'w')\nfile.write('out\\n')",
        "import sys; sys.stdout = open(1, 'w'); print('out')",
        "import atexit; atexit.register(print, 'out')",
        "import threading; threading.Thread(target=print, args=('out',)).start()",
        "import sys; print('out'); sys.exit()",
        "def main(): print('out')\nif __name__ == '__main__':\n    main()\nelse:\n    print('not main')",
        "print('out'); exit(0)",
        "import asyncio\nasync def main(): print('out')\nasyncio.run(main())",
        "import io, os, sys\nclass Fast(io.IOBase):\n    def __init__(s): s.b = io.BytesIO()\n"
        "    def write(s, t): s.b.write(t.encode())\n"
        "    def flush(s): os.write(1, s.b.getvalue()); s.b = io.BytesIO()\n"
        "sys.stdout = Fast()\nprint('out')",
    ],
)
def test_every_way_to_print_works_as_in_python(sandbox, printing):
    here = subprocess.run([sys.executable, "-c", printing], capture_output=True, check=False)
    result = run(sandbox, printing)
    assert (result.status, result.stdout) == ("ok", b"out\n") == ("ok", here.stdout)


@pytest.mark.parametrize(
    ("source", "status", "code", "told"),
    [
        ("print(1 / 0)", Status.RUNTIME_ERROR, 1, "ZeroDivisionError: division by zero"),
        ("import sys; print('x'); sys.exit(3)", Status.RUNTIME_ERROR, 3, "exit code 3"),
        ("import sys; sys.exit('sorry')", Status.RUNTIME_ERROR, 1, "sorry"),
        ("def f(:\n", Status.RUNTIME_ERROR, 1, "SyntaxError"),
        ("x = '\0'", Status.RUNTIME_ERROR, 1, "null bytes"),
        ("raise KeyboardInterrupt", Status.RUNTIME_ERROR, 1, "KeyboardInterrupt"),
        ("import os; os.abort()", Status.RUNTIME_ERROR, None, "killed by SIG"),
        ("print(open('/etc/passwd'))", Status.RUNTIME_ERROR, 1, "FileNotFoundError"),
        ("while True: pass", Status.TIMEOUT, None, "time limit of 0.3 s"),
        ("import time; time.sleep(99)", Status.TIMEOUT, None, "time limit of 0.3 s"),
        ("x = bytearray(1 << 30)", Status.MEMORY, 121, "limit of 256 MiB"),
        ("print('x' * (8 << 20))", Status.OUTPUT_LIMIT, None, "limit of 4194304 bytes"),
    ],
)
def test_the_status_says_what_went_wrong_and_the_error_says_it_in_words(sandbox, source, status, code, told):
    result = run(sandbox, source)
    assert result.status is status
    assert told in result.error
    if code is not None:
        assert result.exit_code == code


def test_an_error_shows_the_programs_own_lines_and_nothing_of_the_sandbox(sandbox):
    error = run(sandbox, "def inner(x):\n    return 1 / x\n\n\ninner(0)\n").error
    assert 'File "solution.py", line 2, in inner\n    return 1 / x' in error
    assert "guest" not in error
    called = call(sandbox, "def f(x):\n    return 1 / x", 0).error
    assert 'File "solution.py", line 2, in f\n    return 1 / x' in called
    assert "guest" not in called


def test_output_just_within_its_limit_is_kept_whole(sandbox):
    limits = Limits(time_limit=5, output_bytes=1 << 20)
    assert (
        run(sandbox, "print('x' * ((1 << 20) - 1))", limits=limits).stdout == b"x" * ((1 << 20) - 1) + b"\n"
    )
    assert run(sandbox, "print('x' * (1 << 20))", limits=limits).status == "output_limit"


def test_fifty_megabytes_of_output_are_an_output_limit(sandbox):
    result = run(sandbox, "import sys\nsys.stdout.write('x' * (50 << 20))", limits=Limits(time_limit=5))
    assert result.status == "output_limit"


def test_large_input_arrives_whole(sandbox):
    data = "1234567 " * (1 << 18)
    result = run(sandbox, "print(len(input().split()))", data, Limits(time_limit=5))
    assert result.stdout == b"262144\n"


@pytest.mark.parametrize(
    ("source", "stdout", "status"),
    [
        ("import sys; sys.stdout.buffer.write(b'\\xff')", b"\xff", "ok"),
        ("print('a\\0b')", b"a\0b\n", "ok"),
        ("print('x' * (1 << 20), end='')", b"x" * (1 << 20), "ok"),
        ("print('\\ud83d')", b"", "runtime_error"),
        ("raise ValueError('\\ud83d \\0 \\xff')", b"", "runtime_error"),
        ("import sys; sys.stderr.buffer.write(b'\\xff\\0'); sys.exit(1)", b"", "runtime_error"),
    ],
)
def test_output_that_is_no_text_is_a_status_and_can_be_read(sandbox, source, stdout, status):
    result = run(sandbox, source)
    assert (result.status, result.stdout) == (status, stdout)
    for told in (result.text, result.error):
        assert told.encode("utf-8").decode() == told
    assert all(c.isprintable() or c in "\n\t" for c in result.error)


def test_half_a_character_can_be_returned_and_raised(sandbox):
    assert call(sandbox, "def f(): return '\\ud83d'").value == "\ud83d"
    error = call(sandbox, "def f(): raise ValueError('\\ud83d')").error
    assert "ValueError: \\ud83d" in error


POWER = "x = 2 ** 20000\n"


def test_integers_have_as_many_digits_as_in_python(sandbox):
    lifted = run(sandbox, f"import sys\nsys.set_int_max_str_digits(0)\n{POWER}print(x)")
    assert (lifted.status, len(lifted.stdout)) == ("ok", 6022)
    assert run(sandbox, f"{POWER}print(x)").status == "runtime_error"
    returned = call(sandbox, "def f(): return 10 ** 5000")
    assert (returned.status, returned.value == 10**5000) == ("ok", True)
    repr(returned)


def test_threads_work_and_their_stacks_count_as_memory(sandbox):
    deep = """
import sys, threading
sys.setrecursionlimit(200000)
threading.stack_size(512 << 20)
def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
threading.Thread(target=lambda: print(depth(100000))).start()
"""
    assert run(sandbox, deep, limits=Limits(time_limit=5, memory_mb=1024)).stdout == b"100000\n"
    refused = run(sandbox, deep, limits=Limits(time_limit=5, memory_mb=256))
    assert (refused.status, "can't start new thread" in refused.error) == ("runtime_error", True)


def test_a_program_sees_one_core_and_no_packages_on_every_machine(sandbox):
    counting = """
import multiprocessing, os
print(multiprocessing.cpu_count(), os.cpu_count(), os.sched_getaffinity(0))
"""
    assert run(sandbox, counting).stdout == b"1 1 {0}\n"
    numpy = run(sandbox, "import numpy as np; print(int(np.arange(10).sum()))")
    assert (numpy.status, "ModuleNotFoundError: No module named 'numpy'" in numpy.error) == (
        "runtime_error",
        True,
    )


IMPORT_ALL = """
import importlib, sys
failed = []
no_screen = {'antigravity', 'this', 'idlelib', 'turtle', 'tkinter', '_tkinter'}
for name in sorted(sys.stdlib_module_names - no_screen):
    try:
        importlib.import_module(name)
    except ImportError:
        failed.append(name)
print(failed)
"""


def test_all_of_the_standard_library_can_be_imported_that_can_be_here(sandbox):
    command = [base_interpreter(), "-I", "-S", "-W", "ignore", "-c", IMPORT_ALL]
    here = subprocess.run(command, capture_output=True, check=True)
    there = run(sandbox, f"import warnings\nwarnings.simplefilter('ignore')\n{IMPORT_ALL}", limits=Limits())
    assert (there.status, there.stdout) == ("ok", here.stdout), there.error


def test_deep_recursion_in_python_needs_no_special_care(sandbox):
    source = "def depth(n): return 0 if n == 0 else 1 + depth(n - 1)\nprint(depth(40000))"
    assert run(sandbox, source, limits=Limits(time_limit=5)).stdout == b"40000\n"


def test_a_stack_limit_may_be_raised_as_programs_do(sandbox):
    raising = "resource.setrlimit(resource.RLIMIT_STACK, (2 ** 29, resource.RLIM_INFINITY))"
    assert run(sandbox, f"import resource\n{raising}").status == "ok"


def test_chance_and_hashes_are_the_same_every_time(bubblewrap):
    source = "import random\nprint(random.random(), hash('a'), list({'x', 'y', 'z'}))"
    seen = set()
    for _ in range(2):
        with open_sandbox() as opened:
            seen |= {result.stdout for result in opened.run_stdin(source, ["", ""])}
    assert len(seen) == 1


def test_a_function_is_called_once_for_each_list_of_arguments(sandbox):
    runs = list(
        sandbox.run_functional("def f(a, b=1): return a + b", "f", [[i, 2] for i in range(200)] + [[7]])
    )
    assert [r.value for r in runs] == [i + 2 for i in range(200)] + [8]
    assert {r.status for r in runs} == {"ok"}


def test_a_method_of_solution_goes_before_a_function_of_that_name(sandbox):
    source = """
class Solution:
    def f(self): return 'method'
class Other:
    def f(self): return 3
def f(): return 'function'
"""
    assert next(sandbox.run_functional(source, "f", [[]])).value == "method"
    assert next(sandbox.run_functional(source, "Other.f", [[]])).value == 3
    assert "expected the program to define 'g'" in next(sandbox.run_functional(source, "g", [[]])).error


def test_nothing_a_program_keeps_reaches_the_next_call(sandbox):
    source = """
calls = []
class Solution:
    seen = []
    def f(self, x, kept=[]):
        for store in (calls, self.seen, kept): store.append(x)
        return [len(calls), len(self.seen), len(kept)]
"""
    assert [r.value for r in sandbox.run_functional(source, "f", [[i] for i in range(20)])] == [
        [1, 1, 1]
    ] * 20


def test_values_keep_their_types(sandbox):
    value = [
        None,
        True,
        1,
        -(10**30),
        1.5,
        "é😀",
        b"\xff",
        (1, (2,)),
        {1: "a", (1, 2): None},
        {3, 4},
        frozenset({5}),
    ]
    returned = call(sandbox, "def f(x): return x", value).value
    assert returned == value
    assert [type(a) for a in returned] == [type(a) for a in value]


def test_what_extends_a_plain_type_is_taken_for_it(sandbox):
    source = """
import collections, enum
class Colour(enum.IntEnum):
    RED = 1
Point = collections.namedtuple('Point', 'x y')
def f(): return [collections.Counter('aab'), collections.defaultdict(list, {1: [2]}), Colour.RED, Point(1, 2)]
"""
    assert call(sandbox, source).value == [{"a": 2, "b": 1}, {1: [2]}, 1, (1, 2)]


def test_what_a_function_prints_is_thrown_away_and_its_input_is_empty(sandbox):
    source = "import sys\ndef f(x):\n    print('x' * 10 ** 6)\n    return [x, sys.stdin.read()]"
    assert call(sandbox, source, 5).value == [5, ""]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("while True: pass", "timeout"),
        ("return bytearray(1 << 30)", "memory"),
        ("return 'x' * (4 << 20)", "output_limit"),
        ("raise ValueError", "runtime_error"),
        ("import os; os._exit(0)", "runtime_error"),
        ("return object()", "runtime_error"),
    ],
)
def test_a_call_that_fails_is_told_and_those_after_it_still_run(sandbox, body, status):
    source = f"def f(x):\n    if x == 3:\n        {body}\n    return x"
    runs = list(sandbox.run_functional(source, "f", [[i] for i in range(6)], SHORT))
    assert [r.status for r in runs] == ["ok"] * 3 + [status] + ["ok"] * 2
    assert [r.value for r in runs if r.status == "ok"] == [0, 1, 2, 4, 5]


def test_a_call_never_fails_because_of_what_earlier_calls_left(sandbox):
    keeping = "sys.kept = getattr(sys, 'kept', []) + [bytearray(100 << 20)]"
    source = f"import sys\ndef f(x):\n    {keeping}\n    return x"
    # Filling 100 MiB takes a busy machine longer than all else that is tested here.
    runs = sandbox.run_functional(source, "f", [[i] for i in range(6)], replace(SHORT, time_limit=5.0))
    assert [r.status for r in runs] == ["ok"] * 6


SUITE = "import unittest\nclass TestCases(unittest.TestCase):\n"


PASSES = "    def test_a(self): pass"
FAILS = "    def test_a(self): self.assertEqual(1, 2)"
CALLS = "    def test_a(self): self.assertEqual(f(1), 1)"
PATCHED = "import unittest\nunittest."
OWN_CASE = "import unittest\nclass Mine(unittest.TestCase):\n    def test_b(self): pass"


@pytest.mark.parametrize(
    ("program", "tests", "expected", "status", "told"),
    [
        ("def f(x): return x", CALLS, 1, "ok", ""),
        ("def f(x): return 2", CALLS, 1, "wrong_answer", "2 != 1"),
        ("def f(x): return x.y", CALLS, 1, "runtime_error", "has no attribute"),
        ("", PASSES, 2, "wrong_answer", "expected 2 tests to run, 1 did"),
        ("", "    @unittest.skip('x')\n    def test_a(self): pass", 1, "wrong_answer", ""),
        (
            PATCHED + "TestCase.assertEqual = lambda *a: 0",
            FAILS,
            1,
            "wrong_answer",
            "changed the test machinery",
        ),
        (PATCHED + "TestCase.run = lambda s, r: r.startTest(s)", FAILS, 1, "wrong_answer", "changed"),
        (
            PATCHED + "TestLoader.loadTestsFromTestCase = lambda *a: unittest.TestSuite()",
            FAILS,
            1,
            "wrong_answer",
            "",
        ),
        ("import os; os._exit(0)", PASSES, 1, "runtime_error", "exit code 0"),
        ("import sys; sys.exit(0)", PASSES, 1, "runtime_error", "SystemExit"),
        ("while True: pass", PASSES, 1, "timeout", "time limit"),
        (OWN_CASE, PASSES, 1, "ok", ""),
    ],
)
def test_a_suite_is_judged_by_outcomes_number_and_canaries(sandbox, program, tests, expected, status, told):
    result = sandbox.run_unittest(program, SUITE + tests, expected, SHORT)
    assert result.status == status, result
    assert told in result.error


def test_no_tests_are_an_error_and_never_a_pass(sandbox):
    with pytest.raises(InputError, match="1 or more, got 0"):
        sandbox.run_unittest("", "", 0)
    assert sandbox.run_unittest("", "", 1).status == "wrong_answer"


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"time_limit": 0}, "time_limit: expected a number from 0.01"),
        ({"time_limit": float("nan")}, "time_limit"),
        ({"memory_mb": 1.5}, "memory_mb: expected"),
        ({"output_bytes": True}, "output_bytes: expected"),
    ],
)
def test_limits_that_cannot_be_set_are_refused(limits, told):
    with pytest.raises(InputError, match=told):
        Limits(**limits)


def test_an_unknown_backend_is_refused_with_the_closest():
    with pytest.raises(UnknownNameError, match="Did you mean 'bubblewrap'"):
        open_sandbox("bublewrap")


def test_arguments_that_are_no_plain_values_are_refused(sandbox):
    with pytest.raises(InputError, match="arguments of a call: expected a plain value"):
        list(sandbox.run_functional("def f(x): return x", "f", [[object()]]))


BUSY = (
    "import time\nbegan = time.process_time()\nwhile time.process_time() - began < 0.4: pass\nprint('done')"
)


def test_neighbours_cost_no_time(bubblewrap):
    statuses = []

    def work():
        with open_sandbox() as opened:
            statuses.append(run(opened, BUSY, limits=Limits(time_limit=0.6)).status)

    neighbours = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()
    assert statuses == ["ok"] * 4
