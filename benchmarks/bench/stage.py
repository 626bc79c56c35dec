"""The environment's side of a benchmark: tasks by number, and one running episode at a time."""

from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from benchmarks.bench.screenshots import picture_of
from benchmarks.bench.suites import Suite
from rla_agents.environments import make_env
from rla_envs.adaptive import AdaptiveEnv
from rla_envs.difficulty import parse_difficulty
from rla_envs.errors import InputError
from rla_envs.spaces import Unicode
from rla_envs.task import Task, canonical_json

_VARIABLE = re.compile(r"\$\{(\w+)\}")


class Seen(NamedTuple):
    """What the environment shows after a reset or a step.

    Attributes:
        observation: As the agent gets it.
        info: As the agent gets it.
        text: The observation as text, for people.
        details: What the environment reports about the last action, as JSON.
        reward: Of the last action.
        terminated: Whether the task is solved or lost.
        truncated: Whether the step budget is used up.
        success: The environment's verdict.
        error: Why the last action had no effect.
        screenshot: The observation's screenshot as a PNG file; empty if it has none.
    """

    observation: Any
    info: dict[str, Any]
    text: str
    details: dict[str, Any]
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    success: bool = False
    error: str = ""
    screenshot: bytes = b""


class Opening(NamedTuple):
    """The start of an episode.

    Attributes:
        seen: The first observation.
        env_id: Registered id of the environment.
        task_id: Name of the task.
        task_hash: SHA-256 of its content.
        difficulty: Its difficulty parameters.
        step_budget: Steps after which it is cut.
        optimal_length: Steps of a shortest solution, or None.
        observation_space: The environment's.
        action_space: The environment's.
        witness: Actions that solve the task.
        whole_answers: Whether an action is all that an agent says.
    """

    seen: Seen
    env_id: str
    task_id: str
    task_hash: str
    difficulty: dict[str, Any]
    step_budget: int
    optimal_length: int | None
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    witness: tuple[Any, ...]
    whole_answers: bool


class Contents(NamedTuple):
    """How many tasks a cell has.

    Attributes:
        tasks: Their number.
        data_hash: SHA-256 of their hashes if they come from a data set, else "".
    """

    tasks: int
    data_hash: str


