"""Dynamic programming: recurrences over a list of integers, one feeding the next."""

from __future__ import annotations

import bisect
import itertools
from typing import Any

import numpy as np

from rla_envs.coding.families.base import Family, integers
from rla_envs.coding.families.formats import NUMBERS
from rla_envs.coding.families.operation import Operation, Plan, whole

MODULUS = 1000000007


def _best_endings(values: list[int]) -> list[int]:
    result: list[int] = []
    for value in values:
        result.append(value + max(0, result[-1]) if result else value)
    return result


def _best_endings_brute(values: list[int]) -> list[int]:
    return [max(sum(values[start : i + 1]) for start in range(i + 1)) for i in range(len(values))]


def _best_endings_or_zero(values: list[int]) -> list[int]:
    result: list[int] = []
    for value in values:
        result.append(max(0, value + (result[-1] if result else 0)))
    return result


def _best_apart(values: list[int]) -> list[int]:
    result = []
    skipped = taken = 0
    for value in values:
        skipped, taken = max(skipped, taken), skipped + value
        result.append(max(skipped, taken))
    return result


def _best_apart_brute(values: list[int]) -> list[int]:
    best = [0] * len(values)
    for last in range(len(values)):
        for mask in range(1 << (last + 1)):
            if not mask & (mask >> 1):
                best[last] = max(best[last], sum(v for i, v in enumerate(values) if mask >> i & 1))
    return best


def _best_alternate(values: list[int]) -> list[int]:
    return [max(0, sum(values[i % 2 : i + 1 : 2])) for i in range(len(values))]


def _rising_lengths(values: list[int]) -> list[int]:
    tails: list[int] = []
    result = []
    for value in values:
        place = bisect.bisect_left(tails, value)
        tails[place : place + 1] = [value]
        result.append(place + 1)
    return result


def _rising_lengths_brute(values: list[int]) -> list[int]:
    result: list[int] = []
    for i, value in enumerate(values):
        result.append(1 + max((result[j] for j in range(i) if values[j] < value), default=0))
    return result


def _not_falling_lengths(values: list[int]) -> list[int]:
    tails: list[int] = []
    result = []
    for value in values:
        place = bisect.bisect_right(tails, value)
        tails[place : place + 1] = [value]
        result.append(place + 1)
    return result


def _rising_run_lengths(values: list[int]) -> list[int]:
    result: list[int] = []
    for i, value in enumerate(values):
        result.append(result[-1] + 1 if i and values[i - 1] < value else 1)
    return result


def _jump_costs(values: list[int], reach: int) -> list[int]:
    result: list[int] = []
    for i, value in enumerate(values):
        result.append(value + (min(result[max(0, i - reach) :]) if i else 0))
    return result


def _jump_costs_brute(values: list[int], reach: int) -> list[int]:
    result = []
    for i in range(len(values)):
        between = range(1, i)
        ways = [(0, *stops, i) for k in range(i) for stops in itertools.combinations(between, k)] or [(0,)]
        short = [way for way in ways if all(b - a <= reach for a, b in itertools.pairwise(way))]
        result.append(min(sum(values[place] for place in way) for way in short))
    return result


def _jump_costs_from_before(values: list[int], reach: int) -> list[int]:
    result: list[int] = []
    for i, value in enumerate(values):
        result.append(value + (min(result[max(0, i - reach) :]) if i >= reach else 0))
    return result


def _largest_falls(values: list[int]) -> list[int]:
    result = []
    highest = values[0] if values else 0
    for value in values:
        highest = max(highest, value)
        result.append(highest - value)
    return result


def _largest_falls_brute(values: list[int]) -> list[int]:
    return [max(values[: i + 1]) - values[i] for i in range(len(values))]


def _neighbour_falls(values: list[int]) -> list[int]:
    return [max(0, values[i - 1] - values[i]) if i else 0 for i in range(len(values))]


def _last(values: list[int]) -> int:
    return values[-1] if values else 0


def _last_brute(values: list[int]) -> int:
    return next(iter(reversed(values)), 0)


def _first(values: list[int]) -> int:
    return values[0] if values else 0


def _largest(values: list[int]) -> int:
    return max(values, default=0)


def _largest_brute(values: list[int]) -> int:
    return sorted(values)[-1] if values else 0


def _largest_at_least_zero(values: list[int]) -> int:
    return max([0, *values])


def _longest_rising(values: list[int]) -> int:
    return max(_rising_lengths(values), default=0)


def _longest_rising_brute(values: list[int]) -> int:
    return max(_rising_lengths_brute(values), default=0)


def _longest_not_falling(values: list[int]) -> int:
    return max(_not_falling_lengths(values), default=0)


def _longest_rising_run(values: list[int]) -> int:
    return max(_rising_run_lengths(values), default=0)


def _divisible_choices(values: list[int], divisor: int) -> int:
    ways = [1] + [0] * (divisor - 1)
    for value in values:
        ways = [(ways[r] + ways[(r - value) % divisor]) % MODULUS for r in range(divisor)]
    return ways[0]


