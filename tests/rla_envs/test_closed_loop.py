"""The three-player game: PettingZoo's checks, rewards by formula, refused proposals, both views alike."""

import itertools
import re
import warnings
from typing import NamedTuple

import gymnasium as gym
import numpy as np
import pytest
import scipy.stats
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test
from pettingzoo.utils.conversions import aec_to_parallel

from rla_envs import closed_loop
from rla_envs.closed_loop import (
    AGENTS,
    ENVIRONMENT,
    ENVIRONMENT_REWARDS,
    POLICY,
    REFUSAL_PENALTY,
    REWARD_MODEL,
)
from rla_envs.errors import InputError
from rla_envs.gridnav.env import GridNavEnv
from rla_envs.task import TaskEdit
from tests.rla_envs.toy_env import TOY_ID, ToyEnv

GRID, ALFWORLD = "RLA/GridNav-v0", "RLA/AlfWorld-v0"
NEAR = {"goal_distance": 0.0}  # one step from the goal
UNKNOWN = {"goal_distence": 0.0}

# What PettingZoo says about names of agents without a number, and about agents that see different things.
ADVICE = re.compile(
    "We recommend agents to be named|probably should be gymnasium.spaces|observation spaces is different"
    "|Observations are different shapes|different observation space sizes|Observation is not a NumPy array"
)


@pytest.fixture(params=[GRID, ALFWORLD])
def env_id(request):
    if request.param == ALFWORLD:
        pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")
    return request.param


