"""Where an environment's tasks come from: drawn from families, or OSWorld's own task files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rla_envs.difficulty import DifficultyParameter, Value, parse_difficulty
from rla_envs.edit_language import EditOperation
from rla_envs.errors import InputError, InvalidTaskError, RefusedEditError, unknown_name
from rla_envs.osworld import edits
from rla_envs.osworld.difficulty import PARAMETERS, measured
from rla_envs.osworld.families.build import build_task
from rla_envs.osworld.families.check import check
from rla_envs.osworld.families.register import find_family
from rla_envs.osworld.families.sample import sample_payload
from rla_envs.osworld.families.topics import SPLITS
from rla_envs.osworld.tasks import TaskFile, load_task, parse_task
from rla_envs.step_budget import stated_step_budget, steps_allowed
from rla_envs.task import Task, TaskCheck, TaskEdit

ENV_ID = "RLA/OSWorld-v0"

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

STEPS = DifficultyParameter(
    name="steps",
    low=1,
    high=200,
    default=15,
    direction=-1,
    meaning="steps before the episode is cut; OSWorld's own limit is 15",
    statistic=lambda task: -float(task.difficulty["steps"]),
)
"""The one parameter of OSWorld's own tasks, which nobody has measured otherwise."""


class TaskSource(Protocol):
    """Where tasks come from.

    Attributes:
        difficulty_parameters: What can be asked of them.
        edit_operations: How they can be rewritten.
        uses_office: Whether LibreOffice takes part in any of them.
    """

    difficulty_parameters: tuple[DifficultyParameter, ...]
    edit_operations: tuple[EditOperation, ...]
    uses_office: bool

    def sample(self, difficulty: Mapping[str, Value], rng: np.random.Generator) -> dict[str, Any]:
        """Draw a payload."""

    def check(self, task: Task) -> TaskCheck:
        """Return whether a task can be played, with a witness in pyautogui's language."""

    def task_file(self, task: Task) -> TaskFile:
        """Return the task in OSWorld's format; raises InputError if it is malformed."""

    def step_budget(self, task: Task) -> int:
        """Return the number of steps that a task allows."""

    def all_payloads(self) -> Sequence[dict[str, Any]] | None:
        """Return every payload; None if they are drawn without end."""

    def apply_edit(self, task: Task, edit: TaskEdit) -> Task:
        """Return the edited task, unchecked."""

    def propose_edits(self, task: Task, direction: str, rng: np.random.Generator) -> Sequence[TaskEdit]:
        """Return edits that aim in a direction."""


class GeneratedTasks:
    """Tasks of our own families, without end.

    Args:
        family: Name of a family; None for all.
        split: ``"train"`` or ``"valid"``.

    Raises:
        UnknownNameError: On an unknown family or split.
    """

    difficulty_parameters: tuple[DifficultyParameter, ...] = PARAMETERS
    edit_operations: tuple[EditOperation, ...] = edits.EDIT_OPERATIONS

    def __init__(self, family: str | None, split: str) -> None:
        """Keep what to draw."""
        if split not in SPLITS:
            raise unknown_name("split", split, SPLITS)
        self._family, self._split = family, split
        names = ("libreoffice",) if family is None else find_family(family).applications
        self.uses_office = any(name.startswith("libreoffice") for name in names)

    def sample(self, difficulty: Mapping[str, Value], rng: np.random.Generator) -> dict[str, Any]:
        """Draw a payload."""
        return sample_payload(self._family, difficulty, self._split, rng)

    def check(self, task: Task) -> TaskCheck:
        """Return whether a task can be played and states its own difficulty, with its witness."""
        fault = _difficulty_fault(self.difficulty_parameters, task)
        if fault:
            return TaskCheck(False, fault)
        verdict = check(task.payload)
        for name, value in measured(build_task(task)).items() if verdict.valid else ():
            if task.difficulty[name] != value:
                return TaskCheck(False, f"the task states {name}={task.difficulty[name]}, it has {value}")
        return verdict

    def task_file(self, task: Task) -> TaskFile:
        """Return the task in OSWorld's format."""
        return parse_task(build_task(task).task_json(task.id), f"task {task.id}")

    def step_budget(self, task: Task) -> int:
        """Return the stated multiple of the witness's length."""
        return steps_allowed(stated_step_budget(task), build_task(task).plan_length)

    def all_payloads(self) -> None:
        """Return None: there is no end of them."""

    def apply_edit(self, task: Task, edit: TaskEdit) -> Task:
        """Return the edited task, unchecked."""
        return edits.apply_edit(task, edit)

    def propose_edits(self, task: Task, direction: str, rng: np.random.Generator) -> Sequence[TaskEdit]:
        """Return edits that aim in a direction."""
        return edits.propose_edits(task, direction, rng)


