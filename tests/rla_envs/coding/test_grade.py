"""Grading says what is right, forgives form, and cannot be talked round."""

import json

import pytest

from rla_envs.coding import Grader, Problem, grade, load_problems
from rla_envs.coding.livebench_rules import functional_program, stdin_program
from rla_envs.errors import InfrastructureError, InputError
from tests.rla_envs.coding import livebench_files as lb
from tests.rla_envs.coding.graders import fenced, grader

BOTH = ("strict", "livebench")
SUM = Problem.stdin("Add.", [("1 2\n", "3\n"), ("5 5\n", "10\n"), ("-1 1\n", "0\n")], public=1, time_limit=1)
ADD = Problem.functional("Add.", "f", [([1, 2], 3), ([5, 5], 10)], time_limit=1)
RIGHT = "print(sum(map(int, input().split())))"


def status(problem, code, grading="strict"):
    return grader(grading).grade(problem, fenced(code)).status


@pytest.mark.parametrize("grading", BOTH)
def test_a_program_passes_if_every_test_does(grading):
    verdict = grader(grading).grade(SUM, fenced(RIGHT))
    assert (verdict.passed, verdict.status, verdict.fraction) == (True, "ok", 1.0)
    assert [test.name for test in verdict.tests] == ["public 1", "private 1", "private 2"]
    assert [test.public for test in verdict.tests] == [True, False, False]
    assert not verdict.cooperative


def test_a_failed_test_says_what_was_expected_and_what_came():
    verdict = grader().grade(SUM, fenced("print(10)"))
    assert [test.status for test in verdict.tests] == ["wrong_answer", "ok", "wrong_answer"]
    assert (verdict.tests[0].expected, verdict.tests[0].output) == ("3\n", "10\n")
    assert verdict.fraction == pytest.approx(1 / 3)


def test_grading_stops_at_the_first_failure_on_request_and_always_as_livebench():
    stopped = grader().grade(SUM, fenced("print(3)"), stop_at="failure")
    assert [test.status for test in stopped.tests] == ["ok", "wrong_answer"]
    assert stopped == grader("livebench").grade(SUM, fenced("print(3)"))
    assert stopped.fraction == pytest.approx(1 / 3)


@pytest.mark.parametrize("grading", BOTH)
def test_an_answer_without_a_program_is_told_from_a_wrong_one(grading):
    verdict = grader(grading).grade(SUM, "The sum is easy to find.")
    assert (verdict.status, verdict.passed, verdict.tests, verdict.fraction) == ("no_code", False, (), 0.0)


@pytest.mark.parametrize("grading", BOTH)
@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("class Solution:\n    def f(self, a: int, b: int) -> int:\n        return a + b", "ok"),
        ("def f(a, b):\n    return a + b", "ok"),
        ("def f(a, b):\n    return float(a + b)", "ok"),
        ("def f(a, xs: List[int] = None):\n    return a + xs", "ok"),
        ("def f(a, b):\n    return str(a + b)", "wrong_answer"),
        ("def f(a, b):\n    return None", "wrong_answer"),
        ("def g(a, b):\n    return a + b", "runtime_error"),
        ("def f(a):\n    return a", "runtime_error"),
        ("def f(a, b):\n    return a / 0", "runtime_error"),
        ("def f(a, b)", "runtime_error"),
        ("def f(a, b):\n    while True: pass", "timeout"),
        ("import sys\ndef f(a, b):\n    sys.exit(0)", "runtime_error"),
    ],
)
def test_functions_are_called_and_their_values_compared(code, wanted, grading):
    assert status(ADD, code, grading) == wanted


FORGERIES = {
    "a number equal to everything": "class Any(int):\n    def __eq__(self, o): return True\n"
    "def f(a, b): return Any(7)",
    "a plain class equal to everything": "class Any:\n    def __eq__(self, o): return True\n"
    "def f(a, b): return Any()",
    "a list equal to everything": "class Any(list):\n    def __eq__(self, o): return True\n"
    "def f(a, b): return Any()",
    "the caller's frames": "import sys\ndef f(a, b):\n    frame = sys._getframe()\n    while frame:\n"
    "        for value in list(frame.f_locals.values()):\n"
    "            if isinstance(value, dict) and 'outputs' in value: return value['outputs'][0]\n"
    "        frame = frame.f_back\n    return 7",
    "a search of the heap": "import gc\ndef f(a, b):\n    for o in gc.get_objects():\n"
    "        if isinstance(o, dict) and 'expected' in o: return o['expected']\n    return 7",
    "a patched json": "import json\njson.dumps = lambda *a, **k: '3'\njson.loads = lambda *a, **k: 3\n"
    "def f(a, b): return 7",
    "a patched operator": "import builtins, operator\noperator.eq = lambda a, b: True\n"
    "builtins.all = lambda x: True\ndef f(a, b): return 7",
    "leaving with success": "import os\ndef f(a, b): os._exit(0)",
    "leaving at import": "import os\nos._exit(0)\ndef f(a, b): return 3",
    "not a number": "def f(a, b): return float('nan')",
    "an endless container": "def f(a, b):\n    x = []\n    x.append(x)\n    return x",
    "the report itself": "def f(a, b): return [['ok', 3], ['ok', 10]]",
}


