"""Every environment of the registry conforms, plain and adaptive."""

import gymnasium as gym
import pytest

import rla_envs
from rla_envs.conformance import check_adaptive_env, check_names
from rla_envs.errors import InputError

# These look at the environment under all wrappers; the plain id has it checked.
UNWRAPPED = ("solvable_tasks", "difficulty_direction")
CASES = [
    (env_id, check)
    for env_id in rla_envs.env_ids()
    for check in check_names()
    if not ("-Adaptive-" in env_id and check in UNWRAPPED)
]


@pytest.mark.parametrize(("env_id", "check"), CASES)
def test_the_environment_conforms(env_id, check):
    if "AlfWorld" in env_id:
        pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")
    # A coding task is checked by running a program on all its tests, and each step grades another.
    tasks, steps = (3, 4) if "Coding" in env_id else (5, 20)
    check_adaptive_env(env_id, tasks=tasks, steps=steps, checks=[check])


@pytest.mark.parametrize("env_id", ["RLA/AlfWorld-v0", "RLA/GridNav-v0", "RLA/LiveBenchCoding-v0"])
@pytest.mark.parametrize("thing", ["x", None, {"env_id": "RLA/GridNav-v0"}])
def test_what_is_no_task_is_refused_by_name(env_id, thing):
    env = gym.make(env_id).unwrapped
    with pytest.raises(InputError, match=f"check_task: expected a Task, got {type(thing).__name__}"):
        env.check_task(thing)
