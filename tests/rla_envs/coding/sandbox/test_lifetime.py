"""No process outlives its sandbox, however that ends, and no failure of the machinery is scored."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rla_envs.coding.sandbox import Limits, open_sandbox
from rla_envs.coding.sandbox.boxed import BoxedSandbox
from rla_envs.errors import InfrastructureError, InputError

DOUBLE = "print(2 * int(input()))"
FOREVER = Limits(time_limit=600)


def processes_since(before):
    """Return the processes that are there now and were not before, but for this one's children that ended."""
    return {pid for pid in all_processes() - before if is_of_a_sandbox(pid)}


def all_processes():
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def is_of_a_sandbox(pid):
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"guest.zygote" in words or b"bwrap" in words


def wait_until(condition):
    """Give the kernel up to twenty seconds to do what it was told."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def channel_pid(sandbox):
    return sandbox._box.channel.pid


def test_closing_leaves_no_process_behind(bubblewrap):
    sandbox = open_sandbox()
    supervisor = channel_pid(sandbox)
    assert next(sandbox.run_stdin(DOUBLE, ["4"])).stdout == b"8\n"
    before = all_processes()
    assert supervisor in before
    sandbox.close()
    sandbox.close()
    wait_until(lambda: supervisor not in all_processes())
    with pytest.raises(InputError, match="closed; open another"):
        next(sandbox.run_stdin(DOUBLE, ["4"]))


PARENT = """
import sys
from rla_envs.coding.sandbox import Limits, open_sandbox
print('opening', flush=True)
sandbox = open_sandbox()
print(sandbox._box.channel.pid, flush=True)
list(sandbox.run_stdin('while True: pass', [''], Limits(time_limit=600)))
"""


@pytest.mark.parametrize("milliseconds", [0, 5, 20, 60, None])
def test_a_parent_that_is_killed_takes_its_sandbox_along(bubblewrap, milliseconds):
    before = all_processes()
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout.readline() == "opening\n"
    if milliseconds is None:
        supervisor = int(parent.stdout.readline())
        assert supervisor in all_processes()
    else:
        time.sleep(milliseconds / 1000)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_until(lambda: not {pid for pid in processes_since(before) if orphaned(pid)})


def orphaned(pid):
    """Return whether no living pytest process is above this one: other tests run beside these."""
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False
        if b"pytest" in words or b"execnet" in words:
            return False
    return True


def test_a_sandbox_outlives_the_thread_that_opened_it(bubblewrap):
    with ThreadPoolExecutor(1) as pool:
        sandbox = pool.submit(open_sandbox).result()
        pool.submit(lambda: list(sandbox.run_stdin(DOUBLE, ["1"]))).result()
    with sandbox:
        assert next(sandbox.run_stdin(DOUBLE, ["4"])).stdout == b"8\n"
        assert sandbox.infrastructure_failures == 0


def test_a_sandbox_can_be_used_from_several_threads(sandbox):
    def work(number):
        (run,) = sandbox.run_stdin(DOUBLE, [str(number)])
        (call,) = sandbox.run_functional("def f(x): return -x", "f", [[number]])
        return run.stdout, call.value

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(20))) == [(f"{2 * i}\n".encode(), -i) for i in range(20)]


def _use_and_close(sandbox):
    sandbox.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_does_not_take_the_sandbox_with_it(bubblewrap):
    with open_sandbox() as sandbox:
        child = multiprocessing.get_context("fork").Process(target=_use_and_close, args=(sandbox,))
        child.start()
        child.join()
        assert child.exitcode == 0
        assert next(sandbox.run_stdin(DOUBLE, ["4"])).stdout == b"8\n"
        assert sandbox.infrastructure_failures == 0


def test_a_forked_process_does_not_keep_the_sandbox_alive(bubblewrap):
    read, write = os.pipe()
    sandbox = open_sandbox()
    supervisor = channel_pid(sandbox)
    child = os.fork()
    if child == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    os.close(read)
    channel = sandbox._box.channel
    channel._socket.close()  # what happens to it when this process is killed
    wait_until(lambda: supervisor not in all_processes() or is_zombie(supervisor))
    sandbox.close()
    os.close(write)
    os.waitpid(child, 0)


def is_zombie(pid):
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


def test_a_test_whose_sandbox_dies_is_run_again_in_another(bubblewrap):
    with open_sandbox() as sandbox:
        for _ in range(3):
            os.kill(channel_pid(sandbox), signal.SIGKILL)
            (run,) = sandbox.run_stdin(DOUBLE, ["4"])
            assert (run.status, run.stdout) == ("ok", b"8\n")
        assert sandbox.infrastructure_failures == 3


def test_a_sandbox_that_dies_every_time_is_told_after_bounded_retries_and_not_scored(bubblewrap):
    with open_sandbox(retries=2) as sandbox:
        killed = []

        def kill_again():
            while not done.wait(0.02):
                box = sandbox._box
                if box is not None and box.channel.pid not in killed:
                    killed.append(box.channel.pid)
                    os.kill(box.channel.pid, signal.SIGKILL)

        done = threading.Event()
        killer = threading.Thread(target=kill_again)
        killer.start()
        (run,) = sandbox.run_stdin("while True: pass", [""], FOREVER)
        done.set()
        killer.join()
        assert run.status == "infrastructure"
        assert "does not answer" in run.error or "is gone" in run.error
        assert sandbox.infrastructure_failures == 3
        assert next(sandbox.run_stdin(DOUBLE, ["4"])).stdout == b"8\n"


class DeadBox:
    """A box that is gone by the time it is asked."""

    def send(self, data):
        raise InfrastructureError("the sandbox is gone")

    def close(self):
        pass


@pytest.mark.parametrize("retries", [0, 3])
def test_every_kind_of_run_gives_up_after_the_retries(retries):
    started = []

    def start():
        started.append(DeadBox())
        return started[-1]

    with BoxedSandbox(start, retries) as sandbox:
        runs = [
            next(sandbox.run_stdin("", [""])),
            next(sandbox.run_functional("", "f", [[]])),
            sandbox.run_unittest("", "", 1),
        ]
        assert [run.status for run in runs] == ["infrastructure"] * 3
        assert sandbox.infrastructure_failures == 3 * (retries + 1)
    assert len(started) == 3 * (retries + 1)


def test_many_tests_leave_no_file_descriptors_and_no_processes(sandbox):
    def count():
        below = [pid for pid in all_processes() if str(channel_pid(sandbox)) in ancestors(pid)]
        return (
            len(os.listdir("/proc/self/fd")),
            len(os.listdir(f"/proc/{channel_pid(sandbox)}/fd")),
            len(below),
        )

    def ancestors(pid):
        found = []
        while pid > 1:
            try:
                pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                break
            found.append(str(pid))
        return found

    sources = [DOUBLE, "1 / 0", "print('x' * (8 << 20))", "import os; os.abort()", "x = bytearray(1 << 30)"]
    limits = Limits(time_limit=5, memory_mb=256, output_bytes=4 << 20)
    first = [(r.status, r.stdout[:9]) for source in sources for r in sandbox.run_stdin(source, ["4"], limits)]
    before = count()
    for _ in range(10):
        again = [
            (r.status, r.stdout[:9]) for source in sources for r in sandbox.run_stdin(source, ["4"], limits)
        ]
        assert again == first
        assert (
            len(list(sandbox.run_functional("def f(x): return x", "f", [[i] for i in range(10)], limits)))
            == 10
        )
    assert count() == before
