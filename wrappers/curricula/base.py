"""What all curricula share: how a result is read, groups without signal, and saved state."""

from __future__ import annotations

import abc
import json
import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from rla_envs.difficulty import DifficultyParameter
from rla_envs.errors import InputError, unknown_name
from rla_envs.task import Task
from wrappers.curricula.space import Difficulties
from wrappers.protocols import Proposal

GROUP_SIZE = 8
"""Rollouts of one task that are compared with each other (arXiv 2602.02488)."""


def parse_success(success: object) -> float:
    """Return a result as a number from 0 to 1.

    A bool, or a finite number from 0 to 1 (the solved share of a task), is
    taken as it is. Everything else is refused: an outcome of -1 or +1 read as
    a success count would corrupt a posterior in silence.

    Raises:
        InputError: If it is not a bool or a number from 0 to 1.
    """
    if isinstance(success, bool | int | float | np.bool_ | np.number):
        value = float(success)
        if 0.0 <= value <= 1.0:
            return value
    raise InputError(
        f"success: expected a bool or a number from 0 to 1, got {success!r}; "
        "turn an outcome of -1 or +1 into (outcome + 1) / 2"
    )


def check_number(name: str, value: object, low: float, high: float = math.inf, integer: bool = False) -> None:
    """Refuse an argument that is not a number from ``low`` to ``high``.

    Raises:
        InputError: Naming the argument and the range.
    """
    kinds = int if integer else int | float
    if (
        isinstance(value, bool)
        or not isinstance(value, kinds)
        or not low <= value <= high
        or math.isinf(value)
    ):
        kind = "an integer" if integer else "a number"
        bounds = f"of {low} or more" if high == math.inf else f"from {low} to {high}"
        raise InputError(f"{name}: expected {kind} {bounds}, got {value!r}")


