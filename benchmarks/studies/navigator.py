"""A real learner for GridNav: a small PPO that plays whatever a curriculum proposes, and a fixed exam.

Its hyperparameters are those with which stable-baselines3's PPO is tested on
GridNav, set before there was any curriculum to compare, and the same for all.
Three of GridNav's seven parameters are the curriculum's to choose, within
what so small a learner can learn in a minute; the others are held.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.distributions import Categorical

from rla_envs.difficulty import DifficultySpace
from rla_envs.gridnav.difficulty import PARAMETERS
from rla_envs.gridnav.env import GridNavEnv
from rla_envs.task import Task
from wrappers.curricula.base import GROUP_SIZE, GroupTally
from wrappers.protocols import Curriculum

MEMBERS, HORIZON = 32, 32
GAMMA, TRACE, CLIP, ENTROPY, RATE, EPOCHS, MINIBATCH = 0.95, 0.95, 0.2, 0.01, 2e-3, 4, 256
HELD = {"goal_moving": 0.0, "wind": 0.0, "view_radius": 3, "step_budget": 5.0}
EXAM: dict[str, tuple[float, ...]] = {
    "size": (5, 7, 9),
    "obstacle_density": (0.1, 0.2, 0.3),
    "goal_distance": (0.3, 0.6, 0.9),
}
"""The held-out grid, within the range of :func:`difficulty_space`."""
EXAM_TASKS = 4
"""Tasks of the split "valid" for every combination."""


def difficulty_space() -> DifficultySpace:
    """Return what a curriculum chooses from: size up to 9, and two more parameters in all their range."""
    chosen = [parameter for parameter in PARAMETERS if parameter.name in EXAM]
    return DifficultySpace([replace(p, high=9) if p.name == "size" else p for p in chosen])


def exam() -> list[Task]:
    """Return the held-out tasks, always the same."""
    source, rng = GridNavEnv(split="valid", difficulty=HELD), np.random.default_rng(20260)
    cells = [dict(zip(EXAM, values, strict=True)) for values in itertools.product(*EXAM.values())]
    return [source.sample_task(cell, rng) for cell in cells for _ in range(EXAM_TASKS)]


class Play(NamedTuple):
    """What one iteration collected; arrays of HORIZON x MEMBERS."""

    observations: torch.Tensor
    actions: torch.Tensor
    log_probs: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor


class Navigator:
    """A policy and value network, and the environments it practises in.

    Args:
        curriculum: Chooses what to practise: difficulties, each for a group of
            8 episodes, every one of another task.
        seed: Of the networks, of tasks and of actions.

    Attributes:
        steps: Environment steps practised so far.
        groups: Which groups of 8 episodes were wasted.
    """

    def __init__(self, curriculum: Curriculum, seed: int) -> None:
        """Start untrained."""
        self._curriculum, self._tasks = curriculum, GridNavEnv(difficulty=HELD)
        self._rng = np.random.default_rng([seed, 0])
        self._noise = torch.Generator().manual_seed(seed)
        # A fork, because the networks' first weights come from the global generator.
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self._policy, self._value = _network(5), _network(1)
        parameters = [*self._policy.parameters(), *self._value.parameters()]
        self._optimizer = torch.optim.Adam(parameters, RATE, eps=1e-5)
        self._envs = [GridNavEnv() for _ in range(MEMBERS)]
        self._queue: deque[tuple[int, Task]] = deque()
        self._group = 0
        self._groups_of: dict[GridNavEnv, int] = {}
        self._observations = np.stack([self._begin(env) for env in self._envs])
        self.steps = 0
        self.groups = GroupTally(window=1 << 20)

    def practise(self) -> None:
        """Play HORIZON steps in every environment and learn from them."""
        self._learn(self._collect())
        self.steps += MEMBERS * HORIZON

    def examine(self, tasks: Sequence[Task]) -> NDArray[np.bool_]:
        """Return which tasks it solves, each tried once with the same luck every time."""
        noise = torch.Generator().manual_seed(0)
        envs = [GridNavEnv(split="valid") for _ in tasks]
        seen = {
            i: env.reset(options={"task": task})[0]
            for i, (env, task) in enumerate(zip(envs, tasks, strict=True))
        }
        solved = np.zeros(len(tasks), np.bool_)
        while seen:
            actions, _ = self._act(np.stack([np.asarray(o) for o in seen.values()]), noise)
            for i, action in zip(list(seen), actions.tolist(), strict=True):
                seen[i], _, terminated, truncated, _ = envs[i].step(action)
                solved[i] = terminated
                if terminated or truncated:
                    del seen[i]
        return solved

    def _begin(self, env: GridNavEnv) -> NDArray[np.float32]:
        if not self._queue:
            difficulty = self._curriculum.propose(self._rng)
            self._group += 1
            self._queue.extend(
                (self._group, self._tasks.sample_task(difficulty, self._rng)) for _ in range(GROUP_SIZE)
            )
        self._groups_of[env], task = self._queue.popleft()
        observation, _ = env.reset(options={"task": task})
        return np.asarray(observation)

    def _act(self, observations: NDArray[Any], noise: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            log_probs = torch.log_softmax(self._policy(torch.from_numpy(observations)), dim=-1)
            actions = torch.multinomial(log_probs.exp(), 1, generator=noise)[:, 0]
            return actions, log_probs.gather(1, actions[:, None])[:, 0]

    def _collect(self) -> Play:
        shape = (HORIZON, MEMBERS)
        observations = np.empty((HORIZON + 1, *self._observations.shape), np.float32)
        rewards, ends = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        actions, log_probs = torch.empty(shape, dtype=torch.int64), torch.empty(shape)
        for step in range(HORIZON):
            observations[step] = self._observations
            actions[step], log_probs[step] = self._act(self._observations, self._noise)
            for member, action in enumerate(actions[step].tolist()):
                env = self._envs[member]
                observation, reward, terminated, truncated, _ = env.step(action)
                self._observations[member] = np.asarray(observation)
                rewards[step, member] = reward
                if terminated or truncated:
                    # The step budget is part of the task, so its end is an end like any other.
                    ends[step, member] = 1.0
                    self._finish(env, terminated)
                    self._observations[member] = self._begin(env)
        observations[HORIZON] = self._observations
        inputs = torch.from_numpy(observations)
        with torch.no_grad():
            values = self._value(inputs)[..., 0].numpy()
        advantages = np.zeros(shape, np.float32)
        trace = np.zeros(MEMBERS, np.float32)
        for step in reversed(range(HORIZON)):
            going = 1.0 - ends[step]
            error = rewards[step] + GAMMA * going * values[step + 1] - values[step]
            trace = advantages[step] = error + GAMMA * TRACE * going * trace
        returns = torch.from_numpy(advantages + values[:-1])
        return Play(inputs[:-1], actions, log_probs, torch.from_numpy(advantages), returns)

    def _finish(self, env: GridNavEnv, solved: bool) -> None:
        self._curriculum.observe(env.task.difficulty, solved, task=env.task)
        self.groups.add(str(self._groups_of[env]), float(solved))

    def _learn(self, play: Play) -> None:
        flat = Play(*(part.flatten(0, 1) for part in play))
        for _ in range(EPOCHS):
            order = torch.randperm(len(flat.actions), generator=self._noise)
            for rows in torch.split(order, MINIBATCH):
                self._update(Play(*(part[rows] for part in flat)))

    def _update(self, batch: Play) -> None:
        chances = Categorical(logits=self._policy(batch.observations), validate_args=False)
        ratio = (chances.log_prob(batch.actions) - batch.log_probs).exp()  # type: ignore[no-untyped-call]
        advantages = (batch.advantages - batch.advantages.mean()) / (batch.advantages.std() + 1e-8)
        gain = torch.min(ratio * advantages, ratio.clamp(1.0 - CLIP, 1.0 + CLIP) * advantages).mean()
        miss = (self._value(batch.observations)[:, 0] - batch.returns).pow(2).mean()
        self._optimizer.zero_grad()
        (0.5 * miss - gain - ENTROPY * chances.entropy().mean()).backward()  # type: ignore[no-untyped-call]
        groups = self._optimizer.param_groups
        nn.utils.clip_grad_norm_([p for group in groups for p in group["params"]], 0.5)
        self._optimizer.step()


def _network(outputs: int) -> nn.Sequential:
    last = nn.Linear(64, outputs)
    with torch.no_grad():
        last.weight.mul_(0.1)
    return nn.Sequential(nn.Linear(125, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), last)
