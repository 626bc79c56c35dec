"""Checks of how an environment behaves towards its caller: interface, options, budget, leaks."""

from __future__ import annotations

import ctypes
import io
import math
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

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


def gymnasium_interface(subject: Subject) -> None:
    """Gymnasium's own ``check_env`` passes without a warning."""
    with subject.env() as env, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(adaptive(env))
    if caught:
        raise FaultError(f"gymnasium's check_env warns: {caught[0].message}")


def spec_json(subject: Subject) -> None:
    """The spec survives JSON, and what is made from it plays the same episode."""
    with subject.env() as env:
        if env.spec is None:
            raise FaultError("the environment has no spec; make it through gymnasium.make")
        spec = EnvSpec.from_json(env.spec.to_json())
        played = rollout(env, 0, subject.steps, one_episode=True)
    again: gym.Env[Any, Any] = gym.make(spec)
    try:
        if again.spec is None or again.spec.id != subject.env_id.rpartition(":")[2]:
            raise FaultError(f"the spec read back from JSON makes {again.spec and again.spec.id}")
        replayed = rollout(again, 0, subject.steps, one_episode=True)
    finally:
        again.close()
    require_equal(played, replayed, "episodes of the environment and of the one its JSON spec makes")


def no_leaks(subject: Subject) -> None:
    """Nothing is written to standard output, and ``sys.argv`` stays as it was."""
    argv = sys.argv
    # An engine that always writes the same arguments may have done so before.
    sys.argv = marked = ["conformance", "--of", subject.env_id]
    try:
        with _captured_stdout() as written, subject.env() as env:
            rollout(env, 0, subject.steps)
        if sys.argv is not marked or marked != ["conformance", "--of", subject.env_id]:
            raise FaultError(f"sys.argv became {sys.argv}")
    finally:
        sys.argv = argv
    if written[0]:
        raise FaultError(f"standard output received {written[0][:80]!r}")


@contextmanager
def _captured_stdout() -> Iterator[list[str]]:
    """Catch what Python and compiled code write to standard output; filled in at the end."""
    written: list[str] = []
    _flush()
    saved = os.dup(1)
    python_level = io.StringIO()
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            with redirect_stdout(python_level):
                yield written
        finally:
            _flush()
            os.dup2(saved, 1)
            os.close(saved)
            file.seek(0)
            written.append(python_level.getvalue() + file.read().decode(errors="replace"))


def _flush() -> None:
    sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)


def reset_options(subject: Subject) -> None:
    """Options are honoured for one episode, and an unknown one is refused with a suggestion."""
    with subject.env() as env:
        base = adaptive(env)
        _require_suggestion(env, {"dificulty": {}})
        _require_suggestion(env, {"difficulty": {base.difficulty_parameters[0].name + "x": 0}})
        task = sample_tasks(base, 1, seed=1)[0]
        _, info = env.reset(seed=0, options={"task": task})
        if base.task != task or info.get("rla", {}).get("task_id") != task.id:
            raise FaultError(f"reset was given task {task.id} and plays {base.task.id}")
        changed = {p.name: p.high if p.default != p.high else p.low for p in base.difficulty_parameters[:1]}
        name, value = next(iter(changed.items()))
        env.reset(seed=0, options={"difficulty": changed})
        if base.task.difficulty.get(name) != value:
            raise FaultError(
                f"reset was given {name}={value} and plays {name}={base.task.difficulty.get(name)}"
            )
    for given in (None, {"task": task}, {"difficulty": changed}):
        with subject.env() as env:
            env.reset(seed=0, options=given)
            env.reset(seed=5)
            after = adaptive(env).task
        if given is None:
            expected = after
        elif after != expected:
            raise FaultError(f"the reset option {next(iter(given))!r} still holds in the episode after")


def _require_suggestion(env: gym.Env[Any, Any], options: dict[str, Any]) -> None:
    try:
        env.reset(seed=0, options=options)
    except ValueError as error:
        if "did you mean" in str(error).lower():
            return
        raise FaultError(f"the error for options={options} suggests nothing: {error}") from error
    raise FaultError(f"reset accepted options={options}; expected an error that suggests the right name")


def step_budget(subject: Subject) -> None:
    """Exactly the announced number of steps, then ``truncated`` alone; rewards are plain floats."""
    for seed in range(3):
        with subject.env() as env:
            rng = np.random.default_rng(seed)
            _, info = env.reset(seed=seed)
            base = adaptive(env)
            witness = base.check_task(base.task).witness
            budget = info["rla"]["step_budget"]
            for step in range(1, budget + 1):
                commands = info.get("admissible_commands")
                action = choose_action(env.action_space, commands, rng, avoid=witness)
                _, reward, terminated, truncated, info = env.step(action)
                _require_step(step, budget, reward, terminated, truncated)
                if terminated:
                    break


def _require_step(step: int, budget: int, reward: Any, terminated: Any, truncated: Any) -> None:
    if type(reward) is not float or not math.isfinite(reward):
        raise FaultError(f"step {step} gave reward {encode(reward)}; expected a finite plain float")
    if terminated and truncated:
        raise FaultError(f"step {step} of {budget} is both terminated and truncated; a budget only truncates")
    if truncated and step < budget:
        raise FaultError(f"truncated at step {step} of a budget of {budget}")
    if step == budget and not (truncated or terminated):
        raise FaultError(f"not truncated at step {step}, the last of the budget")
