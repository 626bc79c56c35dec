"""One difficulty level that rises and falls with the mean result: AdaRFT."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from rla_envs.difficulty import Value
from wrappers.curricula.adaptive import AdaptiveCurriculum, Choice
from wrappers.curricula.base import check_number


class Target(AdaptiveCurriculum):
    """Move a single level towards the difficulty where the mean result hits a target.

    All parameters share one level T from 0 (every one at its easy end) to 1
    (at its hard end). After every ``batch`` results ::

        T <- clip(T + step * tanh(sensitivity * (mean result - target)), 0, 1)

    as in AdaRFT (arXiv 2504.05520), with its constants: target 0.5,
    sensitivity 2, a step of half the range, a start at the easy end.

    Not in the paper: each parameter is set ``spread`` around the level, at
    random, since equally hard combinations are many. Parameters with named
    values have no order and are drawn. One proposal in twenty revisits an
    easier level, so that forgetting shows in the mean. And when the level goes
    to and fro three times in a row the step is halved (event ``step_halved``);
    it doubles again, up to its full length, when three moves agree.

    Args:
        difficulty_space: See :class:`~wrappers.curricula.base.BaseCurriculum`.
        step: Longest move of the level.
        sensitivity: How soon a move saturates.
        batch: Results between two moves; take no fewer than are in flight at once.
        start: The level at the start.
        spread: Standard deviation of a parameter around the level.
        critic_weight: See :class:`~wrappers.curricula.adaptive.AdaptiveCurriculum`.
        balance: See :class:`~wrappers.curricula.adaptive.AdaptiveCurriculum`.

    Raises:
        InputError: On an argument out of range.
    """

    name: ClassVar[str] = "target"
    revisit: ClassVar[float] = 0.05
    turn_limit: ClassVar[int] = 3
    shortest: ClassVar[float] = 1 / 16

    def __init__(
        self,
        difficulty_space: spaces.Dict,
        step: float = 0.5,
        sensitivity: float = 2.0,
        batch: int = 32,
        start: float = 0.0,
        spread: float = 0.1,
        critic_weight: float = 0.0,
        balance: bool = False,
    ) -> None:
        """Start at the easy end, unless told otherwise."""
        super().__init__(difficulty_space, critic_weight, balance)
        check_number("step", step, 1e-3, 1.0)
        check_number("sensitivity", sensitivity, 1e-3, 1e3)
        check_number("batch", batch, 1, integer=True)
        check_number("start", start, 0.0, 1.0)
        check_number("spread", spread, 0.0, 1.0)
        self._step, self._sensitivity, self._batch = float(step), float(sensitivity), batch
        self._spread = float(spread)
        self._level, self._total, self._count = float(start), 0.0, 0
        self._scale, self._turns, self._last, self._mean = 1.0, 0, 0, math.nan

    @property
    def level(self) -> float:
        """The current level, 0 to 1."""
        return self._level

    def explain(self) -> str:
        """Return the level and how much of the practice was wasted."""
        last = "" if math.isnan(self._mean) else f", last mean {self._mean:.2f}"
        ends = {0.0: " (the easy end)", 1.0: " (the hard end)"}
        return (
            f"Level {self._level:.2f}{ends.get(self._level, '')} of 0 to 1, moved every {self._batch} "
            f"results by at most {self._step * self._scale:.3g}{last}; {self._tail()}"
        )

    def _choose(self, rng: np.random.Generator) -> Choice:
        level, reason = self._level, f"level {self._level:.2f}"
        if rng.random() < self.revisit:
            level = float(rng.uniform(0.0, self._level))
            reason = f"revisiting level {level:.2f} below {self._level:.2f}"
        hardness = level + self._spread * rng.standard_normal(len(self._difficulties.parameters))
        values = self._difficulties.at(hardness)
        drawn = self._difficulties.draw(rng)
        named = {p.name: drawn[p.name] for p in self._difficulties.parameters if p.names}
        return Choice({**values, **named}, reason)

    def _learn(self, played: Mapping[str, Value], success: float) -> None:
        self._total += success
        self._count += 1
        if self._count < self._batch:
            return
        self._mean = self._total / self._count
        self._total, self._count = 0.0, 0
        move = self._step * math.tanh(self._sensitivity * (self._mean - self.target))
        self._damp(move)
        self._level = min(1.0, max(0.0, self._level + self._scale * move))

    def _damp(self, move: float) -> None:
        """Halve the step after three turns of direction in a row; double it after as many equal moves."""
        sign = (move > 0) - (move < 0)
        if sign == 0:
            return
        turns, last = self._turns, self._last
        # Turns count up, moves that agree count down; the other kind starts over.
        self._turns = 0 if last == 0 else max(turns, 0) + 1 if sign != last else min(turns, 0) - 1
        self._last = sign
        if self._turns >= self.turn_limit:
            self._turns, self._scale = 0, max(self.shortest, self._scale / 2.0)
            step = self._step * self._scale
            reason = "the level goes to and fro"
            self._events.append(
                {"event": "step_halved", "level": self._level, "step": step, "reason": reason}
            )
        elif self._turns <= -self.turn_limit:
            self._turns, self._scale = 0, min(1.0, 2.0 * self._scale)

    def _state(self) -> dict[str, Any]:
        return {
            **super()._state(),
            "level": self._level,
            "batch": [self._total, self._count],
            "scale": self._scale,
            "turns": [self._turns, self._last],
            "mean": None if math.isnan(self._mean) else self._mean,
        }

    def _load(self, state: dict[str, Any]) -> None:
        super()._load(state)
        level, scale = float(state["level"]), float(state["scale"])
        if not (0.0 <= level <= 1.0 and 0.0 < scale <= 1.0):
            raise ValueError(f"level {level}, scale {scale}")
        self._level, self._scale = level, scale
        self._total, self._count = float(state["batch"][0]), int(state["batch"][1])
        self._turns, self._last = (int(number) for number in state["turns"])
        self._mean = math.nan if state["mean"] is None else float(state["mean"])
