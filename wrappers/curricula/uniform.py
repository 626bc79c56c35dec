"""Every difficulty equally often: domain randomisation, the usual baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from rla_envs.difficulty import parse_difficulty
from rla_envs.errors import InputError
from wrappers.curricula.base import BaseCurriculum, choose_parameters, group_key, parse_success
from wrappers.protocols import Proposal


class Uniform(BaseCurriculum):
    """Draw every parameter uniformly and independently of the others.

    Args:
        difficulty_space: See :class:`~wrappers.curricula.base.BaseCurriculum`.
        low: Smallest value of some parameters; the others go down to the end
            of their range.
        high: Largest value of some parameters; the others go up to the end.
        parameters: Names of the parameters to draw; None draws all of them.
            The rest takes its defaults.

    Raises:
        InputError: If a parameter is unknown, a bound is out of range or
            ``low`` exceeds ``high``.
    """

    name: ClassVar[str] = "uniform"

    def __init__(
        self,
        difficulty_space: spaces.Dict,
        low: Mapping[str, object] | None = None,
        high: Mapping[str, object] | None = None,
        parameters: Sequence[str] | None = None,
    ) -> None:
        """Check and keep the ranges."""
        super().__init__(difficulty_space)
        chosen = choose_parameters(self._difficulties.parameters, parameters)
        lows, highs = parse_difficulty(chosen, low), parse_difficulty(chosen, high)
        self._ranges = tuple(
            replace(p, low=lows.get(p.name, p.low), high=highs.get(p.name, p.high)) for p in chosen
        )
        for p in self._ranges:
            if p.low > p.high:
                raise InputError(f"uniform range of {p.name!r}: expected low <= high, got {p.low} > {p.high}")

    def next_proposal(self, rng: np.random.Generator) -> Proposal:
        """Return a fresh draw."""
        drawn = {p.name: p.draw(rng) for p in self._ranges}
        return Proposal(self._difficulties.member(drawn), None, "drawn uniformly")

    def observe(self, difficulty: Mapping[str, Any], success: bool | float, **feedback: Any) -> None:
        """Count the result; nothing is adapted."""
        value = parse_success(success)
        self._groups.add(group_key(self._difficulties.read(difficulty), feedback), value)

    def explain(self) -> str:
        """Return the ranges and how much of the practice was wasted."""
        ranges = ", ".join(f"{p.name} {p.low} to {p.high}" for p in self._ranges) or "no parameter"
        return f"Uniform draws ({ranges}), whatever the results; {self._groups.describe()}."
