"""What the checks share: the environment under check, its rollouts, and exact comparison of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from rla_envs.adaptive import AdaptiveEnv
from rla_envs.errors import RLAError
from rla_envs.task import Task


class ConformanceError(RLAError, AssertionError):
    """An environment failed a check; an ``AssertionError``, as Gymnasium's ``check_env`` raises.

    Attributes:
        check: Name of the failed check, one of
            :func:`~rla_envs.conformance.check_names`.
    """

    def __init__(self, env_id: str, check: str, detail: str) -> None:
        """Say which environment failed which check, and how."""
        super().__init__(f"{env_id} fails the check {check!r}: {detail}")
        self.check = check


class FaultError(Exception):
    """Raised inside a check with what was wrong; the suite adds whose check it was."""


@dataclass(frozen=True)
class Subject:
    """The environment under check.

    Attributes:
        env_id: Its registered id.
        kwargs: Keywords of ``gymnasium.make``.
        tasks: How many tasks the statistical checks sample.
        steps: How many steps the rollouts take.
    """

    env_id: str
    kwargs: Mapping[str, Any]
    tasks: int
    steps: int

    @contextmanager
    def env(self) -> Iterator[gym.Env[Any, Any]]:
        """Make the environment, and close it afterwards."""
        env: gym.Env[Any, Any] = gym.make(self.env_id, **self.kwargs)
        try:
            yield env
        finally:
            env.close()


def adaptive(env: gym.Env[Any, Any]) -> AdaptiveEnv[Any, Any]:
    """Return the adaptive environment under all wrappers."""
    base = env.unwrapped
    if not isinstance(base, AdaptiveEnv):
        raise FaultError(f"expected a subclass of rla_envs.AdaptiveEnv, got {type(base).__name__}")
    return base


def encode(value: Any) -> str:
    """Return a text that is equal for two values if and only if every byte of them is.

    Types count: 1, 1.0, True and an array of them are all different.
    """
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Mapping):
        return {
            "dict": sorted(
                ([str(key), _plain(item)] for key, item in value.items()), key=lambda pair: pair[0]
            )
        }
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(_plain, value)]
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype == object:
            return ["objects", list(value.shape), *map(_plain, np.asarray(value).ravel())]
        return [value.dtype.str, list(value.shape), value.tobytes().hex()]
    return [type(value).__name__, value.hex() if isinstance(value, float | bytes) else repr(value)]


def choose_action(
    space: gym.Space[Any], commands: Sequence[Any] | None, rng: np.random.Generator, avoid: Sequence[Any] = ()
) -> Any:
    """Draw an action: one of the listed commands if there are any, else one of the space.

    Args:
        space: The action space; it is seeded from ``rng`` for every draw.
        commands: ``info["admissible_commands"]``, where the environment lists them.
        rng: Source of all randomness.
        avoid: Actions not to take as long as there are others.
    """
    avoided = set(map(encode, avoid))
    if commands:
        others = [command for command in commands if encode(command) not in avoided]
        listed = others or list(commands)
        return listed[int(rng.integers(len(listed)))]
    for _ in range(20):
        space.seed(int(rng.integers(2**31)))
        action = space.sample()
        if encode(action) not in avoided:
            break
    return action


def rollout(
    env: gym.Env[Any, Any],
    seed: int,
    steps: int,
    options: dict[str, Any] | None = None,
    one_episode: bool = False,
) -> list[tuple[Any, ...]]:
    """Play random actions; return what ``reset`` and ``step`` returned, in order.

    Episodes that end are followed by ``reset()`` without arguments, unless
    ``one_episode``. The actions depend on ``seed`` and on what the environment
    lists only.
    """
    rng = np.random.default_rng([seed, 1])
    frames: list[tuple[Any, ...]] = [env.reset(seed=seed, options=options)]
    for _ in range(steps):
        action = choose_action(env.action_space, frames[-1][-1].get("admissible_commands"), rng)
        frame = env.step(action)
        frames.append(frame)
        if frame[2] or frame[3]:
            if one_episode:
                break
            frames.append(env.reset())
    return frames


def require_equal(first: Sequence[Any], second: Sequence[Any], what: str) -> None:
    """Fail at the first place where two sequences of returned values differ, and show it."""
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        a, b = encode(one), encode(other)
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            start = max(0, at - 40)
            raise FaultError(
                f"{what} differ at call {index}: {a[start : at + 40]!r} versus {b[start : at + 40]!r}"
            )
    if len(first) != len(second):
        raise FaultError(f"{what} differ in length: {len(first)} versus {len(second)} calls")


def sample_tasks(base: AdaptiveEnv[Any, Any], count: int, seed: int) -> list[Task]:
    """Sample tasks at the default difficulty from a generator of their own."""
    rng = np.random.default_rng(seed)
    return [base.sample_task(None, rng) for _ in range(count)]
