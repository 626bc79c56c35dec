"""Decide whether a problem may be presented: some program must solve it, and none that is wrong may."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from rla_envs.coding.grade import Grader, Verdict, require_tests
from rla_envs.coding.problem import Problem
from rla_envs.errors import InputError

LEAST_AGREEING = 2
"""Independent programs that must agree on every test where no reference does."""


def problem_fault(problem: Problem, grader: Grader) -> str:
    """Return why a problem must not be presented, in one line; empty if it may be.

    It needs a test that an empty program fails, and reference solutions, every
    one of which passes all tests.
    """
    try:
        require_tests(problem)
    except InputError as error:
        return str(error)
    if not problem.reference_solutions:
        return "no program is known that solves it"
    for number, code in enumerate(problem.reference_solutions, start=1):
        verdict = grader.grade_code(problem, code, stop_at_failure=True)
        if not verdict.passed:
            return f"reference solution {number} fails: {_why(verdict)}"
    return ""


def passing_programs(problem: Problem, codes: Sequence[str], grader: Grader) -> list[str]:
    """Return the programs that pass every test, without those that only repeat another in other layout."""
    found: dict[str, str] = {}
    for code in codes:
        key = _structure(code)
        if key and key not in found and grader.grade_code(problem, code, stop_at_failure=True).passed:
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
