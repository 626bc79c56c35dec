"""Simulated learners whose true success is known, one for each thing that can go wrong with a curriculum.

A difficulty x of two ordered parameters (one continuous, one with 9 values)
has a hardness h(x) from 0 to 1, their mean. A learner solves it with
probability ``sigmoid((skill - h) / 0.08)``. What practice does to the skill is
the *learning law*; no curriculum is right for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rla_envs.difficulty import DifficultyParameter, DifficultySpace
from rla_envs.task import Task

WIDTH = 0.08
"""How far above its skill a learner still succeeds sometimes, in hardness."""
KINDS = 4
"""Kinds of task in the scenario of mixed tasks."""
Difficulty = Mapping[str, Any]
Law = Callable[[float], float]


def variance(p: float) -> float:
    """Learn from a group as far as its results differ, as policy gradients with a group baseline do."""
    return 4.0 * p * (1.0 - p)


def success(p: float) -> float:
    """Learn from rewarded attempts at what is not mastered yet: success counts, with diminishing returns."""
    return p * (1.0 - p**4) / 0.535  # 0.535 is its maximum


def mistakes(p: float) -> float:
    """Learn from failures alone: the hardest task teaches most, and no curriculum should help."""
    return 1.0 - p


def plane() -> spaces.Dict:
    """Return the space of two ordered parameters."""
    return spaces.Dict({"length": spaces.Box(0.0, 1.0, (), np.float64), "branches": spaces.Discrete(9)})


def mixed() -> DifficultySpace:
    """Return the same with a choice among named kinds of task beside it, which have no order."""
    names = tuple(f"kind {number}" for number in range(KINDS))
    return DifficultySpace(
        [
            DifficultyParameter("length", 0.0, 1.0, 0.5, "share", _no_statistic, continuous=True),
            DifficultyParameter("branches", 0, 8, 4, "branches", _no_statistic),
            DifficultyParameter("kind", 0, KINDS - 1, 0, "kind of task", _no_statistic, names=names),
        ]
    )


def hardness(difficulty: Difficulty) -> float:
    """Return h, from 0 to 1."""
    return (float(difficulty["length"]) + int(difficulty["branches"]) / 8.0) / 2.0


def peaked(difficulty: Difficulty) -> float:
    """Return a hardness that is not monotone: a medium ``branches`` is the hardest."""
    return (float(difficulty["length"]) + 1.0 - abs(int(difficulty["branches"]) - 4.0) / 4.0) / 2.0


@dataclass
class Learner:
    """A learner with one skill for each kind of task.

    Attributes:
        law: How much an attempt at success rate p teaches.
        rate: Gain of skill by one attempt that teaches most.
        hard: Hardness of a difficulty.
        skills: Skill by kind; one number where there are no kinds.
        forgets: Loss of skill of every kind with every attempt.
        jump: (attempt, change): when all skills change at once, and by how much.
        flips: Probability that the result told is the opposite of the true one.
        never: Whether the half with the larger ``length`` of even ``branches`` cannot be learned.
        coins: Whether that half is a coin flip that teaches nothing.
    """

    law: Law = variance
    rate: float = 0.0015
    hard: Callable[[Difficulty], float] = hardness
    skills: list[float] = field(default_factory=lambda: [-0.1])
    forgets: float = 0.0
    jump: tuple[int, float] = (0, 0.0)
    flips: float = 0.0
    never: bool = False
    coins: bool = False
    attempts: int = 0

    def solves(self, difficulty: Difficulty) -> float:
        """Return the true probability of success."""
        if self._is_trap(difficulty):
            return 0.5 if self.coins else 0.0
        skill = self.skills[int(difficulty.get("kind", 0))]
        return 1.0 / (1.0 + math.exp((self.hard(difficulty) - skill) / WIDTH))

    def attempt(self, difficulty: Difficulty, rng: np.random.Generator) -> bool:
        """Try once, learn from it, and return the result that is told."""
        p = self.solves(difficulty)
        solved = rng.random() < p
        self.attempts += 1
        self.skills = [skill - self.forgets for skill in self.skills]
        if self.attempts == self.jump[0]:
            self.skills = [skill + self.jump[1] for skill in self.skills]
        if not self._is_trap(difficulty):
            self.learn(difficulty, p)
        return bool(solved != (rng.random() < self.flips))

    def learn(self, difficulty: Difficulty, p: float) -> None:
        """Gain skill by the law."""
        kind = int(difficulty.get("kind", 0))
        self.skills[kind] = min(1.3, self.skills[kind] + self.rate * self.law(p))

    def _is_trap(self, difficulty: Difficulty) -> bool:
        traps = self.never or self.coins
        return traps and float(difficulty["length"]) > 0.5 and int(difficulty["branches"]) % 2 == 0


class LocalLearner(Learner):
    """A learner by heart: practice helps only near what was practised, and success there is all it has."""

    reach = 0.15

    def __init__(self, forgets: float = 0.0) -> None:
        """Know nothing: the skill is a field over the plane, kept on 9 x 9 points."""
        super().__init__(rate=0.006)
        self._fades = 1.0 - forgets
        axis = np.linspace(0.0, 1.0, 9)
        self._points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
        self._gains: NDArray[np.float64] = np.zeros((9, 9))

    def solves(self, difficulty: Difficulty) -> float:
        """Return the true probability: easy ones are easy from the start, others by nearby practice."""
        near = self._near(difficulty)
        gain = float((near * self._gains).sum() / near.sum())
        return 1.0 / (1.0 + math.exp((self.hard(difficulty) - 0.1 - gain) / WIDTH))

    def learn(self, difficulty: Difficulty, p: float) -> None:
        """Gain where it practised, by what it got right and wrong in equal parts; the rest fades."""
        near = self._near(difficulty)
        self._gains = np.minimum(
            1.2, self._fades * self._gains + self.rate * (0.2 + 0.8 * variance(p)) * near
        )

    def _near(self, difficulty: Difficulty) -> NDArray[np.float64]:
        here = np.array([float(difficulty["length"]), int(difficulty["branches"]) / 8.0])
        near: NDArray[np.float64] = np.exp(-((self._points - here) ** 2).sum(axis=-1) / (2.0 * self.reach**2))
        return near


@dataclass(frozen=True)
class Scenario:
    """A learner and what it is to reach.

    Attributes:
        meaning: What it is about, for the page.
        learner: Makes a new learner.
        space: Makes the difficulty space.
        target: Mean success on the held-out grid that counts as reached.
        counts: Whether a point belongs to the held-out grid; points that nobody can learn do not.
    """

    meaning: str
    learner: Callable[[], Learner]
    space: Callable[[], spaces.Dict] = plane
    target: float = 0.8
    counts: Callable[[Difficulty], bool] = lambda difficulty: True

    def held_out(self) -> list[dict[str, Any]]:
        """Return the fixed grid: 7 lengths x 9 branches (x kinds), none of them favoured."""
        kinds = range(KINDS) if "kind" in self.space().spaces else [0]
        points = (
            {"length": length, "branches": branches, "kind": kind}
            for length in np.linspace(0.05, 0.95, 7).tolist()
            for branches in range(9)
            for kind in kinds
        )
        return [point for point in points if self.counts(point)]


def _no_statistic(task: Task) -> float:
    raise NotImplementedError("a simulated learner's tasks are nothing but their difficulty")


def _no_trap(difficulty: Difficulty) -> bool:
    return not (difficulty["length"] > 0.5 and difficulty["branches"] % 2 == 0)


SCENARIOS: Mapping[str, Scenario] = {
    "variance": Scenario("learns from groups whose results differ, 4p(1-p)", Learner),
    "success": Scenario("learns from its successes", lambda: Learner(success)),
    "mistakes": Scenario(
        "learns from its failures: the hardest teaches most", lambda: Learner(mistakes, 0.0005)
    ),
    "local": Scenario("learns by heart: practice helps only nearby", LocalLearner),
    "mixed": Scenario(
        "four kinds of task, each with its own skill",
        lambda: Learner(rate=0.003, skills=[0.1, 0.4, -0.1, 0.3]),
        mixed,
    ),
    "unlearnable": Scenario(
        "a quarter of the cells is never won", lambda: Learner(never=True), counts=_no_trap
    ),
    "coin flips": Scenario(
        "a quarter of the cells is a coin flip and teaches nothing",
        lambda: Learner(coins=True),
        counts=_no_trap,
    ),
    "jump": Scenario(
        "after 600 attempts all skill falls by 0.4", lambda: Learner(skills=[0.3], jump=(600, -0.4))
    ),
    "forgetting": Scenario(
        "by heart, and what is not practised fades", lambda: LocalLearner(forgets=0.0003), target=0.7
    ),
    "noise": Scenario("one result in six is told wrongly", lambda: Learner(flips=1 / 6)),
    "not monotone": Scenario("a medium value of one parameter is the hardest", lambda: Learner(hard=peaked)),
}
