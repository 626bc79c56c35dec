"""Success on a fixed grid of held-out games that never train."""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from rla_agents.config import TrainConfig
from rla_agents.env_pool import EnvPool
from rla_agents.policy import Policy
from rla_agents.rollout import rollout
from rla_agents.trajectory import Trajectory
from rla_envs.errors import InvalidTaskError
from rla_envs.task import Task

BATCH = 128
"""Episodes side by side."""


def grid_cells(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the grid's values; one empty cell if the grid is empty."""
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def heldout_tasks(config: TrainConfig, pool: EnvPool) -> list[Task]:
    """Return the evaluation's games: equally many per cell of its grid, the same for every run.

    Raises:
        InvalidTaskError: If a cell of the grid has no valid task.
    """
    cells = grid_cells(config.evaluation.grid)
    wanted = [(cells[i % len(cells)], (config.evaluation.seed, i)) for i in range(config.evaluation.games)]
    tasks: list[Task] = []
    # In the batches they will be played in, so that the worker that plays a game is the one that made it.
    for start in range(0, len(wanted), BATCH):
        for task in pool.sample(wanted[start : start + BATCH]):
            if isinstance(task, InvalidTaskError):
                raise task
            tasks.append(task)
    return tasks


def evaluate(
    policy: Policy,
    pool: EnvPool,
    tasks: Sequence[Task],
    config: TrainConfig,
    greedy: bool,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Trajectory]:
    """Play every task once and return the trajectories.

    Args:
        policy: Who plays.
        pool: Where.
        tasks: The held-out games.
        config: The run's settings.
        greedy: Take the most probable action; otherwise draw with the
            policy's temperature and the evaluation's own seed.
        progress: Called with the number of episodes that have just ended.
    """
    sampling = dataclasses.replace(policy.sampling, greedy=greedy)
    player = copy.copy(policy)
    player.sampling = sampling
    generator = torch.Generator().manual_seed(config.evaluation.seed)
    played: list[Trajectory] = []
    for start in range(0, len(tasks), BATCH):
        played += rollout(
            player,
            pool,
            tasks[start : start + BATCH],
            config.evaluation.seed,
            generator,
            config.rollout.retries,
            config.policy.max_context,
            progress,
        )
    return played


def summary(trajectories: Sequence[Trajectory], names: Sequence[str] = ()) -> dict[str, Any]:
    """Return wins and counts, over all and by ``task_type`` where tasks have one, without broken episodes.

    Args:
        trajectories: One evaluation.
        names: Names of the values of the task-type parameter.
    """
    healthy = [t for t in trajectories if t.healthy]
    by_type: dict[str, list[int]] = {}
    for trajectory in healthy:
        kind = trajectory.task.difficulty.get("task_type", "all")
        label = names[kind] if names and isinstance(kind, int) else str(kind)
        wins_and_count = by_type.setdefault(label, [0, 0])
        wins_and_count[0] += trajectory.success
        wins_and_count[1] += 1
    wins = sum(t.success for t in healthy)
    return {
        "success": wins / len(healthy) if healthy else None,
        "wins": wins,
        "n": len(healthy),
        "errors": len(trajectories) - len(healthy),
        "by_type": dict(sorted(by_type.items())),
    }
