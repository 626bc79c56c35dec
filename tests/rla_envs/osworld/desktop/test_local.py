"""Boxes: what is in them stays there, what they may use is bounded, and nothing remains of them."""

import os
import platform
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rla_envs.errors import InfrastructureError
from rla_envs.osworld.actions.events import Button, Key, Move, Text
from rla_envs.osworld.desktop import seccomp
from rla_envs.osworld.desktop.local import BoxLimits, LocalDesktop
from rla_envs.osworld.desktop.opening import CLOCK, DesktopSource, open_desktop

REPOSITORY = Path(__file__).parents[4]


def run(desktop, source):
    """Run Python in the box; return what it printed."""
    done = desktop.execute(["python", "-c", source], timeout=60)
    return (done.output + done.error).strip()


def pids_of_boxes(parent):
    """Return the processes below one, of which there are none once its boxes have ended."""
    found = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def wait_until_gone(pid):
    """Wait until a process has ended, woken by the kernel; a process that stays fails the test."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    import select

    ready, _, _ = select.select([descriptor], [], [], 30)
    os.close(descriptor)
    assert ready, f"process {pid} is still there"


def test_a_box_has_no_network(shared_desktop):
    assert run(shared_desktop, "import socket; print(len(socket.if_nameindex()))") == "1"
    source = "import socket; socket.create_connection(('127.0.0.1', 22), 1)"
    assert "ConnectionRefusedError" in run(shared_desktop, source) or "OSError" in run(shared_desktop, source)


def test_a_box_sees_neither_the_machines_files_nor_its_accounts(shared_desktop, tmp_path):
    (tmp_path / "secret").write_text("secret")
    assert "FileNotFoundError" in run(shared_desktop, f"open({str(tmp_path / 'secret')!r})")
    assert "FileNotFoundError" in run(shared_desktop, "open('/etc/shadow')")
    assert "user:x:" in run(shared_desktop, "print(open('/etc/passwd').read())")
    assert "OSError" in run(shared_desktop, "open('/usr/bin/mine', 'w')")
    assert run(shared_desktop, "import os; print(os.getuid() != 0)") == "True"


def test_a_box_refuses_the_calls_that_no_application_needs(shared_desktop):
    column = list(seccomp.ARCHITECTURES).index(platform.machine())
    numbers = {name: pair[column] for name, pair in seccomp.REFUSED.items()}
    source = (
        "import ctypes, errno; c = ctypes.CDLL(None, use_errno=True)\n"
        f"for name, number in {numbers!r}.items():\n"
        "    if c.syscall(number, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != errno.EPERM: print(name)\n"
        "print('all tried')"
    )
    assert run(shared_desktop, source) == "all tried"
    assert "not permitted" in shared_desktop.execute(["unshare", "-U", "true"]).error


def test_the_filter_refuses_what_the_kernel_headers_call_by_these_names():
    pyseccomp = pytest.importorskip("pyseccomp")
    try:
        names = {name: pyseccomp.resolve_syscall(pyseccomp.Arch.X86_64, name) for name in seccomp.REFUSED}
    except (OSError, ValueError) as error:
        pytest.skip(f"libseccomp: {error}")
    known = {name: number for name, number in names.items() if number >= 0}
    assert known == {name: seccomp.REFUSED[name][0] for name in known}
    assert len(known) > 40


def test_the_clock_is_the_same_in_every_box(local_desktops):
    with open_desktop("local") as desktop:
        assert CLOCK <= float(desktop.execute(["date", "+%s"]).output) < CLOCK + 600
        desktop.write_file("/home/user/note.txt", b"x")
        assert "2024-06-15" in desktop.execute(["stat", "-c", "%y", "/home/user/note.txt"]).output


def test_files_come_back_byte_for_byte(shared_desktop):
    data = bytes(range(256)) * 4000 + b"\r\n--\r\n\r"
    shared_desktop.write_file("/home/user/new folder/dä ta.bin", data)
    assert shared_desktop.read_file("/home/user/new folder/dä ta.bin") == data
    assert shared_desktop.read_file("~/new folder/dä ta.bin") == data
    with pytest.raises(FileNotFoundError, match="nothing"):
        shared_desktop.read_file("/home/user/nothing")
    with pytest.raises(FileNotFoundError):
        shared_desktop.read_file("/home/user")
    shared_desktop.execute(["mkfifo", "/home/user/pipe"])
    with pytest.raises(FileNotFoundError):
        shared_desktop.read_file("/home/user/pipe")


def test_text_typed_into_an_editor_is_saved_exactly(desktop):
    desktop.write_file("/home/user/note.txt", b"")
    desktop.open_file("/home/user/note.txt")
    text = "Доброе утро — αβγ ß ñ € <tag> 'q' \"d\" \\ ~^` 漢字 😀"
    save = [Key("ctrl", True), Key("s", True), Key("s", False), Key("ctrl", False)]
    assert desktop.perform([Text(text), *save]) == ""
    assert desktop.observe(tree=False).settled
    assert desktop.read_file("/home/user/note.txt").decode().rstrip("\n") == text


def test_picture_tree_and_window_list_tell_the_same(desktop):
    desktop.write_file("/home/user/note.txt", b"hello")
    desktop.open_file("/home/user/note.txt")
    (window,) = desktop.windows()
    view = desktop.observe()
    assert "note.txt" in window.title
    assert window.title in view.accessibility_tree
    assert "hello" in view.accessibility_tree
    before = view.screenshot[window.y : window.y + window.height, window.x : window.x + window.width]
    assert len({tuple(pixel) for pixel in before.reshape(-1, 3)[::101]}) > 3, "the window is not empty"
    assert desktop.close_window("note.txt")
    after = desktop.observe()
    assert desktop.windows() == []
    assert "note.txt" not in after.accessibility_tree
    assert len({tuple(pixel) for pixel in after.screenshot.reshape(-1, 3)[::101]}) == 1, "only the background"


def test_a_program_that_is_not_there_is_an_error_of_the_input(shared_desktop):
    with pytest.raises(ValueError, match="no such program: nothing-like-it"):
        shared_desktop.launch(["nothing-like-it"])
    with pytest.raises(ValueError, match="no such file"):
        shared_desktop.open_file("/home/user/nothing.txt")
    assert shared_desktop.execute(["nothing-like-it"]).returncode == 127
    assert not shared_desktop.activate_window("nothing")


def test_a_command_that_takes_too_long_is_ended_with_its_children(shared_desktop):
    done = shared_desktop.execute("sleep 1000 & sleep 1000", shell=True, timeout=0.3)
    assert done.returncode == 124
    assert "sleep 1000" not in shared_desktop.execute(["ps", "-ef"]).output


def test_a_fork_bomb_is_contained_and_the_desktop_goes_on(local_desktops):
    with LocalDesktop(limits=BoxLimits(processes=96)) as desktop:
        bomb = "import os, time\nwhile True:\n    try: os.fork()\n    except OSError: break\ntime.sleep(1000)"
        desktop.launch(["python", "-c", bomb])
        view = desktop.observe(tree=False, settle=1.0)
        assert view.screenshot.shape == (720, 1280, 3)
        assert desktop.perform([Move(3, 4), Button("left", True), Button("left", False)]) == ""


def test_a_program_that_takes_too_much_memory_ends_and_the_desktop_goes_on(local_desktops):
    with LocalDesktop(limits=BoxLimits(memory_mb=400)) as desktop:
        done = desktop.execute(
            ["python", "-c", "x = bytearray(600 << 20)\nimport time; time.sleep(1000)"], timeout=30
        )
        assert done.returncode == -signal.SIGKILL
        ended, killed = desktop.health()
        assert ended == ""
        assert any("out of memory" in line for line in killed)


def test_a_full_home_is_an_error_of_the_program_that_fills_it(local_desktops):
    with LocalDesktop(limits=BoxLimits(home_mb=8)) as desktop:
        done = desktop.execute("dd if=/dev/zero of=/home/user/big bs=1M count=20", shell=True)
        assert "No space left" in done.error
        with pytest.raises(InfrastructureError, match="No space left"):
            desktop.write_file("/home/user/more", bytes(4 << 20))
        assert desktop.observe(tree=False).screenshot.any()


@pytest.mark.parametrize("name", ["Xvfb", "dbus-daemon", "openbox", "at-spi-bus-launcher"])
def test_a_part_of_the_desktop_that_dies_is_a_failure_of_the_machinery(desktop, name):
    desktop.execute(["pkill", "-KILL", "-o", "-f", name])
    while not desktop.health()[0]:  # it takes the kernel a moment
        pass
    with pytest.raises(InfrastructureError):
        desktop.observe()
    if name == "Xvfb":
        with pytest.raises(InfrastructureError):
            desktop.windows()


def test_a_box_that_is_killed_is_a_failure_of_the_machinery_and_leaves_nothing(local_desktops):
    desktop = open_desktop("local")
    os.kill(desktop.pid, signal.SIGKILL)
    with pytest.raises(InfrastructureError, match="lost|does not answer|reached"):
        desktop.observe()
    desktop.close()
    with pytest.raises(InfrastructureError, match="closed"):
        desktop.observe()


def test_a_box_outlives_the_thread_that_made_it(local_desktops):
    with ThreadPoolExecutor(1) as pool:
        desktop = pool.submit(open_desktop, "local").result()
    with desktop:
        assert desktop.observe(tree=False).screenshot.any()


def test_a_closed_box_leaves_no_process(local_desktops):
    desktop = open_desktop("local")
    pid = desktop.pid
    desktop.launch(["mousepad"])
    desktop.close()
    wait_until_gone(pid)


CHILD = """
import sys
from rla_envs.osworld.desktop.local import LocalDesktop
print("started", flush=True)
desktop = LocalDesktop()
print(desktop.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("when", ["starting", "started"])
def test_a_box_ends_with_the_process_that_made_it_however_that_ends(local_desktops, when):
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    )
    assert child.stdout.readline() == "started\n"
    if when == "started":
        box = int(child.stdout.readline())
        child.kill()
    else:
        while not (boxes := pids_of_boxes(child.pid)) and child.poll() is None:
            pass
        (box,) = boxes
        child.kill()
    child.communicate()
    wait_until_gone(box)


def test_the_next_desktop_is_started_while_one_is_in_use(local_desktops):
    threads = []

    def open_one():
        threads.append(threading.current_thread().name)
        return open_desktop("local")

    others = pids_of_boxes(os.getpid())
    with DesktopSource(open_one) as source:
        first = source.take()
        source.prepare()
        second = source.take()
        source.prepare()
        source.prepare()
        assert first.pid != second.pid
        assert threads[:2] == [threading.current_thread().name, "next desktop"]
        assert len(threads) <= 3, "no more than one is kept"
        first.close()
        second.close()
    assert pids_of_boxes(os.getpid()) == others, "the one that nobody took has ended too"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"provider": "lokal"}, "Did you mean 'local'"),
        ({"provider": "remote"}, "address: expected one"),
        ({"address": "http://localhost:5000"}, "address: expected one for provider 'remote' only"),
        ({"image": "x"}, "image: expected one for provider 'docker' only"),
        ({"screen_size": (10, 10)}, "screen_size: expected width and height"),
        ({"screen_size": (1280.0, 720)}, "screen_size: expected width and height"),
        ({"screen_size": "1280x720"}, "screen_size: expected width and height"),
    ],
)
def test_a_desktop_that_cannot_be_asked_for_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        open_desktop(**arguments)
