"""CriticFeedback sets the difficulty, reports the episode, and keeps the environment's own behaviour."""

import json
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from rla_envs import Task
from rla_envs.errors import InfrastructureError, InputError, InvalidTaskError, UnknownNameError
from tests.rla_envs.toy_env import TOY_ID, ToyEnv
from tests.wrappers.players import (
    ADAPTIVE_ID,
    BrokenCritic,
    FragileToy,
    PickyToy,
    Recorder,
    RuleCritic,
    fail,
    play,
    solve,
)
from wrappers import (
    CriticFeedback,
    FreeParameters,
    NumberedCommands,
    Verdict,
    curriculum_names,
    step_rewards,
)
from wrappers.curricula import make

NAMES = curriculum_names()


def test_the_proposed_difficulty_is_played_and_explained():
    env = CriticFeedback(ToyEnv(), "fixed", curriculum_kwargs={"difficulty": {"doors": 5}})
    observation, info = env.reset(seed=0)
    assert observation.count(",") == 4
    assert info["rla"]["difficulty"] == {"doors": 5, "colours": 4}
    assert (info["rla"]["difficulty_reason"], info["rla"]["curriculum"]) == ("fixed by the user", "fixed")


def test_the_curriculum_learns_every_finished_episode():
    curriculum, critic = Recorder(), RuleCritic()
    env = CriticFeedback(ToyEnv(), curriculum, critic)
    observation, _ = env.reset(seed=0)
    env.step("wait")
    solve(env, observation)
    task = env.unwrapped.task
    env.reset()
    fail(env)
    (won, lost) = curriculum.seen
    assert won[:2] == ({"doors": 3, "colours": 4}, True)
    votes = ((-1, -1, 0),) + ((1, 1, -1),) * 3
    assert won[2] == {"task": task, "votes": votes, "summary": "", "lost_steps": {}}
    assert (lost[1], lost[2]["summary"]) == (False, "Opened no door.")
    assert [(e.success, e.truncated, e.outcome) for e in critic.episodes] == [
        (True, False, 1),
        (False, True, -1),
    ]


def test_the_critic_sees_every_transition():
    critic = RuleCritic()
    env = CriticFeedback(ToyEnv(), "fixed", critic)
    texts = [env.reset(seed=0)[0], env.step("wait")[0]]
    last = solve(env, texts[0])
    (episode,) = critic.episodes
    assert (episode.steps[0].observation, episode.steps[0].next_observation) == tuple(texts)
    assert [s.observation for s in episode.steps[1:]] == [s.next_observation for s in episode.steps[:-1]]
    assert len({s.observation for s in episode.steps}) == 4
    assert episode.steps[0][1::2] == ("wait", 0.0)
    assert "opens no door" in episode.steps[0].error
    assert (episode.steps[-1].next_observation, episode.steps[-1].reward) == (last[0], 1.0)


def test_votes_and_integrated_rewards_come_with_the_last_step():
    env = CriticFeedback(ToyEnv(), "fixed", RuleCritic(), step_weight=0.5)
    observation, info = env.reset(seed=0)
    infos = [info, env.step("wait")[4]]
    assert all("votes" not in info["rla"] and "step_rewards" not in info["rla"] for info in infos)
    _, reward, _, _, info = solve(env, observation)
    assert reward == 1.0
    assert info["rla"]["votes"] == [[-1, -1, 0]] + [[1, 1, -1]] * 3
    assert info["rla"]["step_rewards"] == pytest.approx([1 - 0.5 * 2 / 3] + [1 + 0.5 / 3] * 3)


@pytest.mark.parametrize(
    ("outcome", "votes", "weight", "expected"),
    [(1, [(1, 1, 1), (-1, -1, -1)], 1.0, [2, 0]), (-1, [(1, 0), ()], 2.0, [0, -1]), (-1, [], 1.0, [])],
)
def test_step_rewards_are_outcome_plus_weighted_mean_vote(outcome, votes, weight, expected):
    assert step_rewards(outcome, votes, weight) == expected


def test_an_abandoned_episode_is_not_observed():
    curriculum = Recorder()
    env = CriticFeedback(ToyEnv(), curriculum)
    env.reset(seed=0)
    env.step("wait")
    env.reset()
    assert curriculum.seen == []


