"""Many episodes side by side: environments in this process or in worker processes.

Slots are numbered; each holds one environment. The results do not depend on the
number of workers. A worker that dies takes the episodes of its slots with it
(:class:`~rla_envs.errors.InfrastructureError` for each) and is started again.
"""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from rla_envs.errors import InfrastructureError, InvalidTaskError, RLAError
from rla_envs.task import Task


class Seen(NamedTuple):
    """What an environment answered.

    Attributes:
        observation: The text.
        commands: Admissible commands; empty if the environment lists none.
        reward: The environment's reward.
        terminated: Whether the episode ended by success or failure.
        truncated: Whether the step budget ended it.
        success: Whether the task is solved.
        error: Why the last action had no effect.
        remaining: Steps of a shortest plan from here, or None if unknown.
        failure: What broke, if the machinery did; then nothing else counts.
    """

    observation: str = ""
    commands: tuple[str, ...] = ()
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    success: bool = False
    error: str = ""
    remaining: int | None = None
    failure: str = ""


class _Slots:
    """The environments of one process, made when first used."""

    def __init__(self, env_id: str, kwargs: Mapping[str, Any]) -> None:
        import rla_envs  # registers the ids  # noqa: F401

        self._env_id, self._kwargs = env_id, kwargs
        self._envs: dict[int, gym.Env[Any, Any]] = {}
        self._sampler: gym.Env[Any, Any] | None = None

    def _make(self) -> gym.Env[Any, Any]:
        return gym.make(self._env_id, **self._kwargs)

    def handle(self, request: tuple[str, list[Any]]) -> list[Any]:
        name, arguments = request
        return [self._guarded(name, argument) for argument in arguments]

    def _guarded(self, name: str, argument: Any) -> Any:
        try:
            return getattr(self, f"_{name}")(*argument)
        except InfrastructureError as error:
            return Seen(failure=str(error) or type(error).__name__)
        except RLAError as error:
            return error

    def _sample(self, difficulty: Mapping[str, Any] | None, seed: Sequence[int]) -> Task:
        if self._sampler is None:
            self._sampler = self._make()
        source: Any = self._sampler.unwrapped
        task: Task = source.sample_task(difficulty, np.random.default_rng(seed))
        return task

    def _reset(self, slot: int, task: Task, seed: int) -> Seen:
        if slot not in self._envs:
            self._envs[slot] = self._make()
        env = self._envs[slot]
        observation, info = env.reset(seed=seed, options={"task": task})
        return _seen(env, observation, info)

    def _step(self, slot: int, action: str) -> Seen:
        env = self._envs[slot]
        observation, reward, terminated, truncated, info = env.step(action)
        return _seen(env, observation, info, float(reward), terminated, truncated)

    def close(self) -> None:
        for env in [*self._envs.values(), *([self._sampler] if self._sampler else [])]:
            env.close()


def _seen(
    env: gym.Env[Any, Any],
    observation: str,
    info: dict[str, Any],
    reward: float = 0.0,
    terminated: bool = False,
    truncated: bool = False,
) -> Seen:
    plan = getattr(env.unwrapped, "optimal_plan", None)
    return Seen(
        observation=observation,
        commands=tuple(info.get("admissible_commands", ())),
        reward=reward,
        terminated=terminated,
        truncated=truncated,
        success=bool(info["rla"]["success"]),
        error=info["rla"]["last_action_error"],
        remaining=None if plan is None else len(plan()),
    )


def _serve(connection: Connection, env_id: str, kwargs: Mapping[str, Any]) -> None:
    slots = _Slots(env_id, kwargs)
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        while True:
            connection.send(slots.handle(connection.recv()))


