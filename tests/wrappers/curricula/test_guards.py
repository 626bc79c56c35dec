"""What keeps adaptation sound: each guard acts when it must, and stays quiet when it need not."""

import numpy as np
import pytest

from tests.rla_envs.toy_env import ToyEnv
from tests.wrappers.curricula.learners import LINE, PLANE, hardness, practise, skilled
from wrappers.curricula import Threshold, make
from wrappers.curricula.votes import VoteAudit

SEEKERS = ["bayesopt", "plr", "target", "thompson"]
SMALL = {"bayesopt": {"memory": 40, "candidates": 40}}  # fast enough for a test


def seeker(name, space=LINE, **kwargs):
    return make(name, space, **SMALL.get(name, {}), **kwargs)


def kinds(curriculum):
    return [event["event"] for event in curriculum.events()]


# Extreme tasks: nothing teaches.


@pytest.mark.parametrize("name", SEEKERS)
@pytest.mark.parametrize("result", [True, False])
def test_when_nearly_no_group_teaches_it_says_so_and_widens(name, result):
    curriculum, rng = seeker(name), np.random.default_rng(0)
    practise(curriculum, lambda difficulty: float(result), 40, rng)
    (event,) = [event for event in curriculum.events() if event["event"] == "stalled"]
    assert event["wasted"] >= 0.9
    assert "25% of the proposals come from the whole space" in curriculum.explain()
    proposals = [curriculum.next_proposal(rng) for _ in range(200)]
    wide = [p for p in proposals if p.reason == "nearly no group teaches: drawn from the whole space"]
    assert 25 < len(wide) < 80
    assert np.ptp([hardness(p.difficulty) for p in wide]) > 0.7


@pytest.mark.parametrize("name", SEEKERS)
def test_it_recovers_once_groups_teach_again(name):
    curriculum, rng = seeker(name), np.random.default_rng(0)
    practise(curriculum, lambda difficulty: 0.0, 40, rng)
    practise(curriculum, lambda difficulty: 0.5, 40, rng)
    assert kinds(curriculum) == ["stalled", "recovered"]


@pytest.mark.parametrize("name", SEEKERS)
def test_a_learner_in_the_middle_of_the_space_never_stalls_it(name):
    curriculum = seeker(name)
    practise(curriculum, skilled(0.5, 6.0), 80, np.random.default_rng(0))
    assert "stalled" not in kinds(curriculum)


# Unlearnable cells.


@pytest.mark.parametrize("name", SEEKERS)
def test_cells_that_are_never_won_get_little_practice_but_are_not_forgotten(name):
    curriculum, rng = seeker(name), np.random.default_rng(0)

    def rate(difficulty):
        return 0.0 if difficulty["x"] > 12 else 0.5

    practise(curriculum, rate, 60, rng)
    tried = practise(curriculum, rate, 150, rng)
    share = np.mean(tried[:, 1] == 0.0)
    assert 0.0 < share < 0.3  # eight of 21 values are hopeless


@pytest.mark.parametrize("name", SEEKERS)
def test_cells_that_become_learnable_are_taken_up(name):
    curriculum, rng = seeker(name), np.random.default_rng(0)
    practise(curriculum, skilled(0.2, 20.0), 60, rng)
    tried = practise(curriculum, skilled(0.8, 20.0), 200, rng)[100:]
    assert np.mean(tried[:, 0] > 0.6) > 0.4


# Forgetting.


@pytest.mark.parametrize("name", SEEKERS)
def test_a_learner_that_forgets_is_taken_back_to_what_it_lost(name):
    curriculum, rng = seeker(name), np.random.default_rng(0)
    practise(curriculum, skilled(0.8, 20.0), 100, rng)
    tried = practise(curriculum, skilled(0.2, 20.0), 200, rng)[100:]
    assert np.mean(tried[:, 0] < 0.4) > 0.4


@pytest.mark.parametrize("name", SEEKERS)
def test_what_is_mastered_and_kept_gets_little_practice(name):
    curriculum, rng = seeker(name), np.random.default_rng(0)
    practise(curriculum, skilled(0.7, 20.0), 80, rng)
    tried = practise(curriculum, skilled(0.7, 20.0), 150, rng)
    assert np.mean(tried[:, 1] > 0.95) < 0.45  # ten of 21 values, as uniform practice gives


@pytest.mark.parametrize("name", SEEKERS)
def test_practice_is_more_uncertain_than_uniform_practice(name):
    teach = []
    for kind in (name, "uniform"):
        curriculum, rng = seeker(kind, PLANE), np.random.default_rng(0)
        practise(curriculum, skilled(0.4, 20.0), 60, rng)
        p = practise(curriculum, skilled(0.4, 20.0), 120, rng)[:, 1]
        teach.append(np.mean(p * (1 - p)))
    assert teach[0] > 1.3 * teach[1]


# Oscillation.


