"""Scenes and tasks for the AlfWorld tests; importing this skips a module where alfworld is not installed."""

import itertools

import numpy as np
import pytest

pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")

from rla_envs import Task
from rla_envs.alfworld.difficulty import PARAMETERS
from rla_envs.alfworld.generator import sample_scene
from rla_envs.alfworld.scene import TASK_TYPES
from rla_envs.alfworld.splits import SPLITS
from rla_envs.difficulty import complete_difficulty, parse_difficulty

ENV_ID = "RLA/AlfWorld-v0"
SMALL = {"receptacles": 6, "objects": 6}
EVERY_KIND = list(itertools.product(SPLITS, TASK_TYPES, range(3)))
"""Every split, task type and hiding depth."""


def draw_task(seed, split="train", **difficulty):
    """Draw a task in one attempt, without an engine."""
    rng = np.random.default_rng(seed)
    full = complete_difficulty(PARAMETERS, parse_difficulty(PARAMETERS, difficulty), rng)
    return Task(ENV_ID, full, sample_scene(split, full, rng).payload())


def draw_scene(seed, split="train", **difficulty):
    """Draw a scene in one attempt, without an engine."""
    rng = np.random.default_rng(seed)
    full = complete_difficulty(PARAMETERS, parse_difficulty(PARAMETERS, difficulty), rng)
    return sample_scene(split, full, rng)


def changed(task, **payload):
    """Return a task with some of its payload replaced, its difficulty left as it was."""
    return Task(task.env_id, task.difficulty, {**task.payload, **payload})


def plays_to_a_win(env, task, plan):
    """Play a plan from the start; return whether its last command, and no earlier one, wins."""
    env.reset(options={"task": task})
    endings = [env.step(command)[2] for command in plan]
    return endings == [False] * (len(plan) - 1) + [True]