@pytest.mark.parametrize(
    "kwargs", [{}, {"votes": 3, "environment_reward": "adversarial"}], ids=["default", "adversarial"]
)
def test_it_passes_pettingzoos_own_checks(env_id, kwargs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(closed_loop.env(env_id, **kwargs), num_cycles=60)
        parallel_api_test(closed_loop.parallel_env(env_id, **kwargs), num_cycles=60)
        seed_test(lambda: closed_loop.env(env_id, **kwargs), num_cycles=60)
        parallel_seed_test(lambda: closed_loop.parallel_env(env_id, **kwargs), num_cycles=60)
    assert [str(w.message) for w in caught if not ADVICE.search(str(w.message))] == []


def parallel_log(env_id, seed, games=3, steps=25):
    """Play games in the parallel view with actions drawn from the spaces; return all that came back."""
    game = closed_loop.parallel_env(env_id, votes=2)
    for number, agent in enumerate(AGENTS):
        game.action_space(agent).seed(100 + number)
    log = []
    for number in range(games):
        log.append(game.reset(seed=seed if number == 0 else None))
        for _ in range(steps):
            if not game.agents:
                break
            log.append(game.step({agent: game.action_space(agent).sample() for agent in game.agents}))
    game.close()
    return log


def test_equal_seeds_give_equal_parallel_games_over_many_steps_and_other_seeds_do_not(env_id):
    first, second, other = (parallel_log(env_id, seed) for seed in (7, 7, 8))
    assert len(first) > 20
    assert data_equivalence(first, second)
    assert not data_equivalence(first, other)


class Played(NamedTuple):
    """One game: each agent's sum of rewards two ways, the last infos, how it ended, and the cycles."""

    last: dict
    each: dict
    infos: dict
    ended: tuple
    cycles: int


def action_of(script, agent, cycle):
    """Return an agent's action in a cycle; the last one of its script is repeated."""
    return script[agent][min(cycle, len(script[agent]) - 1)]


def by_turns(game, script, seed=0, options=None):
    """Play one game by turns."""
    game.reset(seed=seed, options=options)
    turns = 0
    last, each = dict.fromkeys(AGENTS, 0.0), dict.fromkeys(AGENTS, 0.0)
    for agent in game.agent_iter():
        _, reward, terminated, truncated, _ = game.last()
        last[agent] += reward
        if terminated or truncated:
            if len(game.agents) == len(AGENTS):
                infos, ended = dict(game.infos), (terminated, truncated)
            game.step(None)
            continue
        game.step(action_of(script, agent, turns // len(AGENTS)))
        turns += 1
        for name, amount in game.rewards.items():
            each[name] += amount
    return Played(last, each, infos, ended, turns // len(AGENTS))


def at_once(game, script, seed=0, options=None):
    """Play one game in a parallel view."""
    game.reset(seed=seed, options=options)
    cycles, total = 0, dict.fromkeys(AGENTS, 0.0)
    while game.agents:
        actions = {agent: action_of(script, agent, cycles) for agent in game.agents}
        _, rewards, terminated, truncated, infos = game.step(actions)
        cycles += 1
        for agent, amount in rewards.items():
            total[agent] += amount
    return Played(total, total, infos, (terminated[POLICY], truncated[POLICY]), cycles)


def witness(kwargs, proposal, seed=0, options=None):
    """Return the actions that solve the task which a proposal leads to."""
    game = closed_loop.env(GRID, **kwargs).unwrapped
    game.reset(seed=seed, options=options)
    game.step(proposal)
    return list(GridNavEnv().check_task(game.task).witness)


STORIES = {
    "win": ({"size": 6}, None, [1, 0]),
    "win on the last step allowed": ({"size": 6, "step_budget": 1.0}, None, [0, 1]),
    "truncation": ({"size": 6, "step_budget": 1.0}, [4], [1]),
    "win on the first move": (NEAR, None, [1]),
    "refused proposal": (UNKNOWN, None, [1, 0]),
}


@pytest.mark.parametrize("environment_reward", ENVIRONMENT_REWARDS)
@pytest.mark.parametrize("story", STORIES)
def test_rewards_add_up_the_same_in_every_accessor_and_in_both_views(story, environment_reward):
    proposal, moves, votes = STORIES[story]
    kwargs = {"environment_reward": environment_reward}
    script = {
        ENVIRONMENT: [proposal],
        POLICY: moves or witness(kwargs, proposal),
        REWARD_MODEL: votes,
    }
    turns = by_turns(closed_loop.env(GRID, **kwargs), script)
    assert turns.last == pytest.approx(turns.each, abs=1e-12)
    for convert in (closed_loop.parallel_env, lambda *a, **k: aec_to_parallel(closed_loop.env(*a, **k))):
        together = at_once(convert(GRID, **kwargs), script)
        assert together.each == pytest.approx(turns.each, abs=1e-12)
        assert data_equivalence(together.infos, turns.infos)
        assert (together.ended, together.cycles) == (turns.ended, turns.cycles)
    won = story != "truncation"
    assert turns.ended == (won, not won)
    story_told = turns.infos[POLICY]["rla"]
    # Every step has its vote, the one that ended the episode included.
    assert len(story_told["votes"]) == story_told["steps"] == turns.cycles
    expected = expected_rewards(story_told, votes, environment_reward, story == "refused proposal")
    assert turns.each == pytest.approx(expected, abs=1e-9)


def expected_rewards(told, votes, environment_reward, refused):
    """Return each agent's reward by the formulas of the module, with one vote a step."""
    steps, outcome = told["steps"], 1 if told["success"] else -1
    cast = [2 * votes[min(i, len(votes) - 1)] - 1 for i in range(steps)]
    step_rewards = [outcome + vote for vote in cast]
    assert told["step_rewards"] == step_rewards
    own = {
        "cooperative": sum(step_rewards),
        "adversarial": -sum(step_rewards),
        "learnability": 2 * 1 / (3 * 4),  # one result, and the uniform prior
    }[environment_reward]
    return {
        POLICY: sum(step_rewards),
        REWARD_MODEL: sum(r * vote for r, vote in zip(step_rewards, cast, strict=True)),
        ENVIRONMENT: own - REFUSAL_PENALTY * refused,
    }


def test_several_votes_a_step_count_by_their_mean_and_weight():
    game = closed_loop.env(GRID, votes=4, step_weight=0.5)
    moves = witness({}, {"size": 5})
    votes = [np.array([1, 1, 1, 0]), np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0])]
    played = by_turns(game, {ENVIRONMENT: [{"size": 5}], POLICY: moves, REWARD_MODEL: votes})
    means = [0.5, 0.0, *[-1.0] * (len(moves) - 2)]
    step_rewards = [1 + 0.5 * mean for mean in means]
    assert played.infos[REWARD_MODEL]["rla"]["step_rewards"] == pytest.approx(step_rewards)
    assert played.each[POLICY] == pytest.approx(sum(step_rewards))
    consistency = sum(r * mean for r, mean in zip(step_rewards, means, strict=True))
    assert played.each[REWARD_MODEL] == pytest.approx(consistency)


SHUT_IN = TaskEdit(({"op": "move_goal", "row": 99, "column": 0},))


@pytest.mark.parametrize(
    ("proposal", "reason"),
    [
        (UNKNOWN, "Did you mean 'goal_distance'"),
        ({"size": 100}, "expected a value from 5 to 20, got 100"),
        ({"wind": float("nan")}, "expected a value from 0.0 to 0.5, got nan"),
        (SHUT_IN, "expected a row and a column from 0 to 7"),
    ],
)
def test_a_refused_proposal_costs_the_environment_and_the_previous_task_is_played(proposal, reason):
    game = closed_loop.env(GRID)
    game.reset(seed=0)
    previous, seen = game.unwrapped.task, game.observe(POLICY)
    game.step(proposal)
    assert reason in game.infos[ENVIRONMENT]["rla"]["refused"]
    assert game.rewards == {ENVIRONMENT: -REFUSAL_PENALTY, POLICY: 0.0, REWARD_MODEL: 0.0}
    assert game.unwrapped.task == previous
    assert game.agent_selection == POLICY
    np.testing.assert_array_equal(game.observe(POLICY), seen)


def test_a_difficulty_without_any_task_is_refused_too():
    game = closed_loop.env(TOY_ID, step_budget=1)
    game.reset(seed=0, options={"task": easy_toy_task()})
    game.step({"doors": 5})
    assert "no valid task" in game.infos[ENVIRONMENT]["rla"]["refused"]


def easy_toy_task():
    return ToyEnv(step_budget=1).sample_task({"doors": 1}, np.random.default_rng(0))


def test_an_accepted_proposal_is_played_and_an_edit_starts_from_the_previous_task():
    game = closed_loop.env(GRID)
    script = {ENVIRONMENT: [{"size": 9, "wind": 0.3}], POLICY: [4], REWARD_MODEL: [1]}
    by_turns(game, script)
    first = game.unwrapped.task
    assert (first.difficulty["size"], first.difficulty["wind"]) == (9, 0.3)
    game.reset()
    game.step(TaskEdit(({"op": "set_wind", "value": 0.1},), direction="easier"))
    assert game.infos[ENVIRONMENT]["rla"]["refused"] == ""
    assert (game.unwrapped.task.parent_id, game.unwrapped.task.difficulty["wind"]) == (first.id, 0.1)
    game.reset(seed=0)
    assert game.unwrapped.task.version == 0
    assert game.unwrapped.task != first


def test_a_seed_forgets_the_results_so_far_and_no_seed_keeps_them():
    game = closed_loop.env(GRID)
    script = {ENVIRONMENT: [{"size": 6}], POLICY: [4], REWARD_MODEL: [1]}
    first, again, later = (by_turns(game, script, seed).each[ENVIRONMENT] for seed in (0, 0, None))
    assert first == again == pytest.approx(1 / 6)
    assert later < first  # lost twice


def test_proposals_after_the_first_cycle_are_ignored():
    game = closed_loop.env(GRID)
    script = {ENVIRONMENT: [{"size": 9}, {"size": 5}, UNKNOWN], POLICY: [4], REWARD_MODEL: [1]}
    played = by_turns(game, script)
    assert game.unwrapped.task.difficulty["size"] == 9
    assert played.infos[ENVIRONMENT]["rla"]["refused"] == ""
    assert played.each[ENVIRONMENT] == pytest.approx(1 / 6)


def test_the_environment_sees_the_difficulty_the_last_game_and_its_turn():
    game = closed_loop.env(GRID)
    game.reset(seed=0)
    assert game.observe(ENVIRONMENT)[-3:].tolist() == [0, 0, 1]
    script = {ENVIRONMENT: [{"size": 20, "wind": 0.25}], POLICY: [4], REWARD_MODEL: [1, 0]}
    steps = by_turns(game, script).cycles
    game.reset()
    size, _, _, moving, wind, view, _, outcome, votes, turn = game.observe(ENVIRONMENT).tolist()
    assert (size, moving, wind, view) == (1.0, 0.0, 0.5, 0.5)
    assert (outcome, turn) == (-1.0, 1.0)
    assert votes == pytest.approx((2 - steps) / steps)
    game.step(UNKNOWN)
    assert game.observe(ENVIRONMENT)[-1] == 0


def test_the_reward_model_sees_the_step_it_votes_on():
    game = closed_loop.env(GRID)
    game.reset(seed=0)
    game.step({"size": 6})
    before = game.observe(POLICY)
    game.step(2)
    step = game.observe(REWARD_MODEL)
    assert step["action"] == 2
    assert data_equivalence((step["before"], step["after"]), (before, game.observe(POLICY)))


def test_learnability_is_the_beta_posteriors_expectation():
    record, here, far = closed_loop.Record(), np.zeros(3), np.full(3, 5.0)
    for won, lost in ((0, 0), (1, 0), (3, 2), (9, 0)):
        record.clear()
        for success in [True] * won + [False] * lost:
            record.add(here, success)
        record.add(far, True)  # too far away to count
        expected = scipy.stats.beta(1 + won, 1 + lost).expect(lambda p: p * (1 - p))
        assert record.learnability(here) == pytest.approx(expected, rel=1e-6)
    record.clear()
    record.add(here, True)
    near = np.array([0.2, 0.0, 0.0])  # one width away: exp(-1/2) of a result
    weight = np.exp(-0.5)
    assert record.learnability(near) == pytest.approx((1 + weight) / ((2 + weight) * (3 + weight)))


def test_learnability_is_higher_where_results_are_mixed_than_where_all_are_won():
    def last_reward(moves_of):
        game, rewards = closed_loop.env(GRID), []
        for number in range(12):
            game.reset(seed=0 if number == 0 else None)
            game.step({"size": 5})
            moves = moves_of(number, GridNavEnv().check_task(game.unwrapped.task).witness)
            for move in itertools.chain(moves, itertools.repeat(4)):
                game.step(move)
                game.step(1)
                if not any(game.terminations.values()) and not any(game.truncations.values()):
                    game.step({})
                    continue
                rewards.append(game.rewards[ENVIRONMENT])
                break
        return rewards[-1]

    always = last_reward(lambda number, plan: plan)
    mixed = last_reward(lambda number, plan: plan if number % 2 else [])
    assert always < 0.08 < 0.2 < mixed <= 0.25


@pytest.mark.parametrize(
    ("agent", "action", "message"),
    [
        (ENVIRONMENT, "harder", "expected difficulty values by name or a TaskEdit, got str"),
        (POLICY, 9, "expected an integer from 0 to 4"),
        (REWARD_MODEL, 2, "expected 1 of 0 or 1, got 2"),
        (REWARD_MODEL, -1, "expected 1 of 0 or 1, got -1"),
        (REWARD_MODEL, [1, 0], "expected 1 of 0 or 1"),
    ],
)
def test_an_action_that_is_none_is_an_error_and_leaves_the_turn_where_it_was(agent, action, message):
    game = closed_loop.env(GRID)
    game.reset(seed=0)
    for earlier, good in ((ENVIRONMENT, {}), (POLICY, 4)):
        if agent == earlier:
            break
        game.step(good)
    with pytest.raises(InputError, match=message):
        game.step(action)
    assert game.agent_selection == agent


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("RLA/GridNv-v0",), "unknown environment 'RLA/GridNv-v0'. Did you mean 'RLA/GridNav-v0'"),
        ((GRID, "adverserial"), "unknown environment reward 'adverserial'. Did you mean 'adversarial'"),
        ((GRID, "learnability", 0), "votes: expected an integer of 1 or more, got 0"),
        ((GRID, "learnability", 1, -1.0), "step_weight: expected a number of 0 or more, got -1.0"),
        ((GRID, "learnability", 1, "1"), "step_weight: expected a number of 0 or more, got '1'"),
        ((7,), "unknown environment 7"),
        (("CartPole-v1",), "expected an adaptive environment, got 'CartPole-v1'"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(args, message):
    with pytest.raises(InputError, match=message):
        closed_loop.ClosedLoopEnv(*args)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"task": "one"}, "expected a Task, got str"), (7, "options: expected a mapping, got 7")],
)
def test_a_game_starts_as_before_after_options_that_were_refused(options, message):
    game = closed_loop.env(GRID)
    game.reset(seed=0)
    task = game.unwrapped.task
    with pytest.raises(InputError, match=message):
        game.reset(options=options)
    game.reset()
    assert game.unwrapped.task == task


def test_pictures_are_the_environments_own():
    game = closed_loop.env(GRID, render_mode="rgb_array")
    game.reset(seed=0)
    assert game.render().shape == (9 * 24, 240, 3)


def test_a_text_game_is_won_by_its_plan():
    pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")
    game = closed_loop.env(ALFWORLD, difficulty={"objects": 6, "receptacles": 5})
    game.reset(seed=0)
    plan = gym.make(ALFWORLD).unwrapped.check_task(game.unwrapped.task).witness
    script = {ENVIRONMENT: [{"no such": 1}], POLICY: list(plan), REWARD_MODEL: [1]}
    played = by_turns(game, script)
    assert played.ended == (True, False)
    assert played.each[POLICY] == pytest.approx(2 * len(plan))
