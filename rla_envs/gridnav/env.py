"""``RLA/GridNav-v0``: find the way to a goal on a grid, seen in numbers and moved in by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from rla_envs.adaptive import AdaptiveEnv, Turn
from rla_envs.difficulty import DifficultyParameter, Value
from rla_envs.edit_language import EditOperation
from rla_envs.errors import InputError, InvalidTaskError, unknown_name
from rla_envs.gridnav import edits, render
from rla_envs.gridnav.difficulty import PARAMETERS
from rla_envs.gridnav.generator import sample_grid
from rla_envs.gridnav.grid import DIRECTIONS, ENV_ID, MAX_RADIUS, SPLITS, STAY, STEPS, WIDTH
from rla_envs.gridnav.level import level_of
from rla_envs.gridnav.observation import GOAL, VIEW, Observation, blank, make_space, shaped
from rla_envs.task import Task, TaskCheck, TaskEdit, require_task

ACTIONS = (*DIRECTIONS, "stay")
BUMPS = (*(f"a wall is in the way to the {direction}" for direction in DIRECTIONS), "")
"""``info["rla"]["last_action_error"]`` of each action that had no effect; staying always has."""


class GridNavEnv(AdaptiveEnv[Observation, np.int64]):
    """Walk to the goal on a square grid with walls, wind, and a goal that may wander.

    **Actions** 0 to 3 step north, east, south and west; 4 stays. Walls and the
    edge stop a step. Then, if there is a gust, the wind pushes the robot one
    cell in the task's wind direction, unless a wall is there. Then the goal
    may move. The task is solved when the robot is on the goal after the wind,
    before or after the goal's own move. Gusts and the goal's walk come from
    the task's seed: one task is one episode, and the plan that
    :meth:`check_task` returns solves it exactly.

    **Observations** are 125 numbers from -1 to 1, a vector that any library's
    standard network takes: the 11 x 11 cells around the robot, row by row
    from the north-west (1 wall, 0 open, -1 outside ``view_radius``); then how
    many rows south and columns east the goal is, each cut to
    ``view_radius`` and divided by 5; then the wind's probability, as rows
    south and columns east. With ``observation="dict"`` the same three parts come as
    ``"view"`` (11 x 11), ``"goal"`` and ``"wind"``.

    For ``info["rla"]``, rewards, options and endings see
    :class:`~rla_envs.adaptive.AdaptiveEnv`; for the difficulty parameters
    :data:`rla_envs.gridnav.difficulty.PARAMETERS`. Many grids at once, in
    NumPy: ``gymnasium.make_vec("RLA/GridNav-v0", 1024)``.

    Args:
        split: ``"train"`` or ``"valid"``; a hash of walls, start and goal holds
            a tenth of all layouts out for ``"valid"``.
        difficulty: Values of some or all difficulty parameters, by name.
        render_mode: ``"ansi"``, ``"rgb_array"`` or None.
        observation: ``"box"`` or ``"dict"``.

    Raises:
        InputError: On an unknown split, render mode, kind of observation or
            difficulty parameter, or a value out of range.

    Example:
        >>> import gymnasium, rla_envs
        >>> env = gymnasium.make("RLA/GridNav-v0", difficulty={"size": 5})
        >>> observation, info = env.reset(seed=0)
        >>> observation.shape, info["rla"]["step_budget"]
        ((125,), 15)
        >>> for action in env.unwrapped.check_task(env.unwrapped.task).witness:
        ...     observation, reward, terminated, truncated, info = env.step(action)
        >>> reward, terminated
        (1.0, True)
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 8}  # noqa: RUF012 - Gymnasium's own form
    task_env_id: ClassVar[str] = ENV_ID
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]] = PARAMETERS
    edit_operations: ClassVar[tuple[EditOperation, ...]] = edits.EDIT_OPERATIONS

    def __init__(
        self,
        split: str = "train",
        difficulty: Mapping[str, object] | None = None,
        render_mode: str | None = None,
        observation: str = "box",
    ) -> None:
        """Set up; see the class for the arguments."""
        if split not in SPLITS:
            raise unknown_name("split", split, SPLITS)
        super().__init__(difficulty, render_mode)
        self.split = split
        self.observation_space = make_space(observation)
        self.action_space = spaces.Discrete(len(STEPS))
        self._observation_kind = observation

    def check_task(self, task: Task) -> TaskCheck:
        """Return whether a task can be played, with a shortest plan under its own gusts and goal moves."""
        require_task(task, "check_task")
        try:
            plan = level_of(task).plan
        except InvalidTaskError as error:
            return TaskCheck(False, str(error))
        return TaskCheck(True, witness=plan, optimal_length=len(plan))

    def render(self) -> Any:
        """Return the grid as text (``"ansi"``) or as a picture of 24 x 24 pixels a cell (``"rgb_array"``)."""
        if self.render_mode is None:
            return None
        scene = render.Scene(self._level, self._cell, self._steps, self._success)
        return render.as_text(scene) if self.render_mode == "ansi" else render.as_picture(scene)

    def propose_edits(self, task: Task, direction: str, rng: np.random.Generator) -> Sequence[TaskEdit]:
        """Return single-step edits in random order; see :mod:`rla_envs.gridnav.edits`."""
        return edits.propose_edits(level_of(task), task, direction, rng)

    def describe_task(self, task: Task) -> str:
        """Return a map of the task, and its difficulty in words."""
        level = level_of(task)
        scene = render.Scene(level, level.grid.start.number, 0, False)
        return f"{render.as_text(scene)}\n{super().describe_task(task)}"

    def _sample_task(self, difficulty: dict[str, Value], rng: np.random.Generator) -> Task:
        return Task(self.task_env_id, difficulty, sample_grid(self.split, difficulty, rng).payload())

    def _apply_edit(self, task: Task, edit: TaskEdit) -> Task:
        return edits.apply_edit(task, edit)

    def _step_budget(self, task: Task) -> int:
        return self._budget

    def _begin(self, task: Task) -> Turn[Observation]:
        level = level_of(task)
        grid, weather = level.grid, level.weather
        self._level, self._budget = level, level.step_budget
        self._walls, self._wind_step = grid.wall_bytes, level.wind_step
        self._gusts, self._goals = weather.gusts, weather.goals
        self._canvas = np.frombuffer(self._walls, np.uint8).reshape(WIDTH, WIDTH)
        self._blank = blank(level.wind, level.wind_step)
        self._radius = level.view_radius
        self._seen = slice(MAX_RADIUS - self._radius, MAX_RADIUS + self._radius + 1)
        self._cell = grid.start.number
        return Turn(self._observe(self._goals[0]))

    def _act(self, action: np.int64 | int) -> Turn[Observation]:
        # Every word here is paid for some fifty thousand times a second.
        time, walls = self._steps, self._walls
        if time >= self._budget:
            raise InputError("the episode is over; call reset()")
        try:
            if action < 0:
                raise IndexError
            cell = self._cell + STEPS[action]
        except (IndexError, TypeError) as error:
            raise InputError(f"action: expected an integer from 0 to {STAY}, got {action!r}") from error
        if bumped := walls[cell]:
            cell = self._cell
        if self._gusts[time] and not walls[cell + self._wind_step]:
            cell += self._wind_step
        self._cell = cell
        goal = self._goals[time + 1]
        solved = cell == goal or cell == self._goals[time]
        return Turn(self._observe(goal), solved, False, BUMPS[action] if bumped else "")

    def _observe(self, goal: int) -> Observation:
        radius = self._radius
        row, column = divmod(self._cell, WIDTH)
        goal_row, goal_column = divmod(goal, WIDTH)
        vector = self._blank.copy()
        vector[:GOAL].reshape(VIEW, VIEW)[self._seen, self._seen] = self._canvas[
            row - radius : row + radius + 1, column - radius : column + radius + 1
        ]
        vector[GOAL] = max(-radius, min(radius, goal_row - row)) / MAX_RADIUS
        vector[GOAL + 1] = max(-radius, min(radius, goal_column - column)) / MAX_RADIUS
        return vector if self._observation_kind == "box" else shaped("dict", vector)
