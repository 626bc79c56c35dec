"""Checks that the same seed and the same task always give the same episode."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from gymnasium.vector.utils import iterate

from rla_envs.conformance.subject import (
    FaultError,
    Subject,
    adaptive,
    choose_action,
    encode,
    require_equal,
    rollout,
    sample_tasks,
)
from rla_envs.registry import make_vec
from rla_envs.task import Task

_SEEDS = (0, 1, 2)


def equal_seeds(subject: Subject) -> None:
    """Two environments with equal seeds play equal episodes, and one plays them again after a reset."""
    for seed in _SEEDS:
        with subject.env() as first, subject.env() as second:
            played = rollout(first, seed, subject.steps)
            require_equal(
                played, rollout(second, seed, subject.steps), f"episodes of seed {seed} in two instances"
            )
            again = rollout(first, seed, subject.steps, one_episode=True)
            require_equal(played[: len(again)], again, f"episodes of seed {seed} in one instance, reset")


def task_round_trip(subject: Subject) -> None:
    """A task read back from its JSON is equal, and plays the episode it was sampled for."""
    for seed in _SEEDS:
        with subject.env() as env:
            sampled = rollout(env, seed, subject.steps, one_episode=True)
            task = adaptive(env).task
        copy = Task.from_json(task.to_json())
        if copy != task or copy.to_json() != task.to_json() or copy.content_hash != task.content_hash:
            raise FaultError(f"task {task.id} is not the same after a JSON round trip")
        with subject.env() as env:
            original = rollout(env, seed, subject.steps, {"task": task}, one_episode=True)
        with subject.env() as env:
            replayed = rollout(env, seed, subject.steps, {"task": copy}, one_episode=True)
        require_equal(original, replayed, f"episodes of task {task.id} and of its JSON round trip")
        # A wrapper may say in info why it chose the task, so info is left out here.
        require_equal(
            [frame[:-1] for frame in sampled],
            [frame[:-1] for frame in replayed],
            f"the episode that sampled task {task.id} and its replay",
        )


def hash_stability(subject: Subject) -> None:
    """Tasks and their hashes are the same in other processes, whatever PYTHONHASHSEED is."""
    count = min(subject.tasks, 10)
    with subject.env() as env:
        if env.spec is None:
            raise FaultError("the environment has no spec; make it through gymnasium.make")
        request = json.dumps({"spec": env.spec.to_json(), "count": count, "seed": 0})
        tasks = sample_tasks(adaptive(env), count, seed=0)
    here = [[task.to_json(), task.content_hash, hash(task)] for task in tasks]
    for hash_seed in ("1", "2"):
        there = _run_child(request, hash_seed)
        require_equal(here, there, f"tasks sampled here and in a process with PYTHONHASHSEED={hash_seed}")


def _run_child(request: str, hash_seed: str) -> Any:
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    done = subprocess.run(
        [sys.executable, "-m", "rla_envs.conformance.child"],
        input=request,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path},
        check=False,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["nothing printed"])[-1]
        raise FaultError(f"sampling tasks in another process failed: {last}")
    return json.loads(done.stdout)


def global_randomness(subject: Subject) -> None:
    """Neither making, resetting nor stepping consumes or reseeds a global random generator."""
    with _own_global_generators():
        before = _global_states()
        with subject.env() as env:
            rollout(env, 0, subject.steps)
        for name, state in _global_states().items():
            if name in before and state != before[name]:
                raise FaultError(f"the global generator of {name} was used; draw from self.np_random only")


@contextmanager
def _own_global_generators() -> Iterator[None]:
    """Give the global generators a state that no environment sets by itself; put the old one back."""
    # Only a program that already uses torch pays for it.
    torch = sys.modules.get("torch")
    states = random.getstate(), np.random.get_state(), torch and torch.get_rng_state()
    random.seed(271828)
    np.random.seed(271828)
    if torch is not None:
        torch.manual_seed(271828)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        if torch is not None:
            torch.set_rng_state(states[2])


def _global_states() -> dict[str, str]:
    states = {"random": repr(random.getstate()), "numpy.random": encode(np.random.get_state(legacy=False))}
    torch = sys.modules.get("torch")
    if torch is not None:
        states["torch"] = encode(torch.get_rng_state().numpy())
    return states


def vector_modes(subject: Subject) -> None:
    """Sync and async vector environments play the same episodes as members made alone."""
    seed, members = 0, 2
    sync, seen = _vector_rollout(subject, "sync", seed, members)
    asynchronous, _ = _vector_rollout(subject, "async", seed, members)
    require_equal(sync, asynchronous, "episodes of sync and async vector environments")
    for member in range(members):
        with subject.env() as env:
            alone = rollout(env, seed + member, subject.steps, one_episode=True)
        observations = [frame[0] for frame in alone]
        require_equal(
            observations,
            seen[member][: len(observations)],
            f"observations alone and as vector member {member}",
        )


def _vector_rollout(
    subject: Subject, mode: str, seed: int, members: int
) -> tuple[list[tuple[Any, ...]], list[list[Any]]]:
    envs = make_vec(subject.env_id, members, mode, **dict(subject.kwargs))
    try:
        # The streams of rollout(), so that a member acts as it does alone.
        rngs = [np.random.default_rng([seed + member, 1]) for member in range(members)]
        frames: list[tuple[Any, ...]] = [envs.reset(seed=seed)]
        for _ in range(subject.steps):
            listed = frames[-1][-1].get("admissible_commands", [None] * members)
            actions = [
                choose_action(envs.single_action_space, commands, rng)
                for commands, rng in zip(listed, rngs, strict=True)
            ]
            frames.append(envs.step(_batch(actions)))
        by_step = [list(iterate(envs.observation_space, frame[0])) for frame in frames]
        return frames, [list(member) for member in zip(*by_step, strict=True)]
    finally:
        envs.close()


def _batch(actions: list[Any]) -> Any:
    return tuple(actions) if isinstance(actions[0], str) else np.stack(actions)
