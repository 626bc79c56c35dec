"""How often a rule is wrong, and how often right: exact, over the whole procedure that slots follow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rla_envs.errors import InputError
from wrappers.acceptance.base import AcceptanceRule, check_direction

_MOST_ROLLOUTS = 1024


class Characteristics(NamedTuple):
    """What a rule does to an edit with known success before and after.

    Attributes:
        asked: Probability that one group of the version in force asks for an
            edit in this direction.
        accepted: Probability that the edit is accepted, given that it was asked for.
        rollouts: Mean number of rollouts from asking to the decision, of both
            versions, given that it was asked for.
    """

    asked: float
    accepted: float
    rollouts: float


def awaits_active(rule: AcceptanceRule, before: float, after: float) -> bool:
    """Return whether the version in force is rolled out next while an edit is pending, else the edited one.

    A rule that takes fresh evidence on both gets them in turn, the version in
    force first: a learner that improves meanwhile then improves on both.

    Args:
        rule: Who decides.
        before: Rollouts of the version in force that count as evidence.
        after: Rollouts of the edited version.
    """
    return bool(getattr(rule, "fresh_before", False)) and before <= after


def characteristics(
    rule: AcceptanceRule,
    direction: str,
    before: float,
    after: float,
    group: int = 8,
    low: float = 0.2,
    high: float = 0.8,
) -> Characteristics:
    """Return what a rule does to an edit that moves true success from ``before`` to ``after``.

    Computed exactly from binomial distributions, for the procedure of the slots
    of :class:`wrappers.curricula.Threshold`: a group of rollouts of the version
    in force asks for the edit; then groups are rolled out, of the edited
    version only or of both in turn (see :func:`awaits_active`), and the rule
    looks after each, until it decides.

    With ``before == after`` the edit changes nothing and ``accepted`` is the
    rate of false acceptance given the trigger; ``asked * accepted`` is the rate
    without that condition.

    Args:
        rule: Who decides.
        direction: ``"harder"`` or ``"easier"``.
        before: True success rate of the version in force.
        after: True success rate of the edited version.
        group: Rollouts in a group.
        low: Mean of a group at or below which it asks for an easier version.
        high: Mean of a group at or above which it asks for a harder version.

    Raises:
        InputError: If the rule does not decide within 1,024 rollouts.
    """
    check_direction(direction)
    means = np.arange(group + 1) / group
    asks = means >= high if direction == "harder" else means <= low
    trigger = np.where(asks, _binomial(group, before), 0.0)
    asked = float(trigger.sum())
    if asked == 0.0:
        return Characteristics(0.0, 0.0, 0.0)
    fresh = bool(getattr(rule, "fresh_before", False))
    # Row: successes before; column: successes after; entry: probability of being there undecided.
    reach = np.ones((1, 1)) if fresh else (trigger / asked)[:, None]
    accepted = rollouts = 0.0
    while reach.any():
        n, m = reach.shape[0] - 1, reach.shape[1] - 1
        active = awaits_active(rule, n, m)
        rollouts += group * float(reach.sum())
        reach = _grown(reach, _binomial(group, before if active else after), axis=0 if active else 1)
        n, m = reach.shape[0] - 1, reach.shape[1] - 1
        if n + m > _MOST_ROLLOUTS:
            raise InputError(f"acceptance rule: expected a decision within {_MOST_ROLLOUTS} rollouts")
        for won, edited_won in np.argwhere(reach > 0.0):
            decision = rule.decide(direction, (int(won), n), (int(edited_won), m))
            if decision != "more":
                accepted += float(reach[won, edited_won]) if decision == "accept" else 0.0
                reach[won, edited_won] = 0.0
    return Characteristics(asked, accepted, rollouts)


def _binomial(n: int, p: float) -> NDArray[np.float64]:
    weights = np.zeros(n + 1)
    weights[0] = 1.0
    for _ in range(n):
        weights[1:] = weights[1:] * (1.0 - p) + weights[:-1] * p
        weights[0] *= 1.0 - p
    return weights


def _grown(reach: NDArray[np.float64], more: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    shape = list(reach.shape)
    shape[axis] += len(more) - 1
    grown = np.zeros(shape)
    for wins, probability in enumerate(more):
        window = [slice(None), slice(None)]
        window[axis] = slice(wins, wins + reach.shape[axis])
        grown[tuple(window)] += probability * reach
    return grown
