"""Episodes repeat to the byte, end as they should, and never get in each other's way."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import rla_envs
from rla_envs import Task, make_vec
from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.alfworld.scene import Scene
from rla_envs.errors import InfrastructureError, InputError, UnknownNameError
from tests.rla_envs.alfworld.games import ENV_ID, SMALL, draw_task, plays_to_a_win
from tests.rla_envs.alfworld.print_episodes import digest, episode

ROOT = Path(__file__).parents[3]


def run_python(*arguments, **environment):
    """Run Python in a fresh process at the repository's root; return what it printed."""
    command = [sys.executable, *map(str, arguments)]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, env=variables).stdout


@pytest.fixture(scope="module")
def made():
    environment = gym.make(ENV_ID, split="valid_seen", difficulty={"distractors": 1})
    yield environment
    environment.close()


def test_a_seed_gives_the_same_bytes_five_times_and_in_fresh_processes(made, tmp_path):
    here = [digest(episode(made, seed=5)) for _ in range(5)]
    assert len(set(here)) == 1
    other = digest(episode(made, seed=6))
    assert other != here[0]
    task = draw_task(3, "valid_seen", **SMALL)
    (tmp_path / "task.json").write_text(task.to_json())
    replay = f"{digest(episode(made, options={'task': task}))} {hash(task)} {task.content_hash}"
    script = Path(__file__).with_name("print_episodes.py")
    for hash_seed in ("0", "1234"):
        printed = run_python(script, tmp_path / "task.json", PYTHONHASHSEED=hash_seed)
        assert printed.splitlines() == [here[0], other, replay]


def test_a_task_through_json_gives_the_same_bytes_with_other_episodes_between(made):
    first = episode(made, seed=5)
    task = Task.from_json(made.unwrapped.task.to_json())
    replays = []
    for seed in range(3):
        episode(made, seed=seed)
        replays.append(digest(episode(made, options={"task": task})))
    assert set(replays) == {digest(first)}


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda task: pickle.loads(pickle.dumps(task))], ids=["deepcopy", "pickle"]
)
def test_a_copied_task_gives_the_same_bytes(made, copied):
    task = draw_task(4, "valid_seen", **SMALL)
    assert copied(task) == task
    assert digest(episode(made, options={"task": copied(task)})) == digest(
        episode(made, options={"task": task})
    )


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_vector_plays_a_given_task_in_every_member(made, mode):
    task = draw_task(5, "valid_seen", **SMALL)
    alone, info = made.reset(options={"task": task})
    plan = made.unwrapped.check_task(task).witness
    envs = make_vec(ENV_ID, 2, mode=mode, split="valid_seen")
    observations, infos = envs.reset(options={"task": task})
    assert list(observations) == [alone, alone]
    assert [list(commands) for commands in infos["admissible_commands"]] == [info["admissible_commands"]] * 2
    for command in plan:
        observations, rewards, terminated, truncated, infos = envs.step((command, "look"))
    envs.close()
    assert rewards.tolist() == [1.0, 0.0]
    assert terminated.tolist() == [True, False]
    assert infos["rla"]["success"].tolist() == [True, False]
    assert not truncated.any()


@pytest.mark.parametrize("budget", [1, 2, 7])
def test_a_step_limit_truncates_at_exactly_n_steps_and_is_no_success(budget):
    env = gym.make(ENV_ID, max_episode_steps=budget, difficulty=SMALL)
    env.reset(seed=0)
    for step in range(1, budget + 1):
        _, reward, terminated, truncated, info = env.step("look")
        assert (type(reward), reward, terminated) == (float, 0.0, False)
        assert truncated == (step == budget)
        assert info["rla"]["success"] is False
    env.close()


def test_a_step_limit_in_a_vector_is_no_success():
    envs = make_vec(ENV_ID, 2, max_episode_steps=3, difficulty=SMALL)
    envs.reset(seed=0)
    for step in (1, 2, 3):
        _, rewards, terminated, truncated, infos = envs.step(("look", "look"))
        assert rewards.tolist() == [0.0, 0.0]
        assert not terminated.any()
        assert truncated.all() == (step == 3)
        assert not infos["rla"]["success"].any()
    envs.close()


