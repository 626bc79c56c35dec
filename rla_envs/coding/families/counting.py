"""Modular counting: how many numbers of a range meet some conditions on remainders."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rla_envs.coding.families.base import Family
from rla_envs.coding.families.formats import PAIRS
from rla_envs.coding.families.operation import Arguments, Operation, Plan, Step

MODULUS = 1000000007


def _modulus_and_rest(*moduli: int) -> Callable[[np.random.Generator], Arguments]:
    def draw(rng: np.random.Generator) -> Arguments:
        modulus = moduli[int(rng.integers(len(moduli)))]
        return modulus, int(rng.integers(1, modulus))

    return draw


def _rest_is_not(x: int, modulus: int, rest: int) -> bool:
    return x % modulus != rest


def _rest_is_not_brute(x: int, modulus: int, rest: int) -> bool:
    return (x - rest) // modulus * modulus != x - rest


def _rest_is(x: int, modulus: int, rest: int) -> bool:
    return x % modulus == rest


def _square_rest_below(x: int, modulus: int, rest: int) -> bool:
    return x * x % modulus <= rest


def _square_rest_below_brute(x: int, modulus: int, rest: int) -> bool:
    return sum([x % modulus] * x) % modulus in range(rest + 1)


def _rest_below(x: int, modulus: int, rest: int) -> bool:
    return x % modulus <= rest


def _square_rest_strictly_below(x: int, modulus: int, rest: int) -> bool:
    return x * x % modulus < rest


def _last_digit_from(x: int, modulus: int, digit: int) -> bool:
    return x % modulus >= digit


def _last_digit_from_brute(x: int, modulus: int, digit: int) -> bool:
    return str(x)[-1] in "0123456789"[digit:]


def _last_digit_above(x: int, modulus: int, digit: int) -> bool:
    return x % modulus > digit


def _parities_differ(x: int, modulus: int, part: int) -> bool:
    return x % 2 != x // part % 2


def _parities_differ_brute(x: int, modulus: int, part: int) -> bool:
    return (x + (x - x % part) // part) % 2 == 1


def _parities_agree(x: int, modulus: int, part: int) -> bool:
    return x % 2 == x // part % 2


def _among_first(x: int, modulus: int, days: int) -> bool:
    return x % modulus in range(days)


def _among_first_brute(x: int, modulus: int, days: int) -> bool:
    return (x + modulus - days) // modulus == x // modulus


def _among_first_from_one(x: int, modulus: int, days: int) -> bool:
    return (x - 1) % modulus in range(days)


def _counts(pairs: list[list[int]], conditions: list[Callable[[int], bool]], moduli: list[int]) -> list[int]:
    period = math.lcm(*moduli)
    good = [False not in [holds(x) for holds in conditions] for x in range(period)]
    before = [0, *itertools.accumulate(good)]
    return [
        (b + 1) // period * before[-1]
        + before[(b + 1) % period]
        - a // period * before[-1]
        - before[a % period]
        for a, b in pairs
    ]


def _counts_brute(
    pairs: list[list[int]], conditions: list[Callable[[int], bool]], moduli: list[int]
) -> list[int]:
    counts = []
    for a, b in pairs:
        numbers = range(a, b + 1)
        counts.append(sum(all(holds(x) for holds in conditions) for x in numbers))
    return counts


def _counts_without_end(
    pairs: list[list[int]], conditions: list[Callable[[int], bool]], moduli: list[int]
) -> list[int]:
    return _counts([[a, b - 1] for a, b in pairs], conditions, moduli)


def _counts_without_start(
    pairs: list[list[int]], conditions: list[Callable[[int], bool]], moduli: list[int]
) -> list[int]:
    return _counts([[a + 1, b] for a, b in pairs], conditions, moduli)


def _total(pairs: list[list[int]], conditions: list[Callable[[int], bool]], moduli: list[int]) -> int:
    return sum(_counts(pairs, conditions, moduli))


def _total_brute(pairs: list[list[int]], conditions: list[Callable[[int], bool]], moduli: list[int]) -> int:
    return sum(_counts_brute(pairs, conditions, moduli))


def _total_without_end(
    pairs: list[list[int]], conditions: list[Callable[[int], bool]], moduli: list[int]
) -> int:
    return sum(_counts_without_end(pairs, conditions, moduli))


def _largest_count(pairs: list[list[int]], conditions: list[Callable[[int], bool]], moduli: list[int]) -> int:
    return max(_counts(pairs, conditions, moduli), default=0)


def _largest_count_brute(
    pairs: list[list[int]], conditions: list[Callable[[int], bool]], moduli: list[int]
) -> int:
    return max([0, *_counts_brute(pairs, conditions, moduli)])


def _count_of_longest(
    pairs: list[list[int]], conditions: list[Callable[[int], bool]], moduli: list[int]
) -> int:
    longest = max(pairs, key=lambda pair: pair[1] - pair[0], default=[1, 0])
    return _counts([longest], conditions, moduli)[0]


class Counting(Family):
    """Counting the numbers of ranges whose remainders meet up to four conditions."""

    name = "counting"
    title = "Modular counting"
    intro = (
        "You are given n ranges. The range of a and b holds all integers x with a <= x <= b. An integer x is "
        "good if it meets all the conditions below (every integer is good if there are none)."
    )
    heading = "The conditions, and the answer:"
    limits = ""
    form = PAIRS
    operations = (
        Operation(
            "The remainder of x divided by {0} is not {1}.",
            _rest_is_not,
            _rest_is_not_brute,
            (_rest_is,),
            draw=_modulus_and_rest(3, 4, 5),
        ),
        Operation(
            "The remainder of x * x divided by {0} is at most {1}.",
            _square_rest_below,
            _square_rest_below_brute,
            (_rest_below, _square_rest_strictly_below),
            draw=_modulus_and_rest(5, 6),
        ),
        Operation(
            "The last decimal digit of x is at least {1}.",
            _last_digit_from,
            _last_digit_from_brute,
            (_last_digit_above,),
            draw=lambda rng: (10, int(rng.integers(2, 6))),
        ),
        Operation(
            "Of x and x divided by {1} (rounded down), one is even and the other odd.",
            _parities_differ,
            _parities_differ_brute,
            (_parities_agree,),
            draw=lambda rng: (12, (2, 3, 6)[int(rng.integers(3))]),
        ),
        Operation(
            "When 0, 1, 2, ... are split into blocks of {0} numbers in their order, x is among the first "
            "{1} of its block.",
            _among_first,
            _among_first_brute,
            (_among_first_from_one,),
            draw=_modulus_and_rest(4, 6),
        ),
        Operation(
            "The answer is the list of the numbers of good integers in each range, in the order given.",
            _counts,
            _counts_brute,
            (_counts_without_end, _counts_without_start),
            final=True,
            easy=True,
            heavy=True,
            answer="integers",
        ),
        Operation(
            "The answer is the number of good integers in each range, summed over all ranges.",
            _total,
            _total_brute,
            (_total_without_end,),
            final=True,
            easy=True,
            heavy=True,
        ),
        Operation(
            "The answer is the largest number of good integers in one range (0 if there is no range).",
            _largest_count,
            _largest_count_brute,
            (_count_of_longest,),
            final=True,
            heavy=True,
        ),
    )

    def constraints(self, size: int, edge_cases: int) -> list[str]:
        """Return the bounds on the number and the ends of the ranges."""
        return [*super().constraints(size, edge_cases), f"For each range, 0 <= a <= b <= {100 * 10**size}."]

    def draw_input(self, rng: np.random.Generator, n: int, plan: Plan) -> list[Any]:
        """Return ``n`` ranges with ends up to 60, or up to 100 times ``n`` for many of them."""
        ends = np.sort(rng.integers(0, (60 if n <= 40 else 100 * n) + 1, (n, 2)), axis=1)
        return [ends.tolist()]

    def special_inputs(self, plan: Plan) -> list[list[Any]]:
        """Return ranges of one number, the one of 0, equal ranges, and one of 1000 numbers."""
        return [[[[7, 7], [12, 12]]], [[[0, 0]]], [[[3, 20], [3, 20]]], [[[0, 999], [1, 1000]]]]

    def solve(self, plan: Plan, arguments: list[Any], brute: bool = False) -> Any:
        """Return the answer of the final step, given the conditions and their moduli."""
        conditions = [_bound(step, brute) for step in plan[:-1]]
        return plan[-1].function(brute)(*arguments, conditions, [step.arguments[0] for step in plan[:-1]])

    def solve_source(self, plan: Plan, brute: bool = False) -> str:
        """Return the source of ``solve``: the conditions, their moduli, and one call."""
        rows = "".join(f"        lambda x: {step.call('x')},\n" for step in plan[:-1])
        moduli = [step.arguments[0] for step in plan[:-1]]
        last = plan[-1].call("pairs", "conditions", "moduli")
        return (
            f"def solve(pairs):\n    conditions = [\n{rows}    ]\n    moduli = {moduli}\n    return {last}\n"
        )


@functools.lru_cache(maxsize=256)
def _bound(step: Step, brute: bool) -> Callable[[int], bool]:
    """Return a condition on x alone; it remembers what it said, as every input walks through a period."""
    function = step.function(brute)
    return functools.lru_cache(maxsize=1024)(lambda x: function(x, *step.arguments))