class OfficialTasks:
    """Tasks in OSWorld's format, from files.

    A single file, or each of a list, must be runnable. Of a folder those are
    taken that are.

    Args:
        paths: A task file, a list of them, or a folder that has some, at any depth.
        files: Folder with the files that tasks point to on the web.
        applications: Names of the programs that the desktop has; None for those of this machine.

    Raises:
        InputError: If a file is missing, malformed or not runnable, or a
            folder has no task that is; says what is missing.
    """

    difficulty_parameters: tuple[DifficultyParameter, ...] = (STEPS,)
    edit_operations: tuple[EditOperation, ...] = ()

    def __init__(
        self, paths: Paths, files: str | None = None, applications: Collection[str] | None = None
    ) -> None:
        """Read the files."""
        self._files, self._applications = files, applications
        self._tasks = list(self._load(paths))
        self.uses_office = any("libreoffice" in app for task in self._tasks for app in task.related_apps)

    def _load(self, paths: Paths) -> Iterator[TaskFile]:
        single = isinstance(paths, str | os.PathLike)
        if isinstance(paths, str | os.PathLike) and Path(paths).is_dir():
            found = sorted(Path(paths).rglob("*.json"))
            tasks = [load_task(path, self._files, self._applications) for path in found]
            runnable = [task for task in tasks if task.availability == "runnable"]
            if not runnable:
                raise InputError(
                    f"task_file: expected a folder with a task that can run here, got {os.fspath(paths)}: "
                    f"{len(tasks)} tasks, each of which needs more"
                )
            yield from runnable
            return
        listed = [paths] if isinstance(paths, str | os.PathLike) else paths
        if not single and (not isinstance(paths, list | tuple) or not paths):
            raise InputError(f"task_file: expected a path or a list of paths, got {paths!r}")
        for path in listed:
            task = load_task(path, self._files, self._applications)
            if task.availability != "runnable":
                raise InputError(
                    f"task_file {os.fspath(path)}: {task.availability}: {'; '.join(task.missing)}"
                )
            yield task

    def sample(self, difficulty: Mapping[str, Value], rng: np.random.Generator) -> dict[str, Any]:
        """Draw a task, each with the same probability."""
        return self.all_payloads()[int(rng.integers(len(self._tasks)))]

    def check(self, task: Task) -> TaskCheck:
        """Return whether a task can be played here; only an infeasible one has a witness."""
        fault = _difficulty_fault(self.difficulty_parameters, task)
        if fault:
            return TaskCheck(False, fault)
        read = self.task_file(task)
        if read.availability != "runnable":
            return TaskCheck(False, f"{read.availability}: {'; '.join(read.missing)}")
        return TaskCheck(True, witness=("FAIL",), optimal_length=1) if read.infeasible else TaskCheck(True)

    def task_file(self, task: Task) -> TaskFile:
        """Return the task in OSWorld's format."""
        if set(task.payload) != {"task_file"}:
            raise InvalidTaskError(
                f"payload: expected 'task_file' alone, got {', '.join(task.payload) or 'nothing'}"
            )
        return parse_task(
            _thawed(task.payload["task_file"]), f"task {task.id}", self._files, self._applications
        )

    def step_budget(self, task: Task) -> int:
        """Return the stated number of steps."""
        return int(task.difficulty["steps"])

    def all_payloads(self) -> list[dict[str, Any]]:
        """Return every payload, in the order of the files."""
        return [{"task_file": task.to_json()} for task in self._tasks]

    def apply_edit(self, task: Task, edit: TaskEdit) -> Task:
        """Refuse: how its authors meant a task is not known well enough to rewrite it."""
        raise RefusedEditError("OSWorld's own tasks are not rewritten; use generated ones")

    def propose_edits(self, task: Task, direction: str, rng: np.random.Generator) -> Sequence[TaskEdit]:
        """Return nothing."""
        return ()


class EveryApplication(Collection[str]):
    """The programs of a desktop of which nobody knows which it has: any that is asked for."""

    def __contains__(self, name: object) -> bool:
        """Return True."""
        return True

    def __iter__(self) -> Iterator[str]:
        """Name none."""
        return iter(())

    def __len__(self) -> int:
        """Count none."""
        return 0


def _difficulty_fault(parameters: Sequence[DifficultyParameter], task: Task) -> str:
    stated = parse_difficulty(parameters, task.difficulty)
    missing = [parameter.name for parameter in parameters if parameter.name not in stated]
    return f"difficulty parameter {missing[0]!r} is missing from the task" if missing else ""


def _thawed(value: Any) -> Any:
    """Return JSON with plain lists in place of the tuples of a frozen payload."""
    if isinstance(value, Mapping):
        return {name: _thawed(item) for name, item in value.items()}
    return [_thawed(item) for item in value] if isinstance(value, list | tuple) else value
