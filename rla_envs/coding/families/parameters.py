"""Difficulty parameters of generated problems, and what each is measured by on a problem."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable

from rla_envs.coding.families.register import FAMILIES
from rla_envs.coding.problem import Problem
from rla_envs.difficulty import DifficultyParameter
from rla_envs.task import Task

IO_KINDS = ("functional", "stdin")

EDGE_KINDS = ("smallest", "special", "rarest")
"""Kinds of tests that are edge cases; the others are ``"random"`` and ``"large"``."""


def _of_problem(measure: Callable[[Problem], float]) -> Callable[[Task], float]:
    return lambda task: measure(Problem.from_dict(task.payload["problem"]))


def program_size(problem: Problem) -> float:
    """Return the number of syntax nodes of the reference."""
    return float(sum(1 for _ in ast.walk(ast.parse(problem.reference_solutions[0]))))


def stated_steps(problem: Problem) -> float:
    """Return the number of numbered steps in the statement."""
    return float(len(re.findall(r"^\d+\. ", problem.statement, flags=re.MULTILINE)))


def input_size(problem: Problem) -> float:
    """Return the power of ten of the longest test input, in characters."""
    return math.log10(max(len(case.input) for case in problem.tests))


def edge_tests(problem: Problem) -> float:
    """Return the number of tests that are edge cases."""
    return float(sum(kind in EDGE_KINDS for kind in problem.metadata["test_kinds"]))


def words(problem: Problem) -> float:
    """Return the number of words of the statement."""
    return float(len(problem.statement.split()))


PARAMETERS = (
    DifficultyParameter(
        name="family",
        low=0,
        high=len(FAMILIES) - 1,
        default=None,
        names=tuple(FAMILIES),
        meaning="kind of problem, ordered by the mean size of the reference program; drawn for every "
        "problem unless given",
        statistic=_of_problem(program_size),
    ),
    DifficultyParameter(
        name="operations",
        low=1,
        high=5,
        default=2,
        meaning="number of steps (or rules, instructions, operators) that the problem is composed of",
        statistic=_of_problem(stated_steps),
    ),
    DifficultyParameter(
        name="size",
        low=1,
        high=5,
        default=2,
        meaning="power of ten that bounds the length of the input; from 4 on a program that takes quadratic "
        "time is too slow",
        statistic=_of_problem(input_size),
    ),
    DifficultyParameter(
        name="edge_cases",
        low=0,
        high=3,
        default=1,
        meaning="which edge cases are allowed and tested: 0 none, 1 the smallest inputs, 2 also ties and "
        "extreme values, 3 also the empty input, or one as rare",
        statistic=_of_problem(edge_tests),
    ),
    DifficultyParameter(
        name="distractor_text",
        low=0,
        high=5,
        default=0,
        meaning="number of sentences in the statement that have nothing to do with the problem",
        statistic=_of_problem(words),
    ),
    DifficultyParameter(
        name="io_kind",
        low=0,
        high=len(IO_KINDS) - 1,
        default=1,
        names=IO_KINDS,
        meaning="whether to write a function, or a program that also reads standard input and prints",
        statistic=_of_problem(lambda problem: float(problem.kind == "stdin")),
    ),
)
"""In the order in which they are drawn."""
