"""What decides on a pending edit: a rule that compares results before and after it."""

from __future__ import annotations

import math
from typing import Literal, Protocol, TypeAlias

from rla_envs.errors import InputError, unknown_name

Decision: TypeAlias = Literal["accept", "reject", "more"]
"""Keep the edit, drop it, or roll out more first."""

Results: TypeAlias = tuple[float, float]
"""Successes and rollouts. Shares count as parts of a success."""

DIRECTIONS = ("harder", "easier")


class AcceptanceRule(Protocol):
    """Decides on a pending edit.

    A rule must come to a decision: fed with ever more results it may answer
    ``"more"`` only a bounded number of times.
    """

    def decide(self, direction: str, before: Results, after: Results) -> Decision:
        """Return what to do with the edit.

        Args:
            direction: What the edit was to make the task, ``"harder"`` or ``"easier"``.
            before: Successes and rollouts of the version in force.
            after: Successes and rollouts of the edited one.

        Raises:
            InputError: On another direction, or results that are no counts.
        """
        ...


def check_direction(direction: object) -> None:
    """Refuse anything but the two directions.

    Raises:
        UnknownNameError: Suggesting the closer one.
    """
    if direction not in DIRECTIONS:
        raise unknown_name("direction", direction, DIRECTIONS)


def check_results(name: str, results: object) -> Results:
    """Return successes and rollouts as numbers.

    Raises:
        InputError: If they are not two finite numbers, 0 <= successes <= rollouts.
    """
    try:
        successes, rollouts = (float(number) for number in results)  # type: ignore[attr-defined]
        if isinstance(results, str | bytes):
            raise TypeError
    except (TypeError, ValueError, OverflowError):
        successes = rollouts = math.nan
    if not (0.0 <= successes <= rollouts + 1e-9 and math.isfinite(rollouts)):
        raise InputError(
            f"{name}: expected (successes, rollouts) with 0 <= successes <= rollouts, got {results!r}"
        )
    return min(successes, rollouts), rollouts


def check_band(low: object, high: object) -> None:
    """Refuse a band that is not within 0 to 1.

    Raises:
        InputError: Naming what came.
    """
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (low, high))
    if not numbers or not 0.0 <= low < high <= 1.0:  # type: ignore[operator]
        raise InputError(f"low, high: expected 0 <= low < high <= 1, got {low!r} and {high!r}")
