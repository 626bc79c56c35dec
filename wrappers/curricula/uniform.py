"""Every difficulty equally often: domain randomisation, the usual baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from rla_envs.difficulty import DifficultyParameter, parse_difficulty
from rla_envs.errors import InputError
from wrappers.curricula.base import BaseCurriculum, choose_parameters, parse_success, task_key
from wrappers.protocols import Proposal, TaskSource


class Uniform(BaseCurriculum):
    """Draw every parameter uniformly and independently of the others.

    Args:
        low: Smallest value of some parameters; the others go down to the end
            of their range.
        high: Largest value of some parameters; the others go up to the end.
        parameters: Names of the parameters to draw; None draws all of them.
            The rest is left to the environment.

    Raises:
        InputError: When bound, if a parameter is unknown, a bound is out of
            range or ``low`` exceeds ``high``.
    """

    name: ClassVar[str] = "uniform"

    def __init__(
        self,
        low: Mapping[str, object] | None = None,
        high: Mapping[str, object] | None = None,
        parameters: Sequence[str] | None = None,
    ) -> None:
        """Keep the ranges; they are checked when the curriculum is bound."""
        super().__init__()
        self._low, self._high, self._names = low, high, parameters

    def propose(self, rng: np.random.Generator) -> Proposal:
        """Return a fresh draw."""
        return Proposal({p.name: p.draw(rng) for p in self._ranges(self.source)}, None, "drawn uniformly")

    def observe(self, difficulty: Mapping[str, Any], success: bool | float, **feedback: Any) -> None:
        """Count the result; nothing is adapted."""
        self._groups.add(task_key(difficulty, feedback), parse_success(success))

    def explain(self) -> str:
        """Return the ranges and how much of the practice was wasted."""
        ranges = (
            ", ".join(f"{p.name} {p.low} to {p.high}" for p in self._ranges(self.source)) or "no parameter"
        )
        return f"Uniform draws ({ranges}), whatever the results; {self._groups.describe()}."

    def _prepare(self, source: TaskSource) -> None:
        self._ranges(source)

    def _ranges(self, source: TaskSource) -> tuple[DifficultyParameter, ...]:
        chosen = choose_parameters(source.difficulty_parameters, self._names)
        low, high = parse_difficulty(chosen, self._low), parse_difficulty(chosen, self._high)
        ranges = tuple(replace(p, low=low.get(p.name, p.low), high=high.get(p.name, p.high)) for p in chosen)
        for p in ranges:
            if p.low > p.high:
                raise InputError(f"uniform range of {p.name!r}: expected low <= high, got {p.low} > {p.high}")
        return ranges
