"""Boxes of ordinary users, and boxes that several threads use at once."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rla_envs.osworld.actions.events import Move

REPOSITORY = Path(__file__).parents[4]

AS_ORDINARY = """
import os
from rla_envs.osworld.actions.events import Key, Text
from rla_envs.osworld.desktop.opening import open_desktop

with open_desktop("local") as desktop:
    desktop.write_file("/home/user/note.txt", b"")
    desktop.open_file("/home/user/note.txt")
    keys = [Key("ctrl", True), Key("s", True), Key("s", False), Key("ctrl", False)]
    assert desktop.perform([Text("typed <é>"), *keys]) == ""
    view = desktop.observe(late=True)
    assert "note.txt" in view.accessibility_tree
    assert desktop.read_file("/home/user/note.txt").decode().strip() == "typed <é>"
    assert desktop.execute(["cat", "/etc/shadow"]).returncode != 0
    inside = desktop.execute(["python", "-c", "import socket; print(len(socket.if_nameindex()))"])
    assert inside.output == "1\\n"
    assert "not permitted" in desktop.execute(["unshare", "-U", "true"]).error
    box = desktop.pid
print(os.getuid(), not os.path.exists(f"/proc/{box}"))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="this is already an ordinary user's run")
def test_an_ordinary_user_has_boxes_as_well(local_desktops, tmp_path_factory):
    helper = REPOSITORY / "tests/rla_envs/coding/sandbox/ordinary_user.py"
    done = subprocess.run(
        [sys.executable, str(helper), str(REPOSITORY), "-c", AS_ORDINARY],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == "65533 True\n"


def test_a_desktop_is_seen_and_moved_while_a_command_runs_long(shared_desktop):
    begun = threading.Event()

    def wait_for_a_file():
        begun.set()
        command = "while [ ! -e /home/user/go ]; do sleep 0.02; done; echo gone"
        return shared_desktop.execute(command, shell=True, timeout=60)

    with ThreadPoolExecutor(5) as pool:
        long = pool.submit(wait_for_a_file)
        begun.wait()
        views = [pool.submit(shared_desktop.observe, settle=0.0) for _ in range(6)]
        moves = [pool.submit(shared_desktop.perform, [Move(x, 5)]) for x in range(6)]
        assert all(view.result().screenshot.shape == (720, 1280, 3) for view in views)
        assert [move.result() for move in moves] == [""] * 6
        assert not long.done()
        shared_desktop.write_file("/home/user/go", b"")
        assert long.result().output == "gone\n"
