"""What the learners train on, against numbers worked out by hand."""

import pytest

from rla_agents.batches import critic_items, policy_items, score
from rla_agents.config import ObjectiveConfig
from tests.rla_agents.played import group, trajectory

EVERYTHING = ObjectiveConfig(policy_accuracy=(0.0, 1.0), critic_accuracy=(0.0, 1.0))
WON = trajectory(True, [(1, 1), (1, -1)])
LOST = trajectory(False, [(1, 1), (-1, -1), (0, 1)])


def test_rewards_join_outcome_and_mean_vote():
    scored = group(WON, LOST)
    score(scored, ObjectiveConfig(step_weight=0.5), trains=True)
    assert scored.rewards == [[1.5, 1.0], [-0.5, -1.5, -0.75]]


def test_without_votes_the_outcome_alone_is_the_reward():
    scored = group(trajectory(True, steps=2), trajectory(False, steps=1))
    score(scored, EVERYTHING, trains=True)
    assert scored.rewards == [[1.0, 1.0], [-1.0]]


def test_advantages_compare_the_same_step_and_a_step_alone_does_not_train():
    scored = group(WON, LOST)
    score(scored, EVERYTHING, trains=True)
    # Two values always lie one standard deviation from their mean.
    assert scored.advantages == [[1.0, 1.0], [-1.0, -1.0, None]]


@pytest.mark.parametrize(
    ("wins", "of", "trains"), [(0, 8, False), (1, 8, True), (7, 8, True), (8, 8, False), (1, 7, True)]
)
def test_only_groups_with_a_success_rate_in_range_train_the_policy(wins, of, trains):
    scored = group(*(trajectory(n < wins, [(1,), ((-1) ** n,)]) for n in range(of)))
    score(scored, ObjectiveConfig(), trains=True)
    assert (policy_items([scored]) != []) is trains


def test_seven_healthy_rollouts_have_the_statistics_of_seven():
    members = [trajectory(n < 3, steps=1) for n in range(7)]
    scored = group(*members)
    score(scored, EVERYTHING, trains=True)
    mean = -1 / 7  # three of +1, four of -1
    spread = (1 - mean**2) ** 0.5
    expected = [[(1 - mean) / spread]] * 3 + [[(-1 - mean) / spread]] * 4
    assert [a[0] for a in scored.advantages] == pytest.approx([a[0] for a in expected])


def test_a_rejected_edit_does_not_train_the_policy():
    scored = group(WON, LOST)
    score(scored, EVERYTHING, trains=False)
    assert scored.advantages == [[None, None], [None, None, None]]
    assert policy_items([scored]) == []
    assert len(critic_items([scored], EVERYTHING)) == 4


def test_policy_items_carry_the_sampled_ids_with_the_advantage_of_their_step():
    scored = group(WON, LOST)
    score(scored, EVERYTHING, trains=True)
    first, second = policy_items([scored])
    assert first.ids == (1, 2, 100, 1, 2, 101)
    assert [first.ids[p] for p in first.positions] == [100, 101]
    assert first.old_logprobs == (-0.5, -1.0)
    assert first.advantages == (1.0, 1.0)
    # Its third step has no advantage, so the sequence ends with the second.
    assert [second.ids[p] for p in second.positions] == [100, 101]
    assert second.advantages == (-1.0, -1.0)


def test_critic_items_reward_votes_that_agree_with_the_outcome():
    scored = group(WON, LOST)
    score(scored, EVERYTHING, trains=True)
    assert scored.rewards == [[2.0, 1.0], [0.0, -2.0, -0.5]]
    # R_i * S_ij of every vote, -2 for the malformed one.
    raw = {(0, 0): [2.0, 1.0], (0, 1): [2.0, -1.0], (1, 0): [0.0, 2.0, -2.0], (1, 1): [0.0, 2.0, -0.5]}
    values = [value for row in raw.values() for value in row]
    mean = sum(values) / 10
    spread = (sum((value - mean) ** 2 for value in values) / 10) ** 0.5
    items = critic_items([scored], EVERYTHING)
    for item, row in zip(items, raw.values(), strict=True):
        assert item.advantages == pytest.approx([(value - mean) / spread for value in row])
        assert [item.ids[p] for p in item.positions] == [200 + i for i in range(len(row))]


def test_verdicts_that_were_never_given_stay_outside_the_critics_statistics():
    scored = group(WON, LOST)
    cut = scored.judgements[1][0]
    del cut.sequence.spans[2:], cut.sequence.ids[-3:]
    cut.votes[2] = 0
    score(scored, EVERYTHING, trains=True)
    values = [2.0, 1.0, 2.0, -1.0, 0.0, 2.0, 0.0, 2.0, -0.5]  # as above without the -2 of the missing one
    mean = sum(values) / 9
    spread = (sum((value - mean) ** 2 for value in values) / 9) ** 0.5
    advantages = [a for item in critic_items([scored], EVERYTHING) for a in item.advantages]
    assert advantages == pytest.approx([(value - mean) / spread for value in values])


@pytest.mark.parametrize(("wins", "trains"), [(0, False), (1, False), (2, True), (6, True), (7, False)])
def test_only_groups_with_a_success_rate_in_range_train_the_critic(wins, trains):
    scored = group(*(trajectory(n < wins, [(1,), ((-1) ** n,)]) for n in range(8)))
    score(scored, ObjectiveConfig(), trains=True)
    assert (critic_items([scored], ObjectiveConfig()) != []) is trains


def test_an_episode_without_a_step_trains_nothing_and_hurts_nobody():
    scored = group(WON, LOST, trajectory(False, [], stop="context"))
    score(scored, EVERYTHING, trains=True)
    assert len(policy_items([scored])) == 2
    assert len(critic_items([scored], EVERYTHING)) == 4
    assert policy_items([]) == critic_items([], EVERYTHING) == []
