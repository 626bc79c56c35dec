"""Turn judged trajectories into what the learners train on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from rla_agents.config import ObjectiveConfig
from rla_agents.critic import Judgement
from rla_agents.llm.base import TrainItem
from rla_agents.objectives import (
    Advantages,
    accuracy_in,
    advantage_estimator,
    critic_advantages,
    grpo_advantages,
    integrated_rewards,
)
from rla_agents.trajectory import Trajectory
from rla_agents.unit_test_critic import UnitTestJudgement
from rla_agents.unit_tests import UnitTestQuality, unit_test_quality, unit_test_rewards
from rla_envs.errors import InputError


@dataclass
class Group:
    """The rollouts of one task, with the critic's judgements and what follows from them.

    Attributes:
        trajectories: Healthy rollouts only.
        judgements: Per rollout, one per vote; empty without a critic.
        rewards: Per rollout and step, the integrated reward.
        advantages: Per rollout and step; None where the step does not train.
    """

    trajectories: list[Trajectory]
    judgements: list[list[Judgement]]
    rewards: list[list[float]] = field(default_factory=list)
    advantages: Advantages = field(default_factory=list)

    @property
    def accuracy(self) -> float:
        """Share of the rollouts that succeeded."""
        return sum(t.success for t in self.trajectories) / len(self.trajectories)


def score(group: Group, config: ObjectiveConfig, trains: bool) -> None:
    """Fill in the group's rewards and advantages.

    Args:
        group: Rollouts with their votes.
        config: Weights, estimator and filters.
        trains: Whether the task may train at all (a rejected edit may not).
    """
    group.rewards = [
        [
            reward + (t.score - t.outcome)
            for reward in integrated_rewards(t.outcome, t.votes or [()] * len(t.turns), config.step_weight)
        ]
        for t in group.trajectories
    ]
    if trains and accuracy_in([t.success for t in group.trajectories], config.policy_accuracy):
        group.advantages = advantage_estimator(config.estimator)(group.rewards)
    else:
        group.advantages = [[None] * len(t.turns) for t in group.trajectories]


def policy_items(groups: Sequence[Group]) -> list[TrainItem]:
    """Return the policy's training data of scored groups.

    Every action is in it once, in the sequence in which it was sampled.
    """
    items = []
    for group in groups:
        for trajectory, advantages in zip(group.trajectories, group.advantages, strict=True):
            column = iter(advantages)
            for sequence in trajectory.sequences:
                item = sequence.train_item(list(itertools.islice(column, len(sequence.spans))))
                if item is not None:
                    items.append(item)
            if (left := len(list(column))) > 0:
                raise InputError(f"expected one advantage per action, got {left} more")
    return items


def critic_items(groups: Sequence[Group], config: ObjectiveConfig) -> list[TrainItem]:
    """Return the critic's training data: every judgement of groups whose success rate is in range."""
    items = []
    for group in groups:
        if not accuracy_in([t.success for t in group.trajectories], config.critic_accuracy):
            continue
        # A judgement that ran out of context gave no verdict on the last steps: it has no span there.
        given = [
            [[j.votes[i] for j in judgements if i < len(j.sequence.spans)] for i in range(len(rewards))]
            for judgements, rewards in zip(group.judgements, group.rewards, strict=True)
        ]
        advantages = critic_advantages(group.rewards, given)
        for judgements, by_step in zip(group.judgements, advantages, strict=True):
            columns = [iter(step) for step in by_step]
            for judgement in judgements:
                spans = len(judgement.sequence.spans)
                item = judgement.sequence.train_item([next(column) for column in columns[:spans]])
                if item is not None:
                    items.append(item)
    return items


def unit_test_items(groups: Sequence[Group], config: ObjectiveConfig) -> list[TrainItem]:
    """Return the training data of a critic that writes unit tests: every test of groups in range.

    A test's advantage is the z-score of its reward over the tests of its task.
    """
    items = []
    for group in groups:
        tests = _written_tests(group)
        if not tests or not accuracy_in([t.success for t in group.trajectories], config.critic_accuracy):
            continue
        keys = [one.key for one in tests]
        rewards = unit_test_rewards(_passes(group), [t.success for t in group.trajectories], keys)
        known = [[reward] for reward in rewards if reward is not None]
        for one, advantages in zip(tests, grpo_advantages(known), strict=False):
            item = one.sequence.train_item(advantages)
            if item is not None:
                items.append(item)
    return items


def mean_unit_test_quality(groups: Sequence[Group]) -> UnitTestQuality | None:
    """Return how good the written tests are, the mean over tasks with a right program; None without any."""
    measured = [
        quality
        for group in groups
        if _written_tests(group)
        and (quality := unit_test_quality(_passes(group), [t.success for t in group.trajectories]))
    ]
    if not measured:
        return None
    return UnitTestQuality(*(sum(column) / len(measured) for column in zip(*measured, strict=True)))


def _written_tests(group: Group) -> list[UnitTestJudgement]:
    return [one for one in group.judgements[0] if isinstance(one, UnitTestJudgement)]


def _passes(group: Group) -> list[list[bool]]:
    """Return which rollout's last answer passes which test."""
    return [[bool(one.votes) and one.votes[-1] > 0 for one in row] for row in group.judgements]
