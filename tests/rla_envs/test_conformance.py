"""The conformance suite accepts sound environments, and each check finds the fault it is for."""

import random

import gymnasium as gym
import pytest

from rla_envs.conformance import ConformanceError, check_adaptive_env, check_names
from rla_envs.errors import InputError, UnknownNameError
from tests.rla_envs.toy_env import TOY_ID

FAULTS = [
    ("gymnasium_interface", "SharedInfo", "share an object"),
    ("gymnasium_interface", "NotText", "observation"),
    ("no_leaks", "Prints", "standard output received 'acting"),
    ("no_leaks", "PrintsFromC", "standard output received 'engine ready"),
    ("no_leaks", "OverwritesArgv", r"sys.argv became \['engine'\]"),
    ("global_randomness", "UsesRandom", "generator of random was used"),
    ("global_randomness", "SeedsNumpy", "generator of numpy.random was used"),
    ("equal_seeds", "CountsInstances", "in two instances differ at call"),
    ("equal_seeds", "KeepsState", "in one instance, reset differ at call"),
    ("spec_json", "LiveKeyword", "TypeError: Object of type set is not JSON serializable"),
    ("hash_stability", "SetOrder", "PYTHONHASHSEED=. differ"),
    ("task_round_trip", "SecretState", "its replay differ at call 0"),
    ("reset_options", "AcceptsAnyOption", "reset accepted options"),
    ("reset_options", "PlaysAnotherTask", "reset was given task"),
    ("reset_options", "StickyDifficulty", "option 'difficulty' still holds"),
    ("step_budget", "StopsEarly", "truncated at step 9 of a budget of 10"),
    ("step_budget", "TerminatesAtBudget", "both terminated and truncated"),
    ("step_budget", "NeverStops", "not truncated at step 10"),
    ("step_budget", "NumpyReward", "expected a finite plain float"),
    ("solvable_tasks", "WrongWitness", "does not win|ends at step"),
    ("solvable_tasks", "UncheckedTasks", "is not valid: the notice names a door"),
    ("difficulty_direction", "IgnoresParameter", "'colours' does not rise with it"),
    ("difficulty_direction", "ClampsParameter", "sampled at doors=1 has doors=2"),
    ("difficulty_direction", "WrongDirection", "'doors' does not fall with it"),
    ("difficulty_direction", "DipsInTheMiddle", "'doors' is not monotone"),
    ("vector_modes", "OtherInWorker", "sync and async vector environments differ at call 0"),
]


def register(name):
    env_id = f"RLATest/{name}-v0"
    if env_id not in gym.registry:
        kwargs = {"palette": {"red"}} if name == "LiveKeyword" else {}
        gym.register(env_id, entry_point=f"tests.rla_envs.broken_envs:{name}", kwargs=kwargs)
    return env_id


@pytest.mark.parametrize("env_id", [TOY_ID, register("TextSpace")])
def test_a_sound_environment_passes_every_check(env_id):
    check_adaptive_env(env_id)


@pytest.mark.parametrize(("check", "name", "message"), FAULTS, ids=[f"{c}-{n}" for c, n, _ in FAULTS])
def test_a_fault_is_found_by_its_check_and_by_none_before(check, name, message):
    env_id = register(name)
    names = check_names()
    earlier = names[: names.index(check)]
    # Starting another process is slow, so it is only done where it is the point.
    check_adaptive_env(env_id, tasks=20, checks=[n for n in earlier if n != "hash_stability"])
    with pytest.raises(ConformanceError, match=message) as caught:
        check_adaptive_env(env_id, tasks=20, checks=[check])
    assert caught.value.check == check
    assert str(caught.value).startswith(f"{env_id} fails the check '{check}'")


def test_every_check_has_a_fault_that_it_finds():
    assert {check for check, _, _ in FAULTS} == set(check_names())


def test_the_whole_suite_stops_at_the_failing_check():
    with pytest.raises(ConformanceError) as caught:
        check_adaptive_env(register("StopsEarly"), tasks=5)
    assert caught.value.check == "step_budget"


def test_keywords_reach_the_environment():
    check_adaptive_env(TOY_ID, tasks=5, checks=["step_budget", "vector_modes"], step_budget=4)


def test_an_environment_that_is_not_adaptive_is_refused():
    with pytest.raises(ConformanceError, match="expected a subclass of rla_envs.AdaptiveEnv"):
        check_adaptive_env("CartPole-v1", checks=["gymnasium_interface"])


def test_an_unknown_check_is_refused_with_a_suggestion():
    with pytest.raises(UnknownNameError, match="Did you mean 'equal_seeds'"):
        check_adaptive_env(TOY_ID, checks=["equal_seed"])


def test_one_name_in_place_of_a_list_is_refused():
    with pytest.raises(InputError, match="checks: expected a list of names, got 'equal_seeds'"):
        check_adaptive_env(TOY_ID, checks="equal_seeds")


@pytest.mark.parametrize("sizes", [{"tasks": 1}, {"steps": 0}, {"tasks": "many"}, {"steps": 2.5}])
def test_too_few_tasks_or_steps_are_refused(sizes):
    with pytest.raises(InputError, match="expected tasks of 2 or more"):
        check_adaptive_env(TOY_ID, **sizes)


def test_use_of_torchs_global_generator_is_found_once_torch_is_imported():
    pytest.importorskip("torch")
    with pytest.raises(ConformanceError, match="generator of torch was used"):
        check_adaptive_env(register("UsesTorch"), checks=["global_randomness"])


def test_global_generators_are_left_as_they_were():
    random.seed(5)
    expected = random.random()
    random.seed(5)
    check_adaptive_env(TOY_ID, checks=["global_randomness"])
    assert random.random() == expected
