"""Rewards, advantages, filters and the loss: each formula of RLAnything as one small pure function.

Symbols follow the paper (arXiv 2602.02488): O is a rollout's outcome, S_ij the
j-th of the critic's m votes on step i, R_i the policy's reward at step i.

A group is the rollouts of ONE task. A rollout that the machinery broke
(:class:`rla_envs.errors.InfrastructureError`) is neither success nor failure:
leave it out of the lists. Every statistic here is over what it is given, so
seven healthy rollouts of eight give the statistics of seven, and an empty group
gives an empty result.

An advantage of None means dropped: the group says nothing about that step, and
it must not be trained on (an advantage of 0 would still add a KL term).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import torch

from rla_envs.errors import InputError, unknown_name

POLICY_ACCURACY = (1 / 8, 7 / 8)
"""Success rates whose groups train the policy, both ends included (the authors' AlfWorld code)."""

CRITIC_ACCURACY = (0.2, 0.8)
"""Success rates whose groups train the critic, both ends included (the authors' AlfWorld code)."""

MALFORMED_REWARD = -2.0
"""Critic reward of a vote that could not be read (the authors' code)."""

_ROUNDING = 1e-9
"""Spread below which values count as equal: they differ by rounding, not by what happened."""

_MAX_LOG_RATIO = 10.0
"""Log-ratios are clamped to this before exponentiation (the authors' code)."""

Rewards = Sequence[Sequence[float]]
"""Rewards of one task's rollouts: ``rewards[rollout][step]``."""

Advantages = list[list[float | None]]
"""Advantages of one task's rollouts, shaped like the rewards; None = dropped."""

AdvantageEstimator = Callable[[Rewards], Advantages]
"""Turns the rewards of one task's rollouts into advantages."""


def integrated_rewards(outcome: int, votes: Sequence[Sequence[int]], step_weight: float = 1.0) -> list[float]:
    """Return the policy's reward at each step: R_i = O + lambda * mean_j S_ij (paper, section 3).

    Args:
        outcome: O, +1 for a success and -1 for a failure.
        votes: Per step its m votes, each -1, +1, or 0 for a malformed one. A
            malformed vote counts as 0 in the mean; a step without votes gets R_i = O.
        step_weight: lambda; the paper uses 1.
    """
    if outcome not in (-1, 1):
        raise InputError(f"outcome: expected -1 or +1, got {outcome!r}")
    return [outcome + (step_weight * sum(step) / len(step) if step else 0.0) for step in map(_checked, votes)]


def step_index_advantages(rewards: Rewards) -> Advantages:
    """Compare each step with the same step of the task's other rollouts (paper, section 3).

    A_i = (R_i - mean) / std over the rollouts that have a step i, with the
    population's standard deviation. Dropped where fewer than two rollouts got
    that far, or where they all have the same reward.
    """
    advantages: Advantages = [[None] * len(row) for row in rewards]
    for index in range(max(map(len, rewards), default=0)):
        rows = [number for number, row in enumerate(rewards) if index < len(row)]
        for number, value in zip(rows, _z_scores([rewards[n][index] for n in rows]), strict=True):
            advantages[number][index] = value
    return advantages


def grpo_advantages(rewards: Rewards) -> Advantages:
    """Give every step of a rollout the z-score of its mean step reward (GRPO, arXiv 2402.03300).

    Rollouts without a step have no mean and stay outside the statistics.
    """
    return _per_rollout(rewards, _z_scores)


def rloo_advantages(rewards: Rewards) -> Advantages:
    """Give every step of a rollout its mean step reward less that of the others (RLOO, arXiv 2402.14740).

    A_k = r_k - mean of r over the other rollouts, not divided by a spread.
    """
    return _per_rollout(rewards, _leave_one_out)


ADVANTAGE_ESTIMATORS: Mapping[str, AdvantageEstimator] = MappingProxyType(
    {"step_index": step_index_advantages, "grpo": grpo_advantages, "rloo": rloo_advantages}
)
"""The estimators by name; ``step_index`` is the paper's."""


def advantage_estimator(name: str) -> AdvantageEstimator:
    """Return the estimator of this name.

    Raises:
        UnknownNameError: There is none; the message suggests the closest.
    """
    if name not in ADVANTAGE_ESTIMATORS:
        raise unknown_name("advantage estimator", name, ADVANTAGE_ESTIMATORS)
    return ADVANTAGE_ESTIMATORS[name]


def consistency_rewards(reward: float, votes: Sequence[int]) -> list[float]:
    """Return the critic's reward for each vote on one step: R_i * S_ij (paper, section 3).

    A vote that agrees with the step's integrated reward, and so with the outcome
    and with the other votes, is rewarded. A malformed one gets -2.

    Args:
        reward: R_i, the step's integrated reward.
        votes: S_ij of that step.
    """
    return [reward * vote if vote else MALFORMED_REWARD for vote in _checked(votes)]


def critic_advantages(
    rewards: Rewards, votes: Sequence[Sequence[Sequence[int]]], group: str = "task"
) -> list[Advantages]:
    """Normalise the critic's consistency rewards.

    Over the votes of one step, as the authors' code does it, z(R_i * S_ij) is
    sign(R_i) * z(S_ij), and as the mean of m mixed votes is below 1 in size,
    sign(R_i) = O: how well the votes agree cancels and only the outcome is
    left. Over all steps and votes of the task's rollouts it does not cancel, and
    unanimous steps take part.

    Args:
        rewards: ``rewards[rollout][step]``, the integrated rewards R_i.
        votes: ``votes[rollout][step][j]``.
        group: ``"task"`` (default) normalises over everything given here,
            ``"step"`` over the votes of each step, for faithful comparison.

    Returns:
        Advantages shaped like the votes; None where the group is of one value.
    """
    if group not in ("step", "task"):
        raise unknown_name("critic group", group, ("step", "task"))
    raw = [
        [consistency_rewards(reward, step) for reward, step in zip(row, steps, strict=True)]
        for row, steps in zip(rewards, votes, strict=True)
    ]
    if group == "step":
        return [[_z_scores(step) for step in rollout] for rollout in raw]
    values = iter(_z_scores([value for rollout in raw for step in rollout for value in step]))
    return [[[next(values) for _ in step] for step in rollout] for rollout in raw]


def accuracy_in(successes: Sequence[bool], bounds: tuple[float, float]) -> bool:
    """Say whether a group's success rate lies within the bounds, both included.

    Args:
        successes: Of each healthy rollout of the task, whether it succeeded.
        bounds: Such as :data:`POLICY_ACCURACY` or :data:`CRITIC_ACCURACY`.

    Returns:
        False also for an empty group.
    """
    low, high = bounds
    return bool(successes) and low <= sum(map(bool, successes)) / len(successes) <= high


class LossStats(NamedTuple):
    """What one call of the loss saw."""

    kl: float
    """Mean over sequences of the mean over tokens of the k3 estimate."""
    clip_fraction: float
    """Share of tokens whose ratio lies outside the clip range."""
    max_delta: float
    """Largest ``abs(new - old)`` log-probability, before clamping."""
    tokens: int
    """Trained tokens."""
    sequences: int
    """Sequences with at least one trained token."""


def ppo_k3_loss(
    logp_new: torch.Tensor,
    logp_old: torch.Tensor,
    advantages: torch.Tensor,
    sequence_index: torch.Tensor,
    *,
    clip: float = 0.2,
    kl_weight: float = 0.01,
    logp_behaviour: torch.Tensor | None = None,
    importance_cap: float = 2.0,
) -> tuple[torch.Tensor, LossStats]:
    """Return PPO's clipped loss with a k3 KL term, as in the authors' code.

    With d = clamp(new - old, -10, 10) and rho = exp(d), the mean over sequences
    of the mean over their tokens of

        -w * min(rho A, clip(rho, 1 - eps, 1 + eps) A) + beta (exp(-d) - 1 + d)

    Old is the policy before the update, so the KL term holds the update near its
    own start. w = 1, unless the data came from an older or differently computed
    policy: then w = min(exp(old - behaviour), cap), a truncated importance
    weight that takes no gradient (decoupled PPO, arXiv 2505.24298).

    Args:
        logp_new: Log-probabilities of the trained tokens, with gradient; all
            arguments are flat and of this length.
        logp_old: The same under the policy before the update.
        advantages: One per token.
        sequence_index: Which sequence each token belongs to, 0 and up. Sequences
            without a token do not count.
        clip: eps.
        kl_weight: beta.
        logp_behaviour: Log-probabilities under the policy that sampled the tokens.
        importance_cap: Upper limit of w.

    Returns:
        The loss, and figures for the log.
    """
    delta = (logp_new - logp_old).clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO)
    ratio = delta.exp()
    gain = torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)
    if logp_behaviour is not None:
        drift = (logp_old - logp_behaviour).clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO)
        gain = gain * drift.exp().clamp(max=importance_cap).detach()
    k3 = (-delta).exp() - 1 + delta
    loss = _sequence_mean(kl_weight * k3 - gain, sequence_index)
    with torch.no_grad():
        stats = LossStats(
            kl=_sequence_mean(k3, sequence_index).item(),
            clip_fraction=((ratio - 1).abs() > clip).float().mean().item(),
            max_delta=(logp_new - logp_old).abs().max().item(),
            tokens=logp_new.numel(),
            sequences=int((torch.bincount(sequence_index) > 0).sum()),
        )
    return loss, stats