class Stage:
    """Plays the tasks of a suite, one at a time; made in a process of its own.

    Args:
        suite: The suite.
    """

    def __init__(self, suite: Suite) -> None:
        """Keep the suite; environments are made when first used."""
        self._suite = suite
        self._env_key = ""
        self._made: gym.Env[Any, Any] | None = None
        self._running: gym.Env[Any, Any] | None = None
        self._listed: dict[str, Sequence[Task]] = {}

    def contents(self, index: int) -> Contents:
        """Check a cell and return how many tasks it has.

        Raises:
            InputError: On an unknown environment, keyword or difficulty parameter, or a data set that is
                not there; names the cell.
        """
        cell = self._suite.cells[index]
        try:
            source = self._source(index)
            if cell.tasks:
                parse_difficulty(source.difficulty_parameters, cell.difficulty)
                return Contents(cell.tasks, "")
            hashes = "\n".join(task.content_hash for task in self._tasks(index))
        except InputError as error:
            raise InputError(f"suite {self._suite.name!r}, cell {cell.name!r}: {error}") from error
        return Contents(len(self._tasks(index)), hashlib.sha256(hashes.encode()).hexdigest())

    def begin(self, index: int, number: int, seed: int) -> Opening:
        """Start the episode of a task.

        Args:
            index: Which cell.
            number: Which of its tasks.
            seed: Of the environment's reset.
        """
        env, source = self._env(index), self._source(index)
        task = self._task(index, number)
        check = source.check_task(task)
        observation, info = env.reset(seed=seed, options={"task": task})
        self._running = env
        return Opening(
            seen=self._seen(observation, info),
            env_id=source.task_env_id,
            task_id=task.id,
            task_hash=task.content_hash,
            difficulty=json.loads(json.dumps(task.difficulty)),
            step_budget=source.step_budget,
            optimal_length=check.optimal_length,
            observation_space=env.observation_space,
            action_space=env.action_space,
            witness=check.witness,
            whole_answers=source.whole_answers,
        )

    def step(self, action: Any) -> Seen:
        """Play one action, as ``action_space.to_jsonable([action])`` gives it."""
        env = self._running
        if env is None:
            raise InputError("no episode has begun; call begin()")
        chosen = env.action_space.from_jsonable(action)[0]
        observation, reward, terminated, truncated, info = env.step(chosen)
        seen = self._seen(observation, info)
        return seen._replace(reward=float(reward), terminated=bool(terminated), truncated=bool(truncated))

    def close(self) -> None:
        """Close the environment."""
        made, self._made, self._running = self._made, None, None
        if made is not None:
            made.close()

    def _seen(self, observation: Any, info: dict[str, Any]) -> Seen:
        verdict = info["rla"]
        text = observation if isinstance(observation, str) else self._running_view()
        return Seen(
            observation=observation,
            info=info,
            text=text,
            details=_plain({k: v for k, v in info.items() if k not in ("rla", "admissible_commands")}),
            success=bool(verdict["success"]),
            error=verdict["last_action_error"],
            screenshot=picture_of(observation),
        )

    def _running_view(self) -> str:
        env = self._running
        drawn = env.render() if env is not None and env.render_mode == "ansi" else ""
        return drawn if isinstance(drawn, str) else ""

    def _env(self, index: int) -> gym.Env[Any, Any]:
        """Return the environment of a cell, the last one that was used if it is made the same way.

        One is held at a time: each may own gigabytes, or desktops.
        """
        cell = self._suite.cells[index]
        key = canonical_json([cell.env_id, cell.env])
        if self._made is None or key != self._env_key:
            self.close()
            self._made, self._env_key = _made(cell.env_id, _with_variables(cell.env)), key
        return self._made

    def _source(self, index: int) -> AdaptiveEnv[Any, Any]:
        source = self._env(index).unwrapped
        if not isinstance(source, AdaptiveEnv):
            name = self._suite.cells[index].env_id
            raise InputError(f"expected an adaptive environment, got {name}, which has no tasks of its own")
        return source

    def _tasks(self, index: int) -> Sequence[Task]:
        cell = self._suite.cells[index]
        if cell.name not in self._listed:
            source = self._source(index)
            only = parse_difficulty(source.difficulty_parameters, cell.only)
            tasks = [t for t in source.all_tasks() if all(t.difficulty.get(k) == v for k, v in only.items())]
            if not tasks:
                raise InputError(f"there is no task with {dict(cell.only)}")
            self._listed[cell.name] = tasks
        return self._listed[cell.name]

    def _task(self, index: int, number: int) -> Task:
        cell = self._suite.cells[index]
        if not cell.tasks:
            return self._tasks(index)[number]
        # By name and not by place, so that a cell's tasks stay when others come or go.
        key = (self._suite.seed, zlib.crc32(cell.name.encode()), number)
        return self._source(index).sample_task(cell.difficulty, np.random.default_rng(key))


def _with_variables(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords with the values of the environment variables that they name."""
    filled = dict(kwargs)
    for key, value in kwargs.items():
        named = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
        if named:
            filled[key] = os.environ.get(named[1], "")
            if not filled[key]:
                raise InputError(f"{key}: set the environment variable {named[1]} to where the data lies")
    return filled


def _made(env_id: str, kwargs: Mapping[str, Any]) -> gym.Env[Any, Any]:
    env = make_env(env_id, kwargs)
    if not isinstance(env.observation_space, Unicode) and "ansi" in env.metadata.get("render_modes", ()):
        env.close()
        return make_env(env_id, {**kwargs, "render_mode": "ansi"})
    return env


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are JSON."""
    kept: dict[str, Any] = {}
    for name, value in values.items():
        try:
            kept[name] = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError):
            continue
    return kept
