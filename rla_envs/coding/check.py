"""Decide whether a problem may be presented: some program must solve it, and none that is wrong may."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from rla_envs.coding.grade import Grader, Verdict, require_tests
from rla_envs.coding.problem import Problem
from rla_envs.errors import InputError

LEAST_AGREEING = 2
"""Independent programs that must agree on every test where no reference does."""


_KEPT = 4096
_FAULTS: dict[tuple[str, str, str], str] = {}
"""Verdicts on the last problems: a check runs a program on every test, and a task is checked often."""


def problem_fault(problem: Problem, grader: Grader) -> str:
    """Return why a problem must not be presented, in one line; empty if it may be.

    It needs a test that an empty program fails, and reference solutions, every
    one of which passes all tests. Each problem is checked once in a process.

    Raises:
        InfrastructureError: If the sandbox failed; says nothing about the problem.
    """
    key = (problem.content_hash, grader.grading, grader.backend)
    if key not in _FAULTS:
        fault = _fault(problem, grader)
        while len(_FAULTS) >= _KEPT:
            _FAULTS.pop(next(iter(_FAULTS)))
        _FAULTS[key] = fault
    return _FAULTS[key]


def _fault(problem: Problem, grader: Grader) -> str:
    try:
        require_tests(problem)
    except InputError as error:
        return str(error)
    if not problem.reference_solutions:
        return "no program is known that solves it"
    for number, code in enumerate(problem.reference_solutions, start=1):
        verdict = grader.grade_code(problem, code, stop_at="failure")
        if not verdict.passed:
            return f"reference solution {number} fails: {_why(verdict)}"
    return ""


def passing_programs(problem: Problem, codes: Sequence[str], grader: Grader) -> list[str]:
    """Return the programs that pass every test, without those that only repeat another in other layout."""
    found: dict[str, str] = {}
    for code in codes:
        key = _structure(code)
        if key and key not in found and grader.grade_code(problem, code, stop_at="failure").passed:
            found[key] = code
    return list(found.values())


def _structure(code: str) -> str:
    """Return what two copies of a program share whatever their comments and layout; empty if it is none."""
    try:
        return ast.dump(ast.parse(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _why(verdict: Verdict) -> str:
    failed = next(test for test in verdict.tests if not test.passed)
    error = failed.error.strip().splitlines()
    return f"{failed.name} is {failed.status}" + (f" ({error[-1]})" if error else "")
