"""OSWorld: an episode on a local desktop, beside the way that OSWorld's own client goes on the same desktop.

That client starts its machine anew for every episode, takes screenshots as
PNG, has actions run by a new Python process that imports pyautogui, and reads
the accessibility tree node by node. Its virtual machine is not measured here.
Times are those of a clock on the wall: what is waited for is other processes.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.speed.figures import Figure, Measure, side_by_side
from rla_envs.errors import InfrastructureError, missing_extra
from rla_envs.osworld.actions.events import Move
from rla_envs.osworld.desktop import packages
from rla_envs.osworld.desktop.local import LocalDesktop
from rla_envs.osworld.desktop.opening import open_desktop
from rla_envs.task import Task

TITLE = "a desktop with a Calc document, each line's peer in brackets; time on the wall"

_FAMILY = "calc_cells"
_BOXES = 4
_NAIVE_WALK = """
import jeepney as j, os
from jeepney.io.blocking import open_dbus_connection as connect
def ask(bus, name, path, interface, method, signature=None, body=()):
    message = j.new_method_call(j.DBusAddress(path, name, interface), method, signature, body)
    reply = bus.send_and_get_reply(message, timeout=10)
    return reply.body if reply.header.message_type != j.MessageType.error else None
with connect('SESSION') as session:
    address = ask(session, 'org.a11y.Bus', '/org/a11y/bus', 'org.a11y.Bus', 'GetAddress')[0]
node, component, text = ('org.a11y.atspi.' + name for name in ('Accessible', 'Component', 'Text'))
with connect(address) as bus:
    todo, count = [('org.a11y.atspi.Registry', '/org/a11y/atspi/accessible/root')], 0
    while todo:
        name, path = todo.pop()
        count += 1
        ask(bus, name, path, node, 'GetRoleName')
        ask(bus, name, path, 'org.freedesktop.DBus.Properties', 'Get', 'ss', (node, 'Name'))
        state = ask(bus, name, path, node, 'GetState')
        if state and state[0][0] >> 25 & 1:
            ask(bus, name, path, component, 'GetExtents', 'u', (0,))
            ask(bus, name, path, text, 'GetText', 'ii', (0, -1))
        if state and not state[0][0] >> 31 & 1:  # those that manage their children have a million
            todo += (ask(bus, name, path, node, 'GetChildren') or [[]])[0]
print(count)
"""


def why_missing() -> str:
    """Return which Debian packages are missing; empty if none is."""
    missing = packages.missing()
    return f"needs Debian packages (make desktop): {' '.join(missing)}" if missing else ""


def measurements(rounds: int, quick: bool) -> Sequence[Iterator[Figure]]:
    """Return the figures: resets, then what a step is made of, then many desktops at once."""
    repeats = 1 if quick else 5
    return [
        _resets(rounds, repeats),
        _parts_of_a_step(rounds, 2 if quick else 20),
        _many(rounds, 1 if quick else 10, 2 if quick else _BOXES),
    ]


def _make_env() -> Any:
    try:
        from rla_envs.osworld.env import OSWorldEnv
    except ImportError as error:
        raise missing_extra("the desktop", "osworld", error) from error
    return OSWorldEnv(family=_FAMILY, difficulty={"start": 0})


def _task(env: Any, number: int) -> Task:
    task: Task = env.sample_task(None, np.random.default_rng(number))
    return task


def _resets(rounds: int, repeats: int) -> Iterator[Figure]:
    def first(number: int) -> dict[str, float]:
        env = _make_env()
        task = _task(env, number)
        begun = time.perf_counter()
        env.reset(options={"task": task})
        seconds = time.perf_counter() - begun
        env.close()
        return {"": seconds}

    def later(number: int) -> dict[str, float]:
        env = _make_env()
        env.reset(options={"task": _task(env, number)})
        times = []
        for repeat in range(repeats):
            task = _task(env, 1000 * number + repeat)
            env.step("WAIT")
            env.step("WAIT")  # an episode takes a while, in which the next desktop starts
            begun = time.perf_counter()
            env.reset(options={"task": task})
            times.append(time.perf_counter() - begun)
        env.close()
        return {"": statistics.median(times)}

    yield from side_by_side("later reset (first reset)", rounds, later, first)


def _parts_of_a_step(rounds: int, repeats: int) -> Iterator[Figure]:
    """Measure what can be done again and again on one desktop."""
    env = _make_env()
    try:
        env.reset(options={"task": _task(env, 0)})
        desktop = env._episode.desktop
        places = itertools.cycle([(400, 300), (500, 350)])

        def move() -> None:
            desktop.perform([Move(*next(places))])
            desktop.observe(tree=False, settle=0.0)

        def move_as_osworld_does() -> None:
            x, y = next(places)
            desktop.execute(["python", "-c", f"import pyautogui; pyautogui.moveTo({x}, {y})"])
            OSWorldRoute.screenshot(desktop)

        def walk() -> None:
            done = desktop.execute(["python", "-c", _NAIVE_WALK])
            if done.returncode:
                raise InfrastructureError(done.error)

        for name, ours, peer, times in (
            ("screenshot (as PNG)", desktop.screenshot, lambda: OSWorldRoute.screenshot(desktop), repeats),
            ("action and screenshot (new process, PNG)", move, move_as_osworld_does, repeats),
            ("accessibility tree (node by node)", desktop.accessibility_tree, walk, max(1, repeats // 5)),
        ):
            yield from side_by_side(name, rounds, _median_of(ours, times), _median_of(peer, times))
    finally:
        env.close()


class OSWorldRoute:
    """What OSWorld's client asks for, which a local desktop has a shorter way to."""

    @staticmethod
    def screenshot(desktop: LocalDesktop) -> None:
        """Take a screenshot as a PNG, and decode it."""
        super(LocalDesktop, desktop).screenshot()


def _median_of(act: Any, repeats: int) -> Measure:
    def measure(number: int) -> dict[str, float]:
        times = []
        for _ in range(repeats):
            begun = time.perf_counter()
            act()
            times.append(time.perf_counter() - begun)
        return {"": statistics.median(times)}

    return measure


def _many(rounds: int, steps: int, boxes: int) -> Iterator[Figure]:
    """Measure steps a second over several desktops at once, from one process."""

    def play(count: int, number: int) -> dict[str, float]:
        from concurrent.futures import ThreadPoolExecutor

        desktops = [open_desktop("local") for _ in range(count)]

        def work(desktop: Any) -> None:
            for step in range(steps):
                desktop.perform([Move(100 + step, 100)])
                desktop.observe(tree=True)

        with ThreadPoolExecutor(count) as pool:
            begun = time.perf_counter()
            list(pool.map(work, desktops))
            seconds = time.perf_counter() - begun
        for desktop in desktops:
            desktop.close()
        return {"": seconds / (count * steps)}

    yield from side_by_side(
        f"steps of {boxes} desktops at once (one)",
        rounds,
        lambda number: play(boxes, number),
        lambda number: play(1, number),
        "rate",
    )