def _divisible_choices_brute(values: list[int], divisor: int) -> int:
    sums = [0]
    for value in values:
        sums += [total + value for total in sums]
    return sum(total % divisor == 0 for total in sums) % MODULUS


def _divisible_choices_not_empty(values: list[int], divisor: int) -> int:
    return _divisible_choices(values, divisor) - 1


def _divisible_stretches(values: list[int], divisor: int) -> int:
    seen = [1] + [0] * (divisor - 1)
    total = found = 0
    for value in values:
        total += value
        found += seen[total % divisor]
        seen[total % divisor] += 1
    return found + 1


def _best_trades(values: list[int], fee: int) -> int:
    if not values:
        return 0
    free, holding = 0, -values[0]
    for price in values[1:]:
        free, holding = max(free, holding + price - fee), max(holding, free - price)
    return free


def _best_trades_brute(values: list[int], fee: int) -> int:
    best = [0] * (len(values) + 1)
    for sell in range(len(values)):
        best[sell + 1] = best[sell]
        for buy in range(sell):
            best[sell + 1] = max(best[sell + 1], best[buy] + values[sell] - values[buy] - fee)
    return best[len(values)]


def _best_trade(values: list[int], fee: int) -> int:
    best, cheapest = 0, values[0] if values else 0
    for price in values:
        cheapest = min(cheapest, price)
        best = max(best, price - cheapest - fee)
    return best


def _best_trades_without_fee(values: list[int], fee: int) -> int:
    return sum(max(0, after - before) for before, after in itertools.pairwise(values))


class DynamicProgramming(Family):
    """Best sums, rising subsequences and jumps for every prefix, then a best choice or a count of choices."""

    name = "dynamic_programming"
    title = "Dynamic programming"
    intro = "You are given a list of n integers."
    limits = "Each integer is between -1000000 and 1000000."
    form = NUMBERS
    operations = (
        Operation(
            "Replace each number by the largest sum of a stretch of consecutive numbers that ends at its "
            "position (at least one number long).",
            _best_endings,
            _best_endings_brute,
            (_best_endings_or_zero,),
        ),
        Operation(
            "Replace each number by the largest sum that can be chosen from the numbers up to and including "
            "it, when no two chosen numbers are neighbours and choosing none (sum 0) is allowed.",
            _best_apart,
            _best_apart_brute,
            (_best_alternate,),
        ),
        Operation(
            "Replace each number by the length of the longest strictly rising subsequence that ends with it "
            "(a subsequence keeps the order and may skip numbers).",
            _rising_lengths,
            _rising_lengths_brute,
            (_not_falling_lengths, _rising_run_lengths),
        ),
        Operation(
            "Replace each number by the lowest cost of reaching its position from the first one, when each "
            "jump goes 1 to {0} positions to the right and every position visited, the first and the last "
            "one included, costs the number there.",
            _jump_costs,
            _jump_costs_brute,
            (_jump_costs_from_before,),
            draw=whole(2, 3),
        ),
        Operation(
            "Replace each number by how far it lies below the largest number up to and including it.",
            _largest_falls,
            _largest_falls_brute,
            (_neighbour_falls,),
        ),
        Operation(
            "The answer is the last number (0 if there is none).",
            _last,
            _last_brute,
            (_first,),
            final=True,
            easy=True,
        ),
        Operation(
            "The answer is the largest number (0 if there is none).",
            _largest,
            _largest_brute,
            (_largest_at_least_zero, _last),
            final=True,
            easy=True,
        ),
        Operation(
            "The answer is the length of the longest strictly rising subsequence (0 for no numbers).",
            _longest_rising,
            _longest_rising_brute,
            (_longest_not_falling, _longest_rising_run),
            final=True,
            heavy=True,
        ),
        Operation(
            "The answer is the number of ways to choose some of the positions, possibly none, so that the "
            "sum of their numbers is divisible by {0}, modulo 1000000007.",
            _divisible_choices,
            _divisible_choices_brute,
            (_divisible_choices_not_empty, _divisible_stretches),
            draw=whole(2, 5),
            final=True,
            heavy=True,
        ),
        Operation(
            "The numbers are the prices of one day each. The answer is the largest profit of buying and "
            "later selling a thing, as often as you like but owning at most one at a time, when every sale "
            "costs a fee of {0}; 0 if no trade pays.",
            _best_trades,
            _best_trades_brute,
            (_best_trade, _best_trades_without_fee),
            draw=whole(1, 3),
            final=True,
            heavy=True,
        ),
    )

    def draw_input(self, rng: np.random.Generator, n: int, plan: Plan) -> list[Any]:
        """Return one list of ``n`` integers."""
        bound = int(rng.integers(3, 10)) if n <= 40 else 10**6
        return [integers(rng, -bound, bound, n)]

    def special_inputs(self, plan: Plan) -> list[list[Any]]:
        """Return equal, falling, negative, and rising numbers."""
        return [[[4] * 6], [[9, 7, 4, 2, 1]], [[-3, -8, -1, -5]], [[1, 3, 5, 8, 13]]]
