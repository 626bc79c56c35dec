"""The sandbox over boxes: what to send, what the replies mean, and when to try again."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from rla_envs.coding.sandbox.box import Box
from rla_envs.coding.sandbox.guest import values, watch
from rla_envs.coding.sandbox.guest.frames import pack
from rla_envs.coding.sandbox.protocol import DEFAULT_LIMITS, Limits, Run, Status, SuiteRun
from rla_envs.errors import InfrastructureError, InputError

BATCH_SECONDS = 0.1
"""Seconds after which a process that calls a function again and again is replaced, between two calls."""

_BATCHES = (1, 8, 64, 512)
"""Calls asked for at once: more and more while all goes well."""
_ERROR_CHARACTERS = 4000
_ANSWER_SECONDS = 60.0
_Result = TypeVar("_Result")


class BoxedSandbox:
    """Runs programs in a box, and in another one when that fails; see :class:`Sandbox`."""

    def __init__(self, start: Callable[[], Box], retries: int = 2) -> None:
        """Start the first box.

        Args:
            start: Starts a box; raises InfrastructureError if it cannot.
            retries: How often a test is tried again after the machinery failed.
        """
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise InputError(f"retries: expected an integer of 0 or more, got {retries!r}")
        self.infrastructure_failures = 0
        self._start, self._retries = start, retries
        self._lock = threading.Lock()
        self._box: Box | None = start()
        self._closed = False

    @property
    def supervisor_pid(self) -> int | None:
        """Process id on this machine of the process above all tests now; None if there is none here."""
        return None if self._box is None else self._box.channel.pid

    def run_stdin(
        self, source: str, inputs: Iterable[str | bytes], limits: Limits = DEFAULT_LIMITS
    ) -> Iterator[Run]:
        """Run a program from its start once per input; see :class:`Sandbox`."""
        program = _encoded(source)
        for given in inputs:
            data = _encoded(given) if isinstance(given, str) else given
            request = _request("stdin", program, data, limits)
            yield self._attempt(lambda box: _stdin_run(box, request, limits), _failed_run)  # noqa: B023

    def run_functional(
        self, source: str, entry_point: str, calls: Sequence[Sequence[Any]], limits: Limits = DEFAULT_LIMITS
    ) -> Iterator[Run]:
        """Call a function once per argument list; see :class:`Sandbox`.

        A call that fails after others in one process is tried again in a
        process of its own, so that no failure is another call's doing.
        """
        program, done, size = _encoded(source), 0, 0
        encoded = [_arguments(call) for call in calls]
        while done < len(encoded):
            batch = encoded[done : done + _BATCHES[size]]
            request = _request("functional", program, b"".join(batch), limits, len(batch), entry_point)
            runs = self._attempt(
                lambda box: _call_runs(box, request, len(batch), limits),  # noqa: B023
                lambda error: [_failed_run(error)],
            )
            well = next((i for i, run in enumerate(runs) if run.status is not Status.OK), len(runs))
            size = 0 if well < len(runs) else min(size + 1, len(_BATCHES) - 1)
            for run in runs[: max(well, 1)]:
                yield run
                done += 1

    def run_unittest(
        self, source: str, tests_source: str, expected: int, limits: Limits = DEFAULT_LIMITS
    ) -> SuiteRun:
        """Run a ``unittest`` suite against a program; see :class:`Sandbox`."""
        if isinstance(expected, bool) or not isinstance(expected, int) or expected < 1:
            raise InputError(f"expected: a number of tests of 1 or more, got {expected!r}")
        request = _request("unittest", _encoded(source), _encoded(tests_source), limits, 1)
        return self._attempt(
            lambda box: _suite_run(_call_runs(box, request, 1, limits)[0], expected),
            lambda error: SuiteRun(Status.INFRASTRUCTURE, error=error),
        )

    def close(self) -> None:
        """End every process of the sandbox and wait for them."""
        with self._lock:
            self._closed = True
            self._drop()

    def __enter__(self) -> Self:
        """Return the sandbox."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the sandbox."""
        self.close()

    def _drop(self) -> None:
        box, self._box = self._box, None
        if box is not None:
            box.close()

    def _attempt(self, run: Callable[[Box], _Result], give_up: Callable[[str], _Result]) -> _Result:
        """Run in the box, or in new ones a bounded number of times."""
        with self._lock:
            if self._closed:
                raise InputError("this sandbox is closed; open another")
            for attempt in range(self._retries + 1):
                try:
                    self._box = self._box or self._start()
                    return run(self._box)
                except InfrastructureError as error:
                    self.infrastructure_failures += 1
                    self._drop()
                    if attempt == self._retries:
                        return give_up(str(error))
                except BaseException:  # interrupted: what the box will answer is not known
                    self._drop()
                    raise
        raise AssertionError("unreachable")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _arguments(call: Sequence[Any]) -> bytes:
    try:
        data = values.encode(list(call))
    except values.ValueFormError as error:
        raise InputError(f"arguments of a call: {error}") from error
    return len(data).to_bytes(4, "little") + data


