"""Theorem 2 of arXiv 2602.02488: which side of the reward model its training reward trains.

A step has outcome O = +1 with probability q, and m votes S_1 ... S_m: on a step
of a successful trajectory a vote is +1 with probability p+, on one of a failed
trajectory -1 with probability p-. Vote j is rewarded with
``R_S = (O + lambda/m sum_k S_k) S_j``.

At lambda = 1 this is, vote for vote, ``4 [S_j = O] w - 2 w`` with w the share of
the m votes that agree with the outcome. So E[R_S] is the theorem's
``4 (p+ f+ + p- f-) + C`` with weights ``f+ = q (1/m + (1 - 1/m) p+)``, the mean of
w where the vote itself agrees, and f- likewise, none of them negative; C is ``-2 E[w]``.

What trains the model is the gradient that a score-function estimator (REINFORCE,
PPO) follows: a vote is pushed by its own reward, and the other votes are part
of that reward. Its expectation is

    ``d+ = 2 q (1 + lambda (1 - 1/m) (2 p+ - 1))`` in p+, and likewise d- in p-

(the vote's product with itself is 1 and pushes nowhere). The share of p+ in the
training signal is ``d+ / (d+ + d-)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Critic(NamedTuple):
    """A reward model with one number for each kind of step.

    Attributes:
        p_plus: Probability of a vote +1 on a step of a successful trajectory.
        p_minus: Probability of a vote -1 on a step of a failed one.
    """

    p_plus: float
    p_minus: float


def signal(q: float, critic: Critic, m: int, weight: float = 1.0) -> tuple[float, float]:
    """Return the expected gradients d+ and d-.

    Args:
        q: Probability of success, P(O = +1).
        critic: The reward model.
        m: Votes a step.
        weight: The paper's lambda.
    """
    others = weight * (1.0 - 1.0 / m)
    return (
        2.0 * q * (1.0 + others * (2.0 * critic.p_plus - 1.0)),
        2.0 * (1.0 - q) * (1.0 + others * (2.0 * critic.p_minus - 1.0)),
    )


def expected_reward(q: float, critic: Critic, m: int, weight: float = 1.0) -> float:
    """Return E[R_S] of one vote."""
    agreement = 2.0 * np.array(critic) - 1.0
    each = agreement + weight * (1.0 / m + (1.0 - 1.0 / m) * agreement**2)
    return float(np.array([q, 1.0 - q]) @ each)


def share(gradients: tuple[float, float]) -> float:
    """Return the share of p+ in a training signal, from 0 to 1."""
    plus, minus = np.abs(gradients)
    return float(plus / (plus + minus))


def simulated_signal(
    q: float, critic: Critic, m: int, steps: int, rng: np.random.Generator, weight: float = 1.0
) -> tuple[float, float]:
    """Return the gradients as a score-function estimator finds them from that many steps."""
    outcomes = np.where(rng.random(steps) < q, 1, -1)
    right = np.where(outcomes > 0, critic.p_plus, critic.p_minus)[:, None]
    agree = rng.random((steps, m)) < right
    votes = np.where(agree, outcomes[:, None], -outcomes[:, None])
    rewards = (outcomes[:, None] + weight * votes.mean(axis=1, keepdims=True)) * votes
    scores = np.where(agree, 1.0 / right, -1.0 / (1.0 - right))
    # Two votes on one step depend on each other, but the mean over them is right all the same.
    each = (rewards * scores).mean(axis=1)
    return float(each[outcomes > 0].sum() / steps), float(each[outcomes < 0].sum() / steps)


def trained(q: float, critic: Critic, m: int, updates: int, rate: float) -> Critic:
    """Return the reward model after gradient ascent on its logits along the expected signal."""
    for _ in range(updates):
        slopes = np.array(critic) * (1.0 - np.array(critic)) * signal(q, critic, m)
        logits = np.log(critic) - np.log1p(-np.array(critic)) + rate * slopes
        critic = Critic(*(1.0 / (1.0 + np.exp(-logits))).tolist())
    return critic


def trained_by_sampling(
    q: float, critic: Critic, m: int, updates: int, rate: float, batch: int, rng: np.random.Generator
) -> Critic:
    """Return the reward model after ascent along gradients sampled from ``batch`` steps an update."""
    for _ in range(updates):
        slopes = np.array(critic) * (1.0 - np.array(critic)) * simulated_signal(q, critic, m, batch, rng)
        logits = np.log(critic) - np.log1p(-np.array(critic)) + rate * slopes
        critic = Critic(*(1.0 / (1.0 + np.exp(-logits))).tolist())
    return critic
