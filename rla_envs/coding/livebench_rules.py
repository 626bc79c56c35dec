"""Programs rewritten to behave as under LiveBench's grader, with what it takes away from them.

LiveBench runs an answer inside its own process: the statements become the body
of a function, standard input and output become text buffers, and one
``Solution`` object serves all tests. Correct programs fail there that need the
real streams, a module's globals, or a fresh object. The rewritten program does
the same in a process of its own, so that those verdicts can be reproduced
without running anything unprotected.
"""

from __future__ import annotations

import ast
import warnings
from typing import Any

_MAIN_GUARD = "__name__ == '__main__'"

RECURSION_LIMIT = 50_000
"""Python's recursion limit under LiveBench's grader."""

DIGIT_LIMIT = 50_000
"""Digits of an integer that can be printed or read under LiveBench's grader."""

_IMPORTS_FIRST = "import sys\n"
"""LiveBench puts imports before every program, behind which a future import is an error."""

_SETUP = f"""\
import io, os, sys
sys.setrecursionlimit({RECURSION_LIMIT})
if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits({DIGIT_LIMIT})
import builtins
builtins.quit = None
_source = {{source!r}}
_space = {{{{"__name__": "tmp_sol", "__builtins__": builtins}}}}
"""

_STDIN = (
    _SETUP
    + """\
_text = sys.stdin.read()
_out = os.dup(1)
_r, _w = os.pipe()
os.close(_w)
os.dup2(_r, 0)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
_lines = iter(_text.split("\\n"))
sys.stdin.readline = lambda *_: next(_lines)
sys.stdin.readlines = lambda *_: _text.split("\\n")
sys.stdin.read = lambda *_: _text
exec(compile(_source, "solution.py", "exec"), _space)
sys.stdin, _real, sys.stdout = io.StringIO(_text), sys.stdout, io.StringIO()
_captured = sys.stdout
try:
    _space["wrapped_function"]()
except SystemExit:
    pass
sys.stdout = _real
with os.fdopen(_out, "wb") as _stream:
    _stream.write(_captured.getvalue().encode("utf-8", "surrogatepass"))
"""
)

_CALLS = (
    _SETUP
    + """\
import signal

class _Late(Exception):
    pass

def _late(*_):
    raise _Late()

def _plain(value, depth=0):
    if type(value) is tuple:
        return {{"a tuple": [_plain(item, 1) for item in value]}} if depth else _plain(list(value))
    if type(value) is list:
        return [_plain(item, 1) for item in value]
    if type(value) is dict:
        return {{key: _plain(item, 1) for key, item in value.items()}}
    return value

def livebench_calls(calls, name, seconds):
    exec(compile(_source, "solution.py", "exec"), _space)
    holder = _space["Solution"]() if "class Solution" in _source else None
    method = _space[name] if holder is None else getattr(holder, name)
    signal.signal(signal.SIGALRM, _late)
    results = []
    for arguments in calls:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            results.append(["ok", _plain(method(*arguments))])
        except _Late:
            results.append(["timeout", None])
        except Exception as error:
            results.append(["runtime_error", (type(error).__name__ + ": " + str(error))[:500]])
        signal.setitimer(signal.ITIMER_REAL, 0)
        if results[-1][0] != "ok":
            break
    return results
"""
)

CALLS_ENTRY_POINT = "livebench_calls"
"""Name of the function that :func:`functional_program` adds; takes (calls, name, seconds)."""


def stdin_program(code: str) -> str:
    """Return a program that treats standard input and output as LiveBench's grader does."""
    return _STDIN.format(source=_IMPORTS_FIRST + _wrapped(code))


def functional_program(code: str) -> str:
    """Return a program with :data:`CALLS_ENTRY_POINT`, which makes all calls on one object.

    It returns one ``[status, value]`` per call, up to the first that is not
    ``"ok"``. A tuple inside another value comes back as something that equals
    no expected result.
    """
    return _CALLS.format(source=_IMPORTS_FIRST + code)


def _wrapped(code: str) -> str:
    """Return the program as imports and one function; as it is if it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body: list[Any] = ast.parse(code).body
        last = body[-1] if body else None
        if isinstance(last, ast.If) and ast.unparse(last.test) == _MAIN_GUARD:
            body = [*body[:-1], *last.body]
        imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        rest = [node for node in body if node not in imports]
        function = ast.parse("def wrapped_function(): pass").body[0]
        assert isinstance(function, ast.FunctionDef)
        function.body = rest
        return "\n".join(map(ast.unparse, [*imports, function]))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
