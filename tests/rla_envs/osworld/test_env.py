"""OSWorldEnv keeps Gymnasium's contract and OSWorld's rules, whatever desktop is behind it."""

import json

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from rla_envs.errors import InfrastructureError, InputError
from rla_envs.osworld import env as env_module
from rla_envs.osworld.actions.events import Button, Move, Text
from rla_envs.osworld.env import OSWorldEnv
from rla_envs.task import Task
from tests.rla_envs.osworld.fake_desktop import TYPED, FakeDesktop


def check(expected, path=TYPED):
    return {
        "func": "exact_match",
        "result": {"type": "vm_command_line", "command": ["cat", path]},
        "expected": {"type": "rule", "rules": {"expected": expected}},
    }


def both(*expected):
    checks = [check(text) for text in expected]
    return {key: [part[key] for part in checks] for key in checks[0]}


def task_json(evaluator, name="t"):
    return {"id": name, "instruction": "Type ab.", "config": [], "evaluator": evaluator}


@pytest.fixture(autouse=True)
def desktops(monkeypatch):
    FakeDesktop.opened = []
    monkeypatch.setattr(
        env_module, "open_desktop", lambda provider, size, address, image, office=False: FakeDesktop(size)
    )
    return FakeDesktop.opened


@pytest.fixture
def make(tmp_path):
    made = []

    def make(evaluator=None, **kwargs):
        path = tmp_path / "task.json"
        path.write_text(json.dumps(task_json(evaluator or check("ab"))))
        made.append(OSWorldEnv(task_file=str(path), **kwargs))
        return made[-1]

    yield make
    for env in made:
        env.close()


def current(env):
    return env._episode.desktop


def rla(step):
    return step[-1]["rla"]


def test_spaces_are_known_before_any_desktop_starts(make, desktops):
    env = make(screen_size=(800, 600))
    assert env.observation_space["screenshot"].shape == (600, 800, 3)
    assert env.action_space.contains("pyautogui.click(1, 2)")
    assert env.render() is None
    assert not desktops


def test_gymnasium_finds_no_fault(make):
    check_env(make(), skip_render_check=True)
    check_env(make(action_space="computer_13", observation=["screenshot"]), skip_render_check=True)


def test_a_task_is_scored_at_done_and_only_then(make):
    env = make()
    observation, info = env.reset(seed=0)
    assert observation["instruction"] == "Type ab."
    assert info["rla"]["step_budget"] == 15
    first = env.step("pyautogui.write('ab')")
    assert first[1:4] == (0.0, False, False)
    assert rla(first)["checkpoints"] == ()
    last = env.step("DONE")
    assert last[1:4] == (1.0, True, False)
    assert (rla(last)["score"], rla(last)["checkpoints"], rla(last)["success"]) == (1.0, (1.0,), True)


def test_events_and_done_may_come_in_one_action(make):
    env = make()
    env.reset(seed=0)
    assert env.step("pyautogui.write('ab')\nDONE")[1:4] == (1.0, True, False)


def test_done_with_the_wrong_result_is_lost(make):
    env = make()
    env.reset(seed=0)
    env.step("pyautogui.write('abc')")
    assert env.step("DONE")[1:4] == (0.0, True, False)


@pytest.mark.parametrize(("text", "ending"), [("ab", (1.0, True, False)), ("x", (0.0, False, True))])
def test_the_last_allowed_step_is_scored(make, text, ending):
    env = make(difficulty={"steps": 2})
    env.reset(seed=0)
    env.step("WAIT")
    last = env.step(f"pyautogui.write({text!r})")
    assert last[1:4] == ending
    assert rla(last)["checkpoints"] == (ending[0],)


@pytest.mark.parametrize(("action", "reward"), [("FAIL", 1.0), ("DONE", 0.0)])
def test_an_infeasible_task_is_solved_by_fail_alone(make, action, reward):
    env = make({"func": "infeasible"})
    env.reset(seed=0)
    assert env.step(action)[1:4] == (reward, True, False)


