"""One difficulty for every episode: the control condition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from rla_envs.difficulty import Value, parse_difficulty
from wrappers.curricula.base import BaseCurriculum, parse_success, task_key
from wrappers.protocols import Proposal, TaskSource


class Fixed(BaseCurriculum):
    """Propose the same difficulty for ever.

    Args:
        difficulty: Parameter values; None leaves everything to the environment.

    Raises:
        InputError: When bound, if a parameter is unknown or out of range.
    """

    name: ClassVar[str] = "fixed"

    def __init__(self, difficulty: Mapping[str, object] | None = None) -> None:
        """Keep the difficulty; it is checked when the curriculum is bound."""
        super().__init__()
        self._given = difficulty
        self._difficulty: dict[str, Value] = {}

    def propose(self, rng: np.random.Generator) -> Proposal:
        """Return the one difficulty."""
        _ = self.source
        return Proposal(
            dict(self._difficulty), None, "fixed by the user" if self._difficulty else "the default"
        )

    def observe(self, difficulty: Mapping[str, Any], success: bool | float, **feedback: Any) -> None:
        """Count the result; nothing is adapted."""
        self._groups.add(task_key(difficulty, feedback), parse_success(success))

    def explain(self) -> str:
        """Return the difficulty and how much of the practice was wasted."""
        values = ", ".join(f"{name}={value}" for name, value in self._difficulty.items()) or "the default"
        return f"Fixed difficulty ({values}), whatever the results; {self._groups.describe()}."

    def _prepare(self, source: TaskSource) -> None:
        self._difficulty = parse_difficulty(source.difficulty_parameters, self._given)