class _Worker:
    """One process with environments, and the pipe to it."""

    def __init__(self, env_id: str, kwargs: Mapping[str, Any]) -> None:
        # Spawned, not forked: a fork would copy torch's threads in an undefined state.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, env_id, dict(kwargs)), daemon=True)
        self.process.start()
        theirs.close()

    def close(self) -> None:
        self.connection.close()
        self.process.join(timeout=2)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class EnvPool:
    """A fixed set of environments that are reset and stepped together.

    Args:
        env_id: A registered id with text observations and actions.
        kwargs: Keywords of the environment.
        workers: Number of processes; 0 runs everything in this one.

    Raises:
        InputError: At the first use, if the environment refuses ``kwargs``.
    """

    def __init__(self, env_id: str, kwargs: Mapping[str, Any], workers: int = 0) -> None:
        """Start the workers; see the class for the arguments."""
        self._env_id, self._kwargs = env_id, dict(kwargs)
        self._local = _Slots(env_id, kwargs) if workers == 0 else None
        self._workers = [_Worker(env_id, kwargs) for _ in range(workers)]

    def sample(
        self, wanted: Sequence[tuple[Mapping[str, Any] | None, Sequence[int]]]
    ) -> list[Task | InvalidTaskError]:
        """Return one random task per (difficulty, seed), made by the workers side by side.

        A difficulty that has no valid task is answered by the error that says why.
        """
        blocks = self._blocks(len(wanted))
        made = self._run("sample", list(zip(blocks, wanted, strict=True)))
        for task in made:
            if isinstance(task, Seen):
                raise InfrastructureError(f"no task could be made: {task.failure}")
        return made

    def reset(self, tasks: Sequence[Task], seed: int) -> list[Seen]:
        """Start one episode per task in slots 0, 1, ...; equal tasks side by side share a worker's cache."""
        self._home = self._blocks(len(tasks))
        arguments = [(slot, task, seed) for slot, task in enumerate(tasks)]
        return self._run("reset", list(zip(self._home, arguments, strict=True)))

    def restart(self, slot: int, task: Task, seed: int) -> Seen:
        """Start the episode of one slot again."""
        answer: Seen = self._run("reset", [(self._home[slot], (slot, task, seed))])[0]
        return answer

    def step(self, actions: Mapping[int, str]) -> list[Seen]:
        """Play one action in each of the given slots, in the order of the mapping."""
        return self._run("step", [(self._home[slot], (slot, action)) for slot, action in actions.items()])

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.close()
        if self._local is not None:
            self._local.close()

    def __enter__(self) -> EnvPool:
        """Return the pool."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the workers."""
        self.close()

    def _blocks(self, count: int) -> list[int]:
        """Return the worker of each of ``count`` things: neighbours together, evenly spread."""
        return [i * len(self._workers) // count for i in range(count)] if self._workers else [0] * count

    def _run(self, name: str, placed: Sequence[tuple[int, tuple[Any, ...]]]) -> list[Any]:
        if self._local is not None:
            answers = self._local.handle((name, [argument for _, argument in placed]))
        else:
            answers = self._run_apart(name, placed)
        for answer in answers:
            if isinstance(answer, RLAError) and not (
                name == "sample" and isinstance(answer, InvalidTaskError)
            ):
                raise answer
        return answers

    def _run_apart(self, name: str, placed: Sequence[tuple[int, tuple[Any, ...]]]) -> list[Any]:
        by_worker: dict[int, list[int]] = {}
        for index, (worker, _) in enumerate(placed):
            by_worker.setdefault(worker, []).append(index)
        answers: list[Any] = [Seen(failure="the worker process died")] * len(placed)
        sent = []
        for worker, indices in by_worker.items():
            try:
                self._workers[worker].connection.send((name, [placed[i][1] for i in indices]))
                sent.append(worker)
            except OSError:
                self._replace(worker)
        for worker in sent:
            try:
                for index, answer in zip(
                    by_worker[worker], self._workers[worker].connection.recv(), strict=True
                ):
                    answers[index] = answer
            except (EOFError, OSError):
                self._replace(worker)
        return answers

    def _replace(self, worker: int) -> None:
        self._workers[worker].close()
        self._workers[worker] = _Worker(self._env_id, self._kwargs)
