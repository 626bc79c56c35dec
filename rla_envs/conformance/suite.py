"""The suite: every check by name, in the order that finds the plainest fault first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rla_envs.conformance import behaviour, replay, tasks
from rla_envs.conformance.subject import ConformanceError, FaultError, Subject
from rla_envs.errors import InfrastructureError, InputError, MissingExtraError, unknown_name

_CHECKS: dict[str, Callable[[Subject], None]] = {
    check.__name__: check
    for check in (
        behaviour.gymnasium_interface,
        behaviour.no_leaks,
        replay.global_randomness,
        replay.equal_seeds,
        behaviour.spec_json,
        replay.hash_stability,
        replay.task_round_trip,
        behaviour.reset_options,
        behaviour.step_budget,
        tasks.solvable_tasks,
        tasks.difficulty_direction,
        replay.vector_modes,
    )
}


def check_names() -> list[str]:
    """Return the names of all checks, in the order they run."""
    return list(_CHECKS)


def check_adaptive_env(
    env_id: str, *, tasks: int = 100, steps: int = 50, checks: Iterable[str] | None = None, **kwargs: Any
) -> None:
    """Check that an environment is adaptive, solvable, replayable and free of side effects.

    Args:
        env_id: A registered id; the environment under its wrappers must be an
            :class:`~rla_envs.AdaptiveEnv`.
        tasks: Tasks per statistic: sampled and solved, and measured at three
            values of every difficulty parameter. At least 2.
        steps: Steps per rollout.
        checks: Names of the checks to run; None runs all, in the order of
            :func:`check_names`.
        **kwargs: Passed to ``gymnasium.make`` and the vector environments.

    Raises:
        ConformanceError: At the first failed check; names it and what was wrong.
        InputError: On an unknown check or too few tasks or steps.
    """
    if not (isinstance(tasks, int) and isinstance(steps, int) and tasks >= 2 and steps >= 1):
        raise InputError(f"expected tasks of 2 or more and steps of 1 or more, got {tasks!r} and {steps!r}")
    if isinstance(checks, str):
        raise InputError(f"checks: expected a list of names, got {checks!r}; put it into a list")
    names = check_names() if checks is None else list(checks)
    for name in names:
        if name not in _CHECKS:
            raise unknown_name("check", name, _CHECKS)
    subject = Subject(env_id, kwargs, tasks, steps)
    for name in names:
        try:
            _CHECKS[name](subject)
        except FaultError as failure:
            raise ConformanceError(env_id, name, str(failure)) from failure
        except (InfrastructureError, MissingExtraError):
            raise
        except Exception as error:
            raise ConformanceError(env_id, name, f"{type(error).__name__}: {error}") from error
