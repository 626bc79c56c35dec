"""Intervals: a list of intervals is merged, cut and stretched, and then measured."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np

from rla_envs.coding.families.base import Family, integers
from rla_envs.coding.families.formats import PAIRS
from rla_envs.coding.families.operation import Operation, Plan, whole


def _merge(pairs: list[list[int]]) -> list[list[int]]:
    merged: list[list[int]] = []
    for start, end in sorted(pairs):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def _merge_brute(pairs: list[list[int]]) -> list[list[int]]:
    merged: list[list[int]] = []
    for start, end in pairs:
        touching = [other for other in merged if other[0] <= end and start <= other[1]]
        merged = [other for other in merged if other not in touching]
        merged.append([min([start, *(a for a, _ in touching)]), max([end, *(b for _, b in touching)])])
    return sorted(merged)


def _merge_overlapping_only(pairs: list[list[int]]) -> list[list[int]]:
    merged: list[list[int]] = []
    for start, end in sorted(pairs):
        if merged and start < merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def _merge_to_last_end(pairs: list[list[int]]) -> list[list[int]]:
    merged: list[list[int]] = []
    for start, end in sorted(pairs):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = end
        else:
            merged.append([start, end])
    return merged


def _clip(pairs: list[list[int]], low: int) -> list[list[int]]:
    return [[max(start, low), end] for start, end in pairs if end > low]


def _clip_brute(pairs: list[list[int]], low: int) -> list[list[int]]:
    result = []
    for start, end in pairs:
        if start < low < end:
            result.append([low, end])
        elif start >= low:
            result.append([start, end])
    return result


def _keep_later(pairs: list[list[int]], low: int) -> list[list[int]]:
    return [[start, end] for start, end in pairs if start >= low]


def _drop_short(pairs: list[list[int]], length: int) -> list[list[int]]:
    return [[start, end] for start, end in pairs if end - start >= length]


def _drop_short_brute(pairs: list[list[int]], length: int) -> list[list[int]]:
    result = list(pairs)
    for pair in pairs:
        if pair[1] - pair[0] < length:
            result.remove(pair)
    return result


def _drop_short_or_equal(pairs: list[list[int]], length: int) -> list[list[int]]:
    return [[start, end] for start, end in pairs if end - start > length]


def _widen(pairs: list[list[int]], amount: int) -> list[list[int]]:
    return [[start - amount, end + amount] for start, end in pairs]


def _widen_brute(pairs: list[list[int]], amount: int) -> list[list[int]]:
    return [[place + (2 * i - 1) * amount for i, place in enumerate(pair)] for pair in pairs]


def _widen_right(pairs: list[list[int]], amount: int) -> list[list[int]]:
    return [[start, end + amount] for start, end in pairs]


def _drop_nested(pairs: list[list[int]]) -> list[list[int]]:
    kept: list[list[int]] = []
    for start, end in sorted(pairs, key=lambda pair: (pair[0], -pair[1])):
        if not kept or end > kept[-1][1]:
            kept.append([start, end])
    return kept


def _drop_nested_brute(pairs: list[list[int]]) -> list[list[int]]:
    distinct = sorted({(start, end) for start, end in pairs})
    return [
        [a, b] for a, b in distinct if not any(c <= a and b <= d and (a, b) != (c, d) for c, d in distinct)
    ]


def _drop_equal(pairs: list[list[int]]) -> list[list[int]]:
    return [list(pair) for pair in sorted({(start, end) for start, end in pairs})]


def _total_length(pairs: list[list[int]]) -> int:
    return sum(end - start for start, end in pairs)


def _total_length_brute(pairs: list[list[int]]) -> int:
    return sum(pair[1] for pair in pairs) - sum(pair[0] for pair in pairs)


def _longest(pairs: list[list[int]]) -> int:
    return max((end - start for start, end in pairs), default=0)


def _longest_brute(pairs: list[list[int]]) -> int:
    best = 0
    for start, end in pairs:
        if end - start > best:
            best = end - start
    return best


def _shortest(pairs: list[list[int]]) -> int:
    return min((end - start for start, end in pairs), default=0)


def _span(pairs: list[list[int]]) -> int:
    return max(end for _, end in pairs) - min(start for start, _ in pairs) if pairs else 0


def _covered(pairs: list[list[int]]) -> int:
    covered, reached = 0, None
    for start, end in sorted(pairs):
        if reached is None or start > reached:
            covered += end - start
            reached = end
        elif end > reached:
            covered += end - reached
            reached = end
    return covered


def _covered_brute(pairs: list[list[int]]) -> int:
    places = sorted({place for pair in pairs for place in pair})
    covered = 0
    for i in range(len(places) - 1):
        if any(start <= places[i] and places[i + 1] <= end for start, end in reversed(pairs)):
            covered += places[i + 1] - places[i]
    return covered


def _deepest(pairs: list[list[int]]) -> int:
    changes = sorted([(start, 1) for start, _ in pairs] + [(end, -1) for _, end in pairs])
    best = depth = 0
    for _, change in changes:
        depth += change
        best = max(best, depth)
    return best


def _deepest_brute(pairs: list[list[int]]) -> int:
    best = 0
    for place, _ in pairs:
        best = max(best, sum(start <= place < end for start, end in pairs))
    return best


def _deepest_with_ends(pairs: list[list[int]]) -> int:
    changes = sorted([(start, -1) for start, _ in pairs] + [(end, 1) for _, end in pairs])
    best = depth = 0
    for _, change in changes:
        depth -= change
        best = max(best, depth)
    return best


def _overlapping_pairs(pairs: list[list[int]]) -> int:
    starts = sorted(start for start, _ in pairs)
    ends = sorted(end for _, end in pairs)
    apart = sum(bisect.bisect_right(ends, start) for start in starts)
    return len(pairs) * (len(pairs) - 1) // 2 - apart


def _overlapping_pairs_brute(pairs: list[list[int]]) -> int:
    count = 0
    for i in range(len(pairs)):
        for j in range(i):
            count += pairs[i][0] < pairs[j][1] and pairs[j][0] < pairs[i][1]
    return count


def _touching_pairs(pairs: list[list[int]]) -> int:
    starts = sorted(start for start, _ in pairs)
    ends = sorted(end for _, end in pairs)
    apart = sum(bisect.bisect_left(ends, start) for start in starts)
    return len(pairs) * (len(pairs) - 1) // 2 - apart


class Intervals(Family):
    """Merging, clipping, widening and dropping intervals, then lengths, coverage or overlaps."""

    name = "intervals"
    title = "Intervals"
    intro = (
        "You are given n intervals. The interval of a and b covers all numbers x with a <= x < b, "
        "and its length is b - a."
    )
    limits = "For each interval, 0 <= a < b <= 1000000000."
    form = PAIRS
    operations = (
        Operation(
            "Merge intervals that overlap or touch (one ends where the other starts), as often as "
            "possible, so that the intervals left cover the same numbers.",
            _merge,
            _merge_brute,
            (_merge_overlapping_only, _merge_to_last_end),
        ),
        Operation(
            "Cut off everything before {0}: an interval that starts earlier now starts there, or is "
            "dropped if it has nothing after.",
            _clip,
            _clip_brute,
            (_keep_later,),
            draw=whole(4, 9),
        ),
        Operation(
            "Drop every interval shorter than {0}.",
            _drop_short,
            _drop_short_brute,
            (_drop_short_or_equal,),
            draw=whole(2, 4),
        ),
        Operation(
            "Make every interval start {0} earlier and end {0} later.",
            _widen,
            _widen_brute,
            (_widen_right,),
            draw=whole(1, 2),
        ),
        Operation(
            "Drop every interval that lies inside another one (it may share one of its ends); of equal "
            "intervals keep one.",
            _drop_nested,
            _drop_nested_brute,
            (_drop_equal,),
        ),
        Operation(
            "The answer is the sum of the lengths of the intervals.",
            _total_length,
            _total_length_brute,
            (_covered, _span),
            final=True,
            easy=True,
        ),
        Operation(
            "The answer is the length of the longest interval (0 if there is none).",
            _longest,
            _longest_brute,
            (_shortest, _span),
            final=True,
            easy=True,
        ),
        Operation(
            "The answer is how many whole numbers are covered by at least one interval.",
            _covered,
            _covered_brute,
            (_total_length, _span),
            final=True,
            heavy=True,
        ),
        Operation(
            "The answer is the largest number of intervals that cover the same number.",
            _deepest,
            _deepest_brute,
            (_deepest_with_ends,),
            final=True,
            heavy=True,
        ),
        Operation(
            "The answer is the number of pairs of intervals that overlap, that is, cover a number in common.",
            _overlapping_pairs,
            _overlapping_pairs_brute,
            (_touching_pairs,),
            final=True,
            heavy=True,
        ),
    )

    def draw_input(self, rng: np.random.Generator, n: int, plan: Plan) -> list[Any]:
        """Return one list of ``n`` intervals; long inputs hold short intervals, so that few are merged."""
        reach, length = (14, 6) if n <= 40 else (10**9 - 1000, 1000)
        starts = integers(rng, 0, reach, n)
        lengths = integers(rng, 1, length, n)
        return [[[start, start + size] for start, size in zip(starts, lengths, strict=True)]]

    def special_inputs(self, plan: Plan) -> list[list[Any]]:
        """Return equal, nested, touching, and far apart intervals."""
        return [
            [[[2, 9], [2, 9], [2, 9]]],
            [[[0, 12], [3, 7], [3, 12], [4, 6]]],
            [[[1, 3], [3, 6], [6, 7], [9, 11]]],
            [[[999999990, 1000000000], [0, 4]]],
        ]