def test_a_level_that_goes_to_and_fro_is_moved_by_less_and_less_and_settles():
    curriculum, rng = make("target", LINE, batch=8, spread=0.0), np.random.default_rng(0)
    practise(curriculum, lambda d: float(hardness(d) < 0.52), 60, rng)
    assert kinds(curriculum).count("step_halved") >= 3
    tried = practise(curriculum, lambda d: float(hardness(d) < 0.52), 20, rng)
    assert np.quantile(np.abs(tried[:, 0] - 0.52), 0.75) < 0.1


def test_a_level_that_rises_steadily_keeps_its_step():
    curriculum, rng = make("target", LINE, step=0.05, batch=8), np.random.default_rng(0)
    practise(curriculum, lambda d: 0.8, 20, rng)
    assert kinds(curriculum) == []
    assert "at most 0.05" in curriculum.explain()


class Seesaw(ToyEnv):
    """Its edits swap between one door and five."""

    def propose_edits(self, task, direction, rng):
        from rla_envs import TaskEdit

        colour = task.payload["colours"][0]
        step = {"op": "add", "colour": colour} if direction == "harder" else {"op": "drop"}
        return (TaskEdit((step,) * 4, direction),)


def slot_run(results, **kwargs):
    """One slot by the paper's rule; give each proposed version the results of its number of doors."""
    env = Seesaw(difficulty={"doors": 1})
    curriculum = Threshold(env.difficulty_space, slots=1, n=8, tasks=env, **kwargs)
    rng, doors = np.random.default_rng(0), []
    for wins in results:
        task = curriculum.next_proposal(rng).task
        doors.append(len(task.payload["order"]))
        won = wins(doors[-1])
        for i in range(8):
            curriculum.observe(task.difficulty, i < won, task=task)
    return curriculum, doors


def alternating():
    """Results by which each edit is accepted, and asked to be undone."""
    turn = [0]

    def wins(doors):
        turn[0] += 1
        # Asked for at 8 or 1 wins of 8; each pending version then shows 4.
        return {1: 8, 5: 1}[doors] if turn[0] % 2 else 4

    return wins


def test_a_slot_whose_edits_go_to_and_fro_rests():
    wins = alternating()
    curriculum, doors = slot_run([wins] * 16)
    events = kinds(curriculum)
    assert events.count("edit_held") == 1
    assert events.index("edit_held") == 8  # the fourth accepted edit, the third turn
    assert len(set(doors[8:12])) == 1  # four groups without an edit


def test_without_a_hold_it_goes_on_as_in_the_paper_and_steady_edits_are_never_held():
    curriculum, doors = slot_run([alternating()] * 16, hold=None)
    assert "edit_held" not in kinds(curriculum)
    assert len(set(doors[8:12])) == 2
    env = ToyEnv(difficulty={"doors": 1})
    steady, rng = Threshold(env.difficulty_space, slots=1, n=2, tasks=env), np.random.default_rng(0)
    for _ in range(4):
        for result in (2, 1):  # asks for a harder one, which then is
            task = steady.next_proposal(rng).task
            for i in range(2):
                steady.observe(task.difficulty, i < result, task=task)
    assert kinds(steady) == ["edit_proposed", "edit_accepted"] * 4


# Drift from the root.


@pytest.mark.parametrize(("max_drift", "replaced"), [(2, True), (3, False), (None, False)])
def test_a_slot_takes_a_fresh_root_instead_of_drifting_further(max_drift, replaced):
    env = ToyEnv(difficulty={"doors": 1})
    curriculum = Threshold(env.difficulty_space, slots=1, n=2, tasks=env, max_drift=max_drift)
    rng = np.random.default_rng(0)
    for _ in range(3):
        for result in (2, 1):
            task = curriculum.next_proposal(rng).task
            for i in range(2):
                curriculum.observe(task.difficulty, i < result, task=task)
    events = curriculum.events()
    assert ("root_replaced" in [event["event"] for event in events]) is replaced
    if replaced:
        assert "is 2 harder edits away from its root" in events[-1]["reason"]
    else:
        assert curriculum.slots[0].drift == 3


# A critic that is no good.


def audited(critic, episodes=400, seed=0):
    """Feed an audit with episodes of ten steps and three votes; return it and its events."""
    audit, rng, events = VoteAudit(), np.random.default_rng(seed), []
    for _ in range(episodes):
        won = bool(rng.random() < 0.5)
        event = audit.add(float(won), critic(won, rng))
        events += [event["event"]] if event else []
    return audit, events


def coin(won, rng):
    return np.where(rng.random((10, 3)) < 0.5, 1, -1).tolist()


def yes(won, rng):
    return [[1, 1, 1]] * 10


def fair(won, rng):
    return np.where(rng.random((10, 3)) < (0.65 if won else 0.45), 1, -1).tolist()


def contrary(won, rng):
    return np.where(rng.random((10, 3)) < (0.3 if won else 0.7), 1, -1).tolist()


def silent(won, rng):
    return [[0, 0, 0]] * 10


@pytest.mark.parametrize("critic", [coin, yes, contrary])
def test_a_critic_whose_votes_do_not_agree_with_outcomes_is_ignored_and_the_log_says_so(critic):
    audit, events = audited(critic)
    assert events[0] == "critic_ignored"
    assert audit.status == "ignored"
    assert "votes ignored" in audit.describe()
    assert audit.target() == 0.5


