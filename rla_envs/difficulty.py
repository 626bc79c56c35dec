"""Difficulty parameters: named numbers with a direction, a default and a statistic that proves them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from rla_envs.errors import InputError, unknown_name
from rla_envs.task import Task

Value = int | float
"""A difficulty value: an integer for a ``Discrete`` parameter, a float for a ``Box`` one."""


@dataclass(frozen=True)
class DifficultyParameter:
    """One named knob of an environment's difficulty.

    Attributes:
        name: Key in ``difficulty_space`` and in ``difficulty={...}``.
        low: Smallest value.
        high: Largest value.
        default: Value when the user names none; None draws one uniformly for
            every task.
        meaning: What it changes, in a sentence, with its unit.
        statistic: Number measured on one task: how hard it is in this respect.
            Its mean over many tasks rises with the parameter if ``direction``
            is +1 and falls if it is -1. The conformance suite checks it.
        direction: +1 if larger is harder, -1 if smaller is harder.
        names: Names of the integer values, from ``low`` up; accepted in place
            of the number. Empty if the value is a quantity.
        continuous: Whether the value is a float (``Box``) or an integer
            (``Discrete``).
    """

    name: str
    low: Value
    high: Value
    default: Value | None
    meaning: str
    statistic: Callable[[Task], float]
    direction: int = 1
    names: tuple[str, ...] = ()
    continuous: bool = False

    @property
    def space(self) -> spaces.Space[np.ndarray] | spaces.Space[np.int64]:
        """The parameter's range as a Gymnasium space (``Box`` of shape () or ``Discrete``)."""
        if self.continuous:
            return spaces.Box(np.float64(self.low), np.float64(self.high), (), np.float64)
        return spaces.Discrete(int(self.high - self.low) + 1, start=int(self.low))

    def parse(self, value: object) -> Value:
        """Return ``value`` as a plain number of this parameter.

        Raises:
            InputError: If it is not a number in range; says what is.
        """
        if isinstance(value, str) and self.names:
            if value not in self.names:
                raise unknown_name(f"value of difficulty parameter {self.name!r}:", value, self.names)
            return int(self.low) + self.names.index(value)
        if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
            value = value.item()
        kind = "a number" if self.continuous else "an integer"
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or (not self.continuous and value % 1 != 0)
        ):
            raise InputError(
                f"difficulty parameter {self.name!r}: expected {kind} from {self.low} to "
                f"{self.high}, got {value!r}"
            )
        if not self.low <= value <= self.high:
            raise InputError(
                f"difficulty parameter {self.name!r}: expected a value from {self.low} to "
                f"{self.high}, got {value}; larger is {'harder' if self.direction > 0 else 'easier'}"
            )
        return float(value) if self.continuous else int(value)

    def draw(self, rng: np.random.Generator) -> Value:
        """Return a value drawn uniformly from the whole range."""
        if self.continuous:
            return float(rng.uniform(self.low, self.high))
        return int(rng.integers(int(self.low), int(self.high) + 1))


class DifficultySpace(spaces.Dict):
    """The space of an environment's difficulties, which knows what its parameters mean.

    To Gymnasium it is a ``Dict`` of the parameters' spaces. Whoever chooses
    difficulties also needs what such a space cannot say: which end is harder,
    which values are names, what the default is. Unlike Gymnasium's ``Box``, it
    takes plain numbers as members without a warning.

    Args:
        parameters: The parameters, in order.

    Attributes:
        parameters: The same. In a pickled or copied space their ``statistic``
            cannot be called any more, since it may be a lambda.
    """

    def __init__(self, parameters: Sequence[DifficultyParameter]) -> None:
        """Make the space; see the class for the argument."""
        super().__init__({p.name: p.space for p in parameters})
        self.parameters = tuple(parameters)

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` has a value in range for every parameter, and nothing else."""
        if not isinstance(x, Mapping) or x.keys() != self.spaces.keys():
            return False
        try:
            parse_difficulty(self.parameters, x)
        except InputError:
            return False
        return True

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: everything but the statistics."""
        bare = tuple(dataclasses.replace(p, statistic=_no_statistic) for p in self.parameters)
        return {**self.__dict__, "parameters": bare}


def _no_statistic(task: Task) -> float:
    raise InputError("a pickled difficulty space has no statistics; take them from the environment's class")


def parse_difficulty(
    parameters: Sequence[DifficultyParameter], difficulty: Mapping[str, object] | None
) -> dict[str, Value]:
    """Return the given values as plain numbers, in the order of ``parameters``.

    Args:
        parameters: Every parameter the environment has.
        difficulty: Values for some or all of them; None means none.

    Raises:
        InputError: On an unknown name, a wrong type or a value out of range.
    """
    if difficulty is None:
        return {}
    if not isinstance(difficulty, Mapping):
        raise InputError(f"difficulty: expected a mapping of parameter names to values, got {difficulty!r}")
    by_name = {parameter.name: parameter for parameter in parameters}
    for name in difficulty:
        if name not in by_name:
            raise unknown_name("difficulty parameter", name, by_name)
    return {name: p.parse(difficulty[name]) for name, p in by_name.items() if name in difficulty}


def complete_difficulty(
    parameters: Sequence[DifficultyParameter], given: Mapping[str, Value], rng: np.random.Generator
) -> dict[str, Value]:
    """Return a value for every parameter: the given one, else the default, else a drawn one."""
    full: dict[str, Value] = {}
    for parameter in parameters:
        if parameter.name in given:
            full[parameter.name] = given[parameter.name]
        elif parameter.default is not None:
            full[parameter.name] = parameter.default
        else:
            full[parameter.name] = parameter.draw(rng)
    return full
