"""What the solver reads: the problem, and after an attempt what the public tests said."""

from __future__ import annotations

from rla_envs.coding.grade import NO_CODE, TestResult, Verdict
from rla_envs.coding.problem import Problem

_SHOWN = 600
"""Characters of an input or output that feedback shows."""

_WITH_EXAMPLES = ("generated", "humaneval")
"""Sources whose statements hold examples already."""

_FENCE_HINT = "no program was found in the answer; put the whole program between ```python and ``` lines"


def prompt(problem: Problem) -> str:
    """Return a problem as the solver reads it.

    LiveBench's questions say themselves how to answer and are shown unchanged.
    """
    if problem.source == "livebench":
        return problem.statement
    if problem.kind == "stdin":
        form = "Write a Python program that reads standard input and prints the answer."
    else:
        form = f"Write Python code that defines `{problem.entry_point}`."
    parts = [problem.statement.rstrip()]
    if problem.starter_code and problem.starter_code.strip() not in problem.statement:
        parts.append(f"Start from this code:\n```python\n{problem.starter_code.rstrip()}\n```")
    if problem.partial_solution:
        parts.append(f"Continue this code:\n```python\n{problem.partial_solution.rstrip()}\n```")
    if problem.source not in _WITH_EXAMPLES and problem.public_tests:
        parts.append("\n\n".join(_example(n, *case) for n, case in enumerate(_examples(problem), start=1)))
    parts.append(f"{form} Put it into one ```python block.")
    return "\n\n".join(parts)


def solution_answer(code: str) -> str:
    """Return the answer that hands in a program."""
    return f"```python\n{code.rstrip()}\n```"


def error_line(verdict: Verdict) -> str:
    """Return in one line why there was nothing to run; empty if there was."""
    return _FENCE_HINT if verdict.status == NO_CODE else ""


def feedback(verdict: Verdict, attempt: int, attempts: int) -> str:
    """Return what the solver is told after an attempt; of hidden tests only whether they all passed.

    Args:
        verdict: What the attempt came to.
        attempt: Its number, from 1.
        attempts: How many there are.
    """
    head = f"Attempt {attempt} of {attempts}: "
    if verdict.passed:
        return f"{head}every test passed."
    if verdict.status == NO_CODE:
        return f"{head}{_FENCE_HINT}."
    shown = next((test for test in verdict.tests if test.public and not test.passed), None)
    if shown is None:
        return f"{head}the public tests passed, but not all of the hidden ones."
    return f"{head}{_failure(shown)}"


def _failure(test: TestResult) -> str:
    lines = [f"test {test.name!r} failed ({test.status}).", f"Input:\n{_cut(test.input)}"]
    lines.append(f"Expected:\n{_cut(test.expected)}")
    lines.append(f"Your output:\n{_cut(test.output)}")
    if test.error:
        lines.append(f"Error:\n{_cut(test.error)}")
    return "\n".join(lines)


def _examples(problem: Problem) -> list[tuple[str, str]]:
    if problem.kind == "stdin":
        return [(case.input.rstrip("\n"), case.output.rstrip("\n")) for case in problem.public_tests]
    return [
        (f"{problem.entry_point}({', '.join(case.input.splitlines())})", case.output)
        for case in problem.public_tests
    ]


def _example(number: int, given: str, wanted: str) -> str:
    return f"Example {number}\nInput:\n{_cut(given)}\nOutput:\n{_cut(wanted)}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text) - _SHOWN} more characters)"
