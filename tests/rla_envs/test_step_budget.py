"""The step budget: a multiple of the shortest plan, rounded up, without the errors of floating point."""

from fractions import Fraction
from math import ceil

import pytest

from rla_envs.errors import InvalidTaskError
from rla_envs.step_budget import STEP_BUDGET, stated_step_budget, steps_allowed
from rla_envs.task import Task


def test_the_steps_allowed_are_the_exact_product_rounded_up():
    for tenths in range(10, 101):
        for length in range(1, 60):
            assert steps_allowed(tenths / 10, length) == ceil(Fraction(tenths, 10) * length)


def test_a_smaller_budget_counts_as_harder():
    statistic = STEP_BUDGET.statistic
    assert statistic(Task("E-v0", {"step_budget": 1.5}, {})) > statistic(Task("E-v0", {"step_budget": 2}, {}))


@pytest.mark.parametrize("difficulty", [{}, {"step_budget": "3"}, {"step_budget": True}])
def test_a_budget_that_is_no_number_is_refused_by_name(difficulty):
    with pytest.raises(InvalidTaskError, match="'step_budget': expected a number"):
        stated_step_budget(Task("E-v0", difficulty, {}))
