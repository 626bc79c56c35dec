"""String rewriting: a string is rewritten by some rules in turn, and measured or printed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from rla_envs.coding.families.base import Family, integers
from rla_envs.coding.families.formats import LINE
from rla_envs.coding.families.operation import Arguments, Operation, Plan, one_of, whole

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _two_letters(rng: np.random.Generator) -> Arguments:
    first, second = rng.permutation(4)[:2]
    return "abcd"[int(first)], "abcd"[int(second)]


def _reverse(text: str) -> str:
    return text[::-1]


def _reverse_brute(text: str) -> str:
    result = ""
    for letter in text:
        result = letter + result
    return result


def _replace_letter(text: str, old: str, new: str) -> str:
    return text.replace(old, new)


def _replace_letter_brute(text: str, old: str, new: str) -> str:
    return "".join(new if letter == old else letter for letter in text)


def _replace_first(text: str, old: str, new: str) -> str:
    return text.replace(old, new, 1)


def _swap_letters(text: str, old: str, new: str) -> str:
    return text.translate(str.maketrans(old + new, new + old))


def _remove_letter(text: str, letter: str) -> str:
    return text.replace(letter, "")


def _remove_letter_brute(text: str, letter: str) -> str:
    while letter in text:
        place = text.index(letter)
        text = text[:place] + text[place + 1 :]
    return text


def _remove_last(text: str, letter: str) -> str:
    head, _, tail = text.rpartition(letter)
    return head + tail


def _shift_letters(text: str, places: int) -> str:
    moved = LETTERS[places % 26 :] + LETTERS[: places % 26]
    return text.translate(str.maketrans(LETTERS, moved))


def _shift_letters_brute(text: str, places: int) -> str:
    return "".join(chr((ord(letter) - ord("a") + places) % 26 + ord("a")) for letter in text)


def _shift_without_wrap(text: str, places: int) -> str:
    return "".join(chr(min(ord(letter) + places, ord("z"))) for letter in text)


def _collapse_runs(text: str) -> str:
    return "".join(letter for i, letter in enumerate(text) if i == 0 or letter != text[i - 1])


def _collapse_runs_brute(text: str) -> str:
    return re.sub(r"(.)\1+", r"\1", text)


def _remove_duplicates(text: str) -> str:
    return "".join(dict.fromkeys(text))


def _cancel_pairs(text: str) -> str:
    kept: list[str] = []
    for letter in text:
        if kept and kept[-1] == letter:
            kept.pop()
        else:
            kept.append(letter)
    return "".join(kept)


def _cancel_pairs_brute(text: str) -> str:
    for i in range(len(text) - 1):
        if text[i] == text[i + 1]:
            return _cancel_pairs_brute(text[:i] + text[i + 2 :])
    return text


def _cancel_pairs_once(text: str) -> str:
    return re.sub(r"(.)\1", "", text)


def _rotate_left(text: str, places: int) -> str:
    cut = places % len(text) if text else 0
    return text[cut:] + text[:cut]


def _rotate_left_brute(text: str, places: int) -> str:
    letters = list(text)
    for _ in range(places if letters else 0):
        letters.append(letters.pop(0))
    return "".join(letters)


def _rotate_right(text: str, places: int) -> str:
    cut = -places % len(text) if text else 0
    return text[cut:] + text[:cut]


def _length(text: str) -> int:
    return len(text)


def _length_brute(text: str) -> int:
    return sum(1 for _ in text)


def _distinct(text: str) -> int:
    return len(set(text))


def _itself(text: str) -> str:
    return text


def _itself_brute(text: str) -> str:
    return "".join(list(text))


def _sorted(text: str) -> str:
    return "".join(sorted(text))


def _runs(text: str) -> str:
    parts = []
    start = 0
    for i in range(1, len(text) + 1):
        if i == len(text) or text[i] != text[start]:
            parts.append(f"{text[start]}{i - start}")
            start = i
    return "".join(parts)


def _runs_brute(text: str) -> str:
    return re.sub(r"(.)\1*", lambda run: run[1] + str(len(run[0])), text)


def _runs_without_ones(text: str) -> str:
    return re.sub(r"(.)\1+", lambda run: run[1] + str(len(run[0])), text)


def _rising_pairs(text: str) -> int:
    seen = dict.fromkeys(LETTERS, 0)
    pairs = 0
    for letter in text:
        pairs += sum(seen[smaller] for smaller in LETTERS[: LETTERS.index(letter)])
        seen[letter] += 1
    return pairs


def _rising_pairs_brute(text: str) -> int:
    return sum(text[i] < text[j] for j in range(len(text)) for i in range(j))


def _rising_or_equal_pairs(text: str) -> int:
    return sum(text[i] <= text[j] for j in range(len(text)) for i in range(j))


def _distances(text: str) -> int:
    count = dict.fromkeys(text, 0)
    places = dict.fromkeys(text, 0)
    total = 0
    for i, letter in enumerate(text):
        total += count[letter] * i - places[letter]
        count[letter] += 1
        places[letter] += i
    return total


def _distances_brute(text: str) -> int:
    return sum(j - i for j in range(len(text)) for i in range(j) if text[i] == text[j])


def _neighbour_distances(text: str) -> int:
    last: dict[str, int] = {}
    total = 0
    for i, letter in enumerate(text):
        total += i - last.get(letter, i)
        last[letter] = i
    return total


class Strings(Family):
    """Replacing, removing, shifting and cancelling letters, then the string, its runs or a count of pairs."""

    name = "strings"
    title = "String rewriting"
    intro = "You are given a string of n lowercase English letters."
    limits = "Every character is one of a to z."
    form = LINE
    operations = (
        Operation("Reverse the string.", _reverse, _reverse_brute, (_sorted,)),
        Operation(
            "Replace every letter {0} by the letter {1}.",
            _replace_letter,
            _replace_letter_brute,
            (_replace_first, _swap_letters),
            draw=_two_letters,
        ),
        Operation(
            "Remove every letter {0}.",
            _remove_letter,
            _remove_letter_brute,
            (_remove_last,),
            draw=one_of("a", "b", "c"),
        ),
        Operation(
            "Replace every letter by the one {0} places later in the alphabet; after z comes a.",
            _shift_letters,
            _shift_letters_brute,
            (_shift_without_wrap,),
            draw=whole(1, 9),
        ),
        Operation(
            "Replace every run of equal neighbouring letters by a single such letter.",
            _collapse_runs,
            _collapse_runs_brute,
            (_remove_duplicates,),
        ),
        Operation(
            "As long as two neighbouring letters are equal, remove both; go on until there is no such pair "
            "(the result does not depend on the order).",
            _cancel_pairs,
            _cancel_pairs_brute,
            (_cancel_pairs_once, _collapse_runs),
        ),
        Operation(
            "Move the first letter to the end, {0} times in all.",
            _rotate_left,
            _rotate_left_brute,
            (_rotate_right,),
            draw=whole(1, 4),
        ),
        Operation(
            "The answer is the length of the string.",
            _length,
            _length_brute,
            (_distinct,),
            final=True,
            easy=True,
        ),
        Operation(
            "The answer is the string itself (it may be empty).",
            _itself,
            _itself_brute,
            (_sorted,),
            final=True,
            easy=True,
            answer="text",
        ),
        Operation(
            "The answer is the string with every run of equal neighbouring letters written as the letter "
            "and the length of the run, also if that is 1: aab becomes a2b1.",
            _runs,
            _runs_brute,
            (_runs_without_ones,),
            final=True,
            answer="text",
        ),
        Operation(
            "The answer is the number of pairs of positions i < j such that the letter at i comes before "
            "the letter at j in the alphabet.",
            _rising_pairs,
            _rising_pairs_brute,
            (_rising_or_equal_pairs,),
            final=True,
            heavy=True,
        ),
        Operation(
            "The answer is the sum of the distances j - i over all pairs of positions i < j that hold "
            "equal letters.",
            _distances,
            _distances_brute,
            (_neighbour_distances,),
            final=True,
            heavy=True,
        ),
    )

    def draw_input(self, rng: np.random.Generator, n: int, plan: Plan) -> list[Any]:
        """Return one string of ``n`` letters, of few different ones where it is short."""
        letters = ("abc", "abcd", "abz", "abcdyz")[int(rng.integers(4))] if n <= 40 else LETTERS
        return ["".join(letters[i] for i in integers(rng, 0, len(letters) - 1, n))]

    def special_inputs(self, plan: Plan) -> list[list[Any]]:
        """Return a run of one letter, nested pairs, the alphabet's ends, and a palindrome."""
        return [["aaaaa"], ["abccbaab"], ["zyxabz"], ["abcba"]]