@pytest.mark.parametrize("grading", BOTH)
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_passes_in_neither_way_of_grading(name, grading):
    verdict = grader(grading).grade(ADD, fenced(FORGERIES[name]))
    assert not verdict.passed
    assert verdict.fraction == 0.0


@pytest.mark.parametrize("grading", BOTH)
def test_a_forged_program_leaves_the_next_verdict_alone(grading):
    for code in FORGERIES.values():
        grader(grading).grade(ADD, fenced(code))
    assert status(ADD, "def f(a, b): return a + b", grading) == "ok"


@pytest.mark.parametrize("grading", BOTH)
@pytest.mark.parametrize("problem", [Problem.stdin("", []), Problem.functional("", "f", [])])
def test_zero_tests_are_an_error_and_never_a_pass(problem, grading):
    with pytest.raises(InputError, match="expected at least one test, got none"):
        grade(problem, fenced("def f(): ..."), grading=grading)


def test_tests_that_an_empty_program_passes_are_an_error():
    with pytest.raises(InputError, match="an empty program would pass"):
        grade(Problem.stdin("", [("1", ""), ("2", "\n")]), fenced("x = 1"))


@pytest.mark.parametrize("answer", [None, 3, b"print(3)", ["print(3)"]])
def test_an_answer_that_is_no_text_is_refused(answer):
    with pytest.raises(InputError, match="answer: expected text"):
        Grader().grade(SUM, answer)


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        ({"grading": "strikt"}, "Did you mean 'strict'"),
        ({"backend": "bubblerap"}, "Did you mean 'bubblewrap'"),
    ],
)
def test_an_unknown_name_is_refused_before_anything_starts(names, hint):
    with pytest.raises(InputError, match=hint):
        grade(SUM, fenced(RIGHT), **names)


@pytest.mark.parametrize(
    ("code", "strict", "livebench"),
    [
        ("import sys\nsys.set_int_max_str_digits(0)\nprint(2**20000)", "ok", "ok"),
        ("print(2**20000)", "runtime_error", "ok"),
        ("import sys\nsys.set_int_max_str_digits(0)\nprint(2**20000 + 1)", "wrong_answer", "wrong_answer"),
    ],
)
def test_thousands_of_digits_are_compared_as_text(code, strict, livebench):
    digits = f"{2**20000:x}"
    exact = _decimal(int(digits, 16))
    assert len(exact) == 6021
    problem = Problem.stdin("", [("", exact)])
    assert status(problem, code) == strict
    assert status(problem, code, "livebench") == livebench


def _decimal(number):
    digits = []
    while number:
        number, last = divmod(number, 10**100)
        digits.append(f"{last:0100d}")
    return "".join(reversed(digits)).lstrip("0")


@pytest.mark.parametrize("grading", BOTH)
def test_huge_integers_are_values_like_any_other(grading):
    problem = Problem.functional("", "f", [([10**5000], 10**5000 + 1)])
    assert status(problem, "def f(x): return x + 1", grading) == "ok"
    assert status(problem, "def f(x): return x", grading) == "wrong_answer"
    assert status(ADD, "def f(a, b): return 10**5000", grading) == "wrong_answer"


@pytest.mark.parametrize("grading", BOTH)
@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.write(1, b'\\xff')",
        "print('\\ud800')",
        "print('\\0')",
        "print('x' * 10**6, end='')",
        "raise ValueError('\\ud800 \\U0001f600')",
        "import sys\nsys.exit('\\udcff')",
    ],
)
def test_output_that_is_no_text_is_a_status_that_can_be_reported(code, grading):
    verdict = grader(grading).grade(SUM, fenced(code), stop_at="failure")
    assert verdict.status in ("wrong_answer", "runtime_error")
    for test in verdict.tests:
        json.dumps([test.output, test.error], ensure_ascii=False).encode()
        assert len(test.output) <= 2000


@pytest.mark.parametrize("grading", BOTH)
def test_a_lone_surrogate_in_answer_or_result_is_a_status(grading):
    assert status(ADD, "def f(a, b): return '\\ud800'", grading) == "wrong_answer"
    assert status(ADD, "def f(a, b): return '\ud800'", grading) in ("runtime_error", "wrong_answer")


