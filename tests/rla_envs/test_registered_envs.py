"""Every environment of the registry conforms, plain and adaptive."""

import gymnasium as gym
import pytest

import rla_envs
from rla_envs.conformance import check_adaptive_env, check_names
from rla_envs.errors import InputError
from rla_envs.osworld.desktop import packages

# These look at the environment under all wrappers; the plain id has it checked.
UNWRAPPED = ("solvable_tasks", "difficulty_direction")
# A desktop starts for every episode: what the wrappers cannot change is checked on the plain id alone.
WRAPPED_DESKTOP = ("gymnasium_interface", "equal_seeds", "hash_stability")
WITHOUT_DESKTOP = ("hash_stability", "difficulty_direction")


def is_checked(env_id, check):
    if "-Adaptive-" in env_id and check in UNWRAPPED:
        return False
    return "OSWorld" not in env_id or env_id == "RLA/OSWorld-v0" or check in WRAPPED_DESKTOP


CASES = [
    (env_id, check) for env_id in rla_envs.env_ids() for check in check_names() if is_checked(env_id, check)
]


@pytest.mark.parametrize(("env_id", "check"), CASES)
def test_the_environment_conforms(env_id, check):
    if "OSWorld" in env_id:
        missing = packages.missing()
        if missing and check not in WITHOUT_DESKTOP:
            pytest.skip(f"a real desktop needs Debian packages: {' '.join(missing)}")
        # The direction of a probability shows over many tasks, for which no desktop starts.
        kwargs = {} if check in WITHOUT_DESKTOP else {"family": "text_append"}
        tasks = 40 if check == "difficulty_direction" else 2
        check_adaptive_env(env_id, tasks=tasks, steps=1, checks=[check], **kwargs)
        return
    if "AlfWorld" in env_id:
        pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")
    # A coding task is checked by running a program on all its tests, and each step grades another.
    tasks, steps = (3, 4) if "Coding" in env_id else (5, 20)
    check_adaptive_env(env_id, tasks=tasks, steps=steps, checks=[check])


@pytest.mark.parametrize(
    "env_id", ["RLA/AlfWorld-v0", "RLA/GridNav-v0", "RLA/LiveBenchCoding-v0", "RLA/OSWorld-v0"]
)
@pytest.mark.parametrize("thing", ["x", None, {"env_id": "RLA/GridNav-v0"}])
def test_what_is_no_task_is_refused_by_name(env_id, thing):
    env = gym.make(env_id).unwrapped
    with pytest.raises(InputError, match=f"check_task: expected a Task, got {type(thing).__name__}"):
        env.check_task(thing)
