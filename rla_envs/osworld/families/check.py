"""Decide without a desktop whether a generated task may be presented."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rla_envs.errors import InputError
from rla_envs.osworld.families.base import Check
from rla_envs.osworld.families.build import BuiltTask, build
from rla_envs.osworld.metrics import METRICS

_KEPT = 512
_FAULTS: dict[str, str] = {}
"""Verdicts on the last tasks: a check opens documents, and a task is checked often."""


def task_fault(payload: Mapping[str, Any], key: str) -> str:
    """Return why a task must not be presented, in one line; empty if it may be.

    The evaluator's metrics must give 1 for the documents of the end, and not
    all of them 1 for those of the start. A task that cannot be done must name
    a document that is nowhere.

    Args:
        payload: The payload.
        key: The task's content hash: one with the same is checked once in a process.
    """
    if key not in _FAULTS:
        while len(_FAULTS) >= _KEPT:
            _FAULTS.pop(next(iter(_FAULTS)))
        _FAULTS[key] = _fault(payload)
    return _FAULTS[key]


def _fault(payload: Mapping[str, Any]) -> str:
    try:
        task = build(payload)
    except InputError as error:
        return str(error)
    if task.spec.missing:
        return _missing_fault(task)
    for number, job in enumerate(task.jobs):
        if score(job.checks, job.checks, start=True) != 0.0:
            return f"job {number + 1} is done before anything is done"
        if score(job.checks, job.checks) != 1.0:
            return f"job {number + 1} cannot be done: its own end does not count"
    return ""


def _missing_fault(task: BuiltTask) -> str:
    path = task.jobs[0].documents[0].path
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
