"""Simulated learners of known skill that the tests of curricula share."""

import numpy as np
from gymnasium import spaces

LINE = spaces.Dict({"x": spaces.Discrete(21)})
PLANE = spaces.Dict({"x": spaces.Box(0.0, 1.0, (), np.float64), "y": spaces.Discrete(11)})


def hardness(difficulty):
    """Mean hardness of a point of LINE or PLANE, 0 to 1."""
    if "y" in difficulty:
        return (float(difficulty["x"]) + int(difficulty["y"]) / 10) / 2
    return int(difficulty["x"]) / 20


def skilled(skill, steepness=12.0):
    """Return the success rate of a learner that is even at hardness ``skill``."""
    return lambda difficulty: 1 / (1 + np.exp(steepness * (hardness(difficulty) - skill)))


def practise(curriculum, success_rate, groups, rng, rollouts=8):
    """Play groups of rollouts; return the hardness of each group, and its true success rate."""
    log = []
    for _ in range(groups):
        difficulty = curriculum.propose(rng)
        p = float(success_rate(difficulty))
        for _ in range(rollouts):
            curriculum.observe(difficulty, bool(rng.random() < p))
        log.append((hardness(difficulty), p))
    return np.array(log)
