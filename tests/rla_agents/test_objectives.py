"""Each formula against hand-computed examples and against slow loops in plain Python."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rla_agents.objectives import (
    CRITIC_ACCURACY,
    MALFORMED_REWARD,
    POLICY_ACCURACY,
    accuracy_in,
    advantage_estimator,
    consistency_rewards,
    critic_advantages,
    grpo_advantages,
    integrated_rewards,
    ppo_k3_loss,
    rloo_advantages,
    step_index_advantages,
)
from rla_envs.errors import InputError, UnknownNameError

torch.set_num_threads(1)

OUTCOMES = st.sampled_from([-1, 1])
VOTES = st.lists(st.sampled_from([-1, 0, 1]), max_size=4)
REWARDS = st.lists(st.lists(st.integers(-6, 6).map(lambda n: n / 3), max_size=4), max_size=8)


def slow_z(values):
    """Mean and population spread in exact integer steps of a third, as the rewards drawn here are."""
    count = len(values)
    if count < 2 or len({round(3 * value) for value in values}) == 1:
        return [None] * count
    mean = 0.0
    for value in values:
        mean += value / count
    variance = 0.0
    for value in values:
        variance += (value - mean) * (value - mean) / count
    return [(value - mean) / variance**0.5 for value in values]


def same(got, expected):
    """Compare nested lists of numbers and None."""
    if isinstance(expected, list):
        return len(got) == len(expected) and all(map(same, got, expected))
    if expected is None or got is None:
        return got is expected
    return got == pytest.approx(expected, abs=1e-9)


# Rewards


def test_integrated_reward_by_hand():
    votes = [[1, 1, 1], [1, -1, -1], [0, 1, 1], [0, 0, 0], []]
    assert integrated_rewards(1, votes) == pytest.approx([2, 2 / 3, 5 / 3, 1, 1])
    assert integrated_rewards(-1, votes) == pytest.approx([0, -4 / 3, -1 / 3, -1, -1])
    assert integrated_rewards(-1, votes, step_weight=0.5) == pytest.approx([-0.5, -7 / 6, -2 / 3, -1, -1])
    assert integrated_rewards(1, votes, step_weight=0) == [1, 1, 1, 1, 1]
    assert integrated_rewards(1, []) == []


@given(OUTCOMES, st.lists(VOTES, max_size=5), st.floats(0, 2))
def test_integrated_reward_equals_the_slow_sum(outcome, votes, weight):
    expected = []
    for step in votes:
        reward = float(outcome)
        for vote in step:
            reward += weight * vote / len(step)
        expected.append(reward)
    assert integrated_rewards(outcome, votes, weight) == pytest.approx(expected)


@pytest.mark.parametrize("outcome", [0, 2, True + 1, 0.5])
def test_an_outcome_other_than_won_or_lost_is_refused(outcome):
    with pytest.raises(InputError, match=r"outcome: expected -1 or \+1"):
        integrated_rewards(outcome, [])


@pytest.mark.parametrize("vote", [2, -3, 0.5])
def test_a_vote_other_than_yes_no_or_malformed_is_refused(vote):
    with pytest.raises(InputError, match=r"vote: expected -1, \+1, or 0"):
        integrated_rewards(1, [[1, vote]])
    with pytest.raises(InputError, match=r"vote: expected -1, \+1, or 0"):
        consistency_rewards(1.0, [vote])


# The policy's advantages


def test_step_index_advantages_by_hand():
    # Step 0: 2, 0, 1 has mean 1 and variance 2/3. Step 1: 1 and -1. Step 2: one rollout only.
    z = math.sqrt(1.5)
    rewards = [[2.0, 1.0, 5.0], [0.0, -1.0], [1.0]]
    assert same(step_index_advantages(rewards), [[z, 1.0, None], [-z, -1.0], [0.0]])


def test_steps_at_which_all_rollouts_earn_the_same_are_dropped():
    assert step_index_advantages([[1.0, 1.0], [1.0, 0.0]]) == [[None, 1.0], [None, -1.0]]
    # Equal but for rounding: not a difference to be blown up to one standard deviation.
    assert step_index_advantages([[0.1 + 0.2], [0.3]]) == [[None], [None]]


@given(REWARDS)
def test_step_index_advantages_equal_the_slow_loops(rewards):
    expected = [[None] * len(row) for row in rewards]
    for index in range(4):
        column = [(k, row[index]) for k, row in enumerate(rewards) if len(row) > index]
        for (k, _), value in zip(column, slow_z([value for _, value in column]), strict=True):
            expected[k][index] = value
    assert same(step_index_advantages(rewards), expected)


def test_grpo_and_rloo_by_hand():
    rewards = [[2.0, 0.0], [3.0], [], [5.0]]  # means 1, 3, -, 5: mean 3, variance 8/3
    z = 2 / math.sqrt(8 / 3)
    assert same(grpo_advantages(rewards), [[-z, -z], [0.0], [], [z]])
    assert same(rloo_advantages(rewards), [[-3.0, -3.0], [0.0], [], [3.0]])


@given(REWARDS)
def test_grpo_and_rloo_equal_the_slow_loops(rewards):
    means = {k: sum(row) / len(row) for k, row in enumerate(rewards) if row}
    spread = max(means.values(), default=0) - min(means.values(), default=0)
    grpo, rloo = [], []
    for k, row in enumerate(rewards):
        others = [means[j] for j in means if j != k]
        if not row or not others or spread < 1e-6:
            grpo.append([None] * len(row))
            rloo.append([None] * len(row))
            continue
        mean = sum(means.values()) / len(means)
        deviation = (sum((value - mean) ** 2 for value in means.values()) / len(means)) ** 0.5
        grpo.append([(means[k] - mean) / deviation] * len(row))
        rloo.append([means[k] - sum(others) / len(others)] * len(row))
    assert same(grpo_advantages(rewards), grpo)
    assert same(rloo_advantages(rewards), rloo)


@pytest.mark.parametrize("name", ["step_index", "grpo", "rloo"])
def test_broken_rollouts_left_out_give_the_statistics_of_the_healthy_ones(name):
    estimate = advantage_estimator(name)
    eight = [[2.0], [0.0], [1.0], [2.0], [0.0], [2.0], [1.0], [-1.0]]
    seven = eight[:7]
    assert same(estimate(seven)[0], {"rloo": [2 - 6 / 6]}.get(name, [(2 - 8 / 7) / math.sqrt(2 - 64 / 49)]))
    assert not same(estimate(seven), estimate(eight)[:7])
    assert not same(estimate(seven), estimate([*seven, [-1.0]])[:7])
    assert estimate([]) == []
    assert estimate([[1.0]]) == [[None]]


def test_a_mistyped_estimator_gets_a_suggestion():
    assert advantage_estimator("step_index") is step_index_advantages
    with pytest.raises(UnknownNameError, match="Did you mean 'step_index'"):
        advantage_estimator("step-index")


# The critic's rewards and advantages


def test_consistency_reward_by_hand():
    assert consistency_rewards(4 / 3, [1, -1, 0]) == [4 / 3, -4 / 3, MALFORMED_REWARD]
    assert consistency_rewards(-2.0, [-1]) == [2.0]
    assert consistency_rewards(0.0, [1, 0]) == [0.0, -2.0]
    assert consistency_rewards(1.0, []) == []


def test_task_wide_critic_advantages_by_hand():
    # Rollout 0 won, votes + + on step 0 (R = 2) and + - on step 1 (R = 1); raw 2, 2, 1, -1.
    # Rollout 1 lost, votes - - on step 0 (R = -2); raw 2, 2. Mean 4/3, variance 11/9.
    votes = [[[1, 1], [1, -1]], [[-1, -1]]]
    rewards = [[2.0, 1.0], [-2.0]]
    z = [(value - 4 / 3) / math.sqrt(11 / 9) for value in (2, 1, -1)]
    expected = [[[z[0], z[0]], [z[1], z[2]]], [[z[0], z[0]]]]
    assert same(critic_advantages(rewards, votes), expected)
    assert same(critic_advantages(rewards, votes, group="step"), [[[None] * 2, [1.0, -1.0]], [[None] * 2]])


ROLLOUTS = st.lists(st.tuples(OUTCOMES, st.lists(VOTES, max_size=4)), max_size=5)


@given(ROLLOUTS)
def test_critic_advantages_equal_the_slow_loops(rollouts):
    votes = [steps for _, steps in rollouts]
    rewards = [integrated_rewards(outcome, steps) for outcome, steps in rollouts]
    raw = {}
    for a, row in enumerate(votes):
        for b, step in enumerate(row):
            for c, vote in enumerate(step):
                raw[a, b, c] = -2.0 if vote == 0 else rewards[a][b] * vote

    def slow(keys):
        values = [raw[key] for key in keys]
        if len(values) < 2 or max(values) - min(values) < 1e-6:
            return dict.fromkeys(keys)
        mean = sum(values) / len(values)
        spread = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
        return {key: (raw[key] - mean) / spread for key in keys}

    wide = slow(list(raw))
    narrow = {}
    for a, row in enumerate(votes):
        for b in range(len(row)):
            narrow |= slow([key for key in raw if key[:2] == (a, b)])
    for group, values in (("task", wide), ("step", narrow)):
        expected = [
            [[values[a, b, c] for c in range(len(s))] for b, s in enumerate(row)]
            for a, row in enumerate(votes)
        ]
        assert same(critic_advantages(rewards, votes, group=group), expected)


@given(OUTCOMES, st.lists(st.sampled_from([-1, 1]), min_size=2, max_size=6))
def test_per_step_normalisation_forgets_how_well_the_votes_agree(outcome, votes):
    rewards = [integrated_rewards(outcome, [votes])]
    got = critic_advantages(rewards, [[votes]], group="step")[0][0]
    expected = [None if value is None else outcome * value for value in slow_z([float(v) for v in votes])]
    assert same(got, expected)


def test_the_wide_group_tells_a_step_of_better_agreement_from_one_of_worse():
    votes = [[[1, 1, 1, -1], [1, 1, -1, -1]], [[-1, -1, -1, -1]]]
    rewards = [integrated_rewards(1, votes[0]), integrated_rewards(-1, votes[1])]
    narrow = critic_advantages(rewards, votes, group="step")[0]
    wide = critic_advantages(rewards, votes)[0]
    # An agreeing +1 in a won rollout: more votes on its side earn it less in the narrow group ...
    assert narrow[0][0] == pytest.approx(1 / math.sqrt(3))
    assert narrow[1][0] == pytest.approx(1.0)
    # ... and more in the wide one, which is what self-consistency means.
    assert wide[0][0] > wide[1][0] > 0
    assert not same(wide, [slow_z([float(v) for v in step]) for step in votes[0]])


def test_an_unknown_critic_group_is_refused():
    with pytest.raises(UnknownNameError, match=r"unknown critic group 'tasks'.*'task'"):
        critic_advantages([], [], group="tasks")


# Filters


@pytest.mark.parametrize(
    ("wins", "count", "policy", "critic"),
    [
        (0, 8, False, False),
        (1, 8, True, False),
        (2, 8, True, True),
        (6, 8, True, True),
        (7, 8, True, False),
        (8, 8, False, False),
        (1, 5, True, True),
        (4, 5, True, True),
        (3, 15, True, True),
        (0, 0, False, False),
    ],
)
def test_filters_include_their_bounds(wins, count, policy, critic):
    successes = [True] * wins + [False] * (count - wins)
    assert accuracy_in(successes, POLICY_ACCURACY) is policy
    assert accuracy_in(successes, CRITIC_ACCURACY) is critic


# The loss


def slow_loss(new, old, advantages, index, clip, beta, behaviour, cap):
    """The same loss, token by token in Python floats."""
    per_sequence, kls = {}, {}
    for n, o, a, s, b in zip(new, old, advantages, index, behaviour, strict=True):
        d = min(max(n - o, -10.0), 10.0)
        rho = math.exp(d)
        gain = min(rho * a, min(max(rho, 1 - clip), 1 + clip) * a)
        weight = 1.0 if b is None else min(math.exp(min(max(o - b, -10.0), 10.0)), cap)
        k3 = math.exp(-d) - 1 + d
        per_sequence.setdefault(s, []).append(-weight * gain + beta * k3)
        kls.setdefault(s, []).append(k3)
    means = [sum(values) / len(values) for values in per_sequence.values()]
    kl = sum(sum(values) / len(values) for values in kls.values()) / len(kls)
    return sum(means) / len(means), kl


def test_loss_by_hand():
    # Two sequences, of two tokens and of one; ratios 1, 1.5 (clipped at 1.2) and 0.5 (clipped at 0.8).
    new = torch.tensor([0.0, math.log(1.5), math.log(0.5)], dtype=torch.float64)
    old = torch.zeros(3, dtype=torch.float64)
    advantages = torch.tensor([1.0, 2.0, -1.0], dtype=torch.float64)
    loss, stats = ppo_k3_loss(new, old, advantages, torch.tensor([0, 0, 1]))
    k3 = [1 / 1.5 - 1 + math.log(1.5), 2 - 1 + math.log(0.5)]
    surrogate = -((1.0 + 2.4) / 2 + -0.8) / 2
    assert loss.item() == pytest.approx(surrogate + 0.01 * (k3[0] / 2 + k3[1]) / 2)
    assert stats.kl == pytest.approx((k3[0] / 2 + k3[1]) / 2)
    assert stats.clip_fraction == pytest.approx(2 / 3)
    assert stats.max_delta == pytest.approx(math.log(2))
    assert (stats.tokens, stats.sequences) == (3, 2)


TOKENS = st.lists(
    st.tuples(st.floats(-15, 0), st.floats(-15, 0), st.floats(-3, 3), st.integers(0, 3), st.floats(-15, 0)),
    min_size=1,
    max_size=8,
)


@settings(deadline=None)
@given(TOKENS, st.sampled_from([0.1, 0.2]), st.sampled_from([0.0, 0.01]), st.booleans())
def test_loss_equals_the_slow_loops_and_its_gradient_finite_differences(tokens, clip, beta, stale):
    new, old, advantages, index, behaviour = map(list, zip(*tokens, strict=True))
    sampled = behaviour if stale else [None] * len(new)
    x = torch.tensor(new, dtype=torch.float64, requires_grad=True)
    loss, stats = ppo_k3_loss(
        x,
        torch.tensor(old, dtype=torch.float64),
        torch.tensor(advantages, dtype=torch.float64),
        torch.tensor(index),
        clip=clip,
        kl_weight=beta,
        logp_behaviour=torch.tensor(behaviour, dtype=torch.float64) if stale else None,
    )
    expected, kl = slow_loss(new, old, advantages, index, clip, beta, sampled, 2.0)
    assert loss.item() == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert stats.kl == pytest.approx(kl, rel=1e-9, abs=1e-9)
    loss.backward()
    step = 1e-6
    for i in range(len(new)):
        kinks = (-10.0, math.log(1 - clip), 0.0, math.log(1 + clip), 10.0)
        if any(abs(new[i] - old[i] - kink) < 1e-4 for kink in kinks):
            continue
        ends = []
        for sign in (1, -1):
            moved = [*new[:i], new[i] + sign * step, *new[i + 1 :]]
            ends.append(slow_loss(moved, old, advantages, index, clip, beta, sampled, 2.0)[0])
        slope = (ends[0] - ends[1]) / (2 * step)
        assert x.grad[i].item() == pytest.approx(slope, rel=1e-4, abs=1e-4 * max(1.0, abs(expected)))


def test_before_any_update_the_gradient_is_the_plain_policy_gradient():
    x = torch.tensor([-1.0, -2.0, -0.5], requires_grad=True)
    advantages = torch.tensor([1.0, -2.0, 0.5])
    loss, stats = ppo_k3_loss(x, x.detach(), advantages, torch.tensor([0, 0, 1]))
    loss.backward()
    assert torch.allclose(x.grad, -advantages / torch.tensor([4.0, 4.0, 2.0]))
    assert (stats.kl, stats.clip_fraction, stats.max_delta) == (0.0, 0.0, 0.0)


def test_a_token_is_not_pushed_further_once_its_ratio_left_the_clip_range():
    x = torch.tensor([math.log(1.3), math.log(1.3)], requires_grad=True)
    loss, _ = ppo_k3_loss(x, torch.zeros(2), torch.tensor([1.0, -1.0]), torch.tensor([0, 0]), kl_weight=0.0)
    loss.backward()
    assert x.grad.tolist() == pytest.approx([0.0, 0.65])


def test_stale_tokens_weigh_by_how_likely_the_old_policy_still_finds_them():
    x = torch.zeros(3, requires_grad=True)
    behaviour = torch.tensor([0.0, math.log(2.0), -math.log(9.0)])  # weights 1, 1/2, and 9 cut to 3
    loss, _ = ppo_k3_loss(
        x,
        torch.zeros(3),
        torch.ones(3),
        torch.tensor([0, 1, 2]),
        logp_behaviour=behaviour,
        importance_cap=3.0,
    )
    loss.backward()
    assert x.grad.tolist() == pytest.approx([-1 / 3, -0.5 / 3, -3 / 3])


def test_numbers_of_sequences_without_tokens_do_not_dilute_the_mean():
    values = torch.tensor([-0.1, -0.2]), torch.tensor([-0.3, -0.1]), torch.tensor([1.0, -1.0])
    dense, dense_stats = ppo_k3_loss(*values, torch.tensor([0, 1]))
    sparse, sparse_stats = ppo_k3_loss(*values, torch.tensor([2, 5]))
    assert dense.item() == sparse.item()
    assert dense_stats == sparse_stats
