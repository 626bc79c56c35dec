"""Try random edits on random AlfWorld tasks: each is refused with a reason, or gives a task that can be won.

Run it with ``python -m benchmarks.alfworld_edits --edits 10000``. What comes of
an accepted edit is played to its end: the witness must win with its last
command and not before, in a native engine of its own and, for a sample, in
TextWorld's; the goal that the player reads must be the new one, and everything
must stand where alfworld's tables allow it. The exit code is 1 if anything else
happens, which includes any error but a refusal.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.progress import tracked
from benchmarks.random_edits import random_changes
from benchmarks.running import exit_code
from rla_envs.alfworld import shipped
from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.alfworld.game import game_data, goal_text
from rla_envs.alfworld.native.engine import NativeEngine
from rla_envs.alfworld.scene import ABILITIES, LAMP_SURFACES, LIGHT, Scene
from rla_envs.alfworld.splits import SPLITS
from rla_envs.errors import InputError, InvalidTaskError
from rla_envs.files import write_atomic
from rla_envs.task import Task, TaskEdit

_LONGEST_REASON = 2000
_EDITS_PER_TASK = 10

REASONS = {
    "changes nothing": r"the edit changes nothing",
    "solved at the start": r"the goal holds at the start",
    "unsolvable": r"no plan reaches the goal|the engine does not (?:follow|accept) the plan",
    "goal of another split": r"another split has it",
    "against alfworld's tables": r"cannot be (?:in or on|put in or on|picked up)|cannot be opened|"
    r"of a receptacle type of alfworld|the goal needs a \w+ object",
    "goal's things are not here": r"the room has (?:none|\d+)",
    "unknown name": r"unknown (?:receptacle|object|task type|receptacle type of this room:)",
    "out of range": r"difficulty parameter|'value' from 0 to 3|expected a list of 1 to|no place for one more",
    "place is not empty": r"expected an empty place",
    "malformed": r"TaskEdit\.|unknown edit operation|unknown field of|expected '\w+' to be|at least one of|"
    r"at most \d+ operations|expected a (?:finite number|JSON value)|expected string keys|expected the form",
}
"""Kinds of refusals, by what their messages say."""


@dataclass
class Tally:
    """What came of all edits so far.

    Attributes:
        accepted: Accepted edits.
        operations: How often each operation was part of an accepted edit.
        refused: Refused edits by kind of reason, see :data:`REASONS`.
        failures: For everything that must not happen, one line.
        tasks: The accepted tasks, in order.
    """

    accepted: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)

    @property
    def tried(self) -> int:
        """Number of edits."""
        return self.accepted + sum(self.refused.values())


def draw_task(env: AlfWorldEnv, rng: np.random.Generator) -> Task:
    """Return a random task of any type, of any size up to 16 places and 18 objects."""
    while True:
        difficulty = {
            "receptacles": int(rng.integers(5, 17)),
            "objects": int(rng.integers(6, 19)),
            "distractors": int(rng.integers(0, 3)),
            "closed_containers": float(rng.integers(0, 3)) / 2,
            "place_unnamed": int(rng.integers(0, 2)),
            "step_budget": float(rng.uniform(1, 10)),
        }
        try:
            return env.sample_task(difficulty, rng)
        except InvalidTaskError:
            continue  # not every combination has a task


def try_edits(edits: int, seed: int) -> Iterator[Tally]:
    """Try edits; yield the same tally after every one.

    Args:
        edits: Number of edits.
        seed: Seed of everything random.
    """
    rng, tally = np.random.default_rng(seed), Tally()
    envs = {split: AlfWorldEnv(split=split) for split in SPLITS}
    engine = NativeEngine()
    task: Task | None = None
    for number in range(edits):
        env = envs[SPLITS[number // _EDITS_PER_TASK % len(SPLITS)]]
        if task is None or number % _EDITS_PER_TASK == 0:
            task = draw_task(env, rng)
        edited = _try(env, engine, task, random_changes(task, rng), number, tally)
        if edited is not None and rng.random() < 0.5:
            task = edited  # edits of edited tasks, too
        yield tally
    for env in envs.values():
        env.close()
    engine.close()


def _try(
    env: AlfWorldEnv, engine: NativeEngine, task: Task, changes: Any, number: int, tally: Tally
) -> Task | None:
    try:
        edit = TaskEdit(changes)
        edited = env.apply_edit(task, edit)
    except InputError as error:
        reason = str(error)
        tally.refused[kind_of(reason)] += 1
        if not reason or "\n" in reason or len(reason) > _LONGEST_REASON:
            tally.failures.append(f"edit {number}: the reason is not one short line: {reason[:200]!r}")
        return None
    except Exception as error:
        tally.refused["crash"] += 1
        tally.failures.append(f"edit {number}: {type(error).__name__}: {error}"[:500])
        return None
    tally.accepted += 1
    tally.operations.update({change["op"] for change in edit.changes})
    tally.tasks.append(edited)
    fault = fault_of(env, task, edited) or play_fault(engine, edited, env.check_task(edited).witness)
    if fault:
        tally.failures.append(f"edit {number}, {edit.to_json()[:500]}: {fault}")
    return edited


def kind_of(reason: str) -> str:
    """Return the kind of a refusal, or ``"other"``."""
    return next((kind for kind, pattern in REASONS.items() if re.search(pattern, reason)), "other")


def fault_of(env: AlfWorldEnv, task: Task, edited: Task) -> str:
    """Return what is wrong with an edited task, by alfworld's tables and by its history; empty if nothing."""
    if (edited.parent_id, edited.root_id, edited.version) != (task.id, task.root_id, task.version + 1):
        return "its history is not that of the task it was made from"
    if edited.content_hash == task.content_hash:
        return "it is the same task"
    if not env.check_task(edited).valid:
        return f"it is not valid: {env.check_task(edited).reason}"
    scene, table = Scene.from_payload(edited.payload), shipped.constants()
    kinds = {r.id: r.type for r in scene.receptacles}
    lamps = table.VAL_ACTION_OBJECTS["Toggleable"]
    for thing in scene.objects:
        place = kinds[thing.inside]
        if thing.type in lamps:
            fits = place in LAMP_SURFACES
        else:
            fits = thing.type in table.VAL_RECEPTACLE_OBJECTS.get(place, ())
        if not fits:
            return f"a {thing.type} cannot be in or on a {place}"
    goal = scene.goal
    ability = ABILITIES.get(goal.task_type)
    if ability and goal.object not in table.VAL_ACTION_OBJECTS[ability]:
        return f"a {goal.object} is not {ability}"
    if goal.task_type != LIGHT and goal.object not in table.VAL_RECEPTACLE_OBJECTS[goal.receptacle]:
        return f"a {goal.object} does not belong into a {goal.receptacle}"
    return ""


