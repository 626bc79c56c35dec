"""Rollouts: who won, what ended an episode, and what a failure of the machinery may not do."""

import pytest
import torch

from rla_agents.env_pool import EnvPool
from rla_agents.llm.base import Sampling
from rla_agents.policy import Policy
from rla_agents.rollout import rollout
from tests.rla_agents.doors import DoorsEnv, FragileDoorsEnv

FRAGILE = "RLATest/FragileDoors-v0"
DOORS = "RLATest/Doors-v0"


@pytest.fixture
def play(model):
    """Play episodes of one task, by default eight."""

    def run(env_id=DOORS, count=8, doors=2, greedy=False, tasks=None, sampling=None, **options):
        policy = Policy(
            model,
            sampling or Sampling(greedy=greedy),
            constrained=options.pop("constrained", True),
            instructed=False,
        )
        kwargs = options.pop("kwargs", {})
        with EnvPool(env_id, kwargs) as pool:
            if tasks is None:
                tasks = pool.sample([({"doors": doors}, (5,))]) * count
            FragileDoorsEnv.started = 0
            generator = torch.Generator().manual_seed(1)
            return rollout(policy, pool, tasks, 0, generator, **options)

    return run


@pytest.fixture
def break_at(monkeypatch):
    """Make the fragile environments fail where a rule says so."""

    def set_rule(rule):
        monkeypatch.setattr(FragileDoorsEnv, "fault", staticmethod(rule))

    return set_rule


def replayed(trajectory):
    """Play a trajectory's actions again in an environment of its own; return what it then says."""
    env = DoorsEnv(step_budget=trajectory.task.payload["budget"])
    observation, _ = env.reset(options={"task": trajectory.task})
    for turn in trajectory.turns:
        assert turn.observation == observation
        before = len(env.optimal_plan())
        observation, reward, terminated, truncated, info = env.step(turn.action)
        assert (turn.next_observation, turn.reward) == (observation, reward)
        assert turn.error == info["rla"]["last_action_error"]
        assert turn.oracle == (1 if len(env.optimal_plan()) < before else -1)
    return terminated, truncated, info["rla"]["success"]


def test_a_trajectory_is_what_happened(play):
    played = play(count=16, doors=1, kwargs={"step_budget": 2})
    assert {t.success for t in played} == {True, False}
    for trajectory in played:
        terminated, truncated, success = replayed(trajectory)
        assert trajectory.success is success is terminated
        assert trajectory.stop == ("solved" if success else "budget")
        assert truncated is not success
        assert trajectory.outcome == (1 if success else -1)
        assert trajectory.optimal_length == 1
        assert trajectory.episode().truncated is truncated
        assert [s.action for s in trajectory.episode().steps] == [turn.action for turn in trajectory.turns]


def test_each_turn_has_its_span_and_the_span_says_its_action(play, model):
    for trajectory in play():
        said = [span.generated.text for span in trajectory.sequence.spans]
        assert said == [turn.action for turn in trajectory.turns]
        for span in trajectory.sequence.spans:
            assert tuple(trajectory.sequence.ids[span.start : span.stop]) == span.generated.ids
        text = model.chat.text(trajectory.sequence.ids)
        pieces = [trajectory.turns[0].observation]
        for turn in trajectory.turns:
            pieces += [turn.action, turn.next_observation]
        # What follows the last action is never read.
        assert text == "".join(pieces[:-1])


def test_running_out_of_steps_is_a_failure_not_a_success(play):
    played = play(doors=5, kwargs={"step_budget": 5}, count=4)
    for trajectory in played:
        assert (trajectory.stop, trajectory.success, trajectory.outcome) == ("budget", False, -1)
        assert len(trajectory.turns) == 5


def test_a_win_on_the_last_allowed_step_is_a_win(play):
    won = [t for t in play(doors=1, kwargs={"step_budget": 1}, count=16) if t.success]
    assert won
    assert {(t.stop, t.outcome, len(t.turns)) for t in won} == {("solved", 1, 1)}


