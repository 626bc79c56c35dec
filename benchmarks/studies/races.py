"""One curriculum and one learner until the target is reached or the budget is used up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.studies.learners import SCENARIOS
from wrappers import curricula
from wrappers.curricula.base import GROUP_SIZE

GRIDNAV = "GridNav"
"""Name of the scenario with the real learner."""


class Arm(NamedTuple):
    """A curriculum that takes part, all of it at its defaults.

    Attributes:
        name: Its registered name.
        kwargs: What selects the variant.
    """

    name: str
    kwargs: Mapping[str, Any]


ARMS: Mapping[str, Arm] = {
    "fixed": Arm("fixed", {}),
    "uniform": Arm("uniform", {}),
    "threshold": Arm("threshold", {}),
    "threshold, posterior": Arm("threshold", {"acceptance": "posterior"}),
    "target": Arm("target", {}),
    "thompson": Arm("thompson", {}),
    "plr": Arm("plr", {}),
    "bayesopt": Arm("bayesopt", {}),
}


class Race(NamedTuple):
    """What is run.

    Attributes:
        scenario: A key of :data:`~benchmarks.studies.learners.SCENARIOS`, or ``GRIDNAV``.
        arm: A key of :data:`ARMS`.
        seed: Paired: the same seed gives every arm the same learner, and the
            same luck as long as it makes the same proposals.
    """

    scenario: str
    arm: str
    seed: int


class Budget(NamedTuple):
    """When a race is called off.

    Attributes:
        attempts: Attempts of a simulated learner.
        steps: Environment steps of the real one.
        target: Held-out success that the real one is to reach.
        every: Its steps between two exams.
    """

    attempts: int
    steps: int
    target: float
    every: int


def run(race: Race, budget: Budget) -> dict[str, Any]:
    """Run a race and return its record.

    Returns:
        ``reached``; ``steps``, what it took, or the whole budget if the target
        was not reached (a censored run); ``final``, held-out success at its
        end; ``wasted``, the share of groups whose results were all equal.
        Practice is counted, exams are not: they are the same for all.
    """
    result = _navigate(race, budget) if race.scenario == GRIDNAV else _simulate(race, budget)
    return {**race._asdict(), **result}


def _simulate(race: Race, budget: Budget) -> dict[str, Any]:
    scenario = SCENARIOS[race.scenario]
    arm = ARMS[race.arm]
    learner, space, exam = scenario.learner(), scenario.space(), scenario.held_out()
    curriculum = curricula.make(arm.name, space, **arm.kwargs)
    proposals, luck = (np.random.default_rng([race.seed, stream]) for stream in range(2))
    groups, wasted, final, reached = 0, 0, 0.0, False
    while learner.attempts < budget.attempts and not reached:
        difficulty = curriculum.propose(proposals)
        results = [learner.attempt(difficulty, luck) for _ in range(GROUP_SIZE)]
        for result in results:
            curriculum.observe(difficulty, result)
        groups, wasted = groups + 1, wasted + (len(set(results)) == 1)
        final = float(np.mean([learner.solves(point) for point in exam]))
        # Only after the jump is there something to recover from.
        reached = final >= scenario.target and learner.attempts > learner.jump[0]
    return {"reached": reached, "steps": learner.attempts, "final": final, "wasted": wasted / groups}


def _navigate(race: Race, budget: Budget) -> dict[str, Any]:
    # Not above: simulated learners need no torch, and it takes seconds to load.
    import torch

    from benchmarks.studies.navigator import Navigator, difficulty_space, exam

    torch.set_num_threads(1)
    arm, tasks = ARMS[race.arm], exam()
    navigator = Navigator(curricula.make(arm.name, difficulty_space(), **arm.kwargs), race.seed)
    curve: list[float] = []
    reached = False
    while navigator.steps < budget.steps and not reached:
        navigator.practise()
        if navigator.steps % budget.every == 0:
            curve.append(float(np.mean(navigator.examine(tasks))))
            # Two exams in a row, so that one lucky one does not count.
            reached = len(curve) > 1 and min(curve[-2:]) >= budget.target
    flags = navigator.groups.wasted
    return {
        "reached": reached,
        "steps": navigator.steps,
        "final": curve[-1],
        "wasted": sum(flags) / max(1, len(flags)),
        "curve": curve,
    }
