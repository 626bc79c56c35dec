"""The text of a generated problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from rla_envs.coding.families.base import EMPTY, Family
from rla_envs.coding.families.operation import Plan

ENTRY_POINT = "solve"

_PRINTED = {
    "integer": "Print one integer.",
    "integers": f"Print the integers on one line, separated by spaces; print {EMPTY} if there are none.",
    "text": f"Print one line with the answer; print {EMPTY} if it has no characters.",
}
_RETURNED = {"integer": "an integer", "integers": "a list of integers", "text": "a string"}

_DISTRACTORS = (
    "The archive that these data come from was founded in {0} and has {1} rooms.",
    "A team of {1} people checked everything by hand, which took them {2} weeks.",
    "An earlier version of this task was set in {0}, when computers had {2} kilobytes of memory.",
    "The colours used in the original drawing, {2} in all, play no role here.",
    "On day {1} the weather was fair, and {2} visitors came.",
    "The prize for the fastest solution was a book of {0} pages.",
    "Some people call the number {1} lucky; others prefer {2}.",
    "The office of the organisers is on floor {2}, room {0}.",
)


def statement(
    family: Family,
    plan: Plan,
    kind: str,
    size: int,
    edge_cases: int,
    distractors: list[str],
    example: tuple[list[Any], str],
) -> str:
    """Return the statement: what is given, the steps, input, output, constraints and an example.

    Args:
        family: The problem's family.
        plan: Its steps.
        kind: ``"stdin"`` or ``"functional"``.
        size: Power of ten that bounds the input's length.
        edge_cases: Level of edge cases, which decides the smallest length.
        distractors: Sentences without meaning for the problem.
        example: Arguments of one input, and its answer as it is shown.
    """
    half = (len(distractors) + 1) // 2
    steps = [f"{number}. {text}" for number, text in enumerate(family.describe(plan), 1)]
    constraints = [*family.constraints(size, edge_cases), family.limits]
    parts = [
        family.title,
        " ".join([family.intro, *distractors[:half]]),
        "\n".join([family.heading, *steps]),
        *([" ".join(distractors[half:])] if distractors[half:] else []),
        *(_stdin(family, plan) if kind == "stdin" else _functional(family, plan)),
        "\n".join(["Constraints:", *(line for line in constraints if line)]),
        _example(family, kind, *example),
    ]
    return "\n\n".join(parts) + "\n"


def _stdin(family: Family, plan: Plan) -> list[str]:
    return [
        "Write a program that reads standard input and prints the answer.",
        f"Input:\n{family.form.text}",
        f"Output:\n{_PRINTED[plan[-1].operation.answer]}",
    ]


def _functional(family: Family, plan: Plan) -> list[str]:
    names = ", ".join(name for name, _ in family.form.names)
    return [
        f"Write a function {ENTRY_POINT}({names}) that returns the answer.",
        "Input:\n" + "\n".join(f"{name}: {meaning}" for name, meaning in family.form.names),
        f"Output:\nReturn {_RETURNED[plan[-1].operation.answer]}.",
    ]


def _example(family: Family, kind: str, arguments: list[Any], shown: str) -> str:
    if kind == "stdin":
        return f"Example input:\n{family.form.write(*arguments)}\nExample output:\n{shown}"
    return f"Example:\n{ENTRY_POINT}({', '.join(map(repr, arguments))}) returns {shown}"


def distractor_sentences(rng: np.random.Generator, count: int) -> list[str]:
    """Return ``count`` sentences that mean nothing; more of the same generator begin with the same ones."""
    order = rng.permutation(len(_DISTRACTORS))
    numbers = rng.integers((1900, 10, 2), (2020, 99, 9), (len(_DISTRACTORS), 3)).tolist()
    return [_DISTRACTORS[int(i)].format(*numbers[int(i)]) for i in order[:count]]