def test_a_win_on_the_last_step_of_the_budget_is_a_win(env):
    for seed in range(4):
        task = env.sample_task({**SMALL, "step_budget": 1.0}, np.random.default_rng(seed))
        plan = env.check_task(task).witness
        _, info = env.reset(options={"task": task})
        assert info["rla"]["step_budget"] == len(plan)
        for command in plan[:-1]:
            assert env.step(command)[1:4] == (0.0, False, False)
        _, reward, terminated, truncated, info = env.step(plan[-1])
        assert (reward, terminated, truncated, info["rla"]["success"]) == (1.0, True, False, True)


@pytest.mark.parametrize("multiple", [1.0, 1.1, 2.5, 10.0])
def test_the_budget_is_the_stated_multiple_of_the_shortest_plan_rounded_up(env, multiple):
    task = env.sample_task({**SMALL, "step_budget": multiple}, np.random.default_rng(1))
    _, info = env.reset(options={"task": task})
    length = env.check_task(task).optimal_length
    allowed = info["rla"]["step_budget"]
    assert multiple * length - 1e-6 <= allowed < multiple * length + 1
    for step in range(1, allowed + 1):
        _, _, terminated, truncated, _ = env.step("look")
        assert (terminated, truncated) == (False, step == allowed)


def test_a_command_that_is_not_admissible_costs_a_step_and_says_why(env):
    _, info = env.reset(seed=0)
    assert info["rla"]["last_action_error"] == ""
    for count, command in enumerate(("dance", "", "LOOK", "put mug 1 in/on desk 1", "x" * 5000), start=1):
        observation, reward, terminated, truncated, info = env.step(command)
        assert (observation, reward, terminated, truncated) == ("Nothing happens.", 0.0, False, False)
        assert info["rla"]["steps"] == count
        assert info["rla"]["last_action_error"]
    assert env.step(info["admissible_commands"][0])[-1]["rla"]["last_action_error"] == ""


def test_the_placing_command_of_old_is_refused_with_the_one_of_now(env):
    task = draw_task(0, task_type="pick_and_place_simple", **SMALL)
    *plan, last = env.check_task(task).witness
    thing, place = last.removeprefix("move ").split(" to ")
    for old in ("put {} in/on {}", "put {} in {}", "put {} on {}", "put {} in / on {}"):
        env.reset(options={"task": task})
        for command in plan:
            env.step(command)
        observation, *_, info = env.step(old.format(thing, place))
        assert observation == "Nothing happens."
        assert info["rla"]["last_action_error"].endswith(f"the accepted form is {last!r}")
        assert env.step(last)[2]


def test_an_action_that_is_no_text_is_an_error_of_the_caller(env):
    env.reset(seed=0)
    for action in (3, None, ["look"]):
        with pytest.raises(InputError, match="expected a command as text"):
            env.step(action)


def test_checking_and_editing_tasks_does_not_disturb_the_episode(env):
    task, others = draw_task(1, **SMALL), [draw_task(seed, **SMALL) for seed in range(30, 33)]
    plan = env.check_task(task).witness
    observation, info = env.reset(options={"task": task})
    expected = [(observation, info), *(env.step(command) for command in plan)]
    played = [env.reset(options={"task": task})]
    for turn, command in enumerate(plan):
        assert env.check_task(others[turn % 3]).valid
        env.sample_task(SMALL, np.random.default_rng(turn + 100))
        played.append(env.step(command))
    assert played == expected


def test_the_optimal_plan_from_any_moment_wins(env):
    rng = np.random.default_rng(0)
    for seed in range(6):
        task = draw_task(seed, step_budget=10.0, **SMALL)
        _, info = env.reset(options={"task": task})
        assert env.optimal_plan() == env.check_task(task).witness
        terminated = False
        for _ in range(8):
            commands = info["admissible_commands"]
            *_, terminated, _, info = env.step(commands[int(rng.integers(len(commands)))])
            if terminated:
                break
        if not terminated:
            endings = [env.step(command)[2] for command in env.optimal_plan()]
            assert endings == [False] * (len(endings) - 1) + [True]
        assert env.optimal_plan() == ()


def test_render_shows_the_last_text_and_the_commands():
    env = gym.make(ENV_ID, render_mode="ansi", difficulty=SMALL)
    observation, info = env.reset(seed=0)
    assert env.render() == observation + "\n\nYou can: " + ", ".join(info["admissible_commands"])
    observation, *_, info = env.step(info["admissible_commands"][0])
    assert env.render() == observation + "\n\nYou can: " + ", ".join(info["admissible_commands"])
    env.close()


