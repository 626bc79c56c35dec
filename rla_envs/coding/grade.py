"""Grade answers: run the program they hold on every test, and compare what it gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from rla_envs.coding.compare import livebench_same_text, same_text, same_value
from rla_envs.coding.extraction import extract_code
from rla_envs.coding.imports import with_implicit_imports
from rla_envs.coding.livebench_rules import CALLS_ENTRY_POINT, functional_program, stdin_program
from rla_envs.coding.problem import Case, Problem
from rla_envs.coding.sandbox import BACKENDS, Limits, Run, Sandbox, Status, open_sandbox
from rla_envs.coding.suites import as_imported, imported_modules, test_names
from rla_envs.coding.values import show_value
from rla_envs.errors import InfrastructureError, InputError, unknown_name

GRADINGS = ("strict", "livebench")

STOPS = ("never", "timeout", "failure")

NO_CODE = "no_code"
"""Status of an answer in which no program was found; apart from every wrong answer."""

_SUITE_STATUS = {"passed": Status.OK, "error": Status.RUNTIME_ERROR}

_MOST_SECONDS, _MOST_OUTPUT = 86_400, 256 << 20
"""The largest limits that can be set."""

_FIND_MODULES = """\
def missing(names):
    absent = []
    for name in names:
        try:
            __import__(name)
        except ImportError:
            absent.append(name)
    return absent
"""

_SHOWN = 2000
"""Characters of an output that a result keeps."""


@dataclass(frozen=True)
class TestResult:
    """What one test said about a program.

    Attributes:
        status: ``"ok"``, ``"wrong_answer"``, ``"runtime_error"``,
            ``"timeout"``, ``"memory"`` or ``"output_limit"``.
        name: ``"public 1"``, ``"private 3"``, or the name of the unit test.
        input: What the program was given.
        expected: What it should have given; empty for a unit test.
        output: What it gave, at most 2000 characters of it.
        error: What went wrong, in words.
        public: Whether the solver may see it.
        cpu_seconds: Processor time it took; does not count in comparisons.
    """

    __test__ = False  # not one of pytest's

    status: str
    name: str = ""
    input: str = ""
    expected: str = ""
    output: str = ""
    error: str = ""
    public: bool = False
    cpu_seconds: float = field(default=0.0, compare=False)

    @property
    def passed(self) -> bool:
        """Whether the program passed it."""
        return self.status == Status.OK


@dataclass(frozen=True)
class Verdict:
    """What grading says about an answer.

    Attributes:
        passed: Whether it passed every test.
        status: ``"ok"``, ``"no_code"``, or the status of the first failed test.
        tests: Results in the order of ``Problem.tests``; up to the first
            failure where grading stops there.
        total: Number of tests that the problem has.
        code: The program that was run; empty if none was found.
        cooperative: Whether the tests ran inside the program's own process (kind
            ``unittest``): such a verdict can be forged by a program that sets
            out to, and is only worth trusting where none does.
    """

    passed: bool
    status: str
    tests: tuple[TestResult, ...]
    total: int
    code: str = ""
    cooperative: bool = False

    @property
    def fraction(self) -> float:
        """Share of the problem's tests that passed; tests that were not run count as failed."""
        return sum(test.passed for test in self.tests) / self.total


