"""Reset desktops very many times and see whether anything grows, is left behind or is lost.

Run it with ``python -m benchmarks.osworld_soak``. Four parts, each of which a count of 0 leaves out:

- ``--resets``: episodes of all families, an action each: memory,
  processes, threads, descriptors and temporary files must not grow.
- ``--kills``: a Python process that starts a desktop is killed after 0 to 300
  ms: none of its processes may be left ten seconds later.
- ``--trees``: the first accessibility tree of a fresh desktop must have every
  window, with the menus that it has once everything has come to rest.
- ``--tasks FOLDER``: OSWorld's own task files, those that can run here: doing
  nothing must score 0, before and after ``DONE``.

The exit code is 1 if one of these does not hold, 2 on bad input.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from benchmarks.memory import held
from benchmarks.progress import tracked
from benchmarks.running import exit_code, machine
from rla_envs.difficulty import complete_difficulty
from rla_envs.errors import InputError, RLAError
from rla_envs.files import write_atomic
from rla_envs.osworld.actions import Action
from rla_envs.osworld.desktop.base import SETTLE_SECONDS
from rla_envs.osworld.desktop.opening import open_desktop
from rla_envs.osworld.difficulty import PARAMETERS
from rla_envs.osworld.env import OSWorldEnv
from rla_envs.osworld.episode import Episode
from rla_envs.osworld.families import build, sample_payload
from rla_envs.osworld.tasks import TaskFile, load_task, parse_task

KILLED_WITHIN = 0.3
"""Longest time, in seconds, after which a process that starts a desktop is killed."""
GONE_WITHIN = 10.0
"""Time in seconds that what it started has to end."""

_ACTION = "pyautogui.click(640, 360)"
_COLD = ("calc_cells", "text_append")
_SET_CHILD_SUBREAPER = 36  # prctl(2)
_START = """
from rla_envs.osworld.desktop import local, opening
print("imported", flush=True)
desktop = opening.open_desktop("local")
input()
"""


class Sample(NamedTuple):
    """How things stood after some resets.

    Attributes:
        resets: Resets so far.
        seconds: How long the last one took.
        processes: Processes below this one.
        boxes: Its children, one for each box.
        threads: Its threads.
        descriptors: Its open files.
        files: Entries in its folder for temporary files and in /dev/shm.
        held: Bytes that it held.
    """

    resets: int
    seconds: float
    processes: int
    boxes: int
    threads: int
    descriptors: int
    files: int
    held: int


GROWING = ("processes", "boxes", "threads", "descriptors", "files")
"""What must not grow at all; memory may by ``--limit``."""


def resets(count: int) -> Iterator[Sample]:
    """Reset an environment with tasks of all families and play an action; yield a sample after each."""
    env = OSWorldEnv()
    try:
        for number in range(1, count + 1):
            begun = time.perf_counter()
            env.reset(seed=number)
            seconds = time.perf_counter() - begun
            env.step(_ACTION)
            yield sample(number, seconds)
    finally:
        env.close()


def sample(number: int, seconds: float) -> Sample:
    """Return how things stand."""
    files = sum(len(os.listdir(folder)) for folder in (tempfile.gettempdir(), "/dev/shm"))
    threads, descriptors = (len(os.listdir(f"/proc/self/{what}")) for what in ("task", "fd"))
    boxes = len(children(os.getpid()))
    return Sample(number, seconds, below(os.getpid()), boxes, threads, descriptors, files, held())


def children(pid: int) -> list[int]:
    """Return the children of a process, the dead that nobody has buried among them."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found += [int(word) for word in (task / "children").read_text().split()]
        except OSError:  # the thread has just ended
            continue
    return found


def below(pid: int) -> int:
    """Return how many processes there are below one."""
    try:
        return sum(1 + below(child) for child in children(pid))
    except OSError:
        return 0


def growth(samples: Sequence[Sample]) -> dict[str, float]:
    """Return by how much each number is higher in the last quarter than in the second.

    Of counts, the smallest of the rises of their least, median and greatest:
    what leaks raises all three, while any one of them follows which
    applications the tasks of a quarter happen to use, and how far the next
    desktop had come when a sample was taken. Of memory, the median's rise.
    """
    count = len(samples)
    second, last = samples[count // 4 : count // 2] or samples[-1:], samples[3 * count // 4 :]

    def rise(name: str, of: Callable[[list[int]], float]) -> float:
        return float(of([getattr(s, name) for s in last]) - of([getattr(s, name) for s in second]))

    counts = {name: min(rise(name, of) for of in (min, statistics.median, max)) for name in GROWING}
    return {**counts, "held": rise("held", statistics.median)}


def kills(count: int, seed: int = 0) -> Iterator[str]:
    """Kill processes that start desktops; yield what was left of each, empty if nothing."""
    rng = np.random.default_rng(seed)
    # Orphans become this process's children, and only theirs are looked at.
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for _ in range(count):
        before = set(children(os.getpid()))
        child = subprocess.Popen(
            [sys.executable, "-c", _START], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(float(rng.uniform(0.0, KILLED_WITHIN)))
        child.kill()
        child.wait()  # not for the end of its output, which an orphan may hold open
        yield _what_is_left(before)
        child.stdout.close()
        child.stdin.close()


def _what_is_left(before: set[int]) -> str:
    """Bury the orphans as they end; return those that do not, after ending them."""
    end = time.monotonic() + GONE_WITHIN
    while (left := set(children(os.getpid())) - before) and time.monotonic() < end:
        if not any(os.waitpid(pid, os.WNOHANG)[0] for pid in left):
            time.sleep(0.01)
    names = []
    for pid in left:
        names.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:100])
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return "; ".join(names)


