"""What goes wrong on a real desktop, through the environment: no lost work, no false score, nothing left."""

import base64
import contextlib
import io
import json
import os
import signal
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rla_envs.errors import InfrastructureError
from rla_envs.osworld import env as osworld_env
from rla_envs.osworld.desktop.local import BoxLimits, LocalDesktop
from rla_envs.osworld.desktop.opening import CLOCK
from rla_envs.osworld.env import OSWorldEnv
from tests.rla_envs.osworld.test_env_on_real_desktops import editor_task

pytestmark = pytest.mark.usefixtures("local_desktops")

NOTE = "/home/user/note.txt"
BOOK = "/home/user/Documents/book.xlsx"


def calc_task():
    """Return a task with a workbook open in Calc, done once its file has a second sheet row."""
    openpyxl = pytest.importorskip("openpyxl")
    book, buffer = openpyxl.Workbook(), io.BytesIO()
    book.active["A1"] = "first"
    book.save(buffer)
    task = editor_task(BOOK, "never")
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    url = f"data:{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"
    task["related_apps"] = ["libreoffice_calc"]
    task["config"] = [
        {"type": "download", "parameters": {"files": [{"url": url, "path": BOOK}]}},
        {"type": "open", "parameters": {"path": BOOK}},
    ]
    return task


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Make environments; when all are closed, no process and no folder of theirs may be left."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    before = children()
    with contextlib.ExitStack() as stack:

        def make_one(task, **kwargs):
            path = tmp_path / "task.json"
            path.write_text(json.dumps(task))
            return stack.enter_context(contextlib.closing(OSWorldEnv(task_file=str(path), **kwargs)))

        yield make_one
    assert children() == before
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.fixture
def small_boxes(monkeypatch):
    """Give boxes little room, so that it is soon full."""
    limits = BoxLimits(home_mb=8, processes=128)
    monkeypatch.setattr(
        osworld_env, "open_desktop", lambda *_, **__: LocalDesktop(limits=limits, clock=CLOCK)
    )


def children():
    """Return the processes that this one has started and that are there, dead or alive."""
    threads = Path("/proc/self/task").iterdir()
    return {pid for thread in threads for pid in (thread / "children").read_text().split()}


def titles(env):
    return [window.title for window in env._episode.desktop.windows()]


def assert_clean(env, titles_there):
    """Reset; the start state must be what it always is."""
    observation, info = env.reset(seed=0)
    assert titles(env) == titles_there
    assert info["rla"]["cause"] == ""
    roles = {node.tag for node in ElementTree.fromstring(observation["accessibility_tree"]).iter()}
    assert not roles & {"dialog", "alert", "file-chooser"}


def frames(tree):
    """Return the windows in a tree: of each the title, its menus and the first cell or text."""
    found = {}
    for frame in ElementTree.fromstring(tree).iter("frame"):
        menus = tuple(node.get("name") for node in frame.iter("menu"))
        content = [n for n in frame.iter() if n.get("name") == "A1" or n.tag == "text"]
        found[frame.get("name")] = (menus, bool(content))
    return found


@pytest.mark.parametrize("task", [editor_task(NOTE, "x"), "calc"], ids=["editor", "calc"])
def test_the_tree_of_every_fresh_reset_has_every_window_with_what_is_in_it(make, task):
    env = make(calc_task() if task == "calc" else task)
    for seed in range(2):
        first, _ = env.reset(seed=seed)
        there = frames(first["accessibility_tree"])
        assert set(titles(env)) <= set(there)
        for title in titles(env):
            menus, has_content = there[title]
            assert {"File", "Edit", "Help"} <= set(menus)
            assert has_content
        later = env._episode.desktop.observe(late=True)
        assert frames(later.accessibility_tree) == there


@pytest.mark.parametrize("path", ["/home/user/copy.txt", "/home/user/copy.xlsx"])
def test_what_save_as_is_still_about_to_write_when_done_is_said_is_scored(make, path):
    task = calc_task() if path.endswith("xlsx") else editor_task(NOTE, "")
    task["evaluator"]["result"]["command"] = ["ls", path]
    task["evaluator"]["expected"]["rules"]["expected"] = f"{path}\n"
    env = make(task)
    env.reset(seed=0)
    env.step("pyautogui.hotkey('ctrl', 'shift', 's')")
    env.step(f"pyautogui.hotkey('ctrl', 'a'); pyautogui.write({path!r})")
    env.step("pyautogui.press('enter')")
    assert env.step("DONE")[1] == 1.0


def test_a_crash_during_the_agents_own_action_is_the_cause_and_a_closed_window_is_none(make):
    env = make(editor_task(NOTE, "x"), execute_code=True)
    env.reset(seed=0)
    info = env.step("import subprocess; subprocess.run(['pkill', '-SEGV', 'mousepad'])")[4]
    assert info["rla"]["cause"] == "mousepad crashed (SIGSEGV)"
    env.reset(seed=0)
    assert env.step("pyautogui.hotkey('alt', 'f4')")[4]["rla"]["cause"] == ""
    assert titles(env) == []
    assert env.step("DONE")[4]["rla"]["cause"] == ""