class Grader:
    """Grades answers in one sandbox, which opens with the first of them.

    Args:
        grading: ``"strict"`` for what is right, ``"livebench"`` for LiveBench's
            own verdicts; ``docs/coding_grading.md`` lists where they differ.
        backend: Name of the sandbox's backend.

    Raises:
        UnknownNameError: On another grading or backend.
    """

    def __init__(self, grading: str = "strict", backend: str = "bubblewrap") -> None:
        """Set up; nothing is started yet."""
        if grading not in GRADINGS:
            raise unknown_name("grading", grading, GRADINGS)
        if backend not in BACKENDS:
            raise unknown_name("sandbox backend", backend, BACKENDS)
        self.grading = grading
        self.backend = backend
        self._sandbox: Sandbox | None = None

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox, opened now if it was not."""
        if self._sandbox is None:
            self._sandbox = open_sandbox(self.backend)
        return self._sandbox

    def grade(self, problem: Problem, answer: str, *, stop_at: str = "never") -> Verdict:
        """Return the verdict on an answer.

        Args:
            problem: What was asked.
            answer: The solver's whole text.
            stop_at: ``"failure"`` runs no further test after the first that
                fails, as LiveBench's grading always does; ``"timeout"`` none
                after the first that takes too long; ``"never"`` all.

        Raises:
            InputError: If the answer is no text, or the problem has no test, or
                none that a program without output would fail.
            InfrastructureError: If the sandbox failed for good; says nothing
                about the answer.
        """
        if not isinstance(answer, str):
            raise InputError(f"answer: expected text, got {answer!r} of type {type(answer).__name__}")
        _require_problem(problem)
        require_tests(problem)
        code = extract_code(answer, problem.partial_solution, self.grading)
        if code is None:
            return Verdict(False, NO_CODE, (), test_count(problem))
        return self.grade_code(problem, code, stop_at=stop_at)

    def grade_code(self, problem: Problem, code: str, *, stop_at: str = "never") -> Verdict:
        """Return the verdict on a program; see :meth:`grade`."""
        _require_problem(problem)
        require_tests(problem)
        if stop_at not in STOPS:
            raise unknown_name("stop_at", stop_at, STOPS)
        stop = "failure" if self.grading == "livebench" else stop_at
        results: list[TestResult] = []
        for result in self._results(problem, code):
            results.append(result)
            if (stop == "failure" and not result.passed) or (
                stop == "timeout" and result.status == Status.TIMEOUT
            ):
                break
        total = test_count(problem)
        failed = next((result.status for result in results if not result.passed), None)
        if failed is None and len(results) != total:
            raise InfrastructureError(f"the sandbox answered {len(results)} of {total} tests")
        return Verdict(
            passed=failed is None,
            status=failed or str(Status.OK),
            tests=tuple(results),
            total=total,
            code=code,
            cooperative=problem.kind == "unittest",
        )

    def close(self) -> None:
        """End the sandbox; the next grading opens another."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            sandbox.close()

    def __enter__(self) -> Self:
        """Return the grader."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the sandbox."""
        self.close()

    def _results(self, problem: Problem, code: str) -> Iterator[TestResult]:
        limits = Limits(problem.time_limit, problem.memory_mb)
        source = with_implicit_imports(code)
        if problem.kind == "unittest":
            yield from self._suite(problem, source, limits)
            return
        names = [f"public {i + 1}" for i in range(len(problem.public_tests))]
        names += [f"private {i + 1}" for i in range(len(problem.private_tests))]
        runs = self._stdin if problem.kind == "stdin" else self._functional
        for number, (case, (run, same)) in enumerate(
            zip(problem.tests, runs(problem, source, limits), strict=False)
        ):
            output = _shown(run, problem.kind == "functional")
            yield _result(run, same, case, output, names[number], number < len(problem.public_tests))

    def _stdin(self, problem: Problem, source: str, limits: Limits) -> Iterator[tuple[Run, bool]]:
        same = same_text
        if self.grading == "livebench":
            source, same = stdin_program(source), livebench_same_text
        runs = self.sandbox.run_stdin(source, [case.input for case in problem.tests], limits)
        for case, run in zip(problem.tests, runs, strict=False):
            yield run, run.status is Status.OK and _is_text(run.stdout) and same(run.text, case.output)

    def _functional(self, problem: Problem, source: str, limits: Limits) -> Iterator[tuple[Run, bool]]:
        calls = [case.arguments for case in problem.tests]
        if self.grading == "livebench":
            runs = _livebench_calls(self.sandbox, problem, source, calls, limits)
            for case, run in zip(problem.tests, runs, strict=False):
                yield run, run.status is Status.OK and bool(run.value == case.expected)
            return
        # Whoever calls a function imports it: what stands behind a main guard reads input of its own.
        source = as_imported(source)
        runs = self.sandbox.run_functional(source, problem.entry_point, calls, limits)
        for number, (case, run) in enumerate(zip(problem.tests, runs, strict=False)):
            same = run.status is Status.OK and same_value(run.value, case.expected)
            if run.status is Status.OK and not same and number:
                # It may have found what an earlier call left in their process, such as a file.
                (run,) = self.sandbox.run_functional(source, problem.entry_point, [calls[number]], limits)
                same = run.status is Status.OK and same_value(run.value, case.expected)
            yield run, same

    def _suite(self, problem: Problem, source: str, limits: Limits) -> Iterator[TestResult]:
        self._require_modules(problem)
        names = test_names(problem.unittest_source)
        suite = as_imported(problem.unittest_source)
        run = self.sandbox.run_unittest(as_imported(source), suite, len(names), limits)
        _refuse_infrastructure(run)
        outcomes = {".".join(name.split(".")[-2:]): outcome for name, outcome in run.outcomes}
        # A suite that says all is well and yet did not pass was tampered with.
        trusted = set(outcomes) == set(names) and set(outcomes.values()) != {"passed"}
        for name in names:
            status, outcome = run.status, outcomes.get(name, "not run")
            if trusted:
                status = _SUITE_STATUS.get(outcome, Status.WRONG_ANSWER)
            error = "" if status is Status.OK else run.error or f"the test was {outcome}"
            yield TestResult(str(status), name, error=error, cpu_seconds=run.cpu_seconds)

    def _require_modules(self, problem: Problem) -> None:
        """Refuse to judge by tests that cannot run here: that would count as the program's failure."""
        sources = (problem.unittest_source, *problem.reference_solutions)
        needed = sorted(set().union(*map(imported_modules, sources)))
        (run,) = self.sandbox.run_functional(_FIND_MODULES, "missing", [[needed]])
        _refuse_infrastructure(run)
        if run.status is not Status.OK or run.value:
            raise InfrastructureError(
                f"problem {problem.id} needs modules that the sandbox does not have: "
                f"{', '.join(run.value or ()) or run.error}"
            )


