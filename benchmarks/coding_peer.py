"""A grader that works as LiveBench's does, unisolated, to measure ours against.

LiveBench is no package that can be installed. Its grader for programs that read
standard input (``livebench/lcb_runner``) takes these steps, and so does this
one: a ``multiprocessing`` manager with two lists, and a new process for each
submission; in it, star imports of eighteen modules and the program as the body
of a function; for each test an alarm as time limit, the standard streams
replaced by ``unittest.mock``, and the function called; outputs compared
stripped, line by line; the first failure ends it.
"""

from __future__ import annotations

import ast
import contextlib
import faulthandler
import io
import multiprocessing
import signal
import types
from collections.abc import Callable, Sequence
from typing import Any, NoReturn
from unittest import mock

_MODULES = """
string re datetime collections heapq bisect copy math random statistics itertools functools operator
io sys json builtins typing
"""
_Tests = Sequence[tuple[str, str]]

Grade = Callable[[str], list[bool]]
"""From a program to which tests it passes, up to the first that it fails."""


def grade(source: str, tests: _Tests, time_limit: int) -> list[bool]:
    """Return which tests a program passes, up to the first that it fails.

    Args:
        source: The program.
        tests: Pairs of input and expected output.
        time_limit: Whole seconds of wall clock for each test.
    """
    context = multiprocessing.get_context("fork")
    with context.Manager() as manager:
        passed, notes = manager.list(), manager.list()
        process = context.Process(target=_run_all, args=(source, tests, time_limit, passed, notes))
        process.start()
        process.join((time_limit + 1) * len(tests) + 5)
        if process.is_alive():
            process.kill()
            process.join()
        return list(passed[0]) if passed else [False]


def _run_all(source: str, tests: _Tests, time_limit: int, passed: Any, notes: Any) -> None:
    signal.signal(signal.SIGALRM, _too_late)
    outcomes, note = _outcomes(source, tests, time_limit)
    passed.append(outcomes)
    notes.append(note)


def _outcomes(source: str, tests: _Tests, time_limit: int) -> tuple[list[bool], dict[str, str]]:
    outcomes: list[bool] = []
    try:
        function = _as_function(source)
    except SyntaxError as error:
        return [False], {"error": repr(error)}
    for given, expected in tests:
        faulthandler.enable()
        signal.alarm(time_limit)
        try:
            printed = _call(function, given)
        except Exception as error:
            return [*outcomes, False], {"error": repr(error), "inputs": given, "expected": expected}
        finally:
            signal.alarm(0)
            faulthandler.disable()
        outcomes.append(_same(printed, expected))
        if not outcomes[-1]:
            return outcomes, {"output": printed, "inputs": given, "expected": expected}
    return outcomes, {}


def _too_late(number: int, frame: types.FrameType | None) -> NoReturn:
    raise TimeoutError


def _as_function(source: str) -> Callable[[], None]:
    """Return the program as a function: its imports outside, everything else its body."""
    tree = ast.parse(source)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    body = [node for node in tree.body if node not in imports]
    function = ast.parse("def program():\n    pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = body or function.body
    module = types.ModuleType("solution")
    program = ast.unparse(ast.Module(body=[*imports, function], type_ignores=[]))
    starred = "".join(f"from {name} import *\n" for name in _MODULES.split())
    named = "".join(f"import {name}\n" for name in _MODULES.split())
    exec(starred + named + program, module.__dict__)
    found: Callable[[], None] = module.__dict__["program"]
    return found


def _call(function: Callable[[], None], given: str) -> str:
    printed, lines = io.StringIO(), given.split("\n")
    with (
        contextlib.redirect_stdout(printed),
        mock.patch("builtins.open", mock.mock_open(read_data=given)),
        mock.patch("sys.stdin", io.StringIO(given)),
        mock.patch("sys.stdin.readline", side_effect=lines),
        mock.patch("sys.stdin.readlines", return_value=lines),
        mock.patch("sys.stdin.read", return_value=given),
        contextlib.suppress(SystemExit),
    ):
        function()
    return printed.getvalue()


def _same(printed: str, expected: str) -> bool:
    ours, theirs = ([line.strip() for line in text.strip().split("\n")] for text in (printed, expected))
    return ours == theirs
