"""Games played by shortest plan with disturbed search, to warm a small model up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.errors import InvalidTaskError
from rla_envs.task import Task

LOST, SLIPPED = 0.4, 0.1
"""Chance that a ``go to`` goes to a random place instead; chance of any other command at random."""
MAX_STEPS = 40


class Shown(NamedTuple):
    """One step of a demonstration.

    Attributes:
        observation: What was seen before it.
        commands: What was admissible.
        command: What was played.
        cloned: Whether it is the plan's own command; disturbed ones are played, not imitated.
    """

    observation: str
    commands: tuple[str, ...]
    command: str
    cloned: bool


def demonstrations(seed: int, tasks: int, plays: int) -> Iterator[list[Shown]]:
    """Play training games and yield what was shown.

    Without disturbances a model learns to take whatever it sees; with them it
    sees places without the object, and what the plan does next.

    Args:
        seed: Seed of games and disturbances.
        tasks: Number of different games.
        plays: How often each is played.
    """
    rng = np.random.default_rng(seed)
    env = AlfWorldEnv(split="train")
    for _ in range(tasks):
        try:
            task = env.sample_task(draw_difficulty(rng), rng)
        except InvalidTaskError:
            continue  # no game at this difficulty; the next draw has another
        for _ in range(plays):
            yield _play(env, task, rng)


def draw_difficulty(rng: np.random.Generator) -> dict[str, float]:
    """Return a difficulty of the games that the embedded models are warmed up on."""
    return {
        "receptacles": int(rng.integers(5, 10)),
        "objects": int(rng.integers(6, 11)),
        "closed_containers": float(rng.uniform()),
        "distractors": int(rng.integers(0, 2)),
    }


def _play(env: AlfWorldEnv, task: Task, rng: np.random.Generator) -> list[Shown]:
    observation, info = env.reset(options={"task": task})
    plan = env.optimal_plan()
    shown: list[Shown] = []
    while plan and len(shown) < MAX_STEPS:
        commands = tuple(info["admissible_commands"])
        command = plan[0]
        if command.startswith("go to") and rng.random() < LOST:
            command = str(rng.choice([c for c in commands if c.startswith("go to")]))
        elif rng.random() < SLIPPED:
            command = str(rng.choice([c for c in commands if c != "help"]))
        shown.append(Shown(observation, commands, command, cloned=command == plan[0]))
        observation, _, _, _, info = env.step(command)
        plan = env.optimal_plan()
    return shown
