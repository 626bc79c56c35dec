"""Games played by shortest plan with disturbed search, to warm a small model up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.errors import InvalidTaskError
from rla_envs.task import Task

SEARCHING = (0.4, 0.1)
"""How plays to imitate are disturbed: see :func:`demonstrations`."""
WANDERING = (0.6, 0.5)
"""How plays to judge are disturbed: a judge must have seen bad steps in bad situations."""
MAX_STEPS = 40


class Shown(NamedTuple):
    """One step of a demonstration.

    Attributes:
        observation: What was seen before it.
        commands: What was admissible.
        command: What was played.
        cloned: Whether it is the plan's own command; disturbed ones are played, not imitated.
        shortened: Whether the shortest plan from here became shorter.
        next_observation: What was seen then.
    """

    observation: str
    commands: tuple[str, ...]
    command: str
    cloned: bool
    shortened: bool
    next_observation: str


def demonstrations(
    seed: int, tasks: int, plays: int, disturbed: tuple[float, float] = SEARCHING
) -> Iterator[list[Shown]]:
    """Play training games and yield what was shown.

    Without disturbances a model learns to take whatever it sees; with them it
    sees places without the object, and what the plan does next.

    Args:
        seed: Seed of games and disturbances.
        tasks: Number of different games.
        plays: How often each is played.
        disturbed: Chance that a ``go to`` goes to a random place instead, and
            chance that any other command is a random one.
    """
    rng = np.random.default_rng(seed)
    env = AlfWorldEnv(split="train")
    for _ in range(tasks):
        difficulty = {
            "receptacles": int(rng.integers(5, 10)),
            "objects": int(rng.integers(6, 11)),
            "closed_containers": float(rng.uniform()),
            "distractors": int(rng.integers(0, 2)),
        }
        try:
            task = env.sample_task(difficulty, rng)
        except InvalidTaskError:
            continue  # no game at this difficulty; the next draw has another
        for _ in range(plays):
            yield _play(env, task, rng, disturbed)


def _play(
    env: AlfWorldEnv, task: Task, rng: np.random.Generator, disturbed: tuple[float, float]
) -> list[Shown]:
    observation, info = env.reset(options={"task": task})
    plan = env.optimal_plan()
    shown: list[Shown] = []
    while plan and len(shown) < MAX_STEPS:
        commands = tuple(info["admissible_commands"])
        command = plan[0]
        if command.startswith("go to") and rng.random() < disturbed[0]:
            command = str(rng.choice([c for c in commands if c.startswith("go to")]))
        elif rng.random() < disturbed[1]:
            command = str(rng.choice([c for c in commands if c != "help"]))
        seen, _, _, _, info = env.step(command)
        before, plan = plan, env.optimal_plan()
        shown.append(
            Shown(observation, commands, command, command == before[0], len(plan) < len(before), seen)
        )
        observation = seen
    return shown
