"""Many grids at once, in NumPy: the episodes of Gymnasium's sync vector, without its loop over members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from rla_envs.errors import InputError, unknown_name
from rla_envs.gridnav import render
from rla_envs.gridnav.env import BUMPS, GridNavEnv
from rla_envs.gridnav.grid import MAX_RADIUS, STAY, STEPS, WIDTH
from rla_envs.gridnav.level import Level, level_of
from rla_envs.gridnav.observation import GOAL, LENGTH, OFFSETS, Observation, blank, in_view, shaped
from rla_envs.task import Task

_STEPS = np.array(STEPS)
_BUMPS = np.array(BUMPS, object)
_CALLS = ("difficulty", "set_difficulty", "task")


class GridNavVectorEnv(VectorEnv[Observation, NDArray[np.int64], NDArray[Any]]):
    """Step many GridNav members in one go.

    Everything that ``reset`` and ``step`` return is what
    ``rla_envs.make_vec("RLA/GridNav-v0", n, "sync")`` returns: member ``i`` of
    ``reset(seed=s)`` starts with seed ``s + i``, a member that has ended is
    reset by the next step, and ``options`` hold for the first episode of each
    member only. ``call("set_difficulty", {...})`` changes all later episodes.

    Args:
        num_envs: Number of members.
        **kwargs: The keywords of :class:`~rla_envs.gridnav.env.GridNavEnv`.

    Example:
        >>> import gymnasium, rla_envs
        >>> envs = gymnasium.make_vec("RLA/GridNav-v0", 64)
        >>> observations, infos = envs.reset(seed=0)
        >>> observations, rewards, terminations, truncations, infos = envs.step([0] * 64)
        >>> observations.shape
        (64, 125)
    """

    metadata = {**GridNavEnv.metadata, "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    _cells: NDArray[np.int64]
    _times: NDArray[np.int64]
    _budgets: NDArray[np.int64]
    _wind_steps: NDArray[np.int64]

    def __init__(self, num_envs: int = 1, **kwargs: Any) -> None:
        """Make room for the members; see the class for the arguments."""
        self._env = GridNavEnv(**kwargs)
        self._kind = str(kwargs.get("observation", "box"))
        self.num_envs = num_envs
        self.render_mode = self._env.render_mode
        self.single_observation_space = self._env.observation_space
        self.single_action_space = self._env.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._generators: list[np.random.Generator | None] = [None] * num_envs
        self._levels: list[Level] = []
        self._tasks: list[Task] = []

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode of every member.

        Args:
            seed: One seed (member ``i`` gets ``seed + i``), or one per member.
            options: As for one environment; they hold for these episodes only.
        """
        if seed is None or isinstance(seed, int):
            seed = [None if seed is None else seed + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise InputError(f"seed: expected an integer or {self.num_envs} of them, got {len(seed)}")
        self._allocate()
        for member, own in enumerate(seed):
            self._begin(member, own, options)
        self._done = np.zeros(self.num_envs, np.bool_)
        return self._observe(), self._infos(np.full(self.num_envs, STAY), self._done)

    def step(
        self, actions: Any
    ) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play one action of every member; those that ended with the last one start anew instead."""
        actions = self._checked(actions)
        ended, rows = np.flatnonzero(self._done), self._rows
        cells = self._cells + _STEPS[actions]
        bumped = self._walls[rows, cells]
        cells[bumped] = self._cells[bumped]
        # A member that is about to be reset may have no gust left; what it does is thrown away.
        times = np.minimum(self._times, self._gusts.shape[1] - 1)
        pushed = cells + self._wind_steps
        blown = self._gusts[rows, times] & ~self._walls[rows, pushed]
        cells[blown] = pushed[blown]
        solved = (cells == self._goals[rows, times]) | (cells == self._goals[rows, times + 1])
        self._cells, self._times = cells, self._times + 1
        for member in ended.tolist():
            self._begin(member, None, None)
        solved[ended] = bumped[ended] = False
        truncated = ~solved & (self._times >= self._budgets)
        self._done = solved | truncated
        infos = self._infos(np.where(bumped, actions, STAY), solved)
        return self._observe(), solved.astype(np.float64), solved, truncated, infos

    def render(self) -> tuple[Any, ...] | None:
        """Return every member's picture or text."""
        if self.render_mode is None:
            return None
        draw = render.as_text if self.render_mode == "ansi" else render.as_picture
        state = zip(self._levels, self._cells, self._times, self._solved, strict=True)
        return tuple(
            draw(render.Scene(level, int(cell), int(time), bool(solved)))
            for level, cell, time, solved in state
        )

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every member, or read an attribute, as Gymnasium's vectors do.

        Args:
            name: ``"set_difficulty"``, which holds from every member's next
                episode on, ``"difficulty"`` or ``"task"``.
            *args: Arguments of the method.
            **kwargs: Keywords of the method.

        Raises:
            UnknownNameError: On another name: members are no objects here.
        """
        if name not in _CALLS:
            raise unknown_name("call", name, _CALLS)
        if name == "task":
            return tuple(self._tasks)
        found = getattr(self._env, name)
        return (found(*args, **kwargs) if callable(found) else found,) * self.num_envs

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Read an attribute of every member; see :meth:`call`."""
        return self.call(name)

    def _checked(self, actions: Any) -> NDArray[np.int64]:
        given = np.asarray(actions)
        fits = given.shape == (self.num_envs,) and np.issubdtype(given.dtype, np.integer)
        if not fits or given.min() < 0 or given.max() > STAY:
            raise InputError(
                f"actions: expected {self.num_envs} integers from 0 to {STAY}, got {given.dtype} of shape "
                f"{given.shape}{f' from {given.min()} to {given.max()}' if fits else ''}"
            )
        if not self._levels:
            raise InputError("the members have no task yet; call reset() first")
        return given.astype(np.int64)

    def _allocate(self) -> None:
        count = self.num_envs
        self._rows = np.arange(count)
        self._walls = np.zeros((count, WIDTH * WIDTH), np.bool_)
        self._gusts = np.zeros((count, 64), np.bool_)
        self._goals = np.zeros((count, 65), np.int64)
        self._cells, self._times, self._budgets, self._wind_steps, self._radii = np.zeros(
            (5, count), np.int64
        )
        self._blanks = np.zeros((count, LENGTH), np.float32)
        self._in_view = np.zeros((count, GOAL), np.bool_)
        self._ids = np.full(count, None, object)
        self._difficulty = {
            p.name: np.zeros(count, np.float64 if p.continuous else np.int64)
            for p in self._env.difficulty_parameters
        }
        self._levels, self._tasks = [None] * count, [None] * count  # type: ignore[list-item]

    def _begin(self, member: int, seed: int | None, options: dict[str, Any] | None) -> None:
        """Start a member's next episode: the task is the one that a single environment would draw."""
        generator = self._generators[member]
        if seed is None:
            self._env.np_random = seeding.np_random()[0] if generator is None else generator
        self._env.reset(seed=seed, options=options)
        self._generators[member] = self._env.np_random
        task = self._tasks[member] = self._env.task
        level = self._levels[member] = level_of(task)
        budget = level.step_budget
        if (missing := budget - self._gusts.shape[1]) > 0:
            self._gusts = np.pad(self._gusts, ((0, 0), (0, missing)))
            self._goals = np.pad(self._goals, ((0, 0), (0, missing)))
        self._walls[member] = np.frombuffer(level.grid.wall_bytes, np.bool_)
        self._gusts[member, :budget] = level.weather.gusts[:budget]
        self._goals[member, : budget + 1] = level.weather.goals[: budget + 1]
        self._cells[member], self._times[member] = level.grid.start.number, 0
        self._budgets[member], self._wind_steps[member] = budget, level.wind_step
        self._radii[member] = level.view_radius
        self._blanks[member] = blank(level.wind, level.wind_step)
        self._in_view[member] = in_view(level.view_radius)
        self._ids[member] = task.id
        for name, values in self._difficulty.items():
            values[member] = task.difficulty[name]

    def _observe(self) -> Observation:
        vectors = self._blanks.copy()
        around = self._walls.ravel()[(self._rows * WIDTH**2 + self._cells)[:, None] + OFFSETS]
        np.copyto(vectors[:, :GOAL], around, where=self._in_view)
        goals = self._goals[self._rows, self._times]
        for place, (goal, own) in enumerate(
            zip(np.divmod(goals, WIDTH), np.divmod(self._cells, WIDTH), strict=True), GOAL
        ):
            vectors[:, place] = np.clip(goal - own, -self._radii, self._radii) / MAX_RADIUS
        return shaped(self._kind, vectors)

    def _infos(self, bumps: NDArray[np.int64], solved: NDArray[np.bool_]) -> dict[str, Any]:
        """Return what Gymnasium makes of the members' infos: an array and a mask for every entry."""
        self._solved = solved
        entries = {
            "task_id": self._ids.copy(),
            "difficulty": _masked({name: values.copy() for name, values in self._difficulty.items()}),
            "success": solved.copy(),
            "last_action_error": _BUMPS[bumps],
            "steps": self._times.copy(),
            "step_budget": self._budgets.copy(),
        }
        return _masked({"rla": _masked(entries)}, self.num_envs)


def _masked(entries: dict[str, Any], count: int | None = None) -> dict[str, Any]:
    size = len(next(iter(entries.values()))) if count is None else count
    return {**entries, **{f"_{name}": np.ones(size, np.bool_) for name in entries}}
