"""A Problem is a frozen value that survives JSON, and refuses what could not be graded."""

import dataclasses
import math
import pickle

import pytest

from rla_envs.coding import Case, Problem
from rla_envs.errors import InputError
from rla_envs.task import Task

STDIN = Problem.stdin(
    "Add.",
    [("1 2\n", "3\n"), ("0 0\n", "0\n")],
    public=1,
    reference_solutions=("print(sum(map(int, input().split())))",),
    metadata={"steps": [1, 2]},
    time_limit=2.5,
    memory_mb=64,
)
FUNCTION = Problem.functional("Add.", "add", [([1, (2, 3)], 10**5000), (["a\ud800\n"], {"k": None})])
SUITE = Problem.unittest("Add.", "add", "class TestCases: ...", source="livebench", release_date="2024-11-25")


@pytest.mark.parametrize("problem", [STDIN, FUNCTION, SUITE])
def test_a_problem_survives_json_pickle_and_a_tasks_payload(problem):
    assert Problem.from_json(problem.to_json()) == problem
    assert pickle.loads(pickle.dumps(problem)) == problem
    task = Task.from_json(Task("RLA/LiveBenchCoding-v0", {}, {"problem": problem.to_dict()}).to_json())
    assert Problem.from_dict(task.payload["problem"]) == problem
    assert hash(Problem.from_json(problem.to_json())) == hash(problem)


def test_public_tests_come_first_and_both_kinds_count():
    assert STDIN.public_tests == (Case("1 2\n", "3\n"),)
    assert STDIN.tests == (Case("1 2\n", "3\n"), Case("0 0\n", "0\n"))


def test_arguments_are_one_json_value_a_line_and_read_back_as_values():
    assert FUNCTION.tests[0].input == "1\n[2, 3]"
    assert FUNCTION.tests[0].arguments == [1, [2, 3]]
    assert FUNCTION.tests[0].expected == 10**5000
    assert FUNCTION.tests[1].arguments == ["a\ud800\n"]


def test_nothing_in_a_problem_can_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        STDIN.statement = "Subtract."
    with pytest.raises(TypeError, match="frozen"):
        STDIN.metadata["steps"] = 3


def test_the_id_follows_the_content_and_a_copy_with_other_content_gets_its_own():
    assert Problem.from_json(STDIN.to_json()).id == STDIN.id
    assert STDIN.replace(statement="Subtract.").id != STDIN.id
    assert STDIN.replace(statement="Subtract.", id="mine").id == "mine"


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Problem.stdin("", [(1, "2")]), r"private_tests\[0\].input"),
        (lambda: Problem.stdin("", [("1", None)]), r"private_tests\[0\].output: expected a string, got None"),
        (lambda: Problem.stdin("", ["12"]), r"expected a pair \(input, output\)"),
        (lambda: Problem.stdin("", [("1",)]), "expected a pair"),
        (lambda: Problem.stdin("", None), "tests: expected a list of pairs, got None"),
        (lambda: Problem.stdin("", "12"), "tests: expected a list of pairs"),
        (lambda: Problem.functional("", "f", {"1": 2}), "tests: expected a list of pairs"),
        (
            lambda: Problem.stdin("", [("1", "2")], public=-1),
            "public: expected a number of tests from 0 to 1",
        ),
        (lambda: Problem.functional("", "f", [([1], 2)], public=2), "public: expected a number of tests"),
        (lambda: Problem.functional("", "f", [(1, 2)]), "list of arguments"),
        (lambda: Problem.functional("", "f", [([math.nan], 2)]), "finite number"),
        (lambda: Problem.functional("", "f", [([1], math.inf)]), "finite number"),
        (lambda: Problem.functional("", "f()", [([1], 1)]), "entry_point"),
        (lambda: Problem("", "functional", private_tests=(Case("1", "NaN"),), entry_point="f"), "NaN"),
        (lambda: Problem("", "stdio"), "Did you mean 'stdin'"),
        (lambda: Problem(3, "stdin"), "Problem.statement: expected a string, got 3"),
        (lambda: Problem.stdin("", [], time_limit=0), "time_limit"),
        (lambda: Problem.stdin("", [], time_limit=math.inf), "time_limit"),
        (lambda: Problem.stdin("", [], memory_mb="64"), "memory_mb"),
        (lambda: Problem.stdin("", [], reference_solutions="print(1)"), "reference_solutions"),
        (lambda: Problem.from_json("[1]"), "expected a JSON object"),
        (lambda: Problem.from_json("{"), "expected JSON text"),
        (lambda: Problem.from_json('{"kind": "stdin"}'), "missing field 'statement'"),
        (lambda: Problem.from_json('{"kind": "stdin", "statement": "", "tests": []}'), "unknown field"),
    ],
)
def test_what_cannot_be_a_problem_is_refused_by_field(make, named):
    with pytest.raises(InputError, match=named):
        make()
