"""The step budget as a difficulty parameter: so many times the shortest plan."""

from __future__ import annotations

import math

from rla_envs.difficulty import DifficultyParameter
from rla_envs.errors import InvalidTaskError
from rla_envs.task import Task


def stated_step_budget(task: Task) -> float:
    """Return the step budget that a task states, as a multiple of its shortest plan.

    Raises:
        InvalidTaskError: If it states none that is a number.
    """
    value = task.difficulty.get("step_budget")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidTaskError(f"difficulty parameter 'step_budget': expected a number, got {value!r}")
    return float(value)


def steps_allowed(multiple: float, plan_length: int) -> int:
    """Return the number of steps after which an episode is cut."""
    # Rounded first: 1.1 * 10 is a little over 11 in floating point.
    return math.ceil(round(multiple * plan_length, 6))


def _tightness(task: Task) -> float:
    return -stated_step_budget(task)


STEP_BUDGET = DifficultyParameter(
    name="step_budget",
    low=1.0,
    high=10.0,
    default=5.0,
    continuous=True,
    direction=-1,
    meaning="steps before the episode is cut, as a multiple of the shortest plan, rounded up",
    statistic=_tightness,
)
