"""The reward model for code is a writer of unit tests: how good its tests are, as plain arithmetic.

Several programs for one problem and several tests that the reward model wrote
for it give a table: which program passes which test. With the problem's own
tests saying which programs are right, the table says which tests are
(arXiv 2602.02488, coding). Nothing here runs a program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from rla_envs.errors import InputError

Passes = Sequence[Sequence[bool]]
"""``passes[program][test]``; an unreadable test is passed by none."""


def true_tests(passes: Passes, right: Sequence[bool]) -> list[bool] | None:
    """Return for each test whether it is true: every right program passes it.

    Args:
        passes: Which program passes which test.
        right: Of each program, whether it passes all of the problem's own tests.

    Returns:
        None if no program is right: then nothing can be said.
    """
    _check(passes, right)
    rows = [row for row, is_right in zip(passes, right, strict=True) if is_right]
    return [all(column) for column in zip(*rows, strict=True)] if rows else None


def unit_test_rewards(
    passes: Passes, right: Sequence[bool], tests: Sequence[Hashable | None]
) -> list[float | None]:
    """Return the reward of each test.

    A true test gets the number of wrong programs that it rejects, an untrue one
    minus the number of wrong programs that it lets pass; where every program is
    right, +1 and -1. In the released code an unreadable test gets 0, as it
    rejects everything, and so beats an untrue test that some wrong program
    passes: here it gets less than any readable one can. Equal tests share what
    one of them would gain, so that repeating a test gains nothing.

    Args:
        passes: Which program passes which test.
        right: Of each program, whether it passes all of the problem's own tests.
        tests: The tests, None for an unreadable one; equal ones are the same test.

    Returns:
        One reward a test, to be compared within the problem; None for all if no
        program is right.
    """
    true = true_tests(passes, right)
    if true is None:
        return [None] * len(tests)
    _check(passes, right, len(tests))
    wrong = [row for row, is_right in zip(passes, right, strict=True) if not is_right]
    copies = Counter(test for test in tests if test is not None)
    rewards: list[float | None] = []
    for k, test in enumerate(tests):
        let_pass = sum(row[k] for row in wrong)
        if test is None:
            rewards.append(-float(max(len(wrong), 1) + 1))
        elif true[k]:
            rewards.append((len(wrong) - let_pass if wrong else 1) / copies[test])
        else:
            rewards.append(-float(let_pass if wrong else 1))
    return rewards


class UnitTestQuality(NamedTuple):
    """How good the tests of one problem are, or the mean over problems.

    Attributes:
        accuracy: Share of the tests that are true (the paper's ``syn_ut_acc``).
        perfect: Share that are true and reject every wrong program
            (``perfect_ut_rate``).
    """

    accuracy: float
    perfect: float


def unit_test_quality(passes: Passes, right: Sequence[bool]) -> UnitTestQuality | None:
    """Return how good the tests of one problem are; unreadable ones count as untrue.

    Returns:
        None if no program is right, or there is no test.
    """
    true = true_tests(passes, right)
    if not true:
        return None
    wrong = [row for row, is_right in zip(passes, right, strict=True) if not is_right]
    perfect = [is_true and not any(row[k] for row in wrong) for k, is_true in enumerate(true)]
    return UnitTestQuality(sum(true) / len(true), sum(perfect) / len(true))


def _check(passes: Passes, right: Sequence[bool], tests: int | None = None) -> None:
    widths = {len(row) for row in passes}
    if len(passes) != len(right) or len(widths) > 1 or (tests is not None and widths - {tests}):
        raise InputError(
            f"expected one row a program and one column a test, got rows of {sorted(widths)} tests for "
            f"{len(right)} programs" + ("" if tests is None else f" and {tests} tests")
        )