def test_a_critic_that_tells_won_from_lost_is_trusted_and_never_ignored_for_long():
    audit, events = audited(fair)
    assert audit.status == "trusted"
    assert audit.precision == pytest.approx(0.65 + 0.55, abs=0.03)
    assert events[-1] == "critic_trusted"


def test_a_coin_is_rarely_trusted_at_any_time():
    trusted = sum("critic_trusted" in audited(coin, 250, seed)[1] for seed in range(60))
    assert trusted <= 6


def test_malformed_votes_and_outcomes_of_one_kind_prove_nothing():
    assert audited(silent)[0].describe() == "no votes"
    audit = VoteAudit()
    for _ in range(200):
        audit.add(1.0, [[1, 1, 1]])
    assert audit.status == "unproven"


def test_a_critic_that_turns_bad_loses_its_trust():
    audit, rng = VoteAudit(), np.random.default_rng(0)
    events = []
    for critic in [fair] * 300 + [coin] * 600:
        won = bool(rng.random() < 0.5)
        event = audit.add(float(won), critic(won, rng))
        events += [event["event"]] if event else []
    assert "critic_trusted" in events
    assert audit.status == "ignored"


# What a trusted critic may do.


def fed(name, critic, **kwargs):
    """A curriculum after many even episodes with this critic's votes."""
    curriculum, rng = seeker(name, **kwargs), np.random.default_rng(0)
    for _ in range(300):
        won = bool(rng.random() < 0.5)
        curriculum.observe({"x": 10}, won, votes=critic(won, rng))
    return curriculum


def sees_losses_only(won, rng):
    return np.where(rng.random((10, 3)) < (0.55 if won else 0.1), 1, -1).tolist()


def sees_wins_only(won, rng):
    return np.where(rng.random((10, 3)) < (0.9 if won else 0.45), 1, -1).tolist()


@pytest.mark.parametrize("name", SEEKERS)
def test_balance_seeks_the_outcomes_on_which_the_critic_is_weaker(name):
    # p+ 0.55 and p- 0.9: more wins are needed; p+ 0.9 and p- 0.55: more losses.
    assert fed(name, sees_losses_only, balance=True).target == pytest.approx(0.65)
    assert fed(name, sees_wins_only, balance=True).target == pytest.approx(0.35)
    assert fed(name, fair, balance=True).target == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize("name", SEEKERS)
def test_without_balance_or_trust_the_target_stays_even(name):
    assert fed(name, sees_losses_only).target == 0.5
    assert fed(name, coin, balance=True).target == 0.5


@pytest.mark.parametrize("name", ["plr", "thompson"])
def test_a_higher_target_makes_practice_easier(name):
    means = []
    for critic in (sees_losses_only, sees_wins_only):
        curriculum, rng = seeker(name, balance=True), np.random.default_rng(0)
        log = []
        for _ in range(1500):
            difficulty = curriculum.propose(rng)
            won = bool(rng.random() < skilled(0.5, 6.0)(difficulty))
            curriculum.observe(difficulty, won, votes=critic(won, rng))
            log.append(skilled(0.5, 6.0)(difficulty))
        means.append(np.mean(log[500:]))
    assert means[0] > means[1] + 0.05


def test_steps_that_all_votes_are_against_lower_what_counts_as_success_only_for_a_trusted_critic():
    def risky(won, rng):
        return [[-1, -1, -1]] * (4 if won else 8) + [[1, 1, 1]] * (6 if won else 2)

    def evidence(critic, weight):
        curriculum = fed("thompson", critic, critic_weight=weight)
        (before,) = {curriculum.posterior[(0,)]}
        curriculum.observe({"x": 0}, True, votes=risky(True, None))
        return curriculum.posterior[(0,)][0] - 0.998 * before[0] - 0.002

    assert evidence(risky, 0.5) == pytest.approx(0.5 + 0.5 * 0.6)
    assert evidence(risky, 0.0) == pytest.approx(1.0)
    assert evidence(yes, 0.5) == pytest.approx(1.0)


@pytest.mark.parametrize(("critic", "heard"), [(coin, []), (fair, ["It tripped."])])
def test_an_editor_hears_a_critic_only_while_nothing_speaks_against_it(critic, heard):
    told = []

    class Editor:
        def propose(self, task, direction, feedback):
            told.append(list(feedback))
            return []

    env, rng = ToyEnv(), np.random.default_rng(0)
    curriculum = Threshold(env.difficulty_space, slots=1, editor=Editor(), tasks=env)
    for results in [[True, False] * 4] * 40 + [[True] * 7 + [False]]:
        task = curriculum.next_proposal(rng).task
        for won in results:
            curriculum.observe(task.difficulty, won, task=task, votes=critic(won, rng), summary="It tripped.")
    curriculum.next_proposal(rng)
    assert told == [heard]
    assert ("critic_ignored" in kinds(curriculum)) == (heard == [])
