"""The paper's rule: one comparison of two small groups."""

from __future__ import annotations

from typing import ClassVar

from wrappers.acceptance.base import Decision, Results, check_band, check_direction, check_results


class ThresholdRule:
    """Decide as RLAnything does (arXiv 2602.02488 and its released code).

    A harder edit is kept if ``low <= after < before``, an easier one if
    ``before < after <= high``, and neither if ``after`` is 0; ``before`` and
    ``after`` are mean results. It decides at once.

    Known weakness, kept for a faithful baseline: with eight rollouts, a harder
    edit that changes nothing is accepted 93% of the time where true success is
    0.5 (given that eight lucky rollouts asked for it).

    Args:
        low: Success below which a task is too hard.
        high: Success above which a task is too easy.

    Example:
        >>> rule = ThresholdRule()
        >>> rule.decide("harder", (7, 8), (4, 8)), rule.decide("harder", (7, 8), (0, 8))
        ('accept', 'reject')
    """

    name: ClassVar[str] = "threshold"

    def __init__(self, low: float = 0.2, high: float = 0.8) -> None:
        """Keep the thresholds."""
        check_band(low, high)
        self.low, self.high = float(low), float(high)

    def decide(self, direction: str, before: Results, after: Results) -> Decision:
        """Return whether the edit is kept; "more" only if a version has no rollout yet."""
        check_direction(direction)
        (wins, n), (edited_wins, edited_n) = check_results("before", before), check_results("after", after)
        if not n or not edited_n:
            return "more"
        was, now = wins / n, edited_wins / edited_n
        moved = self.low <= now < was if direction == "harder" else was < now <= self.high
        return "accept" if moved and now > 0 else "reject"
