"""One difficulty for every episode: the control condition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from rla_envs.difficulty import parse_difficulty
from wrappers.curricula.base import BaseCurriculum, group_key, parse_success
from wrappers.protocols import Proposal


class Fixed(BaseCurriculum):
    """Propose the same difficulty for ever.

    Args:
        difficulty_space: See :class:`~wrappers.curricula.base.BaseCurriculum`.
        difficulty: Parameter values; the others take their defaults.

    Raises:
        InputError: If a parameter is unknown or out of range.
    """

    name: ClassVar[str] = "fixed"

    def __init__(self, difficulty_space: spaces.Dict, difficulty: Mapping[str, object] | None = None) -> None:
        """Check and keep the difficulty."""
        super().__init__(difficulty_space)
        self._difficulty = parse_difficulty(self._difficulties.parameters, difficulty)

    def next_proposal(self, rng: np.random.Generator) -> Proposal:
        """Return the one difficulty."""
        reason = "fixed by the user" if self._difficulty else "the default"
        return Proposal(self._difficulties.member(self._difficulty), None, reason)

    def observe(self, difficulty: Mapping[str, Any], success: bool | float, **feedback: Any) -> None:
        """Count the result; nothing is adapted."""
        value = parse_success(success)
        self._groups.add(group_key(self._difficulties.read(difficulty), feedback), value)

    def explain(self) -> str:
        """Return the difficulty and how much of the practice was wasted."""
        values = ", ".join(f"{name}={value}" for name, value in self._difficulty.items()) or "the default"
        return f"Fixed difficulty ({values}), whatever the results; {self._groups.describe()}."
