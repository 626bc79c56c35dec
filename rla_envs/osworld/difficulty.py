"""OSWorld's difficulty parameters for generated tasks, and the number each can be recognised by in a task."""

from __future__ import annotations

from rla_envs.difficulty import DifficultyParameter, Value
from rla_envs.osworld.families.base import MAX_EDITS
from rla_envs.osworld.families.build import BuiltTask, build_task
from rla_envs.osworld.families.spec import (
    MAX_DISTRACTOR_FILES,
    MAX_DISTRACTOR_WINDOWS,
    MAX_HINTS,
    STARTS,
    WORDINGS,
)
from rla_envs.step_budget import STEP_BUDGET
from rla_envs.task import Task


def edits_of(task: BuiltTask) -> int:
    """Return how many edits a task asks for, over all its jobs."""
    return sum(len(job.requests) for job in task.jobs)


def _unnamed_places(task: Task) -> float:
    built = build_task(task)
    return sum(address not in built.instruction for address in built.addresses)


def _way_to_documents(task: Task) -> float:
    """Folders between what is open at the start and the documents, with one for opening them."""
    spec = build_task(task).spec
    return 0 if spec.start == 0 else 1 if spec.start == 1 else 1 + spec.folder.count("/") - 2


def measured(task: BuiltTask) -> dict[str, Value]:
    """Return the parameters that can be read off a task."""
    return {
        "edits": edits_of(task),
        "applications": len(task.applications),
        "vagueness": task.spec.wording,
        "hints": task.spec.hints,
        "start": task.spec.start,
        "distractor_files": len(task.spec.distractor_files),
        "distractor_windows": task.spec.distractor_windows,
    }


PARAMETERS = (
    DifficultyParameter(
        name="edits",
        low=1,
        high=MAX_EDITS,
        default=3,
        meaning="changes that the instruction asks for, over all documents (at least one for each)",
        statistic=lambda task: edits_of(build_task(task)),
    ),
    DifficultyParameter(
        name="applications",
        low=1,
        high=3,
        default=1,
        meaning="applications that take part",
        statistic=lambda task: len(build_task(task).applications),
    ),
    DifficultyParameter(
        name="vagueness",
        low=0,
        high=len(WORDINGS) - 1,
        default=0,
        names=WORDINGS,
        meaning="how the instruction says what it means: by exact places, by names, or by description",
        statistic=_unnamed_places,
    ),
    DifficultyParameter(
        name="hints",
        low=0,
        high=MAX_HINTS,
        default=1,
        direction=-1,
        meaning="sentences of the instruction, for each document, that say how to do it",
        statistic=lambda task: -len(build_task(task).hints),
    ),
    DifficultyParameter(
        name="start",
        low=0,
        high=len(STARTS) - 1,
        default=0,
        names=STARTS,
        meaning="what is open at the start: the documents, the folder they lie in, or the home folder",
        statistic=_way_to_documents,
    ),
    DifficultyParameter(
        name="distractor_files",
        low=0,
        high=MAX_DISTRACTOR_FILES,
        default=0,
        meaning="files beside the documents that are of no use",
        statistic=lambda task: len(build_task(task).spec.distractor_files),
    ),
    DifficultyParameter(
        name="distractor_windows",
        low=0,
        high=MAX_DISTRACTOR_WINDOWS,
        default=0,
        meaning="open windows that are of no use",
        statistic=lambda task: build_task(task).spec.distractor_windows,
    ),
    DifficultyParameter(
        name="infeasible",
        low=0.0,
        high=0.5,
        default=0.0,
        continuous=True,
        meaning="probability that the first document is not there, so that FAIL is the right answer",
        statistic=lambda task: build_task(task).spec.missing,
    ),
    STEP_BUDGET,
)
