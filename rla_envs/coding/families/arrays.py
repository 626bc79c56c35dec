"""Array pipelines: a list of integers goes through some steps and is summed up in one number."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import numpy as np

from rla_envs.coding.families.base import Family, integers
from rla_envs.coding.families.formats import NUMBERS
from rla_envs.coding.families.operation import Operation, Plan, whole


def _keep_larger(values: list[int], bound: int) -> list[int]:
    return [value for value in values if value > bound]


def _keep_larger_brute(values: list[int], bound: int) -> list[int]:
    gone = [i for i in range(len(values)) if values[i] <= bound]
    return [values[i] for i in range(len(values)) if i not in gone]


def _keep_larger_or_equal(values: list[int], bound: int) -> list[int]:
    return [value for value in values if value >= bound]


def _add_positions(values: list[int]) -> list[int]:
    return [value + position for position, value in enumerate(values, 1)]


def _add_positions_brute(values: list[int]) -> list[int]:
    result = list(values)
    for start in range(len(values)):
        for i in range(start, len(values)):
            result[i] += 1
    return result


def _add_positions_from_zero(values: list[int]) -> list[int]:
    return [value + position for position, value in enumerate(values)]


def _differences(values: list[int]) -> list[int]:
    return [after - before for before, after in zip(values, values[1:])]  # noqa: B905, RUF007


def _differences_brute(values: list[int]) -> list[int]:
    return [values[i + 1] - values[i] for i in range(len(values) - 1)]


def _differences_absolute(values: list[int]) -> list[int]:
    return [abs(after - before) for before, after in zip(values, values[1:])]  # noqa: B905, RUF007


def _window_maxima(values: list[int], width: int) -> list[int]:
    best: deque[int] = deque()
    maxima = []
    for i, value in enumerate(values):
        while best and values[best[-1]] <= value:
            best.pop()
        best.append(i)
        if best[0] == i - width:
            best.popleft()
        if i >= width - 1:
            maxima.append(values[best[0]])
    return maxima


def _window_maxima_brute(values: list[int], width: int) -> list[int]:
    return [max(values[i : i + width]) for i in range(len(values) - width + 1)]


def _window_maxima_padded(values: list[int], width: int) -> list[int]:
    return [max(values[max(0, i - width + 1) : i + 1]) for i in range(len(values))]


def _reverse_odd_places(values: list[int]) -> list[int]:
    result = list(values)
    result[::2] = result[::2][::-1]
    return result


def _reverse_odd_places_brute(values: list[int]) -> list[int]:
    last = len(values) - 1 - (len(values) - 1) % 2
    return [values[last - i] if i % 2 == 0 else values[i] for i in range(len(values))]


def _reverse_even_places(values: list[int]) -> list[int]:
    result = list(values)
    result[1::2] = result[1::2][::-1]
    return result


def _total(values: list[int]) -> int:
    return sum(values)


def _total_brute(values: list[int]) -> int:
    total = 0
    for value in values:
        total += value
    return total


def _total_without_first(values: list[int]) -> int:
    return sum(values[1:])


def _total_absolute(values: list[int]) -> int:
    return sum(map(abs, values))


def _largest(values: list[int]) -> int:
    return max(values, default=0)


def _largest_brute(values: list[int]) -> int:
    return sorted(values)[-1] if values else 0


def _largest_at_least_zero(values: list[int]) -> int:
    return max([0, *values])


def _smallest(values: list[int]) -> int:
    return min(values, default=0)


def _equal_pairs(values: list[int]) -> int:
    return sum(count * (count - 1) // 2 for count in Counter(values).values())


def _equal_pairs_brute(values: list[int]) -> int:
    return sum(values[i] == values[j] for i in range(len(values)) for j in range(i))


def _equal_pairs_ordered(values: list[int]) -> int:
    return sum(count * (count - 1) for count in Counter(values).values())


def _best_stretch(values: list[int]) -> int:
    best = ending = 0
    for value in values:
        ending = max(0, ending + value)
        best = max(best, ending)
    return best


def _best_stretch_brute(values: list[int]) -> int:
    best = 0
    for start in range(len(values)):
        total = 0
        for end in range(start, len(values)):
            total += values[end]
            best = max(best, total)
    return best


def _best_start(values: list[int]) -> int:
    best = total = 0
    for value in values:
        total += value
        best = max(best, total)
    return best


def _stretches_with_sum(values: list[int], target: int) -> int:
    seen = Counter([0])
    total = found = 0
    for value in values:
        total += value
        found += seen[total - target]
        seen[total] += 1
    return found


def _stretches_with_sum_brute(values: list[int], target: int) -> int:
    found = 0
    for start in range(len(values)):
        total = 0
        for end in range(start, len(values)):
            total += values[end]
            found += total == target
    return found


def _starts_forgotten(values: list[int], target: int) -> int:
    seen: Counter[int] = Counter()
    total = found = 0
    for value in values:
        total += value
        found += seen[total - target]
        seen[total] += 1
    return found


class Arrays(Family):
    """Filters, differences and windows over a list, then a sum, an extreme or a count of stretches."""

    name = "arrays"
    title = "Array pipeline"
    intro = "You are given a list of n integers."
    limits = "Each integer is between -1000000000 and 1000000000."
    form = NUMBERS
    operations = (
        Operation(
            "Keep only the numbers greater than {0}, in their order.",
            _keep_larger,
            _keep_larger_brute,
            (_keep_larger_or_equal,),
            draw=whole(-4, 1),
        ),
        Operation(
            "Add to each number its position in the list (the first position is 1).",
            _add_positions,
            _add_positions_brute,
            (_add_positions_from_zero,),
        ),
        Operation(
            "Replace the list by the differences between each number and the one before it: second minus "
            "first, third minus second, and so on (nothing is left of a list of fewer than two numbers).",
            _differences,
            _differences_brute,
            (_differences_absolute,),
        ),
        Operation(
            "Replace the list by the maxima of all its windows of {0} consecutive numbers, from left to "
            "right (nothing is left of a shorter list).",
            _window_maxima,
            _window_maxima_brute,
            (_window_maxima_padded,),
            draw=whole(2, 3),
        ),
        Operation(
            "Reverse the order of the numbers at odd positions (first, third, fifth, ...); the others "
            "stay where they are.",
            _reverse_odd_places,
            _reverse_odd_places_brute,
            (_reverse_even_places,),
        ),
        Operation(
            "The answer is the sum of the numbers (0 if there are none).",
            _total,
            _total_brute,
            (_total_without_first, _total_absolute),
            final=True,
            easy=True,
        ),
        Operation(
            "The answer is the largest of the numbers (0 if there are none).",
            _largest,
            _largest_brute,
            (_largest_at_least_zero, _smallest),
            final=True,
            easy=True,
        ),
        Operation(
            "The answer is the number of pairs of positions i < j that hold equal numbers.",
            _equal_pairs,
            _equal_pairs_brute,
            (_equal_pairs_ordered,),
            final=True,
            heavy=True,
        ),
        Operation(
            "The answer is the largest sum of a stretch of consecutive numbers; the empty stretch, with "
            "sum 0, is allowed.",
            _best_stretch,
            _best_stretch_brute,
            (_best_start, _total),
            final=True,
            heavy=True,
        ),
        Operation(
            "The answer is the number of non-empty stretches of consecutive numbers whose sum is {0}.",
            _stretches_with_sum,
            _stretches_with_sum_brute,
            (_starts_forgotten,),
            draw=whole(-2, 4),
            final=True,
            heavy=True,
        ),
    )

    def draw_input(self, rng: np.random.Generator, n: int, plan: Plan) -> list[Any]:
        """Return one list of ``n`` integers."""
        bound = int(rng.integers(2, 9)) if n <= 40 else 10**9
        return [integers(rng, -bound, bound, n)]

    def special_inputs(self, plan: Plan) -> list[list[Any]]:
        """Return lists of equal numbers, of negative ones only, of zeros, and of the largest numbers."""
        return [[[3] * 5], [[-7, -2, -9, -2]], [[0] * 4], [[10**9, -(10**9), 10**9]]]
