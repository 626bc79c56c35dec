"""Written tests are rewarded by the paper's rule, without its loopholes."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rla_agents.unit_tests import UnitTestQuality, true_tests, unit_test_quality, unit_test_rewards
from rla_envs.errors import InputError

TABLES = st.integers(1, 5).flatmap(
    lambda programs: st.integers(1, 5).flatmap(
        lambda tests: st.tuples(
            st.lists(
                st.lists(st.booleans(), min_size=tests, max_size=tests), min_size=programs, max_size=programs
            ),
            st.lists(st.booleans(), min_size=programs, max_size=programs),
        )
    )
)


def papers_rewards(passes, right):
    """Return the paper's rewards in its own words, test by test, as if all tests could be read."""
    rewards = []
    for k in range(len(passes[0])):
        good = [passes[i][k] for i in range(len(passes)) if right[i]]
        bad = [passes[i][k] for i in range(len(passes)) if not right[i]]
        if not good:
            rewards.append(None)
        elif not bad:
            rewards.append(1 if all(good) else -1)
        elif all(good):
            rewards.append(bad.count(False))
        else:
            rewards.append(-bad.count(True))
    return rewards


@given(TABLES)
def test_different_readable_tests_get_exactly_the_papers_rewards(table):
    passes, right = table
    assert unit_test_rewards(passes, right, range(len(passes[0]))) == papers_rewards(passes, right)


@given(TABLES, st.data())
def test_an_unreadable_test_ranks_below_every_readable_one(table, data):
    passes, right = table
    unreadable = data.draw(st.integers(0, len(passes[0]) - 1))
    tests = [None if k == unreadable else k for k in range(len(passes[0]))]
    passes = [[value and k != unreadable for k, value in enumerate(row)] for row in passes]
    rewards = unit_test_rewards(passes, right, tests)
    for k, reward in enumerate(rewards):
        if k != unreadable and reward is not None:
            assert rewards[unreadable] < reward


def test_the_released_codes_loophole_is_closed():
    # One right program, two wrong ones; an untrue test that both wrong ones pass, an unreadable one.
    passes = [[False, False], [True, False], [True, False]]
    assert unit_test_rewards(passes, [True, False, False], ["untrue", None]) == [-2.0, -3.0]


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_repeating_a_true_test_gains_nothing(copies):
    passes = [[True] * copies, [False] * copies, [False] * copies]
    rewards = unit_test_rewards(passes, [True, False, False], ["same"] * copies)
    assert sum(rewards) == pytest.approx(2.0)
    assert len(set(rewards)) == 1


def test_repeating_an_untrue_test_costs_every_time():
    passes = [[False, False], [True, True]]
    assert unit_test_rewards(passes, [True, False], ["same", "same"]) == [-1.0, -1.0]


def test_nothing_is_said_where_no_program_is_right():
    passes = [[True, False], [False, False]]
    assert true_tests(passes, [False, False]) is None
    assert unit_test_rewards(passes, [False, False], ["a", None]) == [None, None]
    assert unit_test_quality(passes, [False, False]) is None


def test_where_every_program_is_right_a_test_is_worth_one_either_way():
    assert unit_test_rewards([[True, False, False]], [True], ["a", "b", None]) == [1.0, -1.0, -2.0]


@pytest.mark.parametrize(
    ("passes", "right", "quality"),
    [
        ([[True, True], [False, True]], [True, False], (1.0, 0.5)),
        ([[True, False], [False, False]], [True, False], (0.5, 0.5)),
        ([[False, False], [True, False]], [True, False], (0.0, 0.0)),
        ([[True, True]], [True], (1.0, 1.0)),
    ],
)
def test_accuracy_counts_true_tests_and_perfect_ones_reject_every_wrong_program(passes, right, quality):
    assert unit_test_quality(passes, right) == UnitTestQuality(*quality)


@given(TABLES)
def test_a_perfect_test_is_true_so_its_rate_is_never_above_the_accuracy(table):
    quality = unit_test_quality(*table)
    assert quality is None or 0 <= quality.perfect <= quality.accuracy <= 1


def test_the_order_of_programs_does_not_matter():
    passes, right = [[True, False], [False, True], [True, True]], [True, False, False]
    wanted = unit_test_rewards(passes, right, ["a", "b"])
    for order in itertools.permutations(range(3)):
        assert unit_test_rewards([passes[i] for i in order], [right[i] for i in order], ["a", "b"]) == wanted


@pytest.mark.parametrize(
    ("passes", "right", "tests"),
    [
        ([[True]], [True, False], ["a"]),
        ([[True], [True, False]], [True, False], ["a"]),
        ([[True]], [True], ["a", "b"]),
    ],
)
def test_a_table_with_holes_is_refused(passes, right, tests):
    with pytest.raises(InputError, match="one row a program and one column a test"):
        unit_test_rewards(passes, right, tests)