def test_fail_never_solves_a_feasible_task(make):
    env = make()
    env.reset(seed=0)
    env.step("pyautogui.write('ab')")
    assert env.step("FAIL")[1:4] == (0.0, True, False)


def test_a_step_after_the_end_is_refused(make):
    env = make()
    env.reset(seed=0)
    env.step("DONE")
    with pytest.raises(InputError, match="reset"):
        env.step("WAIT")


@pytest.mark.parametrize(
    "action", ["pyautogui.click(1280, 0)", "pyautogui.click(-5, 10)", "nan", "import os", "", None, 7]
)
def test_what_is_not_understood_is_told_costs_a_step_and_does_nothing(make, action):
    env = make()
    env.reset(seed=0)
    before = list(current(env).events)
    step = env.step(action)
    assert rla(step)["last_action_error"]
    assert rla(step)["steps"] == 1
    assert step[1:4] == (0.0, False, False)
    assert current(env).events == before


def test_what_the_desktop_could_not_do_is_told(make):
    env = make()
    env.reset(seed=0)
    current(env).refuses = "no key types U+1F600"
    assert rla(env.step("pyautogui.write('x')"))["last_action_error"] == "no key types U+1F600"


def test_a_done_in_an_action_that_is_not_understood_ends_nothing(make):
    env = make()
    env.reset(seed=0)
    assert env.step("pyautogui.clik(1, 2)\nDONE")[2:4] == (False, False)


def test_corners_are_ordinary_places_and_the_pointer_is_followed(make):
    env = make()
    env.reset(seed=0)
    for action in ("pyautogui.click(0, 0)", "pyautogui.moveTo(1279, 719)", "pyautogui.moveRel(-9, -19)"):
        assert rla(env.step(action))["last_action_error"] == ""
    clicked = [Move(0, 0), Button("left", True), Button("left", False), Move(1279, 719), Move(1270, 700)]
    assert current(env).events == [Move(640, 360), *clicked]


def test_picture_observation_and_actions_share_one_coordinate_space(make):
    env = make(render_mode="rgb_array")
    env.reset(seed=0)
    observation = env.step("pyautogui.moveTo(321, 123)")[0]
    assert env.observation_space.contains(observation)
    assert observation["screenshot"][123, 321].tolist() == [255, 255, 255]
    assert np.array_equal(env.render(), observation["screenshot"])


@pytest.mark.parametrize("parts", [["screenshot"], ["accessibility_tree"], []])
def test_only_the_parts_asked_for_are_seen(make, parts):
    env = make(observation=parts, render_mode="rgb_array")
    observation, _ = env.reset(seed=0)
    assert set(observation) == {"instruction", *parts}
    assert env.observation_space.contains(observation)
    assert env.render().shape == (720, 1280, 3)


def test_computer_13_actions_do_the_same(make):
    env = make(action_space="computer_13")
    env.reset(seed=0)
    env.step({"action_type": "TYPING", "text": "ab"})
    assert current(env).events[-1] == Text("ab")
    assert env.step({"action_type": "DONE"})[1:4] == (1.0, True, False)


def test_code_is_run_inside_the_desktop_when_asked_and_never_here(make):
    env = make(execute_code=True)
    env.reset(seed=0)
    step = env.step("```python\nimport os\nx.y()\n```\nDONE")
    command = next(command for command in current(env).commands if command[0] == "python")
    assert command[1] == "-c"
    assert command[2].endswith("\nimport os\nx.y()\n")
    assert rla(step)["last_action_error"] == "NameError: name 'x' is not defined"
    assert step[2]


@pytest.mark.parametrize("code", ["a\0b", "é" * 65_000])
def test_code_that_no_program_can_be_given_is_an_action_error(make, code):
    env = make(execute_code=True)
    env.reset(seed=0)
    assert "expected a program" in rla(env.step(code))["last_action_error"]


