"""Tasks that are nothing but a difficulty: for rules that rewrite tasks where there is no environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from rla_envs.difficulty import DifficultyParameter, parse_difficulty
from rla_envs.errors import RefusedEditError
from rla_envs.task import Task, TaskCheck, TaskEdit
from wrappers.curricula.space import Difficulties

STEPS = 8
"""Edits that lead from one end of a parameter's range to the other."""


class SpaceTasks:
    """A :class:`~wrappers.protocols.TaskSource` over a bare difficulty space.

    A task is a point of the space. An edit moves one parameter by an eighth of
    its range, or by 1 if that is more, towards its harder or easier end.
    Parameters with named values are not edited: names have no order.

    Args:
        difficulties: The space.
    """

    env_id = "difficulty"

    def __init__(self, difficulties: Difficulties) -> None:
        """Keep the space."""
        self._difficulties = difficulties

    @property
    def difficulty_parameters(self) -> Sequence[DifficultyParameter]:
        """The parameters of the space."""
        return self._difficulties.parameters

    @property
    def difficulty_space(self) -> spaces.Dict:
        """The space itself."""
        return self._difficulties.space

    def task(self, difficulty: Mapping[str, Any]) -> Task:
        """Return the task at a point of the space; equal points are equal tasks."""
        names = [p.name for p in self.difficulty_parameters]
        return Task(self.env_id, self._difficulties.read(difficulty, names), {})

    def sample_task(self, difficulty: Mapping[str, object] | None, rng: np.random.Generator) -> Task:
        """Return a random point with these values."""
        given = parse_difficulty(self.difficulty_parameters, difficulty)
        return self.task({**self._difficulties.draw(rng), **given})

    def check_task(self, task: Task) -> TaskCheck:
        """Return that the task is valid: every point of the space is."""
        return TaskCheck(True)

    def apply_edit(self, task: Task, edit: TaskEdit) -> Task:
        """Return the point that the edit moves to.

        Raises:
            RefusedEditError: If the edit is not one of ``propose_edits``.
        """
        values = dict(task.difficulty)
        for change in edit.changes:
            if change["op"] != "set" or change.get("parameter") not in values:
                raise RefusedEditError(f"unknown operation {dict(change)!r}; expected set, parameter, value")
            values[change["parameter"]] = change.get("value")
        return task.child({}, self._difficulties.read(values))

    def propose_edits(self, task: Task, direction: str, rng: np.random.Generator) -> Sequence[TaskEdit]:
        """Return a step of each parameter that is not at its end yet, in random order."""
        edits = []
        hardness = self._difficulties.hardness(task.difficulty)
        for index in rng.permutation(len(self.difficulty_parameters)):
            p = self.difficulty_parameters[int(index)]
            if p.names or p.high == p.low:
                continue
            width = 1 / STEPS if p.continuous else max(1 / STEPS, 1 / (p.high - p.low))
            moved = hardness.copy()
            moved[index] += width if direction == "harder" else -width
            value = self._difficulties.at(moved)[p.name]
            if value != task.difficulty[p.name]:
                change = {"op": "set", "parameter": p.name, "value": value}
                reason = f"{p.name} from {task.difficulty[p.name]} to {value}"
                edits.append(TaskEdit((change,), direction, "step", reason))
        return edits