@pytest.mark.parametrize("grading", BOTH)
def test_an_emoji_arrives_intact(grading):
    problem = Problem.stdin("", [("🙂 é\n", "é 🙂\n")])
    assert status(problem, "a, b = input().split()\nprint(b, a)", grading) == "ok"


@pytest.mark.parametrize("grading", BOTH)
def test_fifty_megabytes_of_output_are_a_status(grading):
    assert status(SUM, "print('x' * (50 << 20))", grading) in ("output_limit", "memory")


def test_unit_tests_pass_together_and_are_flagged_as_cooperative(tmp_path):
    (problem,) = load_problems("livebench", path=lb.write(tmp_path, lb.suite_row()))
    verdict = grader().grade(problem, fenced("def task_func(a, b):\n    return a + b"))
    assert (verdict.passed, verdict.cooperative, verdict.total) == (True, True, 2)
    wrong = grader().grade(problem, fenced("def task_func(a, b):\n    return a * b"))
    assert [(test.name, test.status) for test in wrong.tests] == [
        ("TestCases.test_small", "wrong_answer"),
        ("TestCases.test_zero", "ok"),
    ]
    broken = grader().grade(problem, fenced("def task_func(a, b):\n    return a[b]"))
    assert [test.status for test in broken.tests] == ["runtime_error", "runtime_error"]


@pytest.mark.parametrize(
    "code",
    [
        "import unittest\nunittest.TestCase.assertEqual = lambda *a: None",
        "import unittest\nunittest.TestLoader.loadTestsFromTestCase = lambda *a: unittest.TestSuite()",
        "import unittest\nclass C(unittest.TestCase):\n    def run(self, result=None): return result\n"
        "unittest.TestCase.run = C.run",
        "import unittest\nunittest.TestCase.setUp = lambda self: self.skipTest('')",
        "import os\nos._exit(0)",
        "raise SystemExit(0)",
    ],
)
def test_a_program_that_bends_the_unit_tests_passes_none(code):
    problem = Problem.unittest("", "task_func", lb.SUITE)
    verdict = grader().grade(problem, fenced(f"{code}\ndef task_func(a, b): return 7"))
    assert not verdict.passed
    assert verdict.fraction == 0.0


def test_a_main_guard_stays_shut_under_unit_tests():
    code = "def task_func(a, b): return a + b\nif __name__ == '__main__':\n    raise SystemExit(3)"
    suite = f"{lb.SUITE}\nif __name__ == '__main__':\n    unittest.main()\n"
    assert grader().grade(Problem.unittest("", "task_func", suite), fenced(code)).passed


def test_unit_tests_that_cannot_run_here_are_never_scored():
    problem = Problem.unittest("", "task_func", f"import not_installed_anywhere\n{lb.SUITE}")
    with pytest.raises(InfrastructureError, match="not_installed_anywhere"):
        grader().grade(problem, fenced("def task_func(a, b): return a + b"))


def test_a_suite_without_tests_is_an_error():
    problem = Problem.unittest("", "f", "import unittest\nclass TestCases(unittest.TestCase): ...")
    with pytest.raises(InputError, match="at least one test"):
        grader().grade(problem, fenced("def f(): ..."))


@pytest.mark.parametrize("code", ["print(1", "\x00", "import math"])
def test_programs_that_cannot_be_rewritten_still_make_programs(code):
    compile(stdin_program(code), "solution.py", "exec")
    compile(functional_program(code), "solution.py", "exec")


def test_a_question_file_is_graded_from_end_to_end(tmp_path):
    rows = [lb.stdin_row(), lb.function_row(), lb.completion_row()]
    stdin, function, completion = load_problems("livebench", path=lb.write(tmp_path, *rows))
    for grading in BOTH:
        judge = grader(grading)
        assert judge.grade(stdin, fenced(RIGHT)).passed
        assert judge.grade(
            function, fenced("class Solution:\n    def f(self, a, b):\n        return a + b")
        ).passed
        assert judge.grade(completion, fenced("    print(a + b)")).passed
        assert judge.grade(completion, fenced(completion.reference_solutions[0])).passed
        assert not judge.grade(completion, fenced("    print(a - b)")).passed


@pytest.mark.parametrize("grading", BOTH)
@pytest.mark.parametrize(
    "value",
    ["{10**5000: 1}", "{10**5000}", "1 << 16_000_000", "{(1 << 20_000,): {1}}", "[1 << 30_000] * 400"],
)
def test_whatever_a_function_returns_is_compared_and_can_be_reported(value, grading):
    problem = Problem.functional("", "f", [([1], {"a": 1})])
    verdict = grader(grading).grade(problem, fenced(f"def f(x): return {value}"))
    assert verdict.status == "wrong_answer"
    assert "integer of" in verdict.tests[0].output or "set of" in verdict.tests[0].output