def grade(
    problem: Problem,
    answer: str,
    grading: str = "strict",
    backend: str = "bubblewrap",
    *,
    stop_at: str = "never",
) -> Verdict:
    """Return the verdict on one answer, in a sandbox of its own.

    To grade many, keep a :class:`Grader`; its arguments and errors are the same.

    Args:
        problem: What was asked.
        answer: The solver's whole text; the program is found in it.
        grading: ``"strict"`` or ``"livebench"``.
        backend: ``"bubblewrap"``, ``"docker"`` or ``"rlimits"``.
        stop_at: ``"never"``, ``"timeout"`` or ``"failure"``.
    """
    with Grader(grading, backend) as grader:
        return grader.grade(problem, answer, stop_at=stop_at)


def test_count(problem: Problem) -> int:
    """Return how many tests a problem has."""
    if problem.kind == "unittest":
        return len(test_names(problem.unittest_source))
    return len(problem.tests)


test_count.__test__ = False  # type: ignore[attr-defined]  # not one of pytest's


def require_tests(problem: Problem) -> None:
    """Refuse a problem that every program, or an empty one, would pass.

    Raises:
        InputError: If it has no test, or if all its tests expect no output.
    """
    if test_count(problem) == 0:
        raise InputError(
            f"problem {problem.id}: expected at least one test, got none; every answer would pass"
        )
    if problem.kind == "stdin" and not any(case.output.strip() for case in problem.tests):
        raise InputError(f"problem {problem.id}: no test expects any output; an empty program would pass")


def _require_problem(problem: object) -> None:
    if not isinstance(problem, Problem):
        raise InputError(
            f"problem: expected a Problem, got one of type {type(problem).__name__}; make one with "
            "Problem.stdin, Problem.functional or load_problems"
        )


def _livebench_calls(
    sandbox: Sandbox, problem: Problem, source: str, calls: Sequence[Sequence[Any]], limits: Limits
) -> Iterator[Run]:
    """Make all calls on one object, as LiveBench does; yield one result each, up to the first failure."""
    # One process makes all calls, and its report is one value: what each may use adds up.
    together = Limits(
        min((limits.time_limit + 1) * len(calls) + 5, _MOST_SECONDS),
        limits.memory_mb,
        min(limits.output_bytes * len(calls), _MOST_OUTPUT),
    )
    arguments = [list(calls), problem.entry_point, limits.time_limit]
    (run,) = sandbox.run_functional(functional_program(source), CALLS_ENTRY_POINT, [arguments], together)
    if run.status is not Status.OK or not _is_report(run.value):
        status = Status.RUNTIME_ERROR if run.status is Status.OK else run.status
        yield Run(status, error=run.error or "the program changed the report on its calls")
        return
    for status, value in run.value:
        if status == "ok":
            yield Run(Status.OK, value=value)
        else:
            text = str(value or "the time limit was over")
            yield Run(Status(status), error=text.encode("utf-8", "backslashreplace").decode())


def _is_report(value: Any) -> bool:
    """Return whether a value has the form of a report; it comes from the program's own process."""
    known = ("ok", "runtime_error", "timeout")
    return isinstance(value, list) and all(
        isinstance(row, list) and len(row) == 2 and isinstance(row[0], str) and row[0] in known
        for row in value
    )


def _result(run: Run, same: bool, case: Case, output: str, name: str, public: bool) -> TestResult:
    _refuse_infrastructure(run)
    status, error = run.status, run.error
    if status is Status.OK and not same:
        status = Status.WRONG_ANSWER
        if run.stdout and not _is_text(run.stdout):
            error = "the output is not UTF-8"
    return TestResult(str(status), name, case.input, case.output, output, error, public, run.cpu_seconds)


def _refuse_infrastructure(run: Run) -> None:
    if run.status is Status.INFRASTRUCTURE:
        raise InfrastructureError(
            f"the sandbox failed and cannot say whether the answer is right: {run.error}"
        )


def _is_text(output: bytes) -> bool:
    try:
        output.decode()
    except UnicodeDecodeError:
        return False
    return True


def _shown(run: Run, functional: bool) -> str:
    """Return for people what a program gave."""
    if not functional:
        text = run.text
    elif run.status is not Status.OK:
        text = ""
    else:
        return show_value(run.value, _SHOWN)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
