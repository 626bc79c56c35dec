"""Running a ``unittest`` suite against a program, in the one interpreter they have to share."""

from __future__ import annotations

import unittest
from typing import Any

from . import program


class _Canary(unittest.TestCase):
    """Checks that must fail; one that passes says that the machinery was changed."""

    def test_equal(self) -> None:
        self.assertEqual(1, 2)  # noqa: PT009

    def test_true(self) -> None:
        self.assertTrue(0)  # noqa: PT009

    def test_raises(self) -> None:
        with self.assertRaises(ValueError):  # noqa: PT027
            pass

    def test_fail(self) -> None:
        self.fail()


class _Outcomes(unittest.TestResult):
    """Notes the outcome of every test, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: dict[str, str] = {}
        self.texts: list[str] = []

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().startTest(test)
        self.outcomes[test.id()] = "passed"

    def _note(self, test: unittest.TestCase, outcome: str, error: Any) -> None:
        self.outcomes[test.id()] = outcome
        self.texts.append(f"{test.id()}: {outcome}\n{program.error_text(error[1]).decode()}")

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self._note(test, "failed", err)

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        self._note(test, "error", err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None:
            self._note(test, "failed" if issubclass(err[0], test.failureException) else "error", err)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        self.outcomes[test.id()] = "skipped"

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self.outcomes[test.id()] = "skipped"

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        self.outcomes[test.id()] = "failed"


def run_suite(source: bytes, tests_source: bytes, limit: int) -> None:
    """Run a ``unittest`` suite against the program and send outcomes, canaries and error texts."""

    def run() -> Any:
        module = program.fresh_module("__main__")
        exec(program.compile_source(source), module.__dict__)
        before = set(map(id, module.__dict__.values()))
        exec(program.compile_source(tests_source), module.__dict__)
        result, canaries = _Outcomes(), _Outcomes()
        for case in list(module.__dict__.values()):
            # The program's own cases do not count, nor do those that it imported.
            if isinstance(case, type) and issubclass(case, unittest.TestCase) and id(case) not in before:
                unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
        unittest.defaultTestLoader.loadTestsFromTestCase(_Canary).run(canaries)
        return {
            "outcomes": list(result.outcomes.items()),
            "canaries": list(canaries.outcomes.values()),
            "errors": "\n".join(result.texts)[: program.ERROR_CHARACTERS],
        }

    program.send_result(run, limit)
