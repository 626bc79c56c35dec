"""Replay the difficulties that teach most, and those not seen for long: prioritized level replay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rla_envs.difficulty import Value
from wrappers.curricula.adaptive import AdaptiveCurriculum, Choice, learnability
from wrappers.curricula.base import check_number


@dataclass
class Level:
    """A difficulty that was played and what came of it.

    Attributes:
        values: The difficulty.
        won: Remembered successes.
        lost: Remembered failures.
        last: Number of the result that was its latest.
    """

    values: dict[str, Value]
    won: float = 0.0
    lost: float = 0.0
    last: int = 0


class PLR(AdaptiveCurriculum):
    """Keep a buffer of difficulties and replay them by learnability and staleness.

    With probability ``replay`` a level comes from the buffer, else it is drawn
    from the whole space. In the buffer the probability of a level is ::

        (1 - staleness) * P_score + staleness * P_stale
        P_score ~ rank^(-1/temperature),  P_stale ~ results since it was last played

    (Prioritized Level Replay, arXiv 2010.03934, which has staleness 0.1 and
    temperature 0.1; there, one level takes nearly everything until its score
    is updated, which a batch of proposals made at once does not suit). The score
    is the learnability p(1-p) (arXiv 2408.15099) of the success rate p under a
    uniform prior, so that a level with few results is as good as uncertain.

    Args:
        difficulty_space: See :class:`~wrappers.curricula.base.BaseCurriculum`.
        replay: Share of proposals that replay a level.
        temperature: How evenly the ranks share; small prefers the first.
        staleness: Weight of the time since a level was last played.
        memory: Results of a level that it remembers, about.
        capacity: Most levels kept; the least learnable one makes room.
        critic_weight: See :class:`~wrappers.curricula.adaptive.AdaptiveCurriculum`.
        balance: See :class:`~wrappers.curricula.adaptive.AdaptiveCurriculum`.

    Raises:
        InputError: On an argument out of range.
    """

    name: ClassVar[str] = "plr"

    def __init__(
        self,
        difficulty_space: spaces.Dict,
        replay: float = 0.8,
        temperature: float = 0.3,
        staleness: float = 0.1,
        memory: int = 16,
        capacity: int = 256,
        critic_weight: float = 0.0,
        balance: bool = False,
    ) -> None:
        """Start with an empty buffer."""
        super().__init__(difficulty_space, critic_weight, balance)
        check_number("replay", replay, 0.0, 1.0)
        check_number("temperature", temperature, 0.01, 100.0)
        check_number("staleness", staleness, 0.0, 1.0)
        check_number("memory", memory, 1, integer=True)
        check_number("capacity", capacity, 1, integer=True)
        self._replay, self._temperature, self._staleness = float(replay), float(temperature), float(staleness)
        self._memory, self._capacity = memory, capacity
        self._levels: dict[str, Level] = {}
        self._results = 0

    def explain(self) -> str:
        """Return what the buffer holds and how much of the practice was wasted."""
        levels = list(self._levels.values())
        means = [level.won / (level.won + level.lost) for level in levels]
        won, lost = sum(m > 0.875 for m in means), sum(m < 0.125 for m in means)
        return (
            f"Replay of {len(levels)} levels by learnability and staleness: {won} nearly always won, {lost} "
            f"nearly always lost, {len(levels) - won - lost} uncertain; {self._tail()}"
        )

    def _choose(self, rng: np.random.Generator) -> Choice:
        if not self._levels or rng.random() >= self._replay:
            return Choice(self._difficulties.draw(rng), "a new level, drawn uniformly")
        levels = list(self._levels.values())
        success = np.array([_mean(level) for level in levels])
        weights = self._weights(success, np.array([self._results - level.last for level in levels]), rng)
        chosen = int(rng.choice(len(levels), p=weights))
        level = levels[chosen]
        reason = (
            f"replay: expected success {success[chosen]:.2f}, last played {self._results - level.last} "
            f"results ago, one of {len(levels)} levels"
        )
        return Choice(dict(level.values), reason)

    def _weights(
        self, success: NDArray[np.float64], age: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        scores = learnability(success, self.target)
        # Equal scores must not always rank in the order of the buffer.
        order = np.lexsort((rng.random(len(scores)), -scores))
        ranks = np.empty(len(scores))
        ranks[order] = np.arange(1, len(scores) + 1)
        by_score = ranks ** (-1.0 / self._temperature)
        by_age = age + 1e-9
        weights: NDArray[np.float64] = (
            1.0 - self._staleness
        ) * by_score / by_score.sum() + self._staleness * by_age / by_age.sum()
        return weights

    def _learn(self, played: Mapping[str, Value], success: float) -> None:
        self._results += 1
        key = json.dumps(played, sort_keys=True)
        level = self._levels.setdefault(key, Level(dict(played)))
        keep = 1.0 - 1.0 / self._memory
        level.won, level.lost = keep * level.won + success, keep * level.lost + 1.0 - success
        level.last = self._results
        if len(self._levels) > self._capacity:
            rest = [name for name in self._levels if name != key]
            scores = learnability(np.array([_mean(self._levels[name]) for name in rest]), self.target)
            del self._levels[rest[int(np.argmin(scores))]]

    def _state(self) -> dict[str, Any]:
        levels = [asdict(level) for level in self._levels.values()]
        return {**super()._state(), "levels": levels, "results": self._results}

    def _load(self, state: dict[str, Any]) -> None:
        super()._load(state)
        levels = [Level(**level) for level in state["levels"]]
        if any(not (np.isfinite([v.won, v.lost]).all() and min(v.won, v.lost) >= 0.0) for v in levels):
            raise ValueError("a level without finite counts")
        self._levels = {
            json.dumps(self._difficulties.read(level.values, self._needed()), sort_keys=True): level
            for level in levels
        }
        self._results = int(state["results"])
        if any(not 0 <= level.last <= self._results for level in levels):
            raise ValueError("a level from the future")


def _mean(level: Level) -> float:
    return (level.won + 1.0) / (level.won + level.lost + 2.0)
