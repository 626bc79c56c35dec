"""An agent that halves the range with every guess."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Bisector:
    """Plays ``RLAExample/Guess-v0``. Two methods make an agent, a third is optional; no base class."""

    def reset(self, task_info: Mapping[str, Any]) -> None:
        """Begin an episode: all numbers are possible."""
        self._low, self._high = 1, task_info["difficulty"]["largest"]
        self._guess = 0

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the number in the middle of those still possible."""
        if observation == "higher":
            self._low = self._guess + 1
        elif observation == "lower":
            self._high = self._guess - 1
        self._guess = (self._low + self._high) // 2
        return str(self._guess)

    def report(self) -> dict[str, Any]:
        """Say whether the number must have been found; shown beside the verdict, never counted."""
        return {"claim": self._low == self._high}
