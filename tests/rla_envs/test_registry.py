"""Ids resolve, unknown ones are explained, importing is cheap, and vector environments keep text."""

import json
import subprocess
import sys

import gymnasium as gym
import pytest

import rla_envs
from rla_envs.errors import InputError, UnknownNameError
from tests.rla_envs.toy_env import TOY_ID

PROBE = """
import json, sys
import gymnasium
before = set(sys.modules)
import rla_envs
new = {name.partition(".")[0] for name in set(sys.modules) - before}
print(json.dumps(sorted(new - sys.stdlib_module_names)))
"""


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_the_environments_loads_nothing_beyond_gymnasium_and_themselves():
    assert json.loads(run(PROBE)) == ["gymnasium", "rla_envs"]


def test_importing_the_environments_leaves_global_state_alone():
    code = """
import gymnasium, os, random, sys, warnings
state = lambda: (random.getstate(), list(sys.argv), os.getcwd(), dict(os.environ), list(warnings.filters))
before = state()
import rla_envs
assert state() == before
"""
    assert run(code) == ""


def test_env_ids_are_sorted_and_registered():
    ids = rla_envs.env_ids()
    assert ids == sorted(ids)
    assert {
        "RLA/AlfWorld-v0",
        "RLA/AlfWorld-Adaptive-v0",
        "RLA/GridNav-v0",
        "RLA/GridNav-Adaptive-v0",
    } <= set(ids)
    for env_id in ids:
        spec = gym.spec(env_id)
        assert isinstance(spec.entry_point, str)
        assert json.loads(spec.to_json())["id"] == env_id


def test_the_module_prefix_registers_without_an_import():
    code = 'import gymnasium; print(gymnasium.envs.registration._find_spec("rla_envs:RLA/AlfWorld-v0").id)'
    assert run(code).strip() == "RLA/AlfWorld-v0"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("RLA/AlfWord-v0", 2), "unknown environment 'RLA/AlfWord-v0'. Did you mean 'RLA/AlfWorld-v0'"),
        (("RLA/AlfWorld-v7", 2), "Did you mean 'RLA/AlfWorld-v0'"),
        ((TOY_ID, 2, "asink"), "unknown vector mode 'asink'. Did you mean 'async'"),
    ],
)
def test_unknown_names_are_refused_with_a_suggestion(args, message):
    with pytest.raises(UnknownNameError, match=message):
        rla_envs.make_vec(*args)


@pytest.mark.parametrize("count", [0, -1, True, 2.0, "2"])
def test_a_number_of_members_that_is_none_is_refused(count):
    with pytest.raises(InputError, match="num_envs: expected an integer of 1 or more"):
        rla_envs.make_vec(TOY_ID, count)


def test_a_module_that_does_not_exist_is_named():
    with pytest.raises(InputError, match="No module named 'rla_env'"):
        rla_envs.make_vec("rla_env:RLA/AlfWorld-v0", 1)


def text_space_id():
    env_id = "RLATest/TextSpace-v0"
    if env_id not in gym.registry:
        gym.register(env_id, entry_point="tests.rla_envs.broken_envs:TextSpace")
    return env_id


def first_observations(envs):
    try:
        return list(envs.reset(seed=3)[0])
    finally:
        envs.close()


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("env_id", [TOY_ID, text_space_id()])
def test_text_arrives_intact_in_both_modes(env_id, mode):
    alone = [gym.make(env_id).reset(seed=3 + member)[0] for member in range(2)]
    assert all(text.startswith("Notice: ") for text in alone)
    assert first_observations(rla_envs.make_vec(env_id, 2, mode)) == alone


def test_the_trap_is_still_there_in_gymnasiums_own_default():
    observations = first_observations(gym.make_vec(text_space_id(), 2, vectorization_mode="async"))
    assert not any(text.startswith("Notice: ") for text in observations)


def test_keywords_reach_every_member():
    envs = rla_envs.make_vec(TOY_ID, 2, "sync", difficulty={"doors": 5})
    _, info = envs.reset(seed=0)
    assert info["rla"]["difficulty"]["doors"].tolist() == [5, 5]
    envs.close()