def _sequence_mean(values: torch.Tensor, sequence_index: torch.Tensor) -> torch.Tensor:
    """Average over each sequence's tokens, then over the sequences that have any."""
    counts = torch.bincount(sequence_index)
    sums = values.new_zeros(len(counts)).index_add(0, sequence_index, values)
    present = counts > 0
    return (sums[present] / counts[present]).mean()


def _checked(votes: Sequence[int]) -> Sequence[int]:
    for vote in votes:
        if vote not in (-1, 0, 1):
            raise InputError(f"vote: expected -1, +1, or 0 for a malformed one, got {vote!r}")
    return votes


def _z_scores(values: Sequence[float]) -> list[float | None]:
    """Return (x - mean) / population std, or None for all where nothing sets them apart."""
    if _all_equal(values):
        return [None] * len(values)
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / spread for value in values]


def _leave_one_out(values: Sequence[float]) -> list[float | None]:
    """Return each value less the mean of the others, or None for all where they are equal."""
    if _all_equal(values):
        return [None] * len(values)
    total = math.fsum(values)
    return [value - (total - value) / (len(values) - 1) for value in values]


def _all_equal(values: Sequence[float]) -> bool:
    return len(values) < 2 or max(values) - min(values) <= _ROUNDING


def _per_rollout(rewards: Rewards, compare: Callable[[Sequence[float]], list[float | None]]) -> Advantages:
    """Compare mean step rewards, and give each rollout's result to all its steps."""
    acting = [number for number, row in enumerate(rewards) if row]
    means = [math.fsum(rewards[number]) / len(rewards[number]) for number in acting]
    advantages: Advantages = [[] for _ in rewards]
    for number, value in zip(acting, compare(means), strict=True):
        advantages[number] = [value] * len(rewards[number])
    return advantages