def play_fault(engine: Any, task: Task, witness: Sequence[str]) -> str:
    """Return what goes wrong when a witness is played; empty if it wins with its last command."""
    scene = Scene.from_payload(task.payload)
    reply = engine.start(game_data(scene))
    if not witness or reply.won:
        return "it is solved at the start"
    if goal_text(scene) not in reply.text:
        return f"the player is not told the goal {goal_text(scene)!r}"
    for number, command in enumerate(witness, start=1):
        if command not in reply.commands:
            return f"step {number} of the witness, {command!r}, is impossible"
        reply = engine.step(command)
        if reply.won != (number == len(witness)):
            return f"step {number} of {len(witness)} of the witness {'wins' if reply.won else 'does not win'}"
    return ""


def play_sample(tasks: Sequence[Task], count: int) -> Iterator[str]:
    """Play the witnesses of a sample of tasks in TextWorld; yield each one's fault, or an empty string."""
    from rla_envs.alfworld.textworld_engine import TextWorldEngine

    engine, env = TextWorldEngine(), AlfWorldEnv()
    for index in sorted({int(i) for i in np.linspace(0, len(tasks) - 1, min(count, len(tasks)))}):
        yield play_fault(engine, tasks[index], env.check_task(tasks[index]).witness)
    engine.close()
    env.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the check; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alfworld_edits", description=__doc__)
    parser.add_argument("--edits", type=int, default=10_000, help="number of edits (default: 10000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of tasks and edits (default: 0)")
    parser.add_argument("--textworld", type=int, default=20, help="how many are also played in TextWorld")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    options = parser.parse_args(argv)
    for name, least in (("edits", 1), ("seed", 0), ("textworld", 0)):
        if getattr(options, name) < least:
            parser.error(f"--{name}: expected {least} or more, got {getattr(options, name)}")
    return exit_code(lambda: _report(options))


def _report(options: argparse.Namespace) -> int:
    begun, tally = perf_counter(), Tally()
    for latest in tracked(try_edits(options.edits, options.seed), "edits", options.edits, options.quiet):
        tally = latest
    sample = list(
        tracked(play_sample(tally.tasks, options.textworld), "TextWorld", options.textworld, options.quiet)
    )
    failures = [*tally.failures, *(f"in TextWorld: {fault}" for fault in sample if fault)]
    figures = {
        "edits": tally.tried,
        "seed": options.seed,
        "accepted": tally.accepted,
        "accepted_by_operation": dict(tally.operations.most_common()),
        "refused": dict(tally.refused.most_common()),
        "played_native": tally.accepted,
        "played_textworld": len(sample),
        "failures": failures,
        "seconds": round(perf_counter() - begun, 1),
    }
    if options.json is not None:
        write_atomic(options.json, json.dumps(figures, indent=2) + "\n")
    for line in failures[:20]:
        sys.stderr.write(f"{line}\n".encode("ascii", "backslashreplace").decode())
    refused = ", ".join(f"{count} {kind}" for kind, count in tally.refused.most_common())
    sys.stdout.write(
        f"{tally.tried} edits: {tally.accepted} accepted and won natively, {len(sample)} of them in "
        f"TextWorld too; {sum(tally.refused.values())} refused ({refused}); {len(failures)} failures; "
        f"{figures['seconds']} s\n"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
