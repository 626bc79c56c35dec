"""Many episodes side by side: environments in this process or in worker processes.

Slots are numbered; each holds one environment. The results do not depend on the
number of workers. A worker that dies takes the episodes of its slots with it
(each is answered by a ``failure``) and is started again. Any other exception in
a worker is raised here, as it would be without workers.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
import traceback
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rla_agents.environments import make_env
from rla_envs.errors import InfrastructureError, InvalidTaskError, RLAError
from rla_envs.task import Task

_SAMPLE_RETRIES = 2
"""How often a task is sampled again after a failure of the machinery."""


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
        picture: The screen, uint8, height x width x 3, if the policy sees pictures and there is one.
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
    picture: NDArray[np.uint8] | None = None


class _Slots:
    """The environments of one process, made when first used."""

    def __init__(self, env_id: str, kwargs: Mapping[str, Any], sees: bool) -> None:
        self._env_id, self._kwargs, self._sees = env_id, kwargs, sees
        self._envs: dict[int, gym.Env[Any, Any]] = {}
        self._sampler: gym.Env[Any, Any] | None = None

    def _make(self) -> gym.Env[Any, Any]:
        return make_env(self._env_id, self._kwargs)

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
        text, picture = _look(env, observation, info, self._sees, first=True)
        return _seen(env, text, info)._replace(picture=picture)

    def _step(self, slot: int, action: str) -> Seen:
        if slot not in self._envs:
            raise InfrastructureError("the worker process died, and the episodes of its slots with it")
        env = self._envs[slot]
        observation, reward, terminated, truncated, info = env.step(action)
        text, picture = _look(env, observation, info, self._sees, first=False)
        return _seen(env, text, info, float(reward), terminated, truncated)._replace(picture=picture)

    def close(self) -> None:
        for env in [*self._envs.values(), *([self._sampler] if self._sampler else [])]:
            env.close()


def _look(
    env: gym.Env[Any, Any], observation: Any, info: dict[str, Any], sees: bool, first: bool
) -> tuple[str, NDArray[np.uint8] | None]:
    """Return what the policy reads and sees of an observation.

    A desktop's first text is the instruction and the size of the screen, whose
    pixels are the places in actions, however large the model sees it; later it
    is why the last action failed, if it did. Who sees no screenshot reads the
    accessibility tree.
    """
    if not isinstance(observation, Mapping):
        return observation, None
    picture = observation.get("screenshot") if sees else None
    parts = [info["rla"]["last_action_error"]]
    if first:
        width, height = env.get_wrapper_attr("screen_size")
        parts = [observation["instruction"], f"The screen is {width} x {height} pixels."]
    if picture is None:
        parts.append(observation.get("accessibility_tree", ""))
    return "\n".join(filter(None, parts)), picture


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


def _serve(connection: Connection, env_id: str, kwargs: Mapping[str, Any], sees: bool) -> None:
    # Ctrl-C reaches the whole process group; when workers end is the parent's business.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    slots = _Slots(env_id, kwargs, sees)
    with contextlib.suppress(EOFError, OSError):  # the parent closed the pipe, or is gone
        while True:
            request = connection.recv()
            answer: list[Any] | Exception
            try:
                answer = slots.handle(request)
            except Exception as error:
                answer = _portable(error)
            connection.send(answer)


def _portable(error: Exception) -> Exception:
    """Return an exception that survives the pipe, with its traceback as a note."""
    text = "".join(traceback.format_exception(error))
    error.add_note(f"In a worker process:\n{text}")
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"a worker process failed:\n{text}")
    return error


class _Worker:
    """One process with environments, and the pipe to it."""

    def __init__(self, env_id: str, kwargs: Mapping[str, Any], sees: bool) -> None:
        # Spawned, not forked: a fork would copy torch's threads in an undefined state.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        arguments = (theirs, env_id, dict(kwargs), sees)
        self.process = context.Process(target=_serve, args=arguments, daemon=True)
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
        env_id: A registered id with text observations and actions, or with a desktop's observations:
            ``instruction`` and ``screenshot`` or ``accessibility_tree``.
        kwargs: Keywords of the environment.
        workers: Number of processes; 0 runs everything in this one.
        sees: Whether the policy sees pictures.

    Raises:
        InputError: At the first use, if the environment refuses ``kwargs``.
    """

    def __init__(self, env_id: str, kwargs: Mapping[str, Any], workers: int = 0, sees: bool = False) -> None:
        """Start the workers; see the class for the arguments."""
        self._env_id, self._kwargs, self._sees = env_id, dict(kwargs), sees
        self._local = _Slots(env_id, kwargs, sees) if workers == 0 else None
        self._workers = [_Worker(env_id, kwargs, sees) for _ in range(workers)]
        self._home: list[int] = []

    def sample(
        self, wanted: Sequence[tuple[Mapping[str, Any] | None, Sequence[int]]]
    ) -> list[Task | InvalidTaskError]:
        """Return one random task per (difficulty, seed), made by the workers side by side.

        A difficulty that has no valid task is answered by the error that says why.

        Raises:
            InfrastructureError: If the machinery failed every time.
        """
        placed = list(zip(self._blocks(len(wanted)), wanted, strict=True))
        made = self._run("sample", placed)
        for _ in range(_SAMPLE_RETRIES):
            broken = [index for index, task in enumerate(made) if isinstance(task, Seen)]
            for index, task in zip(broken, self._run("sample", [placed[i] for i in broken]), strict=True):
                made[index] = task
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
        sent: list[int] = []
        crash: Exception | None = None
        for worker, indices in by_worker.items():
            try:
                self._workers[worker].connection.send((name, [placed[i][1] for i in indices]))
                sent.append(worker)
            except OSError:
                self._replace(worker)
        for worker in sent:
            try:
                received = self._workers[worker].connection.recv()
            except (EOFError, OSError):
                self._replace(worker)
                continue
            if isinstance(received, Exception):
                crash = received
                continue
            for index, answer in zip(by_worker[worker], received, strict=True):
                answers[index] = answer
        if crash is not None:  # raised only now, when no answer is left in a pipe
            raise crash
        return answers

    def _replace(self, worker: int) -> None:
        self._workers[worker].close()
        self._workers[worker] = _Worker(self._env_id, self._kwargs, self._sees)
