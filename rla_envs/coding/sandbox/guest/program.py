"""Running an untrusted program in the process that was confined for it, and sending what it returned.

A result goes to a file, and its kind (one byte) and length (4 bytes) to a pipe.
The program can write to both; all it gains is to have returned another value.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import struct
import sys
import threading
import traceback
import types
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from . import frames, values

STDIN, STDOUT, STDERR, RESULTS, CONTENTS = range(5)
"""File descriptors of a program; the last two only where it is called as a function."""

STARTED = b"S"
"""Sent on the pipe before the program runs: whatever ends the process from then on is the program's doing."""
VALUE, ERROR, MEMORY, TOO_LONG = b"V", b"E", b"M", b"L"
"""Kinds of result: encoded value; error text; out of memory; value too long."""

EXIT_MEMORY = 121
"""Exit code after running out of memory (Python itself has 1, 2 and 120)."""

_LENGTH = struct.Struct("<I")
_BUFFERED = (io.BufferedWriter, io.BufferedRandom, io.TextIOWrapper)
FILENAME = "solution.py"
ERROR_CHARACTERS = 4000


class _Source:
    """Shows a program's lines to tracebacks, which ask the loader of its module."""

    text = ""

    @classmethod
    def get_source(cls, name: str) -> str:
        """Return the program, whatever its module is called."""
        return cls.text


def fresh_module(name: str) -> types.ModuleType:
    """Return an empty module, which importing this name finds from now on."""
    module = types.ModuleType(name)
    module.__file__ = FILENAME
    module.__loader__ = _Source  # type: ignore[assignment]
    sys.modules[name] = module
    return module


def compile_source(source: bytes) -> types.CodeType:
    """Return a program compiled as a file of its own."""
    _Source.text = source.decode("utf-8", "replace")
    code: types.CodeType = compile(source, FILENAME, "exec", dont_inherit=True)
    return code


def run_main(source: bytes) -> int:
    """Run a program as ``python solution.py`` would; return its exit code."""
    return _finish(execute(source))


def execute(source: bytes) -> int:
    """Run a program up to the end of its main thread; return the exit code that asks for."""
    module = fresh_module("__main__")
    try:
        exec(compile_source(source), module.__dict__)
    except SystemExit as error:
        return _exit_code(error)
    except MemoryError:
        os.write(STDERR, b"MemoryError\n")
        return EXIT_MEMORY
    except BaseException as error:
        _show(error)
        return 1
    return 0


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    sys.stderr.write(f"{error.code}\n")
    return 1


def _show(error: BaseException) -> None:
    """Print an uncaught exception as the program would have it, without the frames that are ours."""
    with suppress(BaseException):  # printing runs the program's code
        if sys.excepthook is sys.__excepthook__:
            sys.stderr.write(error_text(error).decode())
        else:
            trace = error.__traceback__
            sys.excepthook(type(error), error, trace.tb_next if trace else None)


def _finish(code: int) -> int:
    """Do what CPython does at the end: wait for threads, run exit handlers, flush."""
    try:
        if len(threading.enumerate()) > 1 or threading._threading_atexits:  # type: ignore[attr-defined]
            threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        if not sys.stdout.closed:
            sys.stdout.flush()
        for thing in gc.get_objects():  # files it left open: CPython closes them
            if issubclass(type(thing), _BUFFERED) and not thing.closed:
                thing.flush()
    except BaseException as error:
        _show(error)
        return code or 120
    return code


def call_function(source: bytes, payload: bytes, entry_point: str, limit: int) -> None:
    """Call a function of the program once per argument list, in a fresh module each time.

    Args:
        source: The program.
        payload: The argument lists, encoded one after another, each with its length before it.
        entry_point: Name of the function, or of a method of ``Solution``.
        limit: Most bytes of an encoded value.
    """

    def call(arguments: list[Any]) -> Any:
        module = fresh_module("__main__")
        exec(compile_source(source), module.__dict__)
        return _find(module.__dict__, entry_point)(*arguments)

    start = 0
    while start < len(payload):
        (length,) = _LENGTH.unpack_from(payload, start)
        start += 4 + length
        arguments = values.decode(payload[start - length : start])
        send_result(lambda: call(arguments), limit)  # noqa: B023 - called at once
        gc.collect()


def _find(names: dict[str, Any], entry_point: str) -> Callable[..., Any]:
    owner, _, name = entry_point.rpartition(".")
    if owner:
        found = getattr(names[owner](), name)
    elif hasattr(names.get("Solution"), name):
        found = getattr(names["Solution"](), name)
    elif name in names:
        found = names[name]
    else:
        raise NameError(f"expected the program to define {entry_point!r}, it does not")
    function: Callable[..., Any] = found
    return function


def send_result(
    compute: Callable[[], Any],
    limit: int,
    encode: Callable[[object], bytes] = values.encode,
    write: Callable[[int, bytes], None] = frames.write_all,
    announce: Callable[[int, bytes], int] = os.write,
) -> None:
    """Compute a result and send it, in at most ``limit`` bytes, or send what went wrong.

    The last three are bound before the program runs, which may replace them where they are.
    """
    try:
        result = encode(compute())
        kind = VALUE
        if len(result) > limit:
            kind, result = TOO_LONG, b""
    except MemoryError:
        kind, result = MEMORY, b""
    except values.ValueFormError as error:
        kind, result = ERROR, str(error).encode("utf-8", "backslashreplace")
    except BaseException as error:
        kind, result = ERROR, error_text(error)
    write(CONTENTS, result)
    announce(RESULTS, kind + _LENGTH.pack(len(result)))


def error_text(error: BaseException) -> bytes:
    """Return an exception as Python prints it, beginning with the program's first frame."""
    try:
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename != FILENAME:
            trace = trace.tb_next
        lines = traceback.format_exception(type(error), error, trace, limit=-20)
        text = "".join(lines)
    except BaseException:  # an exception may have any __str__
        text = type(error).__name__
    return text[-ERROR_CHARACTERS:].encode("utf-8", "backslashreplace")