@pytest.mark.parametrize("constrained", [True, False])
@pytest.mark.parametrize("limit", [60, 90])
def test_running_out_of_context_is_a_failure_not_an_error(play, constrained, limit):
    sampling = Sampling(max_tokens=8)
    played = play(doors=5, count=4, max_context=limit, constrained=constrained, sampling=sampling)
    stopped = [t for t in played if t.stop == "context"]
    assert stopped
    for trajectory in stopped:
        assert (trajectory.success, trajectory.outcome, trajectory.healthy) == (False, -1, True)
        assert trajectory.episode().truncated
        assert len(trajectory.turns) == len(trajectory.sequence.spans) < 6
        assert all(span.stop <= limit for span in trajectory.sequence.spans)


def test_a_limit_beyond_the_models_own_context_does_not_crash(play, model, monkeypatch):
    monkeypatch.setattr(type(model), "context_length", property(lambda self: 60))
    assert {t.stop for t in play(doors=5, count=3, max_context=10_000)} <= {"context", "budget"}


def test_a_first_observation_that_does_not_fit_ends_the_episode_before_its_first_step(play):
    (trajectory,) = play(count=1, max_context=5)
    assert (trajectory.stop, trajectory.turns, trajectory.outcome) == ("context", [], -1)


@pytest.mark.parametrize("broken", [1, 7, 8])
def test_episodes_that_stay_broken_are_errors_and_leave_the_others_alone(play, break_at, broken):
    break_at(lambda number, episode, step, won: number < broken and step == 2)
    played = play(FRAGILE, retries=2)
    assert [t.stop == "error" for t in played] == [True] * broken + [False] * (8 - broken)
    for number, trajectory in enumerate(played[:broken]):
        assert trajectory.error == f"environment {number} lost its sandbox"
        assert (trajectory.retries, trajectory.healthy, trajectory.success) == (2, False, False)
    for trajectory in played[broken:]:
        assert trajectory.retries == 0
        assert replayed(trajectory)[2] is trajectory.success


@pytest.mark.parametrize("where", ["reset", "middle", "end"])
def test_a_broken_episode_is_played_again_from_its_start(play, break_at, where):
    def fails(number, episode, step, won):
        reached = {"reset": step == 0, "middle": step == 2, "end": won or step == 6}[where]
        return number == 0 and episode <= 2 and reached

    break_at(fails)
    first, *others = play(FRAGILE, retries=2)
    assert first.retries == 2
    assert first.healthy
    assert replayed(first)[2] is first.success
    assert len(first.turns) == len(first.sequence.spans)
    assert [t.retries for t in others] == [0] * 7


def test_failing_at_the_very_end_is_no_failure_of_the_agent(play, break_at):
    break_at(lambda number, episode, step, won: won or step == 6)
    assert {(t.stop, t.retries) for t in play(FRAGILE, retries=1)} == {("error", 1)}


def test_retries_are_bounded(play, break_at):
    resets = []

    def fails(number, episode, step, won):
        resets.append(number)
        return True

    break_at(fails)
    played = play(FRAGILE, count=2, retries=3)
    assert [t.retries for t in played] == [3, 3]
    assert sorted(resets) == [0] * 4 + [1] * 4


@pytest.mark.parametrize("fails", [lambda *a: False, lambda number, *a: number == 2, lambda *a: a[2] == 1])
def test_every_episode_is_counted_once_when_it_ends(play, break_at, fails):
    break_at(fails)
    counted = []
    play(FRAGILE, count=5, progress=counted.append)
    assert sum(counted) == 5
    assert min(counted) >= 0


def test_greedy_episodes_do_not_depend_on_their_company(play):
    with EnvPool(DOORS, {}) as pool:
        tasks = pool.sample([({"doors": d}, (d,)) for d in (1, 2, 3, 4)])
    together = play(tasks=tasks, greedy=True)
    alone = [play(tasks=[task], greedy=True)[0] for task in tasks]
    assert [t.sequence.ids for t in together] == [t.sequence.ids for t in alone]
    assert [t.turns for t in together] == [t.turns for t in alone]


def test_equal_seeds_give_equal_trajectories(play):
    assert play() == play()