def test_an_episode_is_abandoned_also_by_a_reset_that_fails():
    curriculum = Recorder()
    env = CriticFeedback(ToyEnv(), curriculum)
    observation, _ = env.reset(seed=0)
    with pytest.raises(UnknownNameError):
        env.reset(options={"level": 3})
    solve(env, observation)
    assert curriculum.seen == []


def test_the_curriculum_draws_from_a_stream_of_its_own():
    class Drawing(Recorder):
        def propose(self, rng):
            self.draw = rng.random()
            return {}

    env = CriticFeedback(ToyEnv(), Drawing())
    draws = []
    for seed in (0, 0, 1):
        env.reset(seed=seed)
        draws.append(env.curriculum.draw)
    assert draws[0] == draws[1] != draws[2]
    assert draws[0] != np.random.default_rng(0).random()


def test_a_failure_of_the_machinery_propagates_and_its_episode_is_not_observed():
    curriculum = Recorder()
    env = CriticFeedback(FragileToy(), curriculum)
    observation, _ = env.reset(seed=0)
    with pytest.raises(InfrastructureError, match="the engine died"):
        env.step("break")
    solve(env, observation)
    assert curriculum.seen == []
    solve(env, env.reset()[0])
    assert len(curriculum.seen) == 1


def test_a_failure_while_judging_propagates_and_its_episode_is_not_observed():
    curriculum = Recorder()
    env = CriticFeedback(ToyEnv(), curriculum, BrokenCritic())
    observation, _ = env.reset(seed=0)
    with pytest.raises(InfrastructureError, match="server is gone"):
        solve(env, observation)
    assert curriculum.seen == []


def test_steps_after_the_end_are_not_observed():
    curriculum = Recorder()
    env = CriticFeedback(ToyEnv(), curriculum)
    env.reset(seed=0)
    fail(env)
    env.step("wait")
    assert len(curriculum.seen) == 1


def test_a_difficulty_in_options_wins_for_one_episode_and_is_evidence():
    curriculum = Recorder()
    env = CriticFeedback(ToyEnv(), curriculum)
    _, info = env.reset(seed=0, options={"difficulty": {"doors": 1}})
    assert (info["rla"]["difficulty"]["doors"], info["rla"]["difficulty_reason"]) == (1, "given at reset")
    fail(env)
    _, info = env.reset()
    assert (info["rla"]["difficulty"]["doors"], info["rla"]["difficulty_reason"]) == (3, "because")
    assert curriculum.seen[0][0] == {"doors": 1, "colours": 4}


@pytest.mark.parametrize("name", NAMES)
def test_held_parameters_stay_and_the_curriculum_moves_the_others(name):
    env = CriticFeedback(ToyEnv(difficulty={"doors": 2}), name)
    infos = [info for _, info in [env.reset(seed=0)] + [env.reset() for _ in range(20)]]
    assert {info["rla"]["difficulty"]["doors"] for info in infos} == {2}
    if name in ("uniform", "thompson"):
        assert len({info["rla"]["difficulty"]["colours"] for info in infos}) > 2


def test_held_parameters_win_over_what_a_curriculum_asks_for():
    source = FreeParameters(ToyEnv(difficulty={"doors": 2}))
    assert source.sample_task({"doors": 5}, np.random.default_rng(0)).difficulty["doors"] == 2
    assert list(source.difficulty_space) == [p.name for p in source.difficulty_parameters] == ["colours"]
    with pytest.raises(UnknownNameError, match="own difficulty= holds doors; leave a parameter out there"):
        CriticFeedback(ToyEnv(difficulty={"doors": 2}), curriculum_kwargs={"parameters": ["doors"]})


@pytest.mark.parametrize("name", ["uniform", "thompson"])
def test_set_difficulty_holds_a_parameter_from_the_next_episode_on(name):
    env = CriticFeedback(ToyEnv(), name)
    env.reset(seed=0)
    env.get_wrapper_attr("set_difficulty")({"doors": 2})
    assert {env.reset()[1]["rla"]["difficulty"]["doors"] for _ in range(20)} == {2}


