"""Parsing: expressions with operators of the statement's own making."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rla_envs.coding.families.base import Family
from rla_envs.coding.families.formats import LINE
from rla_envs.coding.families.operation import Operation, Plan, Step

MODULUS = 1009


def _plus(a: int, b: int) -> int:
    return a + b


def _minus(a: int, b: int) -> int:
    return a - b


def _minus_brute(a: int, b: int) -> int:
    return -b + a


def _minus_turned(a: int, b: int) -> int:
    return b - a


def _times(a: int, b: int) -> int:
    return a * b


def _times_brute(a: int, b: int) -> int:
    return sum(a for _ in range(b))


def _gap(a: int, b: int) -> int:
    return abs(a - b)


def _gap_brute(a: int, b: int) -> int:
    return max(a, b) - min(a, b)


def _larger(a: int, b: int) -> int:
    return max(a, b)


def _larger_brute(a: int, b: int) -> int:
    return sorted((a, b))[-1]


def _smaller(a: int, b: int) -> int:
    return min(a, b)


def _rest(a: int, b: int) -> int:
    return a % b if b else a


def _rest_brute(a: int, b: int) -> int:
    while b and a >= b:
        a -= b
    return a


def _quotient(a: int, b: int) -> int:
    return a // b if b else a


def _evaluate(text: str, table: dict[str, tuple[int, Callable[[int, int], int]]]) -> list[int]:
    values: list[int] = []
    pending: list[str] = []
    parts = []
    number = ""
    for symbol in "(" + text + ")":
        if symbol.isdigit():
            number += symbol
            continue
        if number:
            values.append(int(number))
            number = ""
        if symbol == "(":
            pending.append(symbol)
            continue
        level = -1 if symbol == ")" else table[symbol][0]
        while pending[-1] != "(" and table[pending[-1]][0] >= level:
            right = values.pop()
            left = values.pop()
            values.append(table[pending.pop()][1](left, right) % MODULUS)
        if symbol == ")":
            pending.pop()
            parts.append(values[-1])
        else:
            pending.append(symbol)
    return parts


def _evaluate_brute(text: str, table: dict[str, tuple[int, Callable[[int, int], int]]]) -> list[int]:
    for operator in sorted(table, key=lambda symbol: table[symbol][0]):
        depth = 0
        for i in range(len(text) - 1, -1, -1):
            depth += (text[i] == ")") - (text[i] == "(")
            if depth == 0 and text[i] == operator:
                left = _evaluate_brute(text[:i], table)
                right = _evaluate_brute(text[i + 1 :], table)
                value = table[operator][1](left[-1], right[-1]) % MODULUS
                return [*left[:-1], *right[:-1], value]
    if text.startswith("("):
        inside = _evaluate_brute(text[1:-1], table)
        return [*inside, inside[-1]]
    return [int(text)]


def _value(parts: list[int]) -> int:
    return parts[-1]


def _value_brute(parts: list[int]) -> int:
    return next(reversed(parts))


def _first_part(parts: list[int]) -> int:
    return parts[0]


def _largest_part(parts: list[int]) -> int:
    return max(parts)


def _largest_part_brute(parts: list[int]) -> int:
    return sorted(parts)[-1]


def _largest_inner_part(parts: list[int]) -> int:
    return max(parts[:-1], default=0)


def _part_values(parts: list[int]) -> list[int]:
    return parts


def _part_values_brute(parts: list[int]) -> list[int]:
    return [parts[i] for i in range(len(parts))]


def _part_values_sorted(parts: list[int]) -> list[int]:
    return sorted(parts)


SYMBOLS = {"minus": "-", "times": "*", "gap": "~", "larger": "|", "smaller": "&", "rest": "%"}
"""How the operators are written, by the names of their operations."""


class Parsing(Family):
    """Expressions with parentheses and up to four operators beside +, each with a priority of its own."""

    name = "parsing"
    title = "Expression parser"
    intro = (
        "You are given an expression of n characters: integers, operators between them, and parentheses. "
        "a + b is the sum of a and b. Every operator listed below binds tighter than + and than those "
        "listed before it; several of the same operator are evaluated from left to right. The result of "
        "every operation is replaced at once by its remainder modulo 1009 (from 0 to 1008)."
    )
    heading = "The operators, and the answer:"
    limits = (
        "Each integer is between 0 and 1008. Only + and the operators listed occur, and at most 50 "
        "parentheses are open at the same time."
    )
    form = LINE
    minimum = (3, 1, 1, 1)
    operations = (
        Operation("a - b is a minus b.", _minus, _minus_brute, (_minus_turned, _gap)),
        Operation("a * b is the product of a and b.", _times, _times_brute, (_plus,)),
        Operation(
            "a ~ b is the distance between a and b: the larger minus the smaller.",
            _gap,
            _gap_brute,
            (_minus,),
        ),
        Operation("a | b is the larger one of a and b.", _larger, _larger_brute, (_smaller,)),
        Operation(
            "a % b is the remainder of a divided by b, and a itself if b is 0.",
            _rest,
            _rest_brute,
            (_quotient,),
        ),
        Operation(
            "The answer is the value of the expression.",
            _value,
            _value_brute,
            (_first_part,),
            final=True,
            easy=True,
            heavy=True,
        ),
        Operation(
            "The answer is the largest value of a part in parentheses or of the whole expression.",
            _largest_part,
            _largest_part_brute,
            (_largest_inner_part, _value),
            final=True,
            heavy=True,
        ),
        Operation(
            "The answer is the list of the values of all parts in parentheses, in the order of their closing "
            "parentheses, and at last the value of the whole expression.",
            _part_values,
            _part_values_brute,
            (_part_values_sorted,),
            final=True,
            answer="integers",
        ),
    )

    def rarest_inputs(self, rng: np.random.Generator, plan: Plan) -> list[list[Any]]:
        """Return a number in many parentheses, and one of zeros only."""
        return [["((((5))))"], ["0000"]]

    def draw_input(self, rng: np.random.Generator, n: int, plan: Plan) -> list[Any]:
        """Return one expression of at most ``n`` characters."""
        symbols = ["+", *(SYMBOLS[step.operation.name] for step in plan[:-1])]
        bound = int(rng.choice([10, 10, 10, 1009])) if n <= 40 else 1009
        numbers = rng.integers(0, bound, n).tolist()
        chosen = rng.integers(0, len(symbols), n).tolist()
        braces = rng.random((n, 2)).tolist()
        pieces: list[str] = []
        depth, left = 0, n
        for number, symbol, (opens, closes) in zip(numbers, chosen, braces, strict=True):
            piece = symbols[symbol] if pieces else ""
            if opens < 0.3 and depth < 50:
                piece += "("
                depth += 1
            piece += str(number)
            if closes < 0.4 and depth:
                piece += ")"
                depth -= 1
            if len(piece) + depth > left:
                break
            pieces.append(piece)
            left -= len(piece)
        text = "".join(pieces)
        if len(text) < min(3, n):
            text = (
                f"{numbers[0] % 10}{symbols[chosen[0]]}{numbers[1] % 10}" if n >= 3 else str(numbers[0] % 10)
            )
        open_now = text.count("(") - text.count(")")
        return [text + ")" * open_now]

    def special_inputs(self, plan: Plan) -> list[list[Any]]:
        """Return nested parentheses, every operator on zeros, the largest numbers, and a long chain."""
        symbols = ["+", *(SYMBOLS[step.operation.name] for step in plan[:-1])]
        return [
            ["((7))+(2)"],
            ["0" + "".join(symbol + "0" for symbol in symbols)],
            ["1008" + "".join(symbol + "1008" for symbol in reversed(symbols))],
            ["8" + "".join(f"{symbol}{3 + i % 4}{symbol}2" for i, symbol in enumerate(symbols))],
        ]

    def solve(self, plan: Plan, arguments: list[Any], brute: bool = False) -> Any:
        """Evaluate all parts of the expression, and return the answer of the final step."""
        (text,) = arguments
        table: dict[str, tuple[int, Callable[[int, int], int]]] = {"+": (0, _plus)}
        for level, step in enumerate(plan[:-1], 1):
            table[SYMBOLS[step.operation.name]] = (level, step.function(brute))
        evaluate = _evaluate_brute if brute else _evaluate
        return plan[-1].function(brute)(evaluate(text, table))

    def solve_source(self, plan: Plan, brute: bool = False) -> str:
        """Return the source of ``solve``: the table of operators, and one call of the evaluator."""
        rows = "".join(_row(level, step) for level, step in enumerate(plan[:-1], 1))
        evaluate = "_evaluate_brute" if brute else "_evaluate"
        return (
            f'def solve(text):\n    table = {{\n        "+": (0, _plus),\n{rows}    }}\n'
            f"    parts = {evaluate}(text, table)\n    return {plan[-1].call('parts')}\n"
        )

    def helpers(self, plan: Plan, brute: bool = False) -> list[Any]:
        """Return the addition, which every expression has, and the evaluator."""
        return [_plus, _evaluate_brute if brute else _evaluate]


def _row(level: int, step: Step) -> str:
    return f'        "{SYMBOLS[step.operation.name]}": ({level}, {step.operation.fast.__name__}),\n'
