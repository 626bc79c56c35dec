"""The numbers of one iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rla_agents.batches import Group, mean_unit_test_quality
from rla_agents.learner import UpdateStats
from rla_agents.trajectory import Trajectory


def iteration_metrics(
    groups: Sequence[Group], broken: int, policy: UpdateStats | None, critic: UpdateStats | None
) -> dict[str, Any]:
    """Return the metrics of an iteration; None where there was nothing to measure.

    Args:
        groups: The healthy rollouts, scored.
        broken: Episodes that the machinery broke for good.
        policy: What the policy's update did, if it was updated.
        critic: What the critic's update did, if it was updated.
    """
    played = [t for group in groups for t in group.trajectories]
    row: dict[str, Any] = {
        "policy/success": _mean([float(t.success) for t in played]),
        "policy/reward": _mean([r for group in groups for steps in group.rewards for r in steps]),
        "policy/episode_length": _mean([float(len(t.turns)) for t in played]),
        "policy/tokens": sum(len(s.ids) for t in played for s in t.sequences),
        "policy/groups": len(groups),
        "policy/groups_used": sum(any(a is not None for t in g.advantages for a in t) for g in groups),
        "infrastructure_errors": broken,
        **_update("policy", policy),
        **_critic(played),
        **_update("critic", critic),
    }
    # In sorted order: that of a task's parameters changes when it is saved and read back.
    for name in sorted(groups[0].trajectories[0].task.difficulty) if groups else ():
        values = [float(g.trajectories[0].task.difficulty[name]) for g in groups]
        row[f"difficulty/{name}"] = _mean(values)
    return row


def unit_test_metrics(groups: Sequence[Group]) -> dict[str, Any]:
    """Return how good the critic's tests are: the paper's ``syn_ut_acc`` and ``perfect_ut_rate``."""
    quality = mean_unit_test_quality(groups)
    return {
        "critic/syn_ut_acc": None if quality is None else quality.accuracy,
        "critic/perfect_ut_rate": None if quality is None else quality.perfect,
    }


def _update(role: str, stats: UpdateStats | None) -> Mapping[str, Any]:
    if stats is None:
        return {f"{role}/updates": 0}
    return {
        f"{role}/loss": stats.loss,
        f"{role}/kl": stats.kl,
        f"{role}/clip_fraction": stats.clip_fraction,
        f"{role}/grad_norm": stats.grad_norm,
        f"{role}/logprob_gap": stats.logprob_gap,
        f"{role}/updates": stats.updates,
        f"{role}/skipped": stats.skipped,
    }


def _critic(played: Sequence[Trajectory]) -> Mapping[str, Any]:
    steps = [(t, turn, t.votes[i]) for t in played if t.votes for i, turn in enumerate(t.turns)]
    votes = [vote for _, _, step in steps for vote in step]
    against_oracle = [
        float(vote == turn.oracle) for _, turn, step in steps for vote in step if vote and turn.oracle
    ]
    signs = [(sum(step), t.outcome) for t, _, step in steps if sum(step)]
    return {
        "critic/vote_mean": _mean([float(v) for v in votes]),
        "critic/malformed": _mean([float(v == 0) for v in votes]),
        "critic/oracle_accuracy": _mean(against_oracle),
        "critic/outcome_accuracy": _mean([float((total > 0) == (outcome > 0)) for total, outcome in signs]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
