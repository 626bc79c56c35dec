"""Agents for tests of the runner: what each does is named by the cell it plays in."""

import contextlib
import json
import os
import signal
import threading
from pathlib import Path

import numpy as np

from rla_envs.errors import InfrastructureError

DONE = "I am DONE: the task is solved."


class ByCell:
    """Plays the toy game well, except in cells named after a way to fail."""

    def reset(self, task_info):
        self.cell = task_info["cell"]
        if self.cell == "fails to reset":
            raise KeyError("no such cell")
        self.left = []

    def act(self, observation, info):
        if observation.startswith("Notice: "):
            self.left = observation.removeprefix("Notice: ").split(", ")
        if self.cell == "raises":
            raise ValueError("no\nidea " + "x" * 1000)
        if self.cell == "hangs":
            threading.Event().wait()
        if self.cell == "none":
            return None
        if self.cell == "wrong type":
            return np.arange(3)
        if self.cell == "flood":
            return "x" * 10_000_000
        if self.cell == "too long":
            return "x" * 41
        if self.cell == "exits":
            raise SystemExit(0)
        if self.cell == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.cell == "leaves":
            os._exit(3)
        if self.cell == "blames the machinery":
            raise InfrastructureError("not my fault")
        if self.cell == "claims":
            return DONE
        return f"open {self.left.pop(0)}"

    def report(self):
        return {"claim": True, "prompt_tokens": 7, "completion_tokens": -1}


class KillsTheRunner(ByCell):
    """Plays well, but at the fifth episode of the process kills the runner, once."""

    episodes = 0

    def reset(self, task_info):
        super().reset(task_info)
        KillsTheRunner.episodes += 1
        marker = Path(os.environ["MARKER"])
        if KillsTheRunner.episodes == 5 and not marker.exists():
            marker.write_text(str(os.getpid()))
            os.kill(os.getppid(), signal.SIGKILL)
            threading.Event().wait()


class InterruptsTheRunner:
    """Presses Ctrl-C for the user, and hangs."""

    def reset(self, task_info):
        pass

    def act(self, observation, info):
        os.kill(os.getppid(), signal.SIGINT)
        threading.Event().wait()


class KillsTheRayWorker(ByCell):
    """Plays well, but in the first episode of a run kills the Ray worker it plays for; looks around first."""

    def reset(self, task_info):
        super().reset(task_info)
        marker = Path(os.environ["MARKER"])
        if not marker.exists():
            worker = os.getppid()
            family = list(_started_by(_parent(_parent(worker))))
            seen = {"processes": family, "listening": [a for pid in family for a in _listening(pid)]}
            marker.write_text(json.dumps(seen))
            os.kill(worker, signal.SIGKILL)
            threading.Event().wait()


class Far:
    """Goes infinitely far."""

    def act(self, observation, info):
        return np.array([0, np.inf], np.float32)


class Looker:
    """Looks around for ever."""

    def reset(self, task_info):
        pass

    def act(self, observation, info):
        return "look"


class Predictor:
    """A recurrent policy as stable-baselines3 has them."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        assert deterministic
        count = 0 if episode_start[0] else state
        return np.array(count % 4), count + 1


class Batched:
    """Acts on many observations at once, in its own time."""

    async def reset(self, task_info):
        self.word = task_info["difficulty"]["word"]

    async def act_batch(self, observations, infos):
        return [f"{self.word} {observation}" for observation in observations]


def made():
    """Return an agent; a function may make one too."""
    return Looker()


INSTANCE = Looker()
NOTHING = 3


class KillsTheScreen:
    """In the first try at an episode kills the X servers that this run started; then says FAIL."""

    tries = 0

    def reset(self, task_info):
        KillsTheScreen.tries += 1

    def act(self, observation, info):
        if KillsTheScreen.tries > 1:
            return "FAIL"
        killed = [pid for pid in _started_by(os.getppid()) if _program(pid) == "Xvfb"]
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        return "pyautogui.click(9, 9)" if killed else "DONE"


def _started_by(parent):
    """Yield the processes below one, of this machine."""
    tasks = Path(f"/proc/{parent}/task")
    children = [child for task in tasks.glob("*/children") for child in _words(task)]
    for child in map(int, children):
        yield child
        yield from _started_by(child)


def _parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _listening(pid):
    """Return the addresses, as the kernel writes them, of the TCP sockets on which a process listens."""
    mine = set()
    with contextlib.suppress(OSError):  # it has ended
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                mine.add(os.readlink(entry))
    rows = [line.split() for name in ("tcp", "tcp6") for line in _lines(Path(f"/proc/net/{name}"))]
    return [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in mine]


def _lines(path):
    return path.read_text().splitlines() if path.exists() else []


def _program(pid):
    return next(iter(_words(Path(f"/proc/{pid}/comm"))), "")


def _words(path):
    try:
        return path.read_text().split()
    except OSError:  # it has ended
        return []
