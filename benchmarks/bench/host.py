"""A child process that does one thing at a time, with deadlines, and that cannot take this process with it.

Agents are other people's programs: they hang, exit, flood and crash. An
environment may too. Each lives in a process of its own, which is killed and
started again when it must be. This keeps a run intact; it is no sandbox
against an agent that means harm.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rla_envs.errors import InfrastructureError, InputError, RLAError

_LONGEST_REPLY = 64 << 20
_LONGEST_CAUSE = 300


class HostError(Exception):
    """A call did not return a value; the message is one line that says why."""


class TimedOutError(HostError):
    """The call took too long; the process is gone."""


class DiedError(HostError):
    """The process ended by itself."""


class RaisedError(HostError):
    """The call raised an exception; the process lives on."""


class Host:
    """An object in a child process, whose methods are called with a deadline.

    The process starts with the first call, and again with the first call after
    it died or was killed. It is the head of a process group, which dies with it
    and with this process, however that ends.

    Args:
        make: Makes the object, in the child; must be importable there.
        arguments: Of ``make``.
        plain: Whether answers travel as JSON. Unpickling what an untrusted
            process sent would run its code in this one.
        log: File that the child's output is appended to; None leaves it be.
    """

    def __init__(
        self,
        make: Callable[..., object],
        arguments: tuple[Any, ...] = (),
        plain: bool = False,
        log: Path | None = None,
    ) -> None:
        """Keep what to start; see the class for the arguments."""
        self._make, self._arguments, self._plain, self._log = make, arguments, plain, log
        self._process: Any = None
        self._abandoned = False

    def call(self, method: str, *arguments: object, seconds: float) -> Any:
        """Call a method of the object.

        Args:
            method: Its name.
            *arguments: Its arguments.
            seconds: How long it may take, in wall time; starting the process is not counted.

        Raises:
            TimedOutError: It took longer, and the process was killed.
            DiedError: The process ended.
            InfrastructureError: The method raised one.
            InputError: The method raised one.
            RaisedError: The method raised anything else, ``SystemExit`` included.
        """
        self.start()
        try:
            self._connection.send((method, arguments))
            if not self._connection.poll(max(0.0, seconds)):
                self.kill()
                raise TimedOutError(f"{method}() took longer than {seconds:.4g} s")
            data = self._connection.recv_bytes(_LONGEST_REPLY)
            kind, value = json.loads(data) if self._plain else pickle.loads(data)
        except (EOFError, OSError, ValueError) as error:
            raise DiedError(self._cause(method)) from error
        if kind == "value":
            return value
        raise {"infrastructure": InfrastructureError, "input": InputError}.get(kind, RaisedError)(value)

    @property
    def running(self) -> bool:
        """Whether the process is there; the next call starts it if not."""
        return self._process is not None

    def start(self) -> None:
        """Start the process, if it is not there, and wait until it can be called."""
        if self._process is not None:
            return
        if self._abandoned:
            raise DiedError("the run is being stopped")
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        # Nothing is ever written to this one: it breaks when this process ends.
        read, self._lifeline = context.Pipe(duplex=False)
        arguments = (theirs, read, self._make, self._arguments, self._plain, self._log)
        self._process = context.Process(target=_serve, args=arguments)
        self._process.start()
        theirs.close()
        read.close()
        with contextlib.suppress(EOFError, OSError):  # the first call says that it died, and how
            self._connection.recv_bytes()

    def kill(self) -> None:
        """End the process and all it started, at once."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self._forget()

    def abandon(self) -> None:
        """Kill the process and start no other, also while another thread waits for a call."""
        self._abandoned = True
        process = self._process
        if process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def close(self, seconds: float = 5.0) -> None:
        """End the process; its object's ``close`` is called first, if it has one."""
        if self._process is not None:
            with contextlib.suppress(HostError, RLAError):
                self.call("close", seconds=seconds)
        self.kill()

    def _forget(self) -> None:
        self._connection.close()
        self._lifeline.close()
        self._process = None

    def _cause(self, method: str) -> str:
        self._process.join(1.0)
        code = self._process.exitcode
        self.kill()
        if code is None:
            return f"{method}() sent something that is no answer"
        if code < 0:
            return f"{method}(): the process was killed by signal {-code} ({signal.Signals(-code).name})"
        return f"{method}(): the process exited with code {code}"


def one_line(error: BaseException) -> str:
    """Return an exception as one short line."""
    text = " ".join(str(error).split())
    line = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return line if len(line) <= _LONGEST_CAUSE else line[: _LONGEST_CAUSE - 3] + "..."


def _serve(
    connection: Connection,
    lifeline: Connection,
    make: Callable[..., object],
    arguments: tuple[Any, ...],
    plain: bool,
    log: Path | None,
) -> None:
    os.setsid()
    # Ctrl-C is the parent's business.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, args=(lifeline,), daemon=True).start()
    if log is not None:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
    encode = _encode_json if plain else pickle.dumps
    made: list[object] = []
    connection.send_bytes(b"here")
    with contextlib.suppress(EOFError, OSError):  # the parent closed the pipe
        while True:
            method, values = connection.recv()
            try:
                if not made:
                    made.append(make(*arguments))
                answer = "value", _called(made[0], method, values)
            except InfrastructureError as error:
                answer = "infrastructure", " ".join(str(error).split())
            except InputError as error:
                answer = "input", " ".join(str(error).split())
            except BaseException as error:  # also SystemExit: it is an agent's way to fail
                answer = "raised", f"{method}() raised {one_line(error)}"
            connection.send_bytes(encode(answer))
    os._exit(0)  # threads that an agent left behind must not keep the process


def _called(target: object, method: str, values: tuple[Any, ...]) -> object:
    if method == "close" and not hasattr(target, "close"):
        return None
    return getattr(target, method)(*values)


def _encode_json(answer: object) -> bytes:
    return json.dumps(answer).encode()


def _die_with_parent(lifeline: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os.killpg(0, signal.SIGKILL)
