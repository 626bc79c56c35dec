"""Checks of the tasks an environment samples: solvable, and as difficult as asked for."""

from __future__ import annotations

import numpy as np

from rla_envs.adaptive import AdaptiveEnv
from rla_envs.conformance.subject import FaultError, Subject, adaptive, sample_tasks
from rla_envs.difficulty import DifficultyParameter, Value
from rla_envs.errors import InvalidTaskError
from rla_envs.task import Task


def solvable_tasks(subject: Subject) -> None:
    """Every sampled task passes ``check_task``, and its witness wins when it is played.

    Half of the tasks have the default difficulty, half one drawn from the
    whole ``difficulty_space``, where the environment may refuse a combination.
    """
    with subject.env() as env:
        base = adaptive(env)
        default = sample_tasks(base, subject.tasks - subject.tasks // 2, seed=2)
        anywhere = _sample_anywhere(base, subject.tasks // 2)
        for task in [*default, *anywhere]:
            if any(p.name not in task.difficulty for p in base.difficulty_parameters):
                raise FaultError(f"task {task.id} does not record every difficulty parameter")
            _require_witness(base, task)


def _sample_anywhere(base: AdaptiveEnv, count: int) -> list[Task]:  # type: ignore[type-arg]
    rng = np.random.default_rng(3)
    tasks: list[Task] = []
    for _ in range(count):
        drawn = {p.name: p.draw(rng) for p in base.difficulty_parameters}
        try:
            tasks.append(base.sample_task(drawn, rng))
        except InvalidTaskError as error:
            refused = error
    if count and not tasks:
        raise FaultError(f"none of {count} difficulties drawn from difficulty_space has a task; {refused}")
    return tasks


def _require_witness(base: AdaptiveEnv, task: Task) -> None:  # type: ignore[type-arg]
    check = base.check_task(task)
    if not check.valid:
        raise FaultError(f"sampled task {task.id} is not valid: {check.reason}")
    if check.optimal_length is not None and check.optimal_length > len(check.witness):
        raise FaultError(
            f"the witness of task {task.id} has {len(check.witness)} steps, "
            f"its optimal length is said to be {check.optimal_length}"
        )
    _, info = base.reset(seed=0, options={"task": task})
    for number, action in enumerate(check.witness, 1):
        _, _, terminated, truncated, info = base.step(action)
        if (terminated or truncated) and number < len(check.witness):
            raise FaultError(f"task {task.id} ends at step {number} of its witness {check.witness}")
    if not info["rla"]["success"]:
        raise FaultError(f"the witness {check.witness} does not win task {task.id}")


def difficulty_direction(subject: Subject) -> None:
    """Every parameter's value is honoured and moves its statistic in its stated direction.

    Measured at the lowest, middle and highest value, the others at their
    defaults, with the same random numbers for all three: a parameter without
    effect then gives equal statistics. The ends must differ by two standard
    errors; the middle may lie outside them by as much.
    """
    with subject.env() as env:
        base = adaptive(env)
        for parameter in base.difficulty_parameters:
            middle = (parameter.low + parameter.high) / 2
            values = [parameter.low, middle if parameter.continuous else int(middle), parameter.high]
            low, mid, high = (_statistics(base, parameter, value, subject.tasks) for value in values)
            sign = parameter.direction
            measured = ", ".join(
                f"{v}: {s.mean():.4g}" for v, s in zip(values, (low, mid, high), strict=True)
            )
            if not (gain := (high - low) * sign).mean() > 2 * _standard_error(gain):
                word = "rise" if sign > 0 else "fall"
                raise FaultError(
                    f"the statistic of parameter {parameter.name!r} does not {word} with it ({measured})"
                )
            for first, second in ((low, mid), (mid, high)):
                step = (second - first) * sign
                if step.mean() < -2 * _standard_error(step):
                    raise FaultError(
                        f"the statistic of parameter {parameter.name!r} is not monotone ({measured})"
                    )


def _statistics(
    base: AdaptiveEnv,  # type: ignore[type-arg]
    parameter: DifficultyParameter,
    value: Value,
    count: int,
) -> np.ndarray:
    measured = []
    for seed in range(count):
        task = base.sample_task({parameter.name: value}, np.random.default_rng([4, seed]))
        if task.difficulty.get(parameter.name) != value:
            raise FaultError(
                f"a task sampled at {parameter.name}={value} has "
                f"{parameter.name}={task.difficulty.get(parameter.name)}"
            )
        measured.append(parameter.statistic(task))
    return np.array(measured, dtype=np.float64)


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