def trees(count: int) -> Iterator[str]:
    """Read the first tree of fresh desktops; yield what each lacked, empty if nothing."""
    for number in range(count):
        rng = np.random.default_rng(number)
        family = _COLD[number % len(_COLD)]
        difficulty = complete_difficulty(PARAMETERS, {"start": 0, "infeasible": 0}, rng)
        task = parse_task(build(sample_payload(family, difficulty, "train", rng)).task_json("cold"))
        with open_desktop("local") as desktop:
            first = windows_in(Episode(desktop, task, SETTLE_SECONDS, tree=True).begin().accessibility_tree)
            titles = {window.title for window in desktop.windows()}
            later = windows_in(desktop.observe(late=True).accessibility_tree)
        lacking = [f"{family}: window {title!r}" for title in sorted(titles - set(first))]
        lacking += [
            f"{family}: {name!r} had the menus {first.get(name)}, later {menus}"
            for name, menus in later.items()
            if first.get(name) != menus or not menus
        ]
        yield "; ".join(lacking if titles else [f"{family}: no window at all"])


def windows_in(tree: str) -> dict[str, tuple[str, ...]]:
    """Return the windows in an accessibility tree by title, with the names of their menus."""
    return {
        frame.get("name", ""): tuple(menu.get("name", "") for menu in frame.iter("menu"))
        for frame in ElementTree.fromstring(tree).iter("frame")
    }


def runnable(folder: str) -> list[TaskFile]:
    """Return OSWorld's task files in a folder that can run here.

    Raises:
        InputError: If there is none.
    """
    loaded = [load_task(path) for path in sorted(Path(folder).rglob("*.json"))]
    found = [task for task in loaded if task.availability == "runnable"]
    if not found:
        raise InputError(f"--tasks: expected a folder with a task that can run here, got {folder}")
    return found


def idle_scores(tasks: Sequence[TaskFile]) -> Iterator[str]:
    """Score tasks on which nothing was done; yield of each what is wrong, empty if nothing."""
    for task in tasks:
        try:
            with open_desktop("local") as desktop:
                episode = Episode(desktop, task, SETTLE_SECONDS, tree=False)
                episode.begin()
                scores = [episode.score().score]
                episode.do(Action((), "DONE"))
                scores.append(episode.score().score)
            yield "" if scores == [0.0, 0.0] else f"{task.id}: {scores}"
        except RLAError as error:
            yield f"{task.id}: {error}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the soak; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.osworld_soak", description=__doc__)
    parser.add_argument("--resets", type=int, default=200, help="default: 200")
    parser.add_argument("--kills", type=int, default=50, help="default: 50")
    parser.add_argument("--trees", type=int, default=30, help="default: 30")
    parser.add_argument("--tasks", metavar="FOLDER", help="OSWorld's own task files")
    parser.add_argument(
        "--limit", type=float, default=16.0, metavar="MB", help="growth to allow (default: 16)"
    )
    parser.add_argument("--json", metavar="FILE", help="write all figures to a file")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    options = parser.parse_args(argv)
    return exit_code(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    for name in ("resets", "kills", "trees"):
        if getattr(options, name) < 0:
            raise InputError(f"--{name}: expected 0 or more, got {getattr(options, name)}")
    tasks = runnable(options.tasks) if options.tasks else []
    figures: dict[str, Any] = {"machine": machine()}
    faults: dict[str, list[str]] = {}
    parts = (
        ("kills", kills(options.kills), options.kills),
        ("trees", trees(options.trees), options.trees),
        ("tasks", idle_scores(tasks), len(tasks)),
    )
    with tempfile.TemporaryDirectory(prefix="osworld-soak-") as folder:
        usual, tempfile.tempdir = tempfile.tempdir, folder
        try:
            if options.resets:
                played = tracked(resets(options.resets), "resets", options.resets, options.quiet)
                figures |= _summarize(list(played), options.limit, faults)
            for name, found, count in parts:
                said = list(tracked(found, name, count, options.quiet))
                faults[name] = [line for line in said if line]
                figures[name] = {"count": count, "faults": faults[name]}
                sys.stdout.write(f"{name}: {count}, of which {len(faults[name])} with a fault\n")
        finally:
            tempfile.tempdir = usual
    for line in (line for lines in faults.values() for line in lines):
        sys.stdout.write(f"  {line}\n")
    if options.json:
        write_atomic(options.json, json.dumps(figures, indent=2) + "\n")
    return 1 if any(faults.values()) else 0


def _summarize(samples: Sequence[Sample], limit: float, faults: dict[str, list[str]]) -> dict[str, Any]:
    grown = growth(samples)
    median = statistics.median(s.seconds for s in samples)
    faults["resets"] = [f"{name} grew by {grown[name]:g}" for name in GROWING if grown[name] > 0]
    if grown["held"] > limit * 1e6:
        faults["resets"].append(f"memory grew by {grown['held'] / 1e6:.1f} MB")
    left = children(os.getpid())
    if left:
        faults["resets"].append(f"{len(left)} processes are left at the end")
    sys.stdout.write(
        f"resets: {len(samples)}, median {median:.2f} s; from the second quarter to the last: "
        + ", ".join(f"{name} {grown[name]:+g}" for name in GROWING)
        + f", memory {grown['held'] / 1e6:+.1f} MB of {samples[-1].held / 1e6:.0f}\n"
    )
    return {"resets": [s._asdict() for s in samples], "growth": grown, "median_seconds": median}


if __name__ == "__main__":
    sys.exit(main())
