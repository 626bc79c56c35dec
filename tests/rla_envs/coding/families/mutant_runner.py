"""Run programs of our own on tests, each for a bounded time; a child process, started by mutants.py."""

import io
import json
import resource
import signal
import sys
from contextlib import redirect_stdout


class OutOfTimeError(BaseException):
    """Raised by the timer; no ``except Exception`` of a program stops it."""


def _out_of_time(*_args):
    raise OutOfTimeError


def _passes(code, kind, test, seconds):
    given, expected = test
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        shown = io.StringIO()
        sys.stdin = io.StringIO(given if kind == "stdin" else "")
        space = {"__name__": "__main__"}
        with redirect_stdout(shown):
            exec(code, space)
        if kind == "stdin":
            return shown.getvalue().strip() == expected.strip()
        arguments = [json.loads(line) for line in given.split("\n")]
        return space["solve"](*arguments) == json.loads(expected)
    except Exception:
        return False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _passes_in_time(*job):
    try:
        return _passes(*job)
    except OutOfTimeError:  # Wherever it struck, the clean-up of _passes included.
        return False


def main():
    job = json.loads(sys.stdin.read())
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    signal.signal(signal.SIGVTALRM, _out_of_time)
    found = []
    for text in job["programs"]:
        code = compile(text, "program", "exec")
        passed = []
        for index, test in enumerate(job["tests"]):
            if _passes_in_time(code, job["kind"], test, job["seconds"]):
                passed.append(index)
            elif job["stop"]:
                break
        found.append(passed)
    json.dump(found, sys.__stdout__)


if __name__ == "__main__":
    main()
