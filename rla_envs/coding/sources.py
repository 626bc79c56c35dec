"""Where problems come from, by name."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rla_envs.coding.embedded.codeio import codeio_problem, codeio_rows
from rla_envs.coding.embedded.humaneval import load_humaneval
from rla_envs.coding.families.generator import GeneratedSource, generated_problems
from rla_envs.coding.livebench import load_livebench
from rla_envs.coding.problem import Problem, ProblemSource
from rla_envs.coding.sandbox import Sandbox, open_sandbox
from rla_envs.difficulty import DifficultyParameter, Value
from rla_envs.errors import InputError, InvalidTaskError, unknown_name
from rla_envs.task import Task

SOURCES = ("generated", "livebench", "humaneval", "codeio")

SPLITS = ("all", "train", "valid_unseen")
"""``train`` and ``valid_unseen`` share no statement: seven and three tenths of them, by their hash."""

_TRAIN_SHARE = 0.7
_LEVELS = 4
_LABELS = ("easy", "medium", "hard")
_DRAWS = 200
"""Problems drawn for one that is of the split, or at all."""


def load_problems(source: str, **kwargs: Any) -> list[Problem]:
    """Return the problems of a source.

    Args:
        source: ``"livebench"`` (keywords of
            :func:`~rla_envs.coding.livebench.load_livebench`: ``path``,
            ``release``, ``tasks``), ``"humaneval"`` (none), ``"codeio"``
            (``limit``, ``backend``; problems are made in the sandbox), or
            ``"generated"`` (``count``, ``seed``, ``difficulty``).
        **kwargs: Keywords of the source.

    Raises:
        UnknownNameError: On another source or keyword.
        InputError: If a question file is missing or malformed.
        MissingExtraError: If the package that ships the problems is missing.
    """
    loaders: dict[str, Callable[..., list[Problem]]] = {
        "generated": _load_generated,
        "livebench": load_livebench,
        "humaneval": load_humaneval,
        "codeio": _load_codeio,
    }
    if source not in loaders:
        raise unknown_name("problem source", source, SOURCES)
    known = inspect.signature(loaders[source]).parameters
    for name in kwargs:
        if name not in known:
            raise unknown_name(f"option of the problem source {source!r}:", name, known)
    return loaders[source](**kwargs)


def make_source(
    source: str, split: str, options: Mapping[str, Any], sandbox: Callable[[], Sandbox]
) -> ProblemSource:
    """Return a source that problems can be drawn from at a difficulty.

    Args:
        source: One of :data:`SOURCES`.
        split: One of :data:`SPLITS`.
        options: Keywords of the source; ``"generated"`` and ``"codeio"`` take none.
        sandbox: Gives a running sandbox; called only to make a problem of ``"codeio"``.

    Raises:
        UnknownNameError: On an unknown name.
        InputError: If the split of a fixed set is empty.
    """
    if source not in SOURCES:
        raise unknown_name("problem source", source, SOURCES)
    if split not in SPLITS:
        raise unknown_name("split", split, SPLITS)
    if source in ("generated", "codeio"):
        for name in options:
            raise unknown_name(f"option of the problem source {source!r}:", name, ())
        endless = GeneratedSource() if source == "generated" else CodeioSource(sandbox)
        return endless if split == "all" else SplitSource(endless, split)
    problems = [p for p in load_problems(source, **options) if in_split(p, split)]
    if not problems:
        raise InputError(f"problem source {source!r}: split {split!r} has no problem; use split='all'")
    return FixedSource(problems)


def in_split(problem: Problem, split: str) -> bool:
    """Return whether a problem belongs to a split; equal statements always do so together."""
    if split == "all":
        return True
    digest = hashlib.sha256(problem.statement.encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest[:4], "big") < _TRAIN_SHARE * 2**32) == (split == "train")


class FixedSource:
    """A set of problems, drawn from by a measured level of difficulty where one can be measured.

    The measure is the length of the reference solution; where a problem has
    none, the label (easy, medium, hard) that all of them carry; else there is
    no difficulty parameter.

    Args:
        problems: At least one.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Order the problems by the measure; see the class for the argument."""
        measure = _measure(problems)
        self.problems = tuple(problems) if measure is None else _ordered(problems, measure)
        self._known = frozenset(problem.content_hash for problem in problems)
        self._parameters = () if measure is None else _level_parameter(len(self.problems), measure)

    @property
    def difficulty_parameters(self) -> tuple[DifficultyParameter, ...]:
        """``level``, or nothing."""
        return self._parameters

    def sample(self, difficulty: Mapping[str, Value], rng: np.random.Generator) -> Problem:
        """Return a random problem of the level."""
        band = _band(len(self.problems), self._parameters, difficulty)
        return self.problems[band[int(rng.integers(len(band)))]]

    def every(self) -> list[tuple[Problem, dict[str, Value]]]:
        """Return all problems with their difficulty, in the order of the measure."""
        if not self._parameters:
            return [(problem, {}) for problem in self.problems]
        levels = range(int(self._parameters[0].low), int(self._parameters[0].high) + 1)
        return [
            (self.problems[place], {"level": level})
            for level in levels
            for place in _band(len(self.problems), self._parameters, {"level": level})
        ]

    def holds(self, problem: Problem) -> bool:
        """Return whether this very problem is one of the set."""
        return problem.content_hash in self._known


class CodeioSource:
    """Problems made from CodeI/O's programs when they are drawn.

    Args:
        sandbox: Gives a running sandbox.
    """

    def __init__(self, sandbox: Callable[[], Sandbox]) -> None:
        """Keep the sandbox's opener; nothing is read yet."""
        self._sandbox = sandbox
        self._parameters = _level_parameter(_LEVELS, _reference_length)

    @functools.cached_property
    def _order(self) -> list[int]:
        rows = codeio_rows()
        return sorted(range(len(rows)), key=lambda i: (len(rows[i]["code_sample"]), i))

    @property
    def difficulty_parameters(self) -> tuple[DifficultyParameter, ...]:
        """``level``: by the length of the reference solution."""
        return self._parameters

    def sample(self, difficulty: Mapping[str, Value], rng: np.random.Generator) -> Problem:
        """Return a random problem of the level; raises InvalidTaskError if many rows in a row made none."""
        band = _band(len(self._order), self._parameters, difficulty)
        for _ in range(_DRAWS):
            problem = codeio_problem(self._order[band[int(rng.integers(len(band)))]], self._sandbox())
            if problem is not None:
                return problem
        raise InvalidTaskError(f"none of {_DRAWS} rows drawn made a problem")


