"""A programming problem: statement, tests, limits, and programs known to be right or wrong."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from rla_envs.coding.values import dump_value, load_value
from rla_envs.difficulty import DifficultyParameter, Value
from rla_envs.errors import InputError, unknown_name
from rla_envs.task import FrozenDict, canonical_json

KINDS = ("stdin", "functional", "unittest")

DEFAULT_TIME_LIMIT = 6.0
"""Seconds a test may take unless the problem says otherwise; LiveBench's limit for LCB problems."""

DEFAULT_MEMORY_MB = 1024
"""Memory a test may use unless the problem says otherwise, in MiB."""


@dataclass(frozen=True)
class Case:
    """One input with its expected output, both as text (LiveBench's own form).

    Attributes:
        input: For a stdin problem, what the program reads. For a functional
            one, the arguments in order, one JSON value a line.
        output: For a stdin problem, what it should print. For a functional
            one, what it should return, as one JSON value.
    """

    input: str
    output: str

    @property
    def arguments(self) -> list[Any]:
        """The arguments of a functional case.

        Raises:
            InputError: If a line is not a JSON value.
        """
        return [load_value(line) for line in self.input.split("\n") if line.strip()]

    @property
    def expected(self) -> Any:
        """The expected result of a functional case; raises InputError if it is not JSON."""
        return load_value(self.output)