def test_admissible_commands_are_sorted_and_the_text_fits_the_spaces(env):
    observation, info = env.reset(options={"task": draw_task(0, receptacles=20, objects=30)})
    assert info["admissible_commands"] == sorted(set(info["admissible_commands"]))
    assert observation in env.observation_space
    assert all(command in env.action_space for command in info["admissible_commands"])
    assert observation.startswith("-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"engine": "textword"}, "unknown engine 'textword'. Did you mean 'textworld'?"),
        ({"split": "valid_sene"}, "unknown split 'valid_sene'. Did you mean 'valid_seen'?"),
        ({"difficulty": {"receptacle": 6}}, "Did you mean 'receptacles'?"),
        ({"difficulty": {"task_type": "pick_and_place"}}, "Did you mean 'pick_and_place_simple'?"),
        ({"difficulty": {"receptacles": 41}}, "expected a value from 5 to 40, got 41"),
        ({"render_mode": "human"}, "unknown render mode 'human'"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_named_with_what_was_meant(arguments, message):
    with pytest.raises(InputError) as caught:
        AlfWorldEnv(**arguments)
    assert message in str(caught.value)


def test_a_wrong_reset_option_is_named_with_what_was_meant(made):
    with pytest.raises(UnknownNameError, match="Did you mean 'task'"):
        made.reset(options={"taks": 1})
    with pytest.raises(InputError, match="expected a Task, got str"):
        made.reset(options={"task": "{}"})


def test_an_environment_plays_on_after_it_is_closed(env):
    task = draw_task(2, **SMALL)
    own = AlfWorldEnv()
    first = own.reset(options={"task": task})
    own.close()
    with pytest.raises(InfrastructureError, match="no game is running"):
        own.step("look")
    assert own.reset(options={"task": task}) == first
    assert plays_to_a_win(own, task, env.check_task(task).witness)
    own.close()


@pytest.mark.parametrize("split", ["train", "valid_seen", "valid_unseen"])
def test_reset_plays_in_the_split(split):
    env = AlfWorldEnv(split=split, difficulty=SMALL)
    env.reset(seed=0)
    assert Scene.from_payload(env.task.payload).split == split
    env.close()


BLOCK = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
import gymnasium, rla_envs
from rla_envs.errors import MissingExtraError
env = gymnasium.make("RLA/AlfWorld-v0", engine={engine!r})
try:
    env.reset(seed=0)
except MissingExtraError as error:
    print(error)
"""


@pytest.mark.parametrize(("blocked", "engine"), [("alfworld", "native"), ("textworld", "textworld")])
def test_a_missing_package_is_named_with_what_to_install(blocked, engine):
    printed = run_python("-c", BLOCK.format(blocked=blocked, engine=engine))
    assert f"({blocked}" in printed
    assert "pip install 'rlanything[alfworld]'" in printed
    assert printed.count("\n") == 1


def test_a_home_that_cannot_be_written_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("")
    code = "from rla_envs.alfworld.env import AlfWorldEnv\ntry:\n    AlfWorldEnv().reset(seed=0)\n"
    code += "except Exception as error:\n    print(type(error).__name__, error)"
    printed = run_python("-c", code, ALFWORLD_DATA=str(tmp_path / "file" / "data"))
    assert printed.startswith("InfrastructureError alfworld cannot make its data folder")
    assert "set ALFWORLD_DATA" in printed


def test_the_native_engine_plays_without_textworld_and_what_comes_with_it():
    absent = ("textworld", "tatsu", "fast_downward", "spacy", "jericho")
    code = f"import sys; sys.modules.update(dict.fromkeys({absent}))\n"
    code += "import gymnasium, rla_envs\nenv = gymnasium.make('RLA/AlfWorld-v0')\n"
    code += "observation, info = env.reset(seed=0)\n"
    code += "print(env.step(info['admissible_commands'][0])[0].count('You arrive'))"
    assert run_python("-c", code) == "1\n"


def test_both_engines_give_the_same_episode():
    native, reference = (gym.make(ENV_ID, engine=name, difficulty=SMALL) for name in ("native", "textworld"))
    assert digest(episode(native, seed=3)) == digest(episode(reference, seed=3))
    reference.close()


def test_importing_the_environments_imports_no_engine():
    code = "import sys, rla_envs; print([m for m in ('alfworld', 'textworld', 'torch') if m in sys.modules])"
    assert run_python("-c", code) == "[]\n"
    assert "RLA/AlfWorld-v0" in rla_envs.env_ids()