class GroupTally:
    """The share of recent groups that taught nothing because all their results were equal.

    Args:
        size: Results that make a group.
        window: Groups that count as recent.
    """

    open_limit: ClassVar[int] = 256

    def __init__(self, size: int = GROUP_SIZE, window: int = 64) -> None:
        """Start without any group."""
        self.size = size
        self.wasted: deque[bool] = deque(maxlen=window)
        self._open: dict[str, list[float]] = {}

    def add(self, key: str, value: float) -> None:
        """Add one result to the group named ``key``; a full group is closed."""
        values = self._open.setdefault(key, [])
        values.append(value)
        if len(values) >= self.size:
            self.close(self._open.pop(key))
        elif len(self._open) > self.open_limit:
            # Tasks that are played once never fill a group; keep the newest.
            del self._open[next(iter(self._open))]

    def close(self, values: Sequence[float]) -> None:
        """Count a finished group."""
        self.wasted.append(min(values) == max(values))

    def share(self, latest: int) -> float | None:
        """Return the wasted share of the ``latest`` groups; None if there are not as many yet."""
        if len(self.wasted) < latest:
            return None
        return sum(list(self.wasted)[-latest:]) / latest

    def describe(self) -> str:
        """Return the share in words."""
        if not self.wasted:
            return f"no group of {self.size} is finished yet"
        share = sum(self.wasted) / len(self.wasted)
        return f"{share:.0%} of the last {len(self.wasted)} groups were wasted (all results equal)"

    def state_dict(self) -> dict[str, Any]:
        """Return the groups as JSON values."""
        return {"wasted": list(self.wasted), "open": self._open}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from :meth:`state_dict`."""
        self.wasted = deque((bool(flag) for flag in state["wasted"]), maxlen=self.wasted.maxlen)
        self._open = {str(key): [float(v) for v in values] for key, values in state["open"].items()}


class BaseCurriculum(abc.ABC):
    """A curriculum without its rule; see :class:`wrappers.protocols.Curriculum`.

    Args:
        difficulty_space: What there is to choose from: an environment's
            ``difficulty_space``, or any ``Dict`` of ``Discrete`` spaces and
            bounded ``Box`` spaces of one number (there, larger is harder).

    Attributes:
        difficulty_space: The same.
    """

    name: ClassVar[str]
    """The registered name; also marks saved state, so that no other curriculum loads it."""
    state_version: ClassVar[int] = 1
    """Layout of the saved state; other layouts are refused."""
    event_limit: ClassVar[int] = 4096
    """Events kept for :meth:`events`; older ones are dropped if nobody asks."""

    def __init__(self, difficulty_space: spaces.Dict) -> None:
        """Start without results."""
        self._difficulties = Difficulties(difficulty_space)
        self._groups = GroupTally()
        self._events: deque[dict[str, Any]] = deque(maxlen=self.event_limit)

    @property
    def difficulty_space(self) -> spaces.Dict:
        """What there is to choose from."""
        return self._difficulties.space

    def propose(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return the difficulty to play next, a member of the difficulty space.

        A parameter that is left to the environment, which draws it anew for
        every task, is drawn here the same way.

        Raises:
            InputError: If ``rng`` is no generator.
        """
        if not isinstance(rng, np.random.Generator):
            raise InputError(
                f"rng: expected a numpy Generator, got {rng!r}; make one with np.random.default_rng(seed)"
            )
        proposal = self.next_proposal(rng)
        if proposal.task is not None:
            return dict(proposal.task.difficulty)
        return self._difficulties.complete(proposal.difficulty or {}, rng)

    def state_dict(self) -> dict[str, Any]:
        """Return everything learned, as JSON values."""
        state = {
            "curriculum": self.name,
            "version": self.state_version,
            "space": self._difficulties.signature(),
            "groups": self._groups.state_dict(),
            "events": list(self._events),
            **self._state(),
        }
        return _json_copy(state)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from :meth:`state_dict`, exactly.

        Raises:
            InputError: If the state is damaged, or of another curriculum,
                space or version; nothing has changed then.
        """
        given = state if isinstance(state, Mapping) else {}
        own = {
            "curriculum": self.name,
            "version": self.state_version,
            "space": self._difficulties.signature(),
        }
        for key, expected in own.items():
            if key not in given or given[key] != expected:
                raise InputError(
                    f"curriculum state: expected {key} {expected!r}, got {given.get(key)!r}; "
                    "load it into a curriculum made as the saved one was"
                )
        before = self.state_dict()
        try:
            copy = _json_copy(state)
            self._restore(copy)
            if self.state_dict() != copy:
                raise ValueError("it does not read back as itself")
        except Exception as error:
            self._restore(before)
            if isinstance(error, InputError):
                raise
            if isinstance(error, KeyError | TypeError | ValueError | AttributeError | IndexError):
                raise InputError(
                    f"curriculum state of {self.name!r} is damaged ({type(error).__name__}: {error})"
                ) from error
            raise

    def events(self) -> list[dict[str, Any]]:
        """Return what happened since the last call, as JSON objects: task edits, and guards that acted."""
        events = list(self._events)
        self._events.clear()
        return events

    def _restore(self, state: dict[str, Any]) -> None:
        self._load(state)
        self._groups.load_state_dict(state["groups"])
        if not all(isinstance(event, dict) for event in state["events"]):
            raise TypeError("events: expected objects")
        self._events = deque(state["events"], maxlen=self.event_limit)

    @abc.abstractmethod
    def next_proposal(self, rng: np.random.Generator) -> Proposal:
        """Return what to play next and why."""

    @abc.abstractmethod
    def observe(self, difficulty: Mapping[str, Any], success: bool | float, **feedback: Any) -> None:
        """Take in the result of one episode."""

    @abc.abstractmethod
    def explain(self) -> str:
        """Return what it is doing and why."""

    def _state(self) -> dict[str, Any]:
        return {}

    def _load(self, state: dict[str, Any]) -> None:  # noqa: B027 - a hook that need not do anything
        """Take over what :meth:`_state` returned."""


def _json_copy(state: Mapping[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(state, allow_nan=False))
    return copy


def group_key(difficulty: Mapping[str, Any], feedback: Mapping[str, Any]) -> str:
    """Return the name of the group a result belongs to: its task, or its difficulty if none is given.

    Raises:
        InputError: If the task is none.
    """
    task = feedback.get("task")
    if task is not None and not isinstance(task, Task):
        raise InputError(f"task: expected the Task that was played, got {task!r}")
    return task.id if task is not None else json.dumps(difficulty, sort_keys=True)


def choose_parameters(
    parameters: Sequence[DifficultyParameter], names: Sequence[str] | None
) -> tuple[DifficultyParameter, ...]:
    """Return the named parameters, or all of them for None.

    Raises:
        InputError: On an unknown or repeated name.
    """
    if names is None:
        return tuple(parameters)
    listed = isinstance(names, Sequence) and all(isinstance(name, str) for name in names)
    if isinstance(names, str) or not listed or len(set(names)) != len(names):
        raise InputError(f"parameters: expected a list of different names, got {names!r}")
    by_name = {parameter.name: parameter for parameter in parameters}
    for name in names:
        if name not in by_name:
            raise unknown_name("difficulty parameter", name, by_name)
    return tuple(by_name[name] for name in names)
