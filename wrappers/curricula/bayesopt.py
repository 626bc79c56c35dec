"""Follow the drifting boundary of even success with a Gaussian process."""

from __future__ import annotations

import functools
import importlib
import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rla_envs.difficulty import DifficultyParameter, Value
from rla_envs.errors import InputError, missing_extra, unknown_name
from wrappers.curricula.adaptive import AdaptiveCurriculum, Choice
from wrappers.curricula.base import check_number


class Row(NamedTuple):
    """One remembered result.

    Attributes:
        point: Hardness of every parameter, 0 to 1.
        won: 1 or 0.
        number: How manieth result it is, from 1.
    """

    point: tuple[float, ...]
    won: int
    number: int


class BayesOpt(AdaptiveCurriculum):
    """Model success over the whole space and propose where it is even, or unknown.

    A Gaussian process classifier (scikit-learn's: Bernoulli likelihood with a
    logistic link, Laplace's approximation) maps a difficulty to a latent value
    f, success being sigmoid(f). What is sought is not a maximum but the level
    set f = 0, which moves as the learner does. Of ``candidates`` difficulties,
    half from anywhere and half around remembered ones near the boundary, the
    one with the largest ::

        k * sd(f) - |mean(f)|,   k^2 ~ chi-squared with 2 degrees of freedom

    is proposed (the randomised straddle, arXiv 2408.03144): close to the
    boundary where k is small, where least is known where it is large.

    *Forgetting*: the number of a result is one more coordinate of the process,
    so that an old one says less about now; only the latest ``memory`` are
    kept. *Scale*: a long length scale carries the trend and a short one the
    exceptions; the short one is chosen by marginal likelihood every 64 results.
    *Categories*: parameters with named values, and those in ``categorical``,
    are compared for equality only. Two made-up results, the easy corner won and
    the hard corner lost, state what "harder" means and keep the model defined
    while all results are the same.

    The model takes labels. A share such as 0.4 is rounded to won or lost, and
    the rounding error carried over to the next result, so that sums agree. It
    is fitted anew after every eighth result.

    Args:
        difficulty_space: See :class:`~wrappers.curricula.base.BaseCurriculum`.
        categorical: Names of further parameters whose values have no order.
        memory: Results kept; the time of a fit grows with its cube.
        horizon: Age, in results, at which one still says 61% (exp(-1/2)) of
            what it said about its own time.
        candidates: Difficulties compared for one proposal.
        critic_weight: See :class:`~wrappers.curricula.adaptive.AdaptiveCurriculum`.
        balance: See :class:`~wrappers.curricula.adaptive.AdaptiveCurriculum`.

    Raises:
        InputError: On an argument out of range, or an unknown parameter.
        MissingExtraError: If scikit-learn is not installed (extra ``bayes``).
    """

    name: ClassVar[str] = "bayesopt"
    scales: ClassVar[tuple[float, ...]] = (0.3, 0.6, 1.2)
    """Short length scales to choose from, in ranges of one parameter (times the root of their number)."""
    refit_every: ClassVar[int] = 8
    rescale_every: ClassVar[int] = 64

    def __init__(
        self,
        difficulty_space: spaces.Dict,
        categorical: Sequence[str] = (),
        memory: int = 128,
        horizon: int = 400,
        candidates: int = 128,
        critic_weight: float = 0.0,
        balance: bool = False,
    ) -> None:
        """Start without results."""
        super().__init__(difficulty_space, critic_weight, balance)
        check_number("memory", memory, self.refit_every, integer=True)
        check_number("horizon", horizon, 1, integer=True)
        check_number("candidates", candidates, 2, integer=True)
        parameters = self._difficulties.parameters
        if not parameters:
            raise InputError("bayesopt: expected a parameter that is free to move, got none")
        if isinstance(categorical, str) or not isinstance(categorical, Sequence):
            raise InputError(f"categorical: expected a list of names, got {categorical!r}")
        for name in categorical:
            if name not in {p.name for p in parameters}:
                raise unknown_name("difficulty parameter", name, [p.name for p in parameters])
            if next(p for p in parameters if p.name == name).continuous:
                raise InputError(f"categorical: expected a parameter with separate values, got {name!r}")
        self._features = Features(parameters, categorical)
        self._memory, self._horizon, self._candidates = memory, horizon, candidates
        self._rows: deque[Row] = deque(maxlen=memory + self.refit_every)
        self._number, self._carry = 0, 0.0
        self._scale, self._scaled_at = self.scales[1], 0
        self._fit: tuple[int, Any] | None = None
        _sklearn()

    def explain(self) -> str:
        """Return what the model rests on and how much of the practice was wasted."""
        won = sum(row.won for row in self._rows)
        return (
            f"Gaussian process over {len(self._difficulties.parameters)} parameters from the latest "
            f"{len(self._rows)} of {self._number} results ({won} won), seeking success {self.target:.2f}; "
            f"short length scale {self._scale:g}; {self._tail()}"
        )

    def _choose(self, rng: np.random.Generator) -> Choice:
        model, now = self._fitted()
        points = self._features.random(self._candidates, rng)
        near = self._near_boundary(model, now, points.shape[0] // 2, rng)
        points[: near.shape[0]] = near
        mean, sd = self._predict(model, points, now)
        straddle = math.sqrt(rng.chisquare(2)) * sd - np.abs(mean)
        best = int(np.argmax(straddle))
        # MacKay's approximation of the mean of a sigmoid under a normal distribution.
        latent = mean[best] + _logit(self.target)
        success = 1.0 / (1.0 + math.exp(-latent / math.sqrt(1.0 + math.pi * sd[best] ** 2 / 8.0)))
        reason = (
            f"expected success {success:.2f}, latent deviation {sd[best]:.2f}, "
            f"best of {len(points)} candidates"
        )
        return Choice(self._difficulties.at(points[best]), reason)

    def _learn(self, played: Mapping[str, Value], success: float) -> None:
        self._number += 1
        wanted = success + self._carry
        won = int(wanted >= 0.5)
        self._carry = wanted - won
        point = tuple(float(h) for h in self._difficulties.hardness(played))
        self._rows.append(Row(point, won, self._number))

    def _fitted(self) -> tuple[Any, int]:
        """Return the model as of the last full eight results, and their number."""
        now = self._number - self._number % self.refit_every
        if self._fit is None or self._fit[0] != now:
            if now >= self._scaled_at + self.rescale_every:
                self._scaled_at = now
                models = [self._model(scale, now) for scale in self.scales]
                best = int(np.argmax([model.log_marginal_likelihood_value_ for model in models]))
                self._scale = self.scales[best]
                self._fit = (now, models[best])
            else:
                self._fit = (now, self._model(self._scale, now))
        return self._fit[1], now

    def _model(self, scale: float, now: int) -> Any:
        rows = [row for row in self._rows if row.number <= now][-self._memory :]
        size = len(self._difficulties.parameters)
        points = np.array([row.point for row in rows] + [(0.0,) * size, (1.0,) * size])
        ages = np.array([(now - row.number) / self._horizon for row in rows] + [0.0, 0.0])
        inputs = self._features.encode(points, ages, corners=2)
        labels = np.array([row.won for row in rows] + [1, 0])
        sklearn, kernels, threads = _sklearn()
        width = math.sqrt(size)
        # Latent deviations of 2 (trend) and 1.4 (exceptions): success from 2% to 98% is plausible.
        kernel = kernels.ConstantKernel(4.0) * kernels.RBF(self._features.scales(2.0 * width))
        kernel += kernels.ConstantKernel(2.0) * kernels.RBF(self._features.scales(scale * width))
        with threads.limit(limits=1):  # such small matrices are slower in many threads
            return sklearn.GaussianProcessClassifier(kernel, optimizer=None).fit(inputs, labels)

    def _near_boundary(
        self, model: Any, now: int, count: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return candidates around the remembered points whose success is most even."""
        points = np.array(sorted({row.point for row in self._rows}))
        if not len(points) or not count:
            return np.empty((0, len(self._difficulties.parameters)))
        mean, _ = self._predict(model, points, now)
        closest = points[np.argsort(np.abs(mean), kind="stable")[:8]]
        chosen = closest[rng.integers(0, len(closest), count)]
        return self._features.jittered(chosen, rng)

    def _predict(
        self, model: Any, points: NDArray[np.float64], now: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean, relative to the level that is sought, and deviation of the latent value."""
        _, _, threads = _sklearn()
        with threads.limit(limits=1):
            mean, variance = model.latent_mean_and_variance(
                self._features.encode(points, np.zeros(len(points)))
            )
        return mean - _logit(self.target), np.sqrt(np.maximum(variance, 0.0))

    def _state(self) -> dict[str, Any]:
        return {
            **super()._state(),
            "rows": [list(row) for row in self._rows],
            "number": self._number,
            "carry": self._carry,
            "scale": [self._scale, self._scaled_at],
        }

    def _load(self, state: dict[str, Any]) -> None:
        super()._load(state)
        rows = [Row(tuple(map(float, point)), int(won), int(number)) for point, won, number in state["rows"]]
        size = len(self._difficulties.parameters)
        for row in rows:
            if len(row.point) != size or not all(0.0 <= h <= 1.0 for h in row.point) or row.won not in (0, 1):
                raise ValueError(f"row {row}")
        if any(not 0 < row.number <= int(state["number"]) for row in rows):
            raise ValueError("a row from the future")
        self._rows = deque(rows, maxlen=self._rows.maxlen)
        self._number, self._carry = int(state["number"]), float(state["carry"])
        self._scale, self._scaled_at = float(state["scale"][0]), int(state["scale"][1])
        if self._scale not in self.scales:
            raise ValueError(f"scale {self._scale}")
        self._fit = None


class Features:
    """Points of a difficulty space as the inputs of a kernel.

    A point is the hardness of every parameter. An ordered parameter is one
    input. A category is one input for each of its values, 0 or 1. The age of
    a result comes last.

    Args:
        parameters: The parameters of the space.
        categorical: Names of those without order, beside those with named values.
    """

    def __init__(self, parameters: Sequence[DifficultyParameter], categorical: Sequence[str]) -> None:
        """Lay out the inputs; see the class for the arguments."""
        self._sizes = [
            0 if p.continuous else int(p.high - p.low) + 1 for p in parameters
        ]  # 0: any number of values
        self._categories = [bool(p.names) or p.name in categorical for p in parameters]

    def random(self, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return points drawn uniformly from the space."""
        return np.column_stack(
            [
                rng.random(count) if size == 0 else rng.integers(0, size, count) / max(1, size - 1)
                for size in self._sizes
            ]
        )

    def jittered(self, points: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the points, each ordered parameter moved a little; every fourth category drawn anew."""
        fresh = self.random(len(points), rng)
        moved = np.clip(points + 0.08 * rng.standard_normal(points.shape), 0.0, 1.0)
        step = rng.integers(-1, 2, points.shape)
        redrawn = rng.random(points.shape) < 0.25
        for column, (size, category) in enumerate(zip(self._sizes, self._categories, strict=True)):
            if category:
                moved[:, column] = np.where(redrawn[:, column], fresh[:, column], points[:, column])
            elif size:
                # A parameter of few values moves by one of them, or by its share of the range.
                by_one = points[:, column] + step[:, column] / max(1, size - 1)
                near = np.round(moved[:, column] * (size - 1)) / max(1, size - 1)
                moved[:, column] = np.clip(np.where(redrawn[:, column], by_one, near), 0.0, 1.0)
        return moved

    def encode(
        self, points: NDArray[np.float64], ages: NDArray[np.float64], corners: int = 0
    ) -> NDArray[np.float64]:
        """Return the inputs; the categories of the last ``corners`` points are undecided."""
        columns = []
        for column, (size, category) in enumerate(zip(self._sizes, self._categories, strict=True)):
            if not category:
                columns.append(points[:, [column]])
                continue
            values = np.rint(points[:, column] * (size - 1)).astype(int)
            # Two different values are twice as far apart as the ends of an ordered parameter.
            coded = math.sqrt(2.0) * np.eye(size)[values]
            if corners:
                coded[-corners:] = math.sqrt(2.0) / size
            columns.append(coded)
        return np.column_stack([*columns, ages])

    def scales(self, length: float) -> NDArray[np.float64]:
        """Return the length scale of every input; ages have their own."""
        inputs = sum(
            size if category else 1 for size, category in zip(self._sizes, self._categories, strict=True)
        )
        return np.array([length] * inputs + [1.0])


def _logit(p: float) -> float:
    return math.log(p / (1.0 - p))


@functools.cache
def _sklearn() -> tuple[Any, Any, Any]:
    """Return scikit-learn's classifier and kernel modules, and the control of its threads."""
    try:
        process = importlib.import_module("sklearn.gaussian_process")
        kernels = importlib.import_module("sklearn.gaussian_process.kernels")
        threads = importlib.import_module("threadpoolctl")
    except ImportError as error:
        raise missing_extra("curriculum 'bayesopt'", "bayes", error) from error
    return process, kernels, threads.ThreadpoolController()