@dataclass(frozen=True)
class Problem:
    """One programming problem and everything needed to grade an answer to it.

    Make one with :meth:`stdin`, :meth:`functional` or :meth:`unittest`.

    Attributes:
        statement: What the solver reads.
        kind: ``"stdin"`` (a program that reads and prints), ``"functional"``
            (a function, or a method of ``class Solution``), or ``"unittest"``
            (source of unit tests that call the solution).
        public_tests: Tests whose failures the solver may be shown.
        private_tests: Tests that only decide. Both count.
        entry_point: Name of the function to call (functional, unittest).
        unittest_source: Source with ``class TestCases`` (unittest).
        starter_code: Code that the solver is given to begin with.
        partial_solution: Code that the answer continues; put before it.
        reference_solutions: Programs that pass every test.
        wrong_solutions: Programs that fail at least one test.
        time_limit: Seconds a test may take.
        memory_mb: Memory a test may use, in MiB.
        id: Name; derived from the content when left empty.
        title: Short name for reports.
        source: Where it comes from: ``"livebench"``, ``"humaneval"``,
            ``"codeio"``, ``"generated"``, or the user's own word.
        task: LiveBench's name of the task, or the family of a generated problem.
        release_date: ``YYYY-MM-DD`` of the first release that has it, or "".
        removal_date: ``YYYY-MM-DD`` of the release that dropped it, or "".
        metadata: Anything else that is known about it, as JSON.

    Raises:
        InputError: On a field of the wrong type or an unknown kind; names it.
            Zero tests are an error of grading, not of the problem: a statement
            may be edited before it has any.
    """

    statement: str
    kind: str
    public_tests: tuple[Case, ...] = ()
    private_tests: tuple[Case, ...] = ()
    entry_point: str = ""
    unittest_source: str = ""
    starter_code: str = ""
    partial_solution: str = ""
    reference_solutions: tuple[str, ...] = ()
    wrong_solutions: tuple[str, ...] = ()
    time_limit: float = DEFAULT_TIME_LIMIT
    memory_mb: int = DEFAULT_MEMORY_MB
    id: str = ""
    title: str = ""
    source: str = ""
    task: str = ""
    release_date: str = ""
    removal_date: str = ""
    metadata: Mapping[str, Any] = field(default_factory=FrozenDict)

    _TEXTS: ClassVar[tuple[str, ...]] = (
        "statement", "kind", "entry_point", "unittest_source", "starter_code", "partial_solution",
        "id", "title", "source", "task", "release_date", "removal_date",
    )  # fmt: skip

    def __post_init__(self) -> None:
        """Check the fields, freeze the contents and fill in the id."""
        for name in self._TEXTS:
            if not isinstance(getattr(self, name), str):
                raise InputError(f"Problem.{name}: expected a string, got {getattr(self, name)!r}")
        if self.kind not in KINDS:
            raise unknown_name("problem kind", self.kind, KINDS)
        for name in ("public_tests", "private_tests"):
            object.__setattr__(self, name, _cases(name, getattr(self, name), self.kind))
        for name in ("reference_solutions", "wrong_solutions"):
            object.__setattr__(self, name, _texts(name, getattr(self, name)))
        for name, kinds in (("time_limit", int | float), ("memory_mb", int)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value < float("inf"):
                raise InputError(f"Problem.{name}: expected a number above 0, got {value!r}")
        if not isinstance(self.metadata, Mapping):
            raise InputError(f"Problem.metadata: expected a mapping, got {self.metadata!r}")
        object.__setattr__(self, "metadata", FrozenDict(self.metadata))
        if self.kind == "functional" and not self.entry_point.isidentifier():
            raise InputError(
                f"Problem.entry_point: expected the name of the function to call, got {self.entry_point!r}"
            )
        if not self.id:
            object.__setattr__(self, "id", f"{self.source or 'problem'}-{self.content_hash[:16]}")

    @classmethod
    def stdin(
        cls, statement: str, tests: Iterable[tuple[str, str]], *, public: int = 0, **fields: Any
    ) -> Self:
        """Make a problem whose solution reads standard input and prints.

        Args:
            statement: What the solver reads.
            tests: Pairs of what the program reads and what it should print.
            public: How many of them, from the first, the solver may be shown.
            **fields: Other fields of the problem: ``time_limit`` in seconds,
                ``memory_mb``, ``reference_solutions`` ...

        Raises:
            InputError: If a test is not a pair of strings, or ``public`` no number of them.

        Example:
            >>> Problem.stdin("Print the sum of two integers.", [("1 2", "3")]).kind
            'stdin'
        """
        cases = [Case(*_pair(test, "stdin")) for test in _iterable(tests)]
        return cls(statement, "stdin", *_parted(cases, public), **fields)

    @classmethod
    def functional(
        cls,
        statement: str,
        entry_point: str,
        tests: Iterable[tuple[Sequence[Any], Any]],
        *,
        public: int = 0,
        **fields: Any,
    ) -> Self:
        """Make a problem whose solution is a function, or a method of ``class Solution``.

        Args:
            statement: What the solver reads.
            entry_point: Name of the function.
            tests: Pairs of a list of arguments and the expected result, both
                JSON values; tuples become lists.
            public: How many of them, from the first, the solver may be shown.
            **fields: Other fields of the problem.

        Raises:
            InputError: If a test is not such a pair, or ``public`` no number of them.

        Example:
            >>> problem = Problem.functional("Add.", "add", [([1, 2], 3)])
            >>> problem.tests[0].arguments
            [1, 2]
        """
        cases = []
        for test in _iterable(tests):
            arguments, expected = _pair(test, "functional")
            if not isinstance(arguments, list | tuple):
                raise InputError(f"functional test: expected a list of arguments, got {arguments!r}")
            cases.append(Case("\n".join(map(dump_value, arguments)), dump_value(expected)))
        return cls(statement, "functional", *_parted(cases, public), entry_point=entry_point, **fields)

    @classmethod
    def unittest(cls, statement: str, entry_point: str, unittest_source: str, **fields: Any) -> Self:
        """Make a problem that is graded by the source of unit tests (``class TestCases``).

        The tests run in the solution's own process and trust it; see
        :func:`rla_envs.coding.grade`.
        """
        return cls(statement, "unittest", entry_point=entry_point, unittest_source=unittest_source, **fields)

    @property
    def tests(self) -> tuple[Case, ...]:
        """All cases, public ones first."""
        return self.public_tests + self.private_tests

    @functools.cached_property
    def content_hash(self) -> str:
        """SHA-256 (64 hex digits) of everything but the id."""
        content = {name: value for name, value in self.to_dict().items() if name != "id"}
        return hashlib.sha256(canonical_json(content).encode()).hexdigest()

    def __hash__(self) -> int:
        """Hash the content; equal in every process, whatever PYTHONHASHSEED is."""
        return int(self.content_hash[:15], 16)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other values in these fields, and with an id of its own unless one is given."""
        return dataclasses.replace(self, **{"id": "", **changes})

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as JSON values; also what ``Task.payload["problem"]`` holds."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("public_tests", "private_tests"):
            values[name] = [[case.input, case.output] for case in values[name]]
        return values

    def to_json(self) -> str:
        """Return the problem as canonical JSON text."""
        return canonical_json(self.to_dict())

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read a problem back from :meth:`to_dict`.

        Raises:
            InputError: On anything else; names the field.
        """
        if not isinstance(values, Mapping):
            raise InputError(f"Problem: expected a JSON object, got {type(values).__name__}")
        known = {f.name for f in fields(cls)}
        for problem, names in (
            ("unknown", set(values) - known),
            ("missing", {"statement", "kind"} - set(values)),
        ):
            if names:
                raise InputError(
                    f"Problem: {problem} field {min(names)!r}; expected {', '.join(sorted(known))}"
                )
        return cls(**values)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a problem back from :meth:`to_json`; raises InputError naming the field."""
        try:
            values = json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"Problem: expected JSON text, got something else ({error})") from error
        return cls.from_dict(values)


class ProblemSource(Protocol):
    """Where ``RLA/LiveBenchCoding-v0`` takes its problems from."""

    @property
    def difficulty_parameters(self) -> tuple[DifficultyParameter, ...]:
        """What can be asked; statistics read ``Problem.from_dict(task.payload["problem"])``."""
        ...

    def sample(self, difficulty: Mapping[str, Value], rng: np.random.Generator) -> Problem:
        """Return a random problem.

        Args:
            difficulty: A value for every parameter.
            rng: Source of all randomness.

        Raises:
            InvalidTaskError: If this draw gave no problem; the caller may draw again.
        """
        ...


def _iterable(tests: object) -> Iterable[object]:
    if not isinstance(tests, Iterable) or isinstance(tests, str | bytes | Mapping):
        raise InputError(f"tests: expected a list of pairs, got {tests!r}")
    return tests


def _parted(cases: list[Case], public: object) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """Return the public and the private cases."""
    if isinstance(public, bool) or not isinstance(public, int) or not 0 <= public <= len(cases):
        raise InputError(f"public: expected a number of tests from 0 to {len(cases)}, got {public!r}")
    return tuple(cases[:public]), tuple(cases[public:])


def _pair(test: object, kind: str) -> tuple[Any, Any]:
    if not isinstance(test, list | tuple) or len(test) != 2:
        wanted = "(input, output)" if kind == "stdin" else "(arguments, expected)"
        raise InputError(f"{kind} test: expected a pair {wanted}, got {test!r}")
    return test[0], test[1]


def _cases(name: str, cases: object, kind: str) -> tuple[Case, ...]:
    if not isinstance(cases, list | tuple):
        raise InputError(f"Problem.{name}: expected a list of tests, got {cases!r}")
    read = tuple(case if isinstance(case, Case) else Case(*_pair(case, kind)) for case in cases)
    for number, case in enumerate(read):
        for part in ("input", "output"):
            value = getattr(case, part)
            if not isinstance(value, str):
                raise InputError(f"Problem.{name}[{number}].{part}: expected a string, got {value!r}")
        if kind == "functional":
            try:
                _ = case.arguments, case.expected
            except InputError as error:
                raise InputError(f"Problem.{name}[{number}]: {error}") from error
    return read


def _texts(name: str, values: object) -> tuple[str, ...]:
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise InputError(f"Problem.{name}: expected a list of strings, got {values!r}")
    return tuple(values)
