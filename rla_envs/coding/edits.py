"""Edits of coding tasks: other parameters of a generated problem, or a rewritten problem that is solvable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rla_envs.coding.check import LEAST_AGREEING, passing_programs
from rla_envs.coding.families.generator import generate
from rla_envs.coding.families.parameters import PARAMETERS
from rla_envs.coding.grade import Grader, require_tests
from rla_envs.coding.problem import Case, Problem
from rla_envs.coding.values import dump_value, load_value
from rla_envs.difficulty import parse_difficulty
from rla_envs.edit_language import EditField, EditOperation, parse_change
from rla_envs.errors import InputError, RefusedEditError
from rla_envs.task import Task, TaskEdit

SET = EditOperation(
    "set",
    (
        EditField("parameter", str, f"one of {', '.join(p.name for p in PARAMETERS)}"),
        EditField("value", int, "its new value"),
    ),
    "make the same problem with another value of one difficulty parameter",
)

REWRITE = EditOperation(
    "rewrite",
    (
        EditField("statement", str, "the whole new statement"),
        EditField("tests", str, "a JSON list of [input, expected output] pairs, as text"),
    ),
    "replace statement and tests",
)

SOLUTION = EditOperation(
    "solution",
    (EditField("code", str, "a whole Python program"),),
    "a program written from the new statement alone; where no earlier reference passes the new tests, two "
    "different ones must",
)

GENERATED_OPERATIONS = (SET,)
"""Edit language of generated problems."""

OTHER_OPERATIONS = (REWRITE,)
"""Edit language of all other problems. Whoever rewrites one also brings :data:`SOLUTION` operations, with
programs that were written without a look at the tests; an author's own say nothing about his tests."""


def apply_set(task: Task, edit: TaskEdit) -> Task:
    """Return a generated task with other parameters: the same seed, so the same steps as far as they remain.

    Raises:
        RefusedEditError: If the edit is no list of ``set`` operations.
        InputError: If a parameter is unknown or out of range, or the task is not a generated one.
    """
    problem = Problem.from_dict(task.payload["problem"])
    seed = problem.metadata.get("seed")
    if not isinstance(seed, int):
        raise RefusedEditError(f"set: expected a generated problem, got one of source {problem.source!r}")
    changes: dict[str, object] = {}
    for change in edit.changes:
        _, fields = parse_change(change, GENERATED_OPERATIONS)
        changes[fields["parameter"]] = fields["value"]
    difficulty = {**task.difficulty, **parse_difficulty(PARAMETERS, changes)}
    return task.child({"problem": generate(difficulty, seed).to_dict()}, difficulty)


def propose_sets(task: Task, direction: str, rng: np.random.Generator) -> Sequence[TaskEdit]:
    """Return edits that move one parameter one step in a direction, in random order."""
    sign = 1 if direction == "harder" else -1
    edits = []
    for i in rng.permutation(len(PARAMETERS)):
        parameter = PARAMETERS[int(i)]
        value = int(task.difficulty[parameter.name]) + sign * parameter.direction
        # Another family is another problem, not a harder version of this one.
        if parameter.name != "family" and parameter.low <= value <= parameter.high:
            change = {"op": SET.op, "parameter": parameter.name, "value": value}
            reason = f"one step of {parameter.name} {direction}"
            edits.append(TaskEdit((change,), direction, author="rule", reason=reason))
    return edits


def apply_rewrite(task: Task, edit: TaskEdit, grader: Callable[[], Grader]) -> Task:
    """Return a task with a rewritten problem that programs are known to solve.

    One of the task's reference solutions must still pass every test, or at
    least two different programs that the edit brings along must. Those that
    pass become the new problem's reference solutions.

    Raises:
        RefusedEditError: If the edit is malformed, or too few programs agree.
        InputError: If the tests are malformed.
    """
    old = Problem.from_dict(task.payload["problem"])
    if old.kind == "unittest":
        raise RefusedEditError("rewrite: a problem with unit tests cannot be rewritten")
    rewritten, codes = _read(edit)
    try:
        tests = _tests(rewritten["tests"], old.kind)
        new = old.replace(
            statement=rewritten["statement"],
            public_tests=tests[: min(len(old.public_tests), len(tests) - 1)],
            private_tests=tests[min(len(old.public_tests), len(tests) - 1) :],
            reference_solutions=(),
            wrong_solutions=(),
        )
        require_tests(new)
    except InputError as error:
        raise RefusedEditError(str(error)) from error
    references = passing_programs(new, old.reference_solutions, grader())
    if not references:
        references = passing_programs(new, codes, grader())
        if len(references) < LEAST_AGREEING:
            raise RefusedEditError(
                f"rewrite: expected a reference or {LEAST_AGREEING} different solutions that pass all "
                f"{len(tests)} tests, got {len(references)} of {len(codes)} solutions"
            )
    return task.child({"problem": new.replace(reference_solutions=tuple(references)).to_dict()})


def _read(edit: TaskEdit) -> tuple[dict[str, Any], list[str]]:
    rewrites, codes = [], []
    for change in edit.changes:
        operation, fields = parse_change(change, (REWRITE, SOLUTION))
        if operation is REWRITE:
            rewrites.append(fields)
        else:
            codes.append(fields["code"])
    if len(rewrites) != 1:
        raise RefusedEditError(f"expected exactly one 'rewrite' operation, got {len(rewrites)}")
    return rewrites[0], codes


def _tests(text: str, kind: str) -> tuple[Case, ...]:
    rows = load_value(text)
    if not isinstance(rows, list) or not rows:
        raise RefusedEditError("rewrite: expected 'tests' to be a JSON list of [input, output] pairs")
    cases = []
    for row in rows:
        if not isinstance(row, list) or len(row) != 2:
            raise RefusedEditError("rewrite: expected each test to be a pair [input, output]")
        given, wanted = row
        if kind == "functional":
            if not isinstance(given, list):
                raise RefusedEditError("rewrite: expected the input of a function's test to be a list")
            given, wanted = "\n".join(map(dump_value, given)), dump_value(wanted)
        if not isinstance(given, str) or not isinstance(wanted, str):
            raise RefusedEditError("rewrite: expected input and output of a program's test to be strings")
        cases.append(Case(given, wanted))
    if len({case.input for case in cases}) != len(cases):
        raise RefusedEditError("rewrite: two tests have the same input")
    return tuple(cases)


def stated_parameters(task: Task) -> Mapping[str, Any]:
    """Return the difficulty that a generated task's problem was made with; empty for any other."""
    metadata = task.payload["problem"].get("metadata") or {}
    stated = metadata.get("difficulty")
    return stated if isinstance(stated, Mapping) else {}
