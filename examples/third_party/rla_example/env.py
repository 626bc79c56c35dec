"""Guess a number: an adaptive environment in a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from rla_envs import AdaptiveEnv, DifficultyParameter, Task, TaskCheck, TaskEdit, Turn, Unicode
from rla_envs.edit_language import EditField, EditOperation, parse_change
from rla_envs.errors import RefusedEditError

LARGEST = DifficultyParameter(
    name="largest",
    low=2,
    high=1000,
    default=50,
    meaning="the number is between 1 and this one",
    statistic=lambda task: float(task.payload["largest"]),
)
GUESSES = DifficultyParameter(
    name="guesses",
    low=1,
    high=20,
    default=8,
    direction=-1,
    meaning="guesses before the episode is cut",
    statistic=lambda task: -float(task.difficulty["guesses"]),
)


class GuessEnv(AdaptiveEnv[str, str]):
    """Find a number between 1 and ``largest``; a wrong guess is answered by "higher" or "lower".

    An action is the number, as text.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 - Gymnasium's own form
    task_env_id: ClassVar[str] = "RLAExample/Guess-v0"
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]] = (LARGEST, GUESSES)
    edit_operations: ClassVar[tuple[EditOperation, ...]] = (
        EditOperation("set_largest", (EditField("value", int, "the largest number"),), "change the range"),
    )

    def __init__(
        self, difficulty: Mapping[str, object] | None = None, render_mode: str | None = None
    ) -> None:
        """Set up; see the base class for the arguments."""
        super().__init__(difficulty, render_mode)
        self.observation_space = Unicode(100)
        self.action_space = Unicode(20)
        self._text = ""

    def check_task(self, task: Task) -> TaskCheck:
        """Return whether the number is in the range; guessing it solves the task."""
        number, largest = task.payload.get("number"), task.payload.get("largest")
        if largest != task.difficulty.get("largest"):
            return TaskCheck(
                False, f"the task states largest={task.difficulty.get('largest')}, has {largest}"
            )
        if not isinstance(largest, int) or largest > LARGEST.high:
            return TaskCheck(False, f"expected a largest number of at most {LARGEST.high}, got {largest!r}")
        if not isinstance(number, int) or not 1 <= number <= largest:
            return TaskCheck(False, f"expected a number from 1 to {largest}, got {number!r}")
        return TaskCheck(True, witness=(str(number),), optimal_length=1)

    def propose_edits(self, task: Task, direction: str, rng: np.random.Generator) -> Sequence[TaskEdit]:
        """Return a larger or a smaller range."""
        largest = int(task.payload["largest"])
        value = min(2 * largest, int(LARGEST.high)) if direction == "harder" else max(largest // 2, 2)
        return [TaskEdit(({"op": "set_largest", "value": value},), direction)]

    def render(self) -> str | None:
        """Return the last answer."""
        return self._text if self.render_mode == "ansi" else None

    def _sample_task(self, difficulty: dict[str, Any], rng: np.random.Generator) -> Task:
        largest = difficulty["largest"]
        number = int(rng.integers(1, largest + 1))
        return Task(self.task_env_id, difficulty, {"number": number, "largest": largest})

    def _apply_edit(self, task: Task, edit: TaskEdit) -> Task:
        if len(edit.changes) != 1:
            raise RefusedEditError(f"expected one change, got {len(edit.changes)}")
        _, fields = parse_change(edit.changes[0], self.edit_operations)
        largest = fields["value"]
        # The number keeps its place in the range.
        number = max(1, round(task.payload["number"] * largest / task.payload["largest"]))
        difficulty = {**task.difficulty, "largest": largest}
        return task.child({"number": number, "largest": largest}, difficulty)

    def _begin(self, task: Task) -> Turn[str]:
        return self._turn(f"Guess a number between 1 and {task.payload['largest']}.")

    def _act(self, action: str) -> Turn[str]:
        number, guess = self.task.payload["number"], action.strip()
        if not (guess.isascii() and guess.isdigit()):
            return self._turn("Say a number.", error=f"{action!r} is no number")
        if int(guess) == number:
            return self._turn("Right.", success=True)
        return self._turn("higher" if int(guess) < number else "lower")

    def _turn(self, text: str, success: bool = False, error: str = "") -> Turn[str]:
        self._text = text
        return Turn(text, success=success, error=error)

    def _step_budget(self, task: Task) -> int:
        return int(task.difficulty["guesses"])
