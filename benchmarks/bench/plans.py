"""Which episodes a run has, and in which order: all of a suite's, or those that an adaptive test asks for."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Protocol

from benchmarks.bench.episode import Episode
from benchmarks.bench.schema import Threshold, Trace


class Plan(Protocol):
    """Says which episodes to play next; its answers follow from the outcomes so far and nothing else."""

    @property
    def most(self) -> int:
        """The most episodes there can be."""

    def batch(self, played: Mapping[int, Trace]) -> Sequence[Episode]:
        """Return the next episodes, some of which may be played already; none at the end.

        Args:
            played: Traces by position.
        """

    def threshold(self, played: Mapping[int, Trace]) -> Threshold | None:
        """Return what an adaptive test found; None for any other plan."""


class StaticPlan:
    """Every task of every cell, cell by cell.

    Args:
        counts: How many tasks each cell has.
        attempts: How often each is played.
        limit: At most so many tasks, taken from the cells in turn; 0 is all.
    """

    def __init__(self, counts: Sequence[int], attempts: int, limit: int = 0) -> None:
        """Number the episodes; see the class for the arguments."""
        in_turn = sorted((number, cell) for cell, count in enumerate(counts) for number in range(count))
        chosen = sorted((cell, number) for number, cell in in_turn[: limit or None])
        every = itertools.product(chosen, range(attempts))
        self._episodes = [
            Episode(i, cell, number, attempt) for i, ((cell, number), attempt) in enumerate(every)
        ]

    @property
    def most(self) -> int:
        """How many episodes there are."""
        return len(self._episodes)

    def batch(self, played: Mapping[int, Trace]) -> Sequence[Episode]:
        """Return all episodes, until all are played."""
        return [] if len(played) == len(self._episodes) else self._episodes

    def threshold(self, played: Mapping[int, Trace]) -> None:
        """Return None."""
