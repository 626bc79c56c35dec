"""A difficulty space as curricula see it: parameters with a harder end, plain values, members."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rla_envs.difficulty import DifficultyParameter, DifficultySpace, Value
from rla_envs.errors import InputError
from rla_envs.task import Task


class Difficulties:
    """Reads and writes the members of a difficulty space.

    Inside a curriculum a difficulty is a dict of plain numbers. Outside it is
    a member of the space: for an environment's own
    :class:`~rla_envs.difficulty.DifficultySpace` that is the same; for any
    other ``Dict`` a ``Box`` value is an array of its type and shape, as from
    ``space.sample()``.

    In a plain ``Dict`` the larger value of a parameter is the harder one, and
    its default is the middle of its range. An environment's own space knows
    better on both.

    Args:
        space: A ``Dict`` of ``Discrete`` spaces and bounded ``Box`` spaces of
            one number each.

    Attributes:
        space: The same.
        parameters: Its parameters, in order.
    """

    def __init__(self, space: spaces.Dict) -> None:
        """Look at the space; see the class for the argument.

        Raises:
            InputError: If it is no ``Dict``, empty, or has a parameter of another kind.
        """
        if not isinstance(space, spaces.Dict):
            raise InputError(
                f"difficulty_space: expected a gymnasium.spaces.Dict, got {type(space).__name__}; "
                "give the environment's difficulty_space"
            )
        self.space = space
        if isinstance(space, DifficultySpace):
            # Statistics may be lambdas, and a curriculum must pickle.
            self.parameters: tuple[DifficultyParameter, ...] = tuple(
                dataclasses.replace(p, statistic=_no_statistic) for p in space.parameters
            )
        elif not space.spaces:
            raise InputError("difficulty_space: expected at least one parameter, got an empty Dict")
        else:
            self.parameters = tuple(_parameter(name, part) for name, part in space.spaces.items())

    def read(self, difficulty: object, names: Sequence[str] = ()) -> dict[str, Value]:
        """Return the values of this space's parameters as plain numbers; values of others are left out.

        An edited task may lie outside the range it was sampled from: its
        values count as the nearest end.

        Args:
            difficulty: What was played.
            names: Parameters that must be there.

        Raises:
            InputError: If it is no mapping, lacks one of ``names``, or has a
                value that is not a finite number.
        """
        if not isinstance(difficulty, Mapping):
            raise InputError(
                f"difficulty: expected a mapping of parameter names to values, got {difficulty!r}"
            )
        for name in names:
            if name not in difficulty:
                given = ", ".join(map(str, difficulty)) or "none"
                raise InputError(f"difficulty: expected a value of {name!r}, got only {given}")
        return {p.name: self._value(p, difficulty[p.name]) for p in self.parameters if p.name in difficulty}

    def member(self, values: Mapping[str, Value]) -> dict[str, Any]:
        """Return a member of the space with these values and the defaults of the others.

        A parameter whose default is drawn anew for every task is left out: the
        environment draws it.
        """
        full = {p.name: values.get(p.name, p.default) for p in self.parameters}
        known = {name: value for name, value in full.items() if value is not None}
        if isinstance(self.space, DifficultySpace):
            return known
        return {name: _as_member(self.space[name], value) for name, value in known.items()}

    def complete(self, given: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        """Return a member of the space: what is given, and draws where :meth:`member` left values out."""
        return {p.name: given[p.name] if p.name in given else p.draw(rng) for p in self.parameters}

    def draw(self, rng: np.random.Generator) -> dict[str, Value]:
        """Return a value for every parameter, each drawn uniformly."""
        return {p.name: self._value(p, p.draw(rng)) for p in self.parameters}

    def hardness(self, values: Mapping[str, Value]) -> NDArray[np.float64]:
        """Return how hard each parameter is set, from 0 (its easy end) to 1 (its hard end)."""
        return np.array([_hardness(p, values[p.name]) for p in self.parameters])

    def at(self, hardness: NDArray[np.float64]) -> dict[str, Value]:
        """Return the values nearest to these hardnesses, one for each parameter."""
        return {p.name: self._at(p, float(h)) for p, h in zip(self.parameters, hardness, strict=True)}

    def signature(self) -> list[list[Any]]:
        """Return what identifies the space, as JSON values."""
        return [[p.name, p.low, p.high, p.continuous, list(p.names)] for p in self.parameters]

    def _at(self, p: DifficultyParameter, hardness: float) -> Value:
        share = min(max(hardness, 0.0), 1.0)
        value = p.low + (share if p.direction > 0 else 1.0 - share) * (p.high - p.low)
        return self._value(p, value if p.continuous else round(value))

    def _value(self, p: DifficultyParameter, given: object) -> Value:
        if isinstance(given, np.ndarray) and given.size == 1:
            given = given.item()
        if (
            isinstance(given, bool)
            or not isinstance(given, int | float | np.number)
            or not math.isfinite(given)
        ):
            raise InputError(f"difficulty parameter {p.name!r}: expected a finite number, got {given!r}")
        value = min(max(float(given), float(p.low)), float(p.high))
        if not p.continuous:
            return round(value)
        # A float32 space hands out rounded values; they must read back as themselves.
        dtype = self.space[p.name].dtype
        return float(np.asarray(value, dtype))


def _parameter(name: object, space: spaces.Space[Any]) -> DifficultyParameter:
    if not isinstance(name, str):
        raise InputError(f"difficulty_space: expected strings as names, got {name!r}")
    if isinstance(space, spaces.Discrete):
        low, high = int(space.start), int(space.start) + int(space.n) - 1
        return DifficultyParameter(name, low, high, (low + high) // 2, "", _no_statistic)
    if isinstance(space, spaces.Box) and math.prod(space.shape) == 1 and space.is_bounded():
        bounds = space.low.item(), space.high.item()
        if np.issubdtype(space.dtype, np.floating):
            middle = float(np.asarray((bounds[0] + bounds[1]) / 2, space.dtype))
            return DifficultyParameter(name, *bounds, middle, "", _no_statistic, continuous=True)
        low, high = int(bounds[0]), int(bounds[1])
        return DifficultyParameter(name, low, high, (low + high) // 2, "", _no_statistic)
    raise InputError(
        f"difficulty_space: expected {name!r} to be a Discrete space or a bounded Box of one number, "
        f"got {space}; give each number its own name"
    )


def _as_member(space: spaces.Space[Any], value: Value) -> Any:
    if isinstance(space, spaces.Box):
        return np.full(space.shape, value, space.dtype)
    return int(value)


def _hardness(p: DifficultyParameter, value: Value) -> float:
    share = (value - p.low) / (p.high - p.low) if p.high > p.low else 0.0
    return float(share if p.direction > 0 else 1.0 - share)


def _no_statistic(task: Task) -> float:
    raise InputError("a curriculum's parameters have no statistics; take them from the environment")