def test_a_killed_office_is_the_cause_and_the_document_opens_again_without_a_dialog(make):
    env = make(calc_task())
    env.reset(seed=0)
    desktop = env._episode.desktop
    env.step("pyautogui.write('typed\\n')")
    desktop.execute(["pkill", "-KILL", "soffice.bin"])
    while desktop.windows():
        desktop.observe(tree=False)
    info = env.step("WAIT")[4]
    assert info["rla"]["cause"] == "libreoffice.libreoffice-calc has ended by itself"
    assert env.step("DONE")[1:3] == (0.0, True)
    assert desktop.execute(["pgrep", "-l", "soffice|oosplash"]).output == ""
    desktop.open_file(BOOK)  # in the same box, beside the lock that the dead one left
    assert titles(env) == ["book.xlsx - LibreOffice Calc"]
    assert_clean(env, ["book.xlsx - LibreOffice Calc"])
    listed = env._episode.desktop.execute(["ls", "-A", "/home/user/Documents"]).output
    assert listed.split() == [".~lock.book.xlsx#", "book.xlsx"], "the lock is that of the office that runs"
    assert env._episode.desktop.execute(["pgrep", "-c", "soffice.bin"]).output == "1\n"


@pytest.mark.parametrize("name", ["Xvfb", "dbus-daemon"])
def test_a_desktop_that_loses_a_part_is_never_scored_and_the_next_reset_is_clean(make, name):
    env = make(editor_task(NOTE, ""))  # what is there already would score 1
    env.reset(seed=0)
    desktop = env._episode.desktop
    desktop.execute(["pkill", "-KILL", "-o", "-f", name])
    while not desktop.health()[0]:
        pass
    with pytest.raises(InfrastructureError):
        env.step("DONE")
    assert_clean(env, ["~/note.txt - Mousepad"])


def test_a_full_disk_costs_the_agent_its_work_and_nobody_else_anything(make, small_boxes):
    env = make(editor_task(NOTE, "x"))
    env.reset(seed=0)
    env.step("pyautogui.write('x')")
    full = env._episode.desktop.execute("cat /dev/zero > /home/user/big", shell=True)
    assert "No space left" in full.error
    env.step("pyautogui.hotkey('ctrl', 's')")
    _, reward, terminated, _, info = env.step("DONE")
    assert (reward, terminated, info["rla"]["score"]) == (0.0, True, 0.0)
    assert_clean(env, ["~/note.txt - Mousepad"])
    env.step("pyautogui.write('x')")
    env.step("pyautogui.hotkey('ctrl', 's')")
    assert env.step("DONE")[1] == 1.0


def test_a_dialog_that_is_left_open_holds_nothing_up(make):
    env = make(editor_task(NOTE, "x"))
    env.reset(seed=0)
    env.step("pyautogui.write('x')")
    env.step("pyautogui.hotkey('ctrl', 'shift', 's')")
    assert len(titles(env)) == 2
    assert env.step("DONE")[1:3] == (0.0, True)
    assert_clean(env, ["~/note.txt - Mousepad"])


def test_a_fork_bomb_of_the_agent_ends_with_its_desktop(make, small_boxes, monkeypatch):
    monkeypatch.setattr("rla_envs.osworld.episode.CODE_SECONDS", 1.0)
    env = make(editor_task(NOTE, "x"), execute_code=True, observation=["screenshot"], settle=0.5)
    env.reset(seed=0)
    box = env._episode.desktop.pid
    bomb = "import os, time\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(0.1)"
    with contextlib.suppress(InfrastructureError):  # it may, and need not, take the desktop with it
        assert "time limit" in env.step(bomb)[4]["rla"]["last_action_error"]
        env.step("DONE")
    env.reset(seed=0)
    assert not Path(f"/proc/{box}").exists()
    assert titles(env) == ["~/note.txt - Mousepad"]


def test_an_agent_that_types_for_ever_is_out_of_steps(make):
    env = make(editor_task(NOTE, "x"), difficulty={"steps": 3}, observation=["screenshot"])
    env.reset(seed=0)
    endless = env.step("while True: pyautogui.write('x')")
    assert endless[4]["rla"]["last_action_error"]
    assert env.step(f"pyautogui.write({'x' * 10_001!r})")[4]["rla"]["last_action_error"]
    _, reward, terminated, truncated, info = env.step("pyautogui.write('x' * 1000)")
    assert (reward, terminated or truncated) == (0.0, True)
    assert info["rla"]["steps"] == info["rla"]["step_budget"] == 3


def test_a_desktop_reset_in_a_thread_that_has_ended_is_stepped_from_another(make):
    env = make(editor_task(NOTE, "x"))
    with ThreadPoolExecutor(1) as pool:
        pool.submit(env.reset, seed=0).result()
    for action in ("pyautogui.write('x')", "pyautogui.hotkey('ctrl', 's')"):
        env.step(action)
    assert env.step("DONE")[1] == 1.0


def test_a_box_that_is_killed_by_the_machine_leaves_no_zombie(make):
    env = make(editor_task(NOTE, "x"))
    env.reset(seed=0)
    pid = env._episode.desktop.pid
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(InfrastructureError):
        env.step("WAIT")
    assert not Path(f"/proc/{pid}").exists()
