"""Practise where success is uncertain: Thompson sampling of learnability p(1-p) per difficulty cell."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from rla_envs.difficulty import DifficultyParameter, Value
from rla_envs.errors import InputError, unknown_name
from wrappers.curricula.adaptive import AdaptiveCurriculum, Choice, learnability
from wrappers.curricula.base import check_number, choose_parameters


class Thompson(AdaptiveCurriculum):
    """Keep a discounted Beta posterior of success for each cell of a difficulty grid.

    To propose, draw a success rate p from every cell's posterior and take the
    cell with the largest p(1-p): the variance of a success, which is what a
    group of rollouts can learn from. Exploration is posterior sampling, and
    nothing else: a cell with little evidence has wide draws. Learnability as a
    score is that of SFL (arXiv 2408.15099), posterior sampling over it that of
    MoPPS (arXiv 2507.04632).

    A learner changes, so evidence fades: with every result, all cells move
    towards the prior, ``a <- discount * a + (1 - discount) * prior``, before
    its own cell takes the result. A cell that was mastered or hopeless long
    ago is thus tried again, and the curriculum cannot stall. A fractional
    success s adds s to ``a`` and 1 - s to ``b``.

    A result is credited to the nearest cell, parameter by parameter (the lower
    one of two equally near), also if somebody else chose the difficulty.

    Args:
        difficulty_space: See :class:`~wrappers.curricula.base.BaseCurriculum`.
        parameters: Names of the parameters that span the grid. None takes, in
            the environment's order, each that still fits into ``max_cells``.
            All other parameters take their defaults.
        grid: Values of each parameter, in place of ``parameters`` and
            ``bins``: ``{"receptacles": [4, 8, 12]}``.
        bins: Values of a parameter that is a quantity, evenly spaced from one
            end of its range to the other; None takes as many, from 9 down to
            3, as ``max_cells`` allows. A parameter with named values has all
            of them.
        discount: Share of the evidence that survives one further result;
            0.998 remembers about 500 episodes. 1 never forgets.
        prior: The Beta prior (a, b) of every cell.
        max_cells: Largest grid that ``parameters=None`` builds.
        critic_weight: See :class:`~wrappers.curricula.adaptive.AdaptiveCurriculum`.
        balance: See :class:`~wrappers.curricula.adaptive.AdaptiveCurriculum`.

    Raises:
        InputError: On an argument or a value out of range, an unknown
            parameter, or a grid of fewer than two cells.
    """

    name: ClassVar[str] = "thompson"
    largest_grid: ClassVar[int] = 65536
    most_bins: ClassVar[int] = 9

    def __init__(
        self,
        difficulty_space: spaces.Dict,
        parameters: Sequence[str] | None = None,
        grid: Mapping[str, Sequence[object]] | None = None,
        bins: int | None = None,
        discount: float = 0.998,
        prior: Sequence[float] = (1.0, 1.0),
        max_cells: int = 64,
        critic_weight: float = 0.0,
        balance: bool = False,
    ) -> None:
        """Build the grid; see the class for the arguments."""
        super().__init__(difficulty_space, critic_weight, balance)
        if bins is not None:
            check_number("bins", bins, 2, integer=True)
        check_number("discount", discount, 0.0, 1.0)
        check_number("max_cells", max_cells, 2, integer=True)
        if not isinstance(prior, Sequence) or len(prior) != 2:
            raise InputError(f"prior: expected two numbers (a, b), got {prior!r}")
        for value in prior:
            check_number("prior", value, 1e-3)
        if grid is not None and not isinstance(grid, Mapping):
            raise InputError(f"grid: expected a mapping of parameter names to lists of values, got {grid!r}")
        if grid is not None and parameters is not None:
            raise InputError(
                "thompson: expected 'parameters' or 'grid', got both; the grid names its parameters"
            )
        self._discount = float(discount)
        self._prior = np.array(prior, dtype=np.float64)
        self._axes = (
            self._default_axes(parameters, bins, max_cells) if grid is None else self._explicit_axes(grid)
        )
        size = math.prod(len(values) for values in self._axes.values())
        if not 2 <= size <= self.largest_grid:
            raise InputError(
                f"thompson: expected a grid of 2 to {self.largest_grid} cells, got {size} over "
                f"{', '.join(self._axes) or 'no parameter'}; name others with parameters= or grid="
            )
        self._cells = list(itertools.product(*self._axes.values()))
        self._posterior = np.tile(self._prior, (size, 1))

    @property
    def posterior(self) -> dict[tuple[Value, ...], tuple[float, float]]:
        """The Beta parameters (a, b) of every cell, by its values in grid order."""
        return {cell: (float(a), float(b)) for cell, (a, b) in zip(self._cells, self._posterior, strict=True)}

    def _choose(self, rng: np.random.Generator) -> Choice:
        draws = rng.beta(self._posterior[:, 0], self._posterior[:, 1])
        best = int(np.argmax(learnability(draws, self.target)))
        difficulty = dict(zip(self._axes, self._cells[best], strict=True))
        a, b = self._posterior[best]
        evidence = a + b - self._prior.sum()
        reason = (
            f"expected success {a / (a + b):.2f} from {evidence:.1f} remembered episodes, "
            f"drew {draws[best]:.2f}: the most uncertain of {len(self._cells)} cells"
        )
        return Choice(difficulty, reason)

    def _learn(self, played: Mapping[str, Value], success: float) -> None:
        cell = self._nearest(played)
        self._posterior = self._discount * self._posterior + (1.0 - self._discount) * self._prior
        self._posterior[cell] += (success, 1.0 - success)

    def _needed(self) -> list[str]:
        return list(self._axes)

    def _cell(self, played: Mapping[str, Value]) -> str:
        return str(self._nearest(played))

    def explain(self) -> str:
        """Return how many cells can teach something and how much of the practice was wasted."""
        total = self._posterior.sum(axis=1)
        mean = self._posterior[:, 0] / total
        tried = total - self._prior.sum() >= 1.0
        won, lost = int((tried & (mean > 0.875)).sum()), int((tried & (mean < 0.125)).sum())
        text = (
            f"Thompson sampling of p(1-p) over {len(self._cells)} cells of {', '.join(self._axes)}: "
            f"{won} nearly always won, {lost} nearly always lost, {int(tried.sum()) - won - lost} uncertain, "
            f"{len(self._cells) - int(tried.sum())} without recent evidence; {self._tail()}"
        )
        if len(self._cells) in (won, lost):
            text += f" The whole grid is {'too easy: raise' if won else 'too hard: lower'} its values."
        return text

    def _nearest(self, difficulty: Mapping[str, Value]) -> int:
        index = 0
        for name, values in self._axes.items():
            distances = [abs(float(difficulty[name]) - value) for value in values]
            index = index * len(values) + distances.index(min(distances))
        return index

    def _explicit_axes(self, grid: Mapping[str, Sequence[object]]) -> dict[str, list[Value]]:
        by_name = {p.name: p for p in self._difficulties.parameters}
        axes: dict[str, list[Value]] = {}
        for name, values in grid.items():
            if name not in by_name:
                raise unknown_name("difficulty parameter", name, by_name)
            if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                raise InputError(f"grid of {name!r}: expected a list of values, got {values!r}")
            axes[name] = sorted({by_name[name].parse(value) for value in values})
        return axes

    def _default_axes(
        self, names: Sequence[str] | None, bins: int | None, max_cells: int
    ) -> dict[str, list[Value]]:
        chosen = choose_parameters(self._difficulties.parameters, names)
        if bins is None:
            sizes = {b: math.prod(len(_spread(p, b)) for p in chosen) for b in range(3, self.most_bins + 1)}
            bins = max((b for b, size in sizes.items() if size <= max_cells), default=3)
        axes: dict[str, list[Value]] = {}
        size = 1
        for parameter in chosen:
            values = _spread(parameter, bins)
            if names is not None or size * len(values) <= max_cells:
                axes[parameter.name] = values
                size *= len(values)
        return axes

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "grid": self._axes, "posterior": self._posterior.tolist()}

    def _load(self, state: dict[str, Any]) -> None:
        super()._load(state)
        if state["grid"] != self._axes:
            raise InputError(
                f"thompson state: expected the grid {self._axes}, got {state['grid']}; use the same grid"
            )
        posterior = np.array(state["posterior"], dtype=np.float64)
        if posterior.shape != self._posterior.shape or not (np.isfinite(posterior) & (posterior > 0)).all():
            raise InputError(
                "thompson state: expected positive finite (a, b) for every cell; the state is damaged"
            )
        self._posterior = posterior


def _spread(parameter: DifficultyParameter, bins: int) -> list[Value]:
    if parameter.names:
        return list(range(int(parameter.low), int(parameter.high) + 1))
    points = np.linspace(parameter.low, parameter.high, bins)
    if parameter.continuous:
        return [float(point) for point in points]
    return sorted({round(float(point)) for point in points})