def test_a_proposal_without_a_valid_task_is_passed_over():
    env = CriticFeedback(PickyToy(), "uniform", curriculum_kwargs={"parameters": ["doors"]})
    doors = [env.reset(seed=seed)[1]["rla"]["difficulty"]["doors"] for seed in range(30)]
    assert set(doors) == {1, 2, 3}
    env = CriticFeedback(PickyToy(), "fixed", curriculum_kwargs={"difficulty": {"doors": 5}})
    with pytest.raises(InvalidTaskError, match="only three doors"):
        env.reset(seed=0)


@pytest.mark.parametrize("name", NAMES)
def test_equal_seeds_give_equal_episodes_however_much_was_learned_in_between(name):
    first, second = (CriticFeedback(ToyEnv(), name, RuleCritic()) for _ in range(2))
    expected = play(first, 6, seed=42)
    assert play(second, 6, seed=42) == expected
    play(first, 9, seed=7)
    assert play(first, 6, seed=42) == expected


def test_a_shared_curriculum_is_not_restarted_by_a_seed():
    curriculum = Recorder()
    env = CriticFeedback(ToyEnv(), curriculum)
    play(env, 2, seed=0)
    env.reset(seed=0)
    assert len(curriculum.seen) == 2


@pytest.mark.parametrize("name", NAMES)
def test_a_restored_wrapper_continues_exactly(name):
    env = CriticFeedback(ToyEnv(), name)
    play(env, 40, seed=0)
    state = json.loads(json.dumps(env.state_dict()))
    other = CriticFeedback(ToyEnv(), name)
    other.load_state_dict(state)
    assert play(other, 40) == play(env, 40)
    assert other.state_dict() == env.state_dict()


def test_a_seed_after_loading_keeps_what_was_loaded():
    env = CriticFeedback(ToyEnv(), "thompson")
    play(env, 10, seed=0)
    other = CriticFeedback(ToyEnv(), "thompson")
    other.load_state_dict(env.state_dict())
    other.reset(seed=0)
    assert other.curriculum.state_dict() == env.curriculum.state_dict()


@pytest.mark.parametrize("damage", [{"rng": {}}, {"env_rng": None}, {"curriculum": {}}])
def test_damaged_state_is_refused_and_changes_nothing(damage):
    env = CriticFeedback(ToyEnv(), "thompson")
    play(env, 3, seed=0)
    state = env.state_dict()
    with pytest.raises(InputError, match="state"):
        env.load_state_dict({**state, **damage})
    with pytest.raises(InputError, match="expected the field 'rng'"):
        env.load_state_dict({key: value for key, value in state.items() if key != "rng"})
    assert env.state_dict() == state


@pytest.mark.parametrize("name", NAMES)
def test_a_pickled_wrapper_continues_the_same(name):
    env = CriticFeedback(ToyEnv(), name)
    play(env, 5, seed=0)
    other = pickle.loads(pickle.dumps(env))
    assert play(other, 10) == play(env, 10)


