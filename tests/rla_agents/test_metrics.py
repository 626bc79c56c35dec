"""The numbers of an iteration, against a page of arithmetic."""

import math

import pytest

from rla_agents.batches import score
from rla_agents.config import ObjectiveConfig
from rla_agents.learner import UpdateStats
from rla_agents.metrics import iteration_metrics
from rla_envs.task import Task
from tests.rla_agents.played import group, trajectory

EVERYTHING = ObjectiveConfig(policy_accuracy=(0.0, 1.0))
HARD = Task("RLATest/Doors-v0", {"doors": 5, "colours": 4}, {"order": ["red"]})


@pytest.fixture
def groups():
    """One task that was won and lost, one that was lost only."""
    mixed = group(
        trajectory(True, [(1, 1), (-1, 1)], oracles=[1, 1]),
        trajectory(False, [(-1, 0)], oracles=[-1]),
    )
    lost = group(trajectory(False, [(1, 1)], oracles=[None], task=HARD))
    for made in (mixed, lost):
        score(made, EVERYTHING, trains=True)
    return [mixed, lost]


def test_every_number_by_hand(groups):
    row = iteration_metrics(groups, 3, None, None)
    assert row["policy/success"] == pytest.approx(1 / 3)
    # 1 + 1, 1 + 0, -1 - 1/2, -1 + 1
    assert row["policy/reward"] == pytest.approx((2 + 1 - 1.5 + 0) / 4)
    assert row["policy/episode_length"] == pytest.approx(4 / 3)
    assert row["policy/tokens"] == 6 + 3 + 3
    assert (row["policy/groups"], row["policy/groups_used"]) == (2, 1)
    assert row["infrastructure_errors"] == 3
    assert row["critic/vote_mean"] == pytest.approx((1 + 1 - 1 + 1 - 1 + 0 + 1 + 1) / 8)
    assert row["critic/malformed"] == pytest.approx(1 / 8)
    # Readable votes on steps whose truth is known: + + - + against + + + +, and - against -.
    assert row["critic/oracle_accuracy"] == pytest.approx(4 / 5)
    # Steps whose votes do not cancel: the won one's first, and those of the lost two, one of them praised.
    assert row["critic/outcome_accuracy"] == pytest.approx(2 / 3)
    assert row["difficulty/doors"] == pytest.approx((2 + 5) / 2)
    assert row["difficulty/colours"] == 4.0
    assert row["policy/updates"] == row["critic/updates"] == 0


def test_what_the_updates_did_is_reported_per_role(groups):
    stats = UpdateStats(0.1, 0.2, 0.3, 0.4, 0.5, 6, 7, 8, 9, 1e-3)
    row = iteration_metrics(groups, 0, stats, stats._replace(updates=2))
    assert row["policy/loss"] == 0.1
    assert row["policy/kl"] == 0.2
    assert row["policy/clip_fraction"] == 0.3
    assert row["policy/grad_norm"] == 0.4
    assert row["policy/logprob_gap"] == 0.5
    assert (row["policy/updates"], row["policy/skipped"], row["critic/updates"]) == (6, 7, 2)


def test_an_iteration_without_a_healthy_episode_has_counts_and_no_means():
    row = iteration_metrics([], 16, None, None)
    assert row["infrastructure_errors"] == 16
    assert row["policy/success"] is row["policy/reward"] is row["critic/oracle_accuracy"] is None
    assert row["policy/groups"] == row["policy/groups_used"] == 0


def test_without_a_critic_there_is_no_figure_of_it():
    made = group(trajectory(True, steps=2), trajectory(False, steps=2))
    score(made, EVERYTHING, trains=True)
    row = iteration_metrics([made], 0, None, None)
    assert {row[name] for name in row if name.startswith("critic/") and name != "critic/updates"} == {None}


def test_every_number_is_finite_also_for_an_episode_without_steps(groups):
    empty = group(trajectory(False, [], stop="context"))
    score(empty, EVERYTHING, trains=True)
    row = iteration_metrics([*groups, empty], 0, None, None)
    assert all(value is None or math.isfinite(value) for value in row.values())
    assert row["policy/success"] == pytest.approx(1 / 4)