def test_partial_credit_is_the_rise_of_the_share_of_checkpoints(make):
    env = make({**both("a", "a"), "func": ["exact_match", "exact_match"]}, partial_credit=True)
    evaluator = {**both("ab", "ab")}
    evaluator["result"][1] = {"type": "vm_command_line", "command": ["cat", "/home/user/other"]}
    env = make(evaluator, partial_credit=True)
    env.reset(seed=0)
    rewards = [
        env.step(action)[1] for action in ("WAIT", "pyautogui.write('ab')", "WAIT", "pyautogui.write('c')")
    ]
    assert rewards == [0.0, 0.5, 0.0, 0.0]
    current(env).files |= {TYPED: b"ab", "/home/user/other": b"ab"}
    assert env.step("DONE")[1:3] == (0.5, True)


def test_partial_credit_of_an_infeasible_task_is_that_of_fail(make):
    env = make({"func": "infeasible"}, partial_credit=True)
    env.reset(seed=0)
    assert [env.step(action)[1] for action in ("WAIT", "FAIL")] == [0.0, 1.0]


def test_tasks_with_postconfig_are_scored_once_at_the_end(make):
    evaluator = {
        **check("ab"),
        "postconfig": [{"type": "execute", "parameters": {"command": ["cat", "post"]}}],
    }
    env = make(evaluator, partial_credit=True)
    env.reset(seed=0)
    assert env.step("pyautogui.write('ab')")[1] == 0.0
    assert current(env).commands == []
    assert env.step("DONE")[1] == 1.0
    assert current(env).commands.count(["cat", "post"]) == 1


@pytest.mark.parametrize("method", ["perform", "observe", "windows", "health"])
def test_a_lost_desktop_is_never_scored_and_the_next_reset_starts_afresh(make, method):
    env = make()
    env.reset(seed=0)
    lost = current(env)
    lost.fail_in = method
    with pytest.raises(InfrastructureError):
        env.step("pyautogui.write('ab')")
    assert lost.closed
    with pytest.raises(InfrastructureError, match="reset"):
        env.step("WAIT")
    env.reset(seed=0)
    assert current(env) is not lost
    assert env.step("pyautogui.write('ab')\nDONE")[1] == 1.0


def test_a_reset_is_tried_again_a_bounded_number_of_times(make, monkeypatch):
    failures = [True, True]

    def flaky(provider, size, address, image, office=False):
        desktop = FakeDesktop(size)
        desktop.fail_in = "observe" if failures and failures.pop() else ""
        return desktop

    monkeypatch.setattr(env_module, "open_desktop", flaky)
    env = make(max_retries=2)
    env.reset(seed=0)
    assert rla(env.step("WAIT"))["steps"] == 1
    env.close()
    failures += [True] * 9
    with pytest.raises(InfrastructureError):
        env.reset(seed=0)


def test_every_desktop_is_fresh_and_all_are_closed(make, desktops):
    env = make()
    for _ in range(3):
        env.reset(seed=0)
        assert TYPED not in current(env).files
        env.step("pyautogui.write('ab')")
    env.close()
    assert len(desktops) >= 3
    assert all(desktop.closed for desktop in desktops)


def test_an_application_that_ends_by_itself_is_the_cause_stated(make):
    env = make()
    env.reset(seed=0)
    assert rla(env.step("WAIT"))["cause"] == ""
    current(env).open_windows = []
    current(env).killed = ["soffice.bin ended: the box was out of memory"]
    cause = "editor.Editor has ended by itself; soffice.bin ended: the box was out of memory"
    assert rla(env.step("WAIT"))["cause"] == cause
    assert rla(env.step("DONE"))["cause"] == cause


def test_a_desktop_with_another_screen_than_stated_is_refused(make, monkeypatch):
    monkeypatch.setattr(env_module, "open_desktop", lambda *args, **kwargs: FakeDesktop((1920, 1080)))
    with pytest.raises(InputError, match=r"screen_size=\(1920, 1080\)"):
        make().reset(seed=0)