def test_fixed_at_the_default_plays_the_bare_environments_episodes():
    wrapped, bare = play(CriticFeedback(ToyEnv(), "fixed"), 4, seed=5), play(ToyEnv(), 4, seed=5)
    for (*data, info), (*bare_data, bare_info) in zip(wrapped, bare, strict=True):
        assert data == bare_data
        assert {k: v for k, v in info["rla"].items() if k in bare_info["rla"]} == bare_info["rla"]
        assert set(info["rla"]) - set(bare_info["rla"]) == {"difficulty_reason", "curriculum"}


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"step_weight": -1}, "step_weight: expected a number of 0.0 or more, got -1"),
        ({"step_weight": float("nan")}, "step_weight: expected a number"),
        ({"step_weight": float("inf")}, "step_weight: expected a number"),
        ({"curriculum": 3}, "int has no propose"),
        ({"curriculum": Recorder}, "got the class Recorder; make an object of it"),
        ({"curriculum_kwargs": ["discount"]}, "curriculum_kwargs: expected JSON values"),
        ({"critic": "oracle"}, r"expected an object with judge\(episodes\), got str"),
        ({"curriculum_kwargs": {"discount": np.ones(2)}}, "curriculum_kwargs: expected JSON values"),
        ({"curriculum_kwargs": {"dicount": 1}}, "Did you mean 'discount'"),
        ({"curriculum": Recorder(), "curriculum_kwargs": {"a": 1}}, "already built"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(kwargs, message):
    with pytest.raises(InputError, match=message):
        CriticFeedback(ToyEnv(), **kwargs)


def test_an_environment_without_difficulty_is_refused():
    with pytest.raises(InputError, match="sets the difficulty of an AdaptiveEnv, got CartPoleEnv"):
        CriticFeedback(gym.make("CartPole-v1"))


class WrongCritic:
    def __init__(self, *verdicts):
        self.verdicts = list(verdicts)

    def judge(self, episodes):
        return self.verdicts


@pytest.mark.parametrize(
    ("critic", "message"),
    [
        (WrongCritic(), "expected 1 verdict for 1 episode, got 0"),
        (WrongCritic(Verdict(((1,),))), "expected votes on 10 steps, got votes on 1"),
        (WrongCritic(Verdict(((2,),) * 10)), r"expected votes of -1, 0 \(malformed\) or \+1, got 2"),
    ],
)
def test_a_verdict_that_does_not_fit_is_refused(critic, message):
    env = CriticFeedback(ToyEnv(), "fixed", critic)
    env.reset(seed=0)
    with pytest.raises(InputError, match=message):
        fail(env)


@pytest.mark.parametrize("name", NAMES)
def test_the_adaptive_id_passes_gymnasiums_own_check(name):
    env = gym.make(ADAPTIVE_ID, curriculum=name)
    with pytest.warns(UserWarning, match="different from the unwrapped version"):
        check_env(env, skip_render_check=True)
    assert type(env.unwrapped) is ToyEnv
    assert (env.observation_space, env.action_space) == (ToyEnv().observation_space, ToyEnv().action_space)


def test_the_adaptive_id_has_each_standard_wrapper_once():
    text = str(gym.make(ADAPTIVE_ID))
    assert text == f"<OrderEnforcing<PassiveEnvChecker<CriticFeedback<ToyEnv<{ADAPTIVE_ID}>>>>>"


@pytest.mark.parametrize("name", NAMES)
def test_the_adaptive_ids_spec_goes_through_json_and_makes_the_same_environment(name):
    kwargs = {"parameters": ["colours"]} if name in ("uniform", "thompson") else {}
    env = gym.make(
        ADAPTIVE_ID, curriculum=name, curriculum_kwargs=kwargs, step_weight=0.5, difficulty={"doors": 2}
    )
    spec = gym.envs.registration.EnvSpec.from_json(env.spec.to_json())
    again = gym.make(spec)
    assert again.spec == env.spec
    assert str(again) == str(env)
    assert play(again, 5, seed=1) == play(env, 5, seed=1)


def test_a_wrapper_by_name_goes_through_a_spec():
    env = CriticFeedback(
        gym.make(TOY_ID), "uniform", step_weight=2.0, curriculum_kwargs={"parameters": ["doors"]}
    )
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.step_weight == 2.0
    assert play(again, 5, seed=1) == play(env, 5, seed=1)


def test_a_wrapper_with_live_objects_can_be_described_but_not_made_again():
    curriculum = make("uniform", ToyEnv().difficulty_space)
    env = NumberedCommands(CriticFeedback(gym.make(TOY_ID), curriculum, RuleCritic()))
    assert env.env.curriculum is curriculum
    assert [wrapper.name for wrapper in env.spec.additional_wrappers] == [
        "CriticFeedback",
        "NumberedCommands",
    ]
    with pytest.raises(ValueError, match="CriticFeedback wrapper .* cannot be recreated"):
        gym.make(env.spec)


def test_the_adaptive_id_refuses_live_objects_and_bad_names():
    with pytest.raises(InputError, match="expected a name, got Recorder"):
        gym.make(ADAPTIVE_ID, curriculum=Recorder())
    with pytest.raises(UnknownNameError, match="Did you mean 'uniform'"):
        gym.make(ADAPTIVE_ID, curriculum="unifrm")
    with pytest.raises(UnknownNameError, match="Did you mean 'doors'"):
        gym.make(ADAPTIVE_ID, difficulty={"door": 1})


def test_the_environments_own_tools_stay_in_reach():
    env = gym.make(ADAPTIVE_ID, curriculum="threshold")
    env.reset(seed=0)
    base = env.unwrapped
    assert set(base.difficulty_space) == {"doors", "colours"}
    task = base.sample_task({"doors": 1}, np.random.default_rng(0))
    assert base.check_task(task).valid
    env.reset(options={"task": Task.from_json(task.to_json())})
    assert base.task == task
