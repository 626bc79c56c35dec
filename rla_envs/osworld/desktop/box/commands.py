"""Running programs in the session, as OSWorld's server does."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from .server import Reply, Request, RequestError

EXECUTE_SECONDS = 120.0
"""OSWorld's own limit for one command."""
TIMED_OUT = 124
_MAX_OUTPUT = 16 << 20


class Commands:
    """Runs programs with the session's variables."""

    def __init__(
        self,
        environment: Mapping[str, str],
        window_exists: Callable[[str], bool],
        note_end: Callable[[str, int], None],
    ) -> None:
        """Keep the variables, how to find out whether a window is there, and whom to tell what has ended."""
        self._environment, self._window_exists = dict(environment), window_exists
        self._note_end = note_end

    def execute(self, request: Request) -> Reply:
        """Run a command and wait for it; fields ``command``, ``shell``, ``timeout``."""
        body = request.body
        return Reply(self._run(_words(body), timeout=_seconds(body.get("timeout"), EXECUTE_SECONDS)))

    def execute_with_verification(self, request: Request) -> Reply:
        """Run a command, then wait until its effect shows.

        Field ``verification``: ``window_exists`` (part of a title) and
        ``command_success`` (a shell command that must succeed). Fields
        ``max_wait_time`` and ``check_interval`` are in seconds.
        """
        result = self._run(_words(request.body), timeout=EXECUTE_SECONDS)
        wanted = request.body.get("verification") or {}
        end = time.monotonic() + _seconds(request.body.get("max_wait_time"), 10.0)
        interval = max(0.02, _seconds(request.body.get("check_interval"), 1.0))
        while not self._verified(wanted):
            if time.monotonic() > end:
                message = {
                    "status": "error",
                    "message": "the effect did not show in time",
                    **_printed(result),
                }
                return Reply(message, 500)
            threading.Event().wait(min(interval, max(0.0, end - time.monotonic())))
        return Reply({**result, "verification": "Command executed and verified"})

    def launch(self, request: Request) -> Reply:
        """Start a command and do not wait; fields ``command``, ``shell``."""
        command = _words(request.body)
        name = command[0] if isinstance(command, list) else command
        if isinstance(command, list) and shutil.which(command[0], path=self._environment["PATH"]) is None:
            raise RequestError(f"no such program: {command[0]}", 404)
        try:
            self.start(command)
        except OSError as error:
            raise RequestError(f"cannot start {name}: {error}", 500) from error
        return Reply(f"{name} launched successfully")

    def start(self, command: list[str] | str) -> None:
        """Start a command in a session of its own; its output is thrown away."""
        process = subprocess.Popen(
            command,
            shell=isinstance(command, str),
            env=self._environment,
            cwd=os.path.expanduser("~"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        name = os.path.basename(command.split()[0] if isinstance(command, str) else command[0])
        threading.Thread(target=lambda: self._note_end(name, process.wait()), daemon=True).start()

    def run_python(self, request: Request) -> Reply:
        """Run Python source; field ``code``."""
        code = str(request.body.get("code", ""))
        result = self._run(["python", "-c", code], timeout=EXECUTE_SECONDS)
        status = "success" if result["returncode"] == 0 else "error"
        message = result["output"] if status == "success" else result["error"]
        return Reply({**result, "status": status, "message": message, "need_more": False})

    def run_bash_script(self, request: Request) -> Reply:
        """Run a Bash script; fields ``script``, ``timeout`` (seconds) and ``working_dir``."""
        folder = request.body.get("working_dir") or os.path.expanduser("~")
        if not os.path.isdir(str(folder)):
            raise RequestError(f"working_dir: no such folder: {folder}")
        seconds = _seconds(request.body.get("timeout"), 100.0)
        script = str(request.body.get("script", ""))
        result = self._run(["bash", "-c", script], timeout=seconds, folder=str(folder), merge=True)
        return Reply({**result, "status": "success" if result["returncode"] == 0 else "error"})

    def _run(
        self, command: list[str] | str, timeout: float, folder: str | None = None, merge: bool = False
    ) -> dict[str, Any]:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                process = subprocess.Popen(
                    command,
                    shell=isinstance(command, str),
                    env=self._environment,
                    cwd=folder or os.path.expanduser("~"),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out if merge else err,
                    start_new_session=True,
                )
            except OSError as error:
                return {
                    "status": "error",
                    "message": str(error),
                    "output": "",
                    "error": str(error),
                    "returncode": 127,
                }
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                code = TIMED_OUT
            files = [_read(file) for file in (out, err)]
        printed = files[1] if code != TIMED_OUT else f"{files[1]}ended after {timeout:g} s, its time limit"
        return {"status": "success", "output": files[0], "error": printed, "returncode": code}

    def _verified(self, wanted: Mapping[str, Any]) -> bool:
        window, command = wanted.get("window_exists"), wanted.get("command_success")
        if window and not self._window_exists(str(window)):
            return False
        return not command or self._run(str(command), timeout=EXECUTE_SECONDS)["returncode"] == 0


def _words(body: Mapping[str, Any]) -> list[str] | str:
    """Return the command of a request: a list of words, or a text for the shell.

    As OSWorld's server does: a leading ``~/`` in a word is the home, and a text
    that is not for the shell is split into words.
    """
    command, shell = body.get("command"), bool(body.get("shell"))
    if isinstance(command, str) and shell:
        return command
    if isinstance(command, str):
        try:
            command = shlex.split(command)
        except ValueError as error:
            raise RequestError(f"command: {error}") from error
    if not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command):
        raise RequestError(f"command: expected words or a text, got {command!r}")
    if any("\0" in word for word in command):
        raise RequestError("command: a word cannot hold a null character")
    words = [os.path.expanduser(word) if word.startswith("~/") else word for word in command]
    return shlex.join(words) if shell else words


def _seconds(value: object, otherwise: float) -> float:
    if value is None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 3600:
        raise RequestError(f"expected seconds from 0 to 3600, got {value!r}")
    return float(value)


def _read(file: Any) -> str:
    file.seek(0)
    return str(file.read(_MAX_OUTPUT).decode("utf-8", "replace"))


def _printed(result: Mapping[str, Any]) -> dict[str, Any]:
    return {name: result[name] for name in ("output", "error")}
