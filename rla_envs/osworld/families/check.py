"""Decide without a desktop whether a generated task may be presented."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rla_envs.errors import InputError
from rla_envs.osworld.families.base import Check
from rla_envs.osworld.families.build import BuiltTask, build
from rla_envs.osworld.metrics import METRICS
from rla_envs.task import TaskCheck

_LONGEST = 300
_faults: weakref.WeakKeyDictionary[BuiltTask, str] = weakref.WeakKeyDictionary()
"""Verdicts on the tasks that are still at hand: a check opens documents, and a task is checked often."""


def check(payload: object) -> TaskCheck:
    """Return whether a task may be presented, with the witness that solves it.

    ``optimal_length`` is the witness's number of steps, where a step is one
    group of actions that belong together.

    Args:
        payload: What a task's ``payload`` holds; anything at all may come.

    Raises:
        InfrastructureError: If this machine could not read or write a file.
        MissingExtraError: If the packages of the ``osworld`` extra are missing.
    """
    if fault := task_fault(payload):
        return TaskCheck(False, fault)
    witness = build(payload).witness
    return TaskCheck(True, "", witness, len(witness))


def task_fault(payload: object) -> str:
    """Return why a task must not be presented, in one line; empty if it may be.

    The evaluator's metrics must give 1 for the documents of the end, and 0 for
    those of the start, for every job. A task that cannot be done must name a
    document that is nowhere, or something that its family knows not to exist.
    """
    try:
        task = build(payload)
    except InputError as error:
        return " ".join(str(error).split())[:_LONGEST]
    if task not in _faults:
        _faults[task] = _fault(task)
    return _faults[task]


def _fault(task: BuiltTask) -> str:
    if task.spec.missing:
        return _missing_fault(task)
    for number, job in enumerate(task.jobs, 1):
        if score(job.checks, job.checks, start=True) != 0.0:
            return f"job {number} is done before anything is done"
        if score(job.checks, job.checks) != 1.0:
            return f"job {number} cannot be done: its own end does not count"
    return ""


def _missing_fault(task: BuiltTask) -> str:
    path = task.jobs[0].documents[0].path
    if not path:
        return ""
    there = [name for name in task.uploads if name == path or name.startswith(f"{path}/")]
    return f"{there[0]} is there, so that the task can be done" if there else ""


def score(checks: Sequence[Check], found: Sequence[Check], start: bool = False) -> float:
    """Return what checks give for an end, 1.0 or less.

    Args:
        checks: The conditions.
        found: Checks of the job whose end it is: what the same getters return there.
        start: Whether it is that job's start instead.
    """
    by_result = {_place(check): check for check in found}
    scores = []
    with tempfile.TemporaryDirectory(prefix="rla-check-") as folder:
        for number, check in enumerate(checks):
            source = by_result.get(_place(check))
            value = None if source is None else source.start if start else source.goal
            result = _as_result(value, Path(folder) / f"result_{number}", check)
            expected = _expected(check, Path(folder) / f"expected_{number}")
            scores.append(METRICS[check.func].score(result, expected, check.options))
    return min(scores)


def _place(check: Check) -> str:
    return repr(sorted(check.result.items()))


def _as_result(value: bytes | str | None, path: Path, check: Check) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return _written(path.with_suffix(check.ending), value)


def _expected(check: Check, path: Path) -> Any:
    if check.reference is None:
        return dict(check.rule or {})
    return _written(path.with_suffix(check.ending), check.reference)


def _written(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)