def test_videos_are_recorded(make, tmp_path):
    pytest.importorskip("moviepy", reason="gymnasium's RecordVideo needs moviepy")
    env = make(render_mode="rgb_array")
    with gym.wrappers.RecordVideo(env, str(tmp_path / "videos"), episode_trigger=lambda _: True) as recorded:
        recorded.reset(seed=0)
        recorded.step("WAIT")
        recorded.step("DONE")
    assert list((tmp_path / "videos").glob("*.mp4"))


def test_a_task_travels_as_json_and_plays_the_same(make):
    env = make()
    env.reset(seed=0)
    copy = Task.from_json(env.task.to_json())
    other = make(check("other"))
    other.reset(options={"task": copy})
    assert other.step("pyautogui.write('ab')\nDONE")[1] == 1.0


def test_all_tasks_of_a_folder_come_in_the_order_of_the_files(tmp_path):
    for name in ("b", "a"):
        (tmp_path / f"{name}.json").write_text(json.dumps(task_json(check("ab"), name)))
    env = OSWorldEnv(task_file=str(tmp_path))
    tasks = env.all_tasks()
    assert [task.payload["task_file"]["id"] for task in tasks] == ["a", "b"]
    assert all(env.check_task(task).valid for task in tasks)
    rng = np.random.default_rng(0)
    assert {env.sample_task(None, rng).id for _ in range(20)} == {task.id for task in tasks}


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"provider": "locl"}, "Did you mean 'local'"),
        ({"provider": "remote"}, "address"),
        ({"address": "http://127.0.0.1:1"}, "address"),
        ({"image": "x"}, "image"),
        ({"action_space": "pyautogi"}, "Did you mean 'pyautogui'"),
        ({"observation": ["screenshots"]}, "Did you mean 'screenshot'"),
        ({"observation": "screenshot"}, "observation: expected a list"),
        ({"screen_size": (10, 10)}, "screen_size"),
        ({"settle": -1}, "settle"),
        ({"settle": float("nan")}, "settle"),
        ({"max_retries": 1.5}, "max_retries"),
        ({"family": "nowhere"}, "unknown family"),
        ({"split": "test"}, "split"),
        ({"files": "x"}, "files"),
        ({"execute_code": True, "action_space": "computer_13"}, "execute_code"),
        ({"task_file": "/nowhere.json"}, "/nowhere.json"),
        ({"task_file": []}, "task_file"),
        ({"task_file": 5}, "task_file"),
        ({"render_mode": "human"}, "render mode"),
        ({"difficulty": {"size": 3}}, "size"),
    ],
)
def test_wrong_keywords_are_refused_in_one_line(kwargs, message):
    with pytest.raises(InputError, match=message) as caught:
        OSWorldEnv(**kwargs)
    assert "\n" not in str(caught.value)


def test_a_task_that_cannot_run_here_is_refused_with_what_it_needs(tmp_path):
    path = tmp_path / "t.json"
    task = task_json(check("ab"))
    task["config"] = [{"type": "login", "parameters": {"settings_file": "x", "platform": "googledrive"}}]
    path.write_text(json.dumps(task))
    with pytest.raises(InputError, match="needs_network"):
        OSWorldEnv(task_file=str(path))
    with pytest.raises(InputError, match="1 tasks, each of which needs more"):
        OSWorldEnv(task_file=str(tmp_path))


@pytest.mark.parametrize(
    "payload", [{}, {"task_file": {}}, {"task_file": 3}, {"task_file": task_json({"func": ""})}, {"other": 1}]
)
def test_malformed_payloads_are_not_valid(make, payload):
    check = make().check_task(Task("RLA/OSWorld-v0", {"steps": 3}, payload))
    assert not check.valid
    assert check.reason


def test_a_task_without_its_difficulty_is_not_valid(make):
    env = make()
    payload = env.all_tasks()[0].payload
    assert "steps" in env.check_task(Task("RLA/OSWorld-v0", {}, payload)).reason
    assert "RLA/Other-v0" in env.check_task(Task("RLA/Other-v0", {"steps": 3}, payload)).reason
