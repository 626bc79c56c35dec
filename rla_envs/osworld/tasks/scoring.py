"""Score what an agent left on a desktop."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rla_envs.errors import InfrastructureError, InputError
from rla_envs.osworld.actions.action import FAIL, Action
from rla_envs.osworld.desktop.base import SETTLE_SECONDS, Desktop
from rla_envs.osworld.metrics import METRICS
from rla_envs.osworld.tasks.getters import NOT_FROM_THE_DESKTOP, GetterRunner
from rla_envs.osworld.tasks.steps import StepFailure, StepRunner, check_runnable
from rla_envs.osworld.tasks.task_file import Check, TaskFile

_SETTLE_SECONDS = 2 * SETTLE_SECONDS
"""Longest wait before scoring: Calc works for a second after Save As, more on a busy machine."""
_OURS = ("download", "upload_file")
"""Steps whose failure is no doing of the agent's."""


@dataclass(frozen=True)
class Score:
    """How well a task was done.

    Attributes:
        score: From 0 to 1; 1 is success.
        checkpoints: The score of each of the task's metrics, in its order.
        details: What the score comes from, in a line.
    """

    score: float
    checkpoints: tuple[float, ...]
    details: str


def evaluate(desktop: Desktop, task: TaskFile, actions_history: Sequence[Action | str]) -> Score:
    """Score a task as OSWorld does.

    The steps of ``postconfig`` come first; one that cannot be carried out (the
    agent closed the window that it activates) is told in the details and holds
    up nothing. Then each metric compares its result with what is expected.
    With ``"and"`` the score is 0 if any metric gives 0, else their mean; with
    ``"or"`` it is the highest. An infeasible task is done if the last action
    is FAIL; FAIL on any other scores 0. A result file that is not there gives 0.

    Unlike OSWorld, every metric is computed, also where one settles the score:
    together they are the checkpoints.

    Args:
        desktop: The desktop that the agent worked on.
        task: The task, set up on it by :func:`~rla_envs.osworld.tasks.steps.setup`.
        actions_history: What the agent did, in order; only whether the last
            action is FAIL counts.

    Raises:
        InputError: If the task is not runnable.
        InfrastructureError: If the desktop is lost, or what the task compares
            with cannot be read. There is no score then.
    """
    check_runnable(task)
    failed = bool(actions_history) and _is_fail(actions_history[-1])
    with tempfile.TemporaryDirectory(prefix="rla-osworld-") as work:
        notes = _prepare(desktop, task, Path(work))
        if task.infeasible:
            said = "the agent said so" if failed else "the agent did not say so"
            return _score(task, (float(failed),), f"the task is infeasible and {said}", notes)
        if failed:
            zeros = (0.0,) * len(task.evaluator.checks)
            return _score(task, zeros, "the agent gave up a feasible task", notes)
        getters = GetterRunner(desktop, task.files, Path(work))
        checkpoints = tuple(_checkpoint(task, check, getters) for check in task.evaluator.checks)
    names = (check.metric for check in task.evaluator.checks)
    found = ", ".join(f"{name} {value:.3g}" for name, value in zip(names, checkpoints, strict=True))
    return _score(task, checkpoints, found, notes)


def _is_fail(action: Action | str) -> bool:
    return (action.special if isinstance(action, Action) else action) == FAIL


def _prepare(desktop: Desktop, task: TaskFile, work: Path) -> list[str]:
    """Carry out postconfig; return what could not be."""
    # The application may still be at work on the last action, or be about to.
    desktop.observe(tree=False, settle=_SETTLE_SECONDS, late=True)
    runner = StepRunner(desktop, task.files, scoring=True, saved=work)
    notes = []
    for step in task.evaluator.postconfig:
        try:
            runner.run(step)
        except StepFailure as failure:
            if step.type in _OURS:
                raise InfrastructureError(f"task {task.id} cannot be scored: {failure}") from failure
            notes.append(str(failure))
    return notes


def _checkpoint(task: TaskFile, check: Check, getters: GetterRunner) -> float:
    sides = {"result": check.result, "expected": check.expected}
    values = {side: getters.get(getter) if getter else None for side, getter in sides.items()}
    theirs = {side for side, getter in sides.items() if getter and getter.type not in NOT_FROM_THE_DESKTOP}
    try:
        return METRICS[check.metric].score(
            values["result"], values["expected"], check.options, from_desktop=theirs
        )
    except InputError as cause:
        # What the authors wrote or their files hold: no fault of the agent, so no score.
        raise InfrastructureError(f"task {task.id} cannot be scored: {cause}") from cause


def _score(task: TaskFile, checkpoints: tuple[float, ...], found: str, notes: list[str]) -> Score:
    if task.evaluator.conj == "or":
        score = max(checkpoints)
    else:
        score = 0.0 if 0.0 in checkpoints else sum(checkpoints) / len(checkpoints)
    return Score(score, checkpoints, "; ".join([found, *notes]))
