"""The base class of every adaptive environment: tasks with named difficulty, always solvable, replayable."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import gymnasium as gym
import numpy as np

from rla_envs.difficulty import (
    DifficultyParameter,
    DifficultySpace,
    Value,
    complete_difficulty,
    parse_difficulty,
)
from rla_envs.edit_language import EditOperation
from rla_envs.errors import InputError, InvalidTaskError, RefusedEditError, unknown_name
from rla_envs.task import Task, TaskCheck, TaskEdit, require_task

ObsT = TypeVar("ObsT")
ActT = TypeVar("ActT")


class Turn(NamedTuple, Generic[ObsT]):
    """What one action led to, as the environment's own rules see it.

    Attributes:
        observation: What the agent sees next.
        success: Whether the task is solved.
        failed: Whether the task can no longer be solved and the episode is over.
        error: Why the action had no effect, in one line; empty if it had one.
        extras: Further entries for the top level of ``info``.
    """

    observation: ObsT
    success: bool = False
    failed: bool = False
    error: str = ""
    extras: Mapping[str, Any] = {}


def given_options(options: object) -> dict[str, Any]:
    """Return reset options as a dict, without those that are None.

    Raises:
        InputError: If they are no mapping.
    """
    if options is not None and not isinstance(options, Mapping):
        raise InputError(f"reset options: expected a mapping, got {options!r}")
    return {name: value for name, value in (options or {}).items() if value is not None}


class AdaptiveEnv(gym.Env[ObsT, ActT], abc.ABC, Generic[ObsT, ActT]):
    """A Gymnasium environment whose tasks have named difficulty parameters and can be rewritten.

    One seed and one task give one episode, byte for byte. No unsolvable task is
    ever presented: :meth:`sample_task`, :meth:`apply_edit` and
    ``reset(options={"task": ...})`` all go through :meth:`check_task`.

    ``reset(options=...)`` takes ``"difficulty"`` (parameter values; the rest
    as the constructor set them) or ``"task"`` (a :class:`Task`). Options hold
    for the episode they start; later episodes go back to the constructor's
    difficulty, or to the one set by :meth:`set_difficulty`.

    ``info["rla"]`` holds ``task_id``, ``difficulty``, ``success``,
    ``last_action_error``, ``steps`` (taken so far) and ``step_budget``. The
    reward is 1.0 on the step that solves the task and 0.0 on every other.
    The episode is terminated when the task is solved (or lost for good), and
    truncated when the budget is used up; a win on the last allowed step is a
    win.

    A subclass sets ``task_env_id``, ``difficulty_parameters``,
    ``observation_space`` and ``action_space`` and implements the methods whose
    names start with an underscore.

    Args:
        difficulty: Values of some or all difficulty parameters; the others
            take their defaults.
        render_mode: One of the class's ``metadata["render_modes"]``, or None.

    Raises:
        InputError: On an unknown parameter, a value out of range or an unknown
            render mode.
    """

    task_env_id: ClassVar[str]
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]]
    edit_operations: ClassVar[tuple[EditOperation, ...]] = ()
    """The environment's edit language, for whoever writes edits; empty if it states none."""
    whole_answers: ClassVar[bool] = False
    """Whether an action is all that an agent says (a program with its reasons), not one line of it."""
    max_attempts: ClassVar[int] = 64
    """How often :meth:`sample_task` draws before it gives up on a difficulty."""

    def __init__(
        self, difficulty: Mapping[str, object] | None = None, render_mode: str | None = None
    ) -> None:
        """Set the difficulty of later episodes; boots nothing."""
        modes = self.metadata.get("render_modes", [])
        if render_mode is not None and render_mode not in modes:
            raise unknown_name("render mode", render_mode, modes)
        self.render_mode = render_mode
        self.difficulty_space = DifficultySpace(self.difficulty_parameters)
        self._difficulty = parse_difficulty(self.difficulty_parameters, difficulty)
        self._task: Task | None = None
        self._steps = 0
        self._success = False

    @property
    def task(self) -> Task:
        """The task of the current episode.

        Raises:
            InputError: Before the first reset.
        """
        if self._task is None:
            raise InputError(f"{type(self).__name__} has no task yet; call reset() first")
        return self._task

    @property
    def steps(self) -> int:
        """Steps taken so far in the current episode."""
        return self._steps

    @property
    def step_budget(self) -> int:
        """Steps after which the current episode is truncated."""
        return self._step_budget(self.task)

    @property
    def difficulty(self) -> dict[str, Value]:
        """The parameters that later episodes hold fixed: the constructor's, or :meth:`set_difficulty`'s."""
        return dict(self._difficulty)

    def set_difficulty(self, difficulty: Mapping[str, object] | None) -> None:
        """Set the parameters of later episodes, in place of the constructor's ``difficulty``."""
        self._difficulty = parse_difficulty(self.difficulty_parameters, difficulty)

    def sample_task(self, difficulty: Mapping[str, object] | None, rng: np.random.Generator) -> Task:
        """Return a random solvable task.

        Args:
            difficulty: Values of some or all parameters; the others take the
                environment's own (see the constructor and
                :meth:`set_difficulty`), else their defaults, or are drawn where
                they have none.
            rng: Source of all randomness.

        Raises:
            InputError: If the difficulty is not in ``difficulty_space``.
            InvalidTaskError: If no valid task was found in ``max_attempts``
                draws; says what was wrong with the last one.
        """
        given = {**self._difficulty, **parse_difficulty(self.difficulty_parameters, difficulty)}
        reason = ""
        for _ in range(self.max_attempts):
            full = complete_difficulty(self.difficulty_parameters, given, rng)
            try:
                task = self._sample_task(full, rng)
            except InvalidTaskError as error:
                reason = str(error)
                continue
            check = self.check_task(task)
            if check.valid:
                return task
            reason = check.reason
        raise InvalidTaskError(
            f"no valid task in {self.max_attempts} draws at difficulty {given}; the last one failed "
            f"because {reason}. Relax a parameter."
        )

    def all_tasks(self) -> Sequence[Task]:
        """Return every task, in a fixed order, where tasks are a set and not drawn without end.

        Raises:
            InputError: If they are drawn without end.
        """
        raise InputError(f"{type(self).__name__} draws tasks without end; use sample_task")

    @abc.abstractmethod
    def check_task(self, task: Task) -> TaskCheck:
        """Return whether the task may be presented, with a witness that solves it.

        Raises:
            InputError: If it is no Task (see :func:`~rla_envs.task.require_task`).
        """

    def apply_edit(self, task: Task, edit: TaskEdit) -> Task:
        """Return the edited task.

        The task given is checked too: an edit would hide what is wrong with
        it, and the child would name a parent that nobody could play.

        Raises:
            RefusedEditError: If the task cannot be played, or the edit is
                malformed, changes nothing, or leaves a task that is not valid;
                the message is the reason.
            InputError: If they are no Task and no TaskEdit.
        """
        if not isinstance(task, Task) or not isinstance(edit, TaskEdit):
            raise InputError(
                f"apply_edit: expected a Task and a TaskEdit, got {type(task).__name__} and "
                f"{type(edit).__name__}; both have from_json"
            )
        if task.env_id != self.task_env_id:
            raise RefusedEditError(f"expected a task of {self.task_env_id}, got one of {task.env_id}")
        try:
            edited = self._apply_edit(task, edit)
        except RefusedEditError:
            raise
        except InputError as error:
            raise RefusedEditError(str(error)) from error
        check = self.check_task(task)
        if not check.valid:
            raise RefusedEditError(f"the task to edit cannot be played: {check.reason}")
        if edited.content_hash == task.content_hash:
            raise RefusedEditError("the edit changes nothing")
        check = self.check_task(edited)
        if not check.valid:
            raise RefusedEditError(check.reason)
        return edited

    def propose_edits(self, task: Task, direction: str, rng: np.random.Generator) -> Sequence[TaskEdit]:
        """Return edits of this environment's language that aim in a direction, best first.

        Args:
            task: The task to rewrite.
            direction: ``"harder"`` or ``"easier"``.
            rng: Source of all randomness.

        Returns:
            Candidates; each may still be refused by :meth:`apply_edit`.
        """
        return ()

    def describe_task(self, task: Task) -> str:
        """Return a task in readable English, for whoever is to rewrite it; by default its difficulty."""
        return "\n".join(
            f"{p.name} is {task.difficulty.get(p.name)} ({p.meaning})" for p in self.difficulty_parameters
        )

    def lost_step_kinds(
        self, task: Task, actions: Sequence[ActT], effective: Sequence[bool]
    ) -> Sequence[str]:
        """Return for every step of an episode what it was spent on, if it gained nothing; else ``""``.

        Args:
            task: What was played.
            actions: The actions, in order.
            effective: Whether each had an effect (no ``last_action_error``).

        Returns:
            One kind a step, in the environment's own words, those in which its
            ``edit_operations`` say what they are about. Empty if it cannot tell.
        """
        return ()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsT, dict[str, Any]]:
        """Start an episode; see the class for ``options``.

        Raises:
            InputError: On an unknown option or a difficulty out of range.
            InvalidTaskError: If the given task is not valid.
        """
        super().reset(seed=seed)
        given = given_options(options)
        for name in options or ():
            if name not in ("difficulty", "task"):
                raise unknown_name("reset option", name, ("difficulty", "task"))
        if "task" in given and "difficulty" in given:
            raise InputError(
                "reset options: expected 'task' or 'difficulty', got both; a task has its own difficulty"
            )
        if "task" in given:
            task = self._given_task(given["task"])
        else:
            task = self.sample_task(given.get("difficulty"), self.np_random)
        self._task, self._steps, self._success = task, 0, False
        turn = self._begin(task)
        return turn.observation, self._info(turn)

    def _given_task(self, task: object) -> Task:
        task = require_task(task, "reset option 'task'")
        check = self.check_task(task)
        if not check.valid:
            raise InvalidTaskError(f"task {task.id} cannot be played: {check.reason}")
        return task

    def step(self, action: ActT) -> tuple[ObsT, float, bool, bool, dict[str, Any]]:
        """Play one action; reward 1.0 when it solves the task, else 0.0."""
        turn, terminated, truncated = self.play(action)
        return turn.observation, float(turn.success), terminated, truncated, self._info(turn)

    def play(self, action: ActT) -> tuple[Turn[ObsT], bool, bool]:
        """Play one action as :meth:`step` does, for whoever puts ``info`` together for many members.

        Returns:
            What it led to, and whether the episode is terminated and truncated.
        """
        task = self.task
        turn = self._act(action)
        self._steps += 1
        self._success = turn.success
        terminated = turn.success or turn.failed
        truncated = not terminated and self._steps >= self._step_budget(task)
        return turn, terminated, truncated

    def _info(self, turn: Turn[ObsT]) -> dict[str, Any]:
        task = self.task
        return {
            **turn.extras,
            "rla": {
                "task_id": task.id,
                "difficulty": dict(task.difficulty),
                "success": self._success,
                "last_action_error": turn.error,
                "steps": self._steps,
                "step_budget": self._step_budget(task),
            },
        }

    @abc.abstractmethod
    def _sample_task(self, difficulty: dict[str, Value], rng: np.random.Generator) -> Task:
        """Draw one task at exactly this difficulty; may raise InvalidTaskError to be drawn again."""

    @abc.abstractmethod
    def _apply_edit(self, task: Task, edit: TaskEdit) -> Task:
        """Return the edited task, unchecked; raise RefusedEditError if the edit means nothing."""

    @abc.abstractmethod
    def _begin(self, task: Task) -> Turn[ObsT]:
        """Start the episode of a valid task."""

    @abc.abstractmethod
    def _act(self, action: ActT) -> Turn[ObsT]:
        """Play one action of the running episode."""

    @abc.abstractmethod
    def _step_budget(self, task: Task) -> int:
        """Return the number of steps after which the episode is truncated."""