def _request(
    kind: str, program: bytes, payload: bytes, limits: Limits, calls: int = 0, entry_point: str = ""
) -> bytes:
    header = {
        "kind": kind,
        "calls": calls,
        "entry_point": entry_point,
        "batch_seconds": BATCH_SECONDS,
        "limits": {
            "time_limit": limits.time_limit,
            "memory_mb": limits.memory_mb,
            "output_bytes": limits.output_bytes,
            "value_bytes": _value_bytes(limits),
        },
    }
    return pack(header, [len(program), len(payload)]) + program + payload


def _value_bytes(limits: Limits) -> int:
    return max(1, limits.output_bytes // 4)


def _failed_run(error: str) -> Run:
    return Run(Status.INFRASTRUCTURE, error=_readable(error))


def _reply(box: Box, limits: Limits) -> tuple[dict[str, Any], list[bytes]]:
    longest = 10 * limits.time_limit + watch.STARVED + _ANSWER_SECONDS
    header, blobs = box.receive(longest)
    if header.get("status") == Status.INFRASTRUCTURE:
        raise InfrastructureError(header.get("error", "a test got no processor for too long"))
    return header, blobs


def _stdin_run(box: Box, request: bytes, limits: Limits) -> Run:
    box.send(request)
    header, (out, err) = _reply(box, limits)
    return _ended_run(header, err, limits, out)


def _ended_run(header: dict[str, Any], err: bytes, limits: Limits, out: bytes = b"") -> Run:
    """Return the run of a process that ended, or was stopped."""
    status, code = Status(header["status"]), int(header["code"])
    error = ""
    if status is Status.RUNTIME_ERROR:
        printed = _readable(err.decode("utf-8", "backslashreplace"))
        ended = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        error = f"{printed}{ended}"[-_ERROR_CHARACTERS:]
    elif status is not Status.OK:
        error = _excess(status, limits)
    return Run(status, out, None, error, header["cpu"], code if code >= 0 else None)


def _excess(status: Status, limits: Limits) -> str:
    return {
        Status.TIMEOUT: f"took longer than its time limit of {limits.time_limit:g} s",
        Status.MEMORY: f"asked for more memory than its limit of {limits.memory_mb} MiB",
        Status.OUTPUT_LIMIT: f"wrote more than its limit of {limits.output_bytes} bytes",
    }[status]


def _call_runs(box: Box, request: bytes, calls: int, limits: Limits) -> list[Run]:
    """Return the runs of a batch of calls: at least one, up to the one that ended the process."""
    box.send(request)
    runs: list[Run] = []
    while True:
        header, blobs = _reply(box, limits)
        if not header.get("last"):
            runs.append(_call_run(header, blobs[0], limits))
        elif len(runs) == calls or header["status"] == "stopped":
            return runs
        else:
            if header["status"] == Status.OK:
                header = {**header, "status": Status.RUNTIME_ERROR}
            return [*runs, _ended_run(header, blobs[1], limits)]


def _call_run(header: dict[str, Any], content: bytes, limits: Limits) -> Run:
    kind, cpu = header["result"], header["cpu"]
    if cpu > limits.time_limit:
        return Run(Status.TIMEOUT, error=_excess(Status.TIMEOUT, limits), cpu_seconds=cpu)
    if kind == "M":
        return Run(Status.MEMORY, error=_excess(Status.MEMORY, limits), cpu_seconds=cpu)
    if kind == "L":
        message = f"returned more than {_value_bytes(limits)} bytes of JSON"
        return Run(Status.OUTPUT_LIMIT, error=message, cpu_seconds=cpu)
    if kind == "V":
        try:
            return Run(Status.OK, value=values.decode(content), cpu_seconds=cpu)
        except values.ValueFormError as error:
            message = str(error)
    else:
        message = content.decode("utf-8", "backslashreplace")
    return Run(Status.RUNTIME_ERROR, error=_readable(message), cpu_seconds=cpu)


def _suite_run(run: Run, expected: int) -> SuiteRun:
    """Return what the suite said, distrusting it where it contradicts itself."""
    if run.status is not Status.OK:
        return SuiteRun(run.status, error=run.error, cpu_seconds=run.cpu_seconds)
    told = run.value
    try:
        outcomes = tuple((str(name), str(outcome)) for name, outcome in told["outcomes"])
        canaries, errors = list(told["canaries"]), _readable(str(told["errors"]))
    except (TypeError, ValueError, KeyError):
        outcomes, canaries, errors = (), [], ""
    bad = [outcome for _, outcome in outcomes if outcome != "passed"]
    if canaries != ["failed"] * 4:
        outcomes, errors = (), "the program changed the test machinery: checks that must fail did not"
    elif len(outcomes) != expected:
        errors = f"expected {expected} tests to run, {len(outcomes)} did\n{errors}"
    elif not bad:
        return SuiteRun(Status.OK, cpu_seconds=run.cpu_seconds, outcomes=outcomes)
    status = Status.RUNTIME_ERROR if bad and set(bad) == {"error"} else Status.WRONG_ANSWER
    return SuiteRun(status, error=errors, cpu_seconds=run.cpu_seconds, outcomes=outcomes)


def _readable(text: str) -> str:
    """Return the end of a text, with everything that does not print shown escaped."""
    shown = "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape", "backslashreplace").decode()
        for c in text[-_ERROR_CHARACTERS:]
    )
    return shown[-_ERROR_CHARACTERS:]