@pytest.mark.parametrize("grading", BOTH)
def test_a_function_is_imported_and_so_a_main_guard_stays_shut(grading):
    code = "def f(a, b): return a + b\nif __name__ == '__main__':\n    print(f(*map(int, input().split())))"
    assert status(ADD, code, grading) == "ok"


@pytest.mark.parametrize("grading", BOTH)
def test_large_results_of_many_tests_do_not_add_up(grading):
    problem = Problem.functional("", "f", [([i], "x" * 600_000) for i in range(8)])
    assert status(problem, "def f(x): return 'x' * 600000", grading) == "ok"


@pytest.mark.parametrize("problem", [None, "Add.", {"statement": "Add."}])
def test_what_is_no_problem_is_refused(problem):
    with pytest.raises(InputError, match="expected a Problem"):
        grade(problem, fenced(RIGHT))


FAST_IO = """
import os, sys
from io import BytesIO, IOBase
class Fast(IOBase):
    def __init__(self, file):
        self.fd, self.buffer, self.lines = file.fileno(), BytesIO(), 0
        self.write = self.buffer.write
    def readline(self):
        while self.lines == 0:
            data = os.read(self.fd, max(os.fstat(self.fd).st_size, 8192))
            self.lines = data.count(b"\\n") + (not data)
            at = self.buffer.tell()
            self.buffer.seek(0, 2), self.buffer.write(data), self.buffer.seek(at)
        self.lines -= 1
        return self.buffer.readline()
    def flush(self):
        os.write(self.fd, self.buffer.getvalue())
        self.buffer.truncate(0), self.buffer.seek(0)
class Text(IOBase):
    def __init__(self, file):
        self.buffer = Fast(file)
        self.flush = self.buffer.flush
        self.write = lambda text: self.buffer.write(text.encode())
        self.readline = lambda: self.buffer.readline().decode()
sys.stdin, sys.stdout = Text(sys.stdin), Text(sys.stdout)
input = lambda: sys.stdin.readline().rstrip()
"""
UNUSUAL = {
    "buffers of its own": f"{FAST_IO}{RIGHT}",
    "a map of the input": "import mmap\nprint(sum(map(int, mmap.mmap(0, 0, access=1)[:].split())))",
    "another wrapper": f"import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.detach())\n{RIGHT}",
    "fileinput": "import fileinput\nfor line in fileinput.input(): print(sum(map(int, line.split())))",
    "up to the end": "try:\n while True: print(sum(map(int, input().split())), end=' ')\nexcept: pass",
    "an exit handler": "import atexit\nn = sum(map(int, input().split()))\natexit.register(lambda: print(n))",
    "leaving at once": f"import os\n{RIGHT.replace('))))', '))), flush=True)')}\nos._exit(0)",
    "an event loop": f"import asyncio\nasync def main(): {RIGHT}\nasyncio.run(main())",
    "a pool of threads": "from concurrent.futures import ThreadPoolExecutor as Pool\n"
    "with Pool(4) as pool: print(sum(pool.map(int, input().split())))",
    "a deep recursion through C": "import sys\nfrom functools import cache\nsys.setrecursionlimit(10**6)\n"
    f"@cache\ndef depth(n): return 0 if n == 0 else 1 + depth(n - 1)\ndepth(50000)\n{RIGHT}",
    "a file of its own": "import tempfile\nf = tempfile.TemporaryFile('w+')\nf.write(input())\nf.seek(0)\n"
    "print(sum(map(int, f.read().split())))",
    "pickles": "import pickle\nclass Sum:\n  def __init__(s, n): s.n = n\n"
    "print(pickle.loads(pickle.dumps(Sum(sum(map(int, input().split()))))).n)",
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_a_right_program_passes_however_unusual(name):
    assert status(SUM, UNUSUAL[name]) == "ok"


@pytest.mark.parametrize(
    "code",
    [
        "import os\ndef f(n):\n if os.path.exists('left'): return -1\n open('left', 'w')\n return n",
        "import json\ndef f(n):\n    json.left = n = n + getattr(json, 'left', 0)\n    return n",
        "import math\ndef f(n):\n    math.floor = math.floor(n - 1).__add__\n    return math.floor(1)",
    ],
)
def test_a_right_function_is_not_wrong_for_what_its_earlier_calls_left(code):
    problem = Problem.functional("", "f", [([n], n) for n in range(1, 13)])
    assert status(problem, code) == "ok"
    wrong = Problem.functional("", "f", [([n], n + (n == 9)) for n in range(1, 13)])
    assert [test.passed for test in grader().grade(wrong, fenced(code)).tests] == [
        n != 9 for n in range(1, 13)
    ]