class SplitSource:
    """Another source's problems, without those of the other splits.

    Args:
        source: The other source.
        split: One of :data:`SPLITS`.
    """

    def __init__(self, source: ProblemSource, split: str) -> None:
        """Keep both."""
        self.source = source
        self.split = split

    @property
    def difficulty_parameters(self) -> tuple[DifficultyParameter, ...]:
        """The other source's."""
        return self.source.difficulty_parameters

    def sample(self, difficulty: Mapping[str, Value], rng: np.random.Generator) -> Problem:
        """Return a random problem of the split."""
        for _ in range(_DRAWS):
            problem = self.source.sample(difficulty, rng)
            if in_split(problem, self.split):
                return problem
        raise InvalidTaskError(f"none of {_DRAWS} problems drawn belongs to the split {self.split!r}")


def _load_generated(
    count: int = 100, seed: int = 0, difficulty: Mapping[str, object] | None = None
) -> list[Problem]:
    _require_count("count", count)
    _require_count("seed", seed)
    return list(generated_problems(count, seed, difficulty))


def _load_codeio(limit: int | None = 100, backend: str = "bubblewrap") -> list[Problem]:
    if limit is not None:
        _require_count("limit", limit)
    problems: list[Problem] = []
    with open_sandbox(backend) as sandbox:
        for number in range(len(codeio_rows())):
            if limit is not None and len(problems) >= limit:
                break
            problem = codeio_problem(number, sandbox)
            if problem is not None:
                problems.append(problem)
    return problems


def _require_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(f"{name}: expected an integer of 0 or more, got {value!r}")


def _measure(problems: Sequence[Problem]) -> Callable[[Problem], float] | None:
    if all(problem.reference_solutions for problem in problems):
        return _reference_length
    if all(str(problem.metadata.get("difficulty")).lower() in _LABELS for problem in problems):
        return _label
    return None


def _reference_length(problem: Problem) -> float:
    return float(len(problem.reference_solutions[0]))


def _label(problem: Problem) -> float:
    return float(_LABELS.index(str(problem.metadata["difficulty"]).lower()))


def _ordered(problems: Sequence[Problem], measure: Callable[[Problem], float]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (measure(problem), problem.id)))


def _level_parameter(count: int, measure: Callable[[Problem], float]) -> tuple[DifficultyParameter, ...]:
    levels = min(_LEVELS, count)
    if levels < 2:
        return ()

    def statistic(task: Task) -> float:
        return measure(Problem.from_dict(task.payload["problem"]))

    meaning = "share of the set, ordered by " + (
        "the length of the reference solution" if measure is _reference_length else "the set's own labels"
    )
    return (DifficultyParameter("level", 1, levels, None, meaning, statistic),)


def _band(count: int, parameters: tuple[DifficultyParameter, ...], difficulty: Mapping[str, Value]) -> range:
    """Return the positions, in the order of the measure, that belong to a level."""
    if not parameters:
        return range(count)
    levels, level = int(parameters[0].high), int(difficulty["level"])
    return range(count * (level - 1) // levels, count * level // levels)
