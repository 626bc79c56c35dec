"""Where real games come from: alfworld's data set, or one file."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from rla_envs.alfworld.dataset import DataSet, data_root
from rla_envs.alfworld.difficulty import PARAMETERS
from rla_envs.alfworld.gamefile import defect_of, read_game_file
from rla_envs.alfworld.real_game import RealGame, check_data, is_real, payload_of
from rla_envs.alfworld.scene import TASK_TYPES
from rla_envs.alfworld.scene_game import SceneGame
from rla_envs.difficulty import DifficultyParameter, Value, parse_difficulty
from rla_envs.errors import InvalidTaskError, RLAError
from rla_envs.step_budget import stated_step_budget
from rla_envs.task import Task, TaskCheck

Check = Callable[[Task], TaskCheck]

_DRAWS = 16
"""How many games are tried before it is said that none can be played."""


def _length(task: Task) -> float:
    plan = next(open_game(task).plans())
    return float(len(plan.commands))


_BUDGET = next(p for p in PARAMETERS if p.name == "step_budget")
_TASK_TYPE = DifficultyParameter(
    name="task_type",
    low=0,
    high=len(TASK_TYPES) - 1,
    default=None,
    names=TASK_TYPES,
    meaning="which of ALFRED's six kinds of goal; a game of any kind unless given",
    statistic=_length,
)
REAL_PARAMETERS = (_TASK_TYPE, _BUDGET)
"""What can be chosen of real games, which are otherwise as they are."""


_OPEN: weakref.WeakValueDictionary[tuple[str, Path], DataSet] = weakref.WeakValueDictionary()


def _dataset(split: str) -> DataSet:
    """Return a split; environments that live at the same time share it, as the members of a vector do."""
    key = split, data_root().absolute()
    found = _OPEN.get(key)
    if found is None:
        found = _OPEN[key] = DataSet(split)
    return found


class DataSetGames:
    """The games of one split of alfworld's data set.

    Args:
        split: The split.
        env_id: The environment that is to play them.

    Raises:
        InputError: If there are none.
    """

    parameters = REAL_PARAMETERS

    def __init__(self, split: str, env_id: str) -> None:
        """Find the games."""
        self._env_id = env_id
        self.dataset = _dataset(split)

    def sample(self, given: Mapping[str, Value], rng: np.random.Generator, check: Check) -> Task:
        """Return a random game of the task type given, or of any, that passes a check.

        Raises:
            InvalidTaskError: If there is none of that type, or the last of a few drawn did not pass.
        """
        games = self.dataset.games
        if "task_type" in given:
            kind = TASK_TYPES[int(given["task_type"])]
            games = tuple(game for game in games if game.task_type == kind)
            if not games:
                have = ", ".join(sorted({game.task_type for game in self.dataset.games}))
                raise InvalidTaskError(
                    f"split {self.dataset.split!r} has no {kind} game that can be played; it has {have}"
                )
        reason = ""
        for _ in range(_DRAWS):
            game = games[int(rng.integers(len(games)))]
            task = self.dataset.task(game, self._env_id, _budget(given))
            checked = check(task)
            if checked.valid:
                return task
            reason = f"{self.dataset.path(game)}: {checked.reason}"
        raise InvalidTaskError(f"no game in {_DRAWS} draws can be played; the last one is {reason}")

    def every(self, given: Mapping[str, Value]) -> list[Task]:
        """Return all games, in the order of the data set."""
        return [self.dataset.task(game, self._env_id, _budget(given)) for game in self.dataset.games]


class OneGame:
    """The game of one file: only its step budget can be chosen.

    Args:
        path: The file.
        env_id: The environment that is to play it.

    Raises:
        InputError: If there is no game in it that can be played; names the file and the defect.
    """

    parameters = (_BUDGET,)

    def __init__(self, path: str, env_id: str) -> None:
        """Read the game."""
        file = read_game_file(path)
        self._path, self._env_id = path, env_id
        try:
            check_data(file.data)
            self._payload = payload_of(file.data, walkthrough=file.walkthrough)
            kind = RealGame(self._payload).task_type
        except InvalidTaskError as error:
            raise defect_of(file, error) from error
        self._fixed = {} if kind is None else {"task_type": TASK_TYPES.index(kind)}

    def sample(self, given: Mapping[str, Value], rng: np.random.Generator, check: Check) -> Task:
        """Return the game.

        Raises:
            InvalidTaskError: If it does not pass the check.
        """
        task = self.every(given)[0]
        checked = check(task)
        if not checked.valid:
            raise InvalidTaskError(f"game file {self._path}: {checked.reason}")
        return task

    def every(self, given: Mapping[str, Value]) -> list[Task]:
        """Return the game, alone."""
        return [Task(self._env_id, {**self._fixed, "step_budget": _budget(given)}, self._payload)]


def _budget(given: Mapping[str, Value]) -> float:
    default = _BUDGET.default
    assert default is not None
    return float(given.get("step_budget", default))


@functools.lru_cache(maxsize=64)
def open_game(task: Task) -> SceneGame | RealGame:
    """Return the game of a task; one opened a moment ago is not read again.

    Raises:
        InvalidTaskError: If it is malformed or not supported, or its difficulty is not its own.
    """
    if not is_real(task):
        return SceneGame(task)
    game = RealGame(task.payload)
    kind = game.task_type
    expected = {} if kind is None else {"task_type": TASK_TYPES.index(kind)}
    try:
        stated = parse_difficulty(REAL_PARAMETERS, task.difficulty)
    except RLAError as error:
        raise InvalidTaskError(str(error)) from error
    if {name: value for name, value in stated.items() if name != "step_budget"} != expected:
        raise InvalidTaskError(
            f"the task states {dict(stated)}, its game is of type {kind or 'no known type'}"
        )
    stated_step_budget(task)
    return game
