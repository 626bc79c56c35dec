"""OSWorldEnv on real desktops: real typing, real files, real crashes."""

import contextlib
import json
import os
import signal

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from rla_envs.errors import InfrastructureError
from rla_envs.osworld.env import OSWorldEnv
from rla_envs.task import Task

pytestmark = pytest.mark.usefixtures("local_desktops")

TEXT = "Доброе утро — αβγ ß ñ € <>{}|"
PATH = "/home/user/note.txt"


def editor_task(path, expected):
    return {
        "id": "type-in-the-editor",
        "instruction": f"Type the greeting into {path} and save it.",
        "config": [
            {"type": "download", "parameters": {"files": [{"url": "data:text/plain,", "path": path}]}},
            {"type": "launch", "parameters": {"command": ["mousepad", path]}},
            {"type": "activate_window", "parameters": {"window_name": "note"}},
        ],
        "evaluator": {
            "func": "exact_match",
            "result": {"type": "vm_command_line", "command": ["cat", path]},
            "expected": {"type": "rule", "rules": {"expected": expected}},
        },
    }


@pytest.fixture
def make(tmp_path):
    path = tmp_path / "task.json"
    path.write_text(json.dumps(editor_task(PATH, TEXT)))
    with contextlib.ExitStack() as stack:
        yield lambda **kwargs: stack.enter_context(
            contextlib.closing(OSWorldEnv(task_file=str(path), **kwargs))
        )


@pytest.mark.parametrize(
    ("space", "actions"),
    [
        ("pyautogui", [f"pyautogui.write({TEXT!r})", "pyautogui.hotkey('ctrl', 's')", "DONE"]),
        (
            "computer_13",
            [
                {"action_type": "TYPING", "text": TEXT},
                {"action_type": "HOTKEY", "keys": ["ctrl", "s"]},
                {"action_type": "DONE"},
            ],
        ),
    ],
)
def test_typed_text_reaches_the_file_exactly_and_solves_the_task(make, space, actions):
    env = make(action_space=space, render_mode="rgb_array")
    first, _ = env.reset(seed=0)
    assert "note" in first["accessibility_tree"]
    steps = [env.step(action) for action in actions]
    assert [step[4]["rla"]["last_action_error"] for step in steps] == ["", "", ""]
    assert [step[1] for step in steps] == [0.0, 0.0, 1.0]
    assert steps[-1][2]
    assert not np.array_equal(first["screenshot"], steps[0][0]["screenshot"])
    assert np.array_equal(env.render(), steps[-1][0]["screenshot"])


def test_gymnasium_finds_no_fault(make):
    check_env(make(render_mode="rgb_array"), skip_render_check=True)


def test_corners_and_places_off_the_screen_keep_the_episode_going(make):
    env = make(observation=["screenshot"])
    env.reset(seed=0)
    for action in ("pyautogui.click(0, 0)", "pyautogui.click(640, 360)", "pyautogui.moveTo(1279, 719)"):
        assert env.step(action)[4]["rla"]["last_action_error"] == ""
    for action in (
        "pyautogui.click(1280, 720)",
        "pyautogui.click(-5, 10)",
        "pyautogui.click(10**9, 0)",
        "nan",
    ):
        assert env.step(action)[4]["rla"]["last_action_error"]
    assert env.step("pyautogui.moveTo(12.7, 3.2)")[4]["rla"]["last_action_error"] == ""
    assert env._episode.desktop.execute(["xdotool", "getmouselocation"]).output.startswith("x:13 y:3 ")


def test_a_killed_box_is_an_infrastructure_error_and_the_next_episode_is_clean(make):
    env = make()
    env.reset(seed=0)
    env.step("pyautogui.write('left over')")
    os.kill(env._episode.desktop.pid, signal.SIGKILL)
    with pytest.raises(InfrastructureError):
        env.step("WAIT")
    env.reset(seed=0)
    assert env._episode.desktop.read_file(PATH) == b""
    for action in (f"pyautogui.write({TEXT!r})", "pyautogui.hotkey('ctrl', 's')"):
        env.step(action)
    assert env.step("DONE")[1] == 1.0


def test_an_application_that_is_killed_is_the_cause_stated(make):
    env = make()
    env.reset(seed=0)
    env._episode.desktop.execute(["pkill", "-KILL", "mousepad"])
    while env._episode.desktop.windows():
        env._episode.desktop.observe(tree=False)
    info = env.step("WAIT")[4]
    assert "ousepad" in info["rla"]["cause"]
    assert "ended by itself" in info["rla"]["cause"]
    assert env.step("DONE")[1:3] == (0.0, True)


def test_code_runs_inside_the_desktop_only(make, tmp_path):
    env = make(execute_code=True)
    env.reset(seed=0)
    path = tmp_path / "escaped"
    code = f"open('/home/user/made', 'w').write('x')\nopen({str(path)!r}, 'w').write('x')"
    assert "FileNotFoundError" in env.step(code)[4]["rla"]["last_action_error"]
    assert env._episode.desktop.read_file("/home/user/made") == b"x"
    assert not path.exists()
    assert env.step("pyautogui.moveTo(7, 9)")[4]["rla"]["last_action_error"] == ""
    assert env._episode.desktop.execute(["xdotool", "getmouselocation"]).output.startswith("x:7 y:9 ")


@pytest.mark.parametrize("space", ["pyautogui", "computer_13"])
def test_the_witness_of_a_generated_task_solves_it_and_doing_nothing_does_not(space):
    with contextlib.closing(OSWorldEnv(family="text_lines", action_space=space)) as env:
        env.reset(seed=1)
        task = Task.from_json(env.task.to_json())
        rewards = [env.step(action)[1] for action in env.check_task(task).witness]
        assert rewards == [0.0] * (len(rewards) - 1) + [1.0]
        env.reset(options={"task": task})
        assert env.step("DONE" if space == "pyautogui" else {"action_type": "DONE"})[1:3] == (0.0, True)
