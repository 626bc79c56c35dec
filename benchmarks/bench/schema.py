"""What a benchmark run writes, as types, and the one reader of it that refuses what is not so.

A run folder holds ``config.toml`` (:class:`Config`: what was run, with which
versions, on which machine), ``traces.jsonl`` (a :class:`Trace` a line: one
episode), ``summary.json`` (:class:`Summary`) and ``timings.jsonl`` (a
:class:`Timing` a line). Everything in traces and summary follows from the
suite, the agent and the seed; what the clock and the machine say is in the
other two files, so that equal runs have equal traces byte for byte.

Where observations have a screenshot, the traces name its file and never hold
it: ``screenshots/POSITION/INDEX.png`` (a picture may be PNG, JPEG or WebP),
relative to the run folder, the screen before action INDEX of the episode at
POSITION, the last one that after its last action. A trace is written after
the files that it names.

While a run goes on its traces are in the order in which episodes ended; a
finished run has them by ``position``. ``summary.json`` is there once every
episode was played.
"""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from rla_agents.toml_config import dump_toml, parse_value, read_toml
from rla_envs.errors import InputError, UnknownNameError

SCHEMA = 1
"""Version of all four files; a reader refuses any other."""

CONFIG, TRACES, SUMMARY, TIMINGS = "config.toml", "traces.jsonl", "summary.json", "timings.jsonl"

Stop = Literal["solved", "failed", "budget", "agent_error", "infrastructure"]
"""Why an episode ended: the task's verdict, its step budget, or a failure of agent or machinery."""

Action: TypeAlias = str | int | float | list[Any] | dict[str, Any]
"""What an agent did, as JSON."""

RecordT = TypeVar("RecordT")


@dataclass(frozen=True)
class Config:
    """What was run: ``config.toml``.

    Attributes:
        suite: Name of the suite.
        suite_version: Its version.
        suite_hash: SHA-256 of what defines its episodes, 64 hex digits.
        protocol: ``"static"`` (every episode of the suite) or ``"adaptive"`` (chosen by success so far).
        agent: The agent as it was named on the command line; a key in a URL is not written.
        agent_kind: ``"baseline"``, ``"privileged"`` (a baseline that is told the solution),
            ``"model"`` or ``"third-party"``.
        seed: Seed of all that is random about the agent, and of resets; the tasks are the suite's.
        episodes: How many episodes the run has when it is finished; for the adaptive protocol the most.
        limit: At most so many tasks, taken from the cells in turn; 0 is all of them.
        attempts: How often each task is played.
        step_seconds: Longest an agent may take over one action.
        episode_seconds: Longest an agent may take over one episode's actions together.
        retries: How often an episode that the machinery broke is started again.
        data: Cell to SHA-256 of its tasks' hashes, for cells that play a data set.
        stamps: Versions of packages, git commit, hardware, number of jobs: nothing that results depend on.
        schema: Version of the format.
    """

    suite: str
    suite_version: int
    suite_hash: str
    protocol: Literal["static", "adaptive"]
    agent: str
    agent_kind: Literal["baseline", "privileged", "model", "third-party"]
    seed: int
    episodes: int
    limit: int = 0
    attempts: int = 1
    step_seconds: float = 60.0
    episode_seconds: float = 600.0
    retries: int = 2
    data: Mapping[str, str] = field(default_factory=dict)
    stamps: Mapping[str, str] = field(default_factory=dict)
    schema: int = SCHEMA


@dataclass(frozen=True)
class Step:
    """One action of an episode.

    Attributes:
        observation: What the agent saw before it acted; for observations that are not text, the environment's
            own drawing as text, or "".
        action: What it did.
        reward: The environment's reward.
        error: Why the action had no effect, in one line; "" if it had one.
        details: What else the environment reports about the action, by name (the verdict on a program, say).
        screenshot: File with what the screen showed before the action; "" if the observation has none.
    """

    observation: str
    action: Action
    reward: float = 0.0
    error: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    screenshot: str = ""


@dataclass(frozen=True)
class Trace:
    """One episode: a line of ``traces.jsonl``.

    ``(cell, number, attempt)`` names an episode within a run, and so does ``position``.

    Attributes:
        position: Place of the episode in the run, from 0.
        cell: The suite's name for the group of tasks it belongs to, such as ``"pick_two/hard"``.
        number: Which task of the cell, from 0.
        attempt: Which attempt at the task, from 0.
        seed: Seed of the run.
        env_id: Registered id of the environment, with its version.
        task_id: The task's name; equal tasks of two runs have equal ids.
        task_hash: SHA-256 of the task's content, 64 hex digits.
        difficulty: The task's difficulty parameters.
        success: The environment's verdict and nothing else; null if the machinery failed: such an episode is
            shown and never scored. An agent's failure is a loss: false.
        stop: See :data:`Stop`.
        error: What failed, in one line, for the last two of :data:`Stop`; else "".
        retries: How often the episode was started again after a failure of the machinery.
        claim: What the agent itself says about its success; null if it says nothing. Never counted.
        optimal_length: Steps of a shortest solution; null if unknown.
        reward: Sum of the environment's rewards.
        prompt_tokens: Tokens that the agent says it read in this episode; 0 if it does not say.
        completion_tokens: Tokens that it says it wrote.
        steps: The actions in order.
        final: The observation after the last of them, as in :class:`Step`.
        final_screenshot: Its screenshot, as in :class:`Step`.
        schema: Version of the format.
    """

    position: int
    cell: str
    number: int
    attempt: int
    seed: int
    env_id: str
    task_id: str
    task_hash: str
    difficulty: Mapping[str, int | float | str]
    success: bool | None
    stop: Stop
    error: str = ""
    retries: int = 0
    claim: bool | None = None
    optimal_length: int | None = None
    reward: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    steps: tuple[Step, ...] = ()
    final: str = ""
    final_screenshot: str = ""
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        """Refuse rows whose verdict and ending contradict each other."""
        expected = {"solved": True, "failed": False, "budget": False, "agent_error": False}.get(self.stop)
        if self.success is not expected:
            raise InputError(f"success: expected {expected} for stop={self.stop!r}, got {self.success}")
        if bool(self.error) != (self.stop in ("agent_error", "infrastructure")):
            raise InputError(
                f"error: a row has one exactly if an error ended it, got {self.error!r} for {self.stop}"
            )


@dataclass(frozen=True)
class Timing:
    """How long one episode took: a line of ``timings.jsonl``.

    Attributes:
        position: Of the episode.
        agent_seconds: Wall time that the agent took over its actions.
        env_seconds: Wall time that the environment took.
        schema: Version of the format.
    """

    position: int
    agent_seconds: float
    env_seconds: float
    schema: int = SCHEMA


@dataclass(frozen=True)
class Success:
    """A success rate with its denominator.

    Attributes:
        wins: Episodes won.
        n: Episodes scored: all but those that the machinery broke.
        rate: Their ratio; null without episodes.
        low: Lower end of the 95% Wilson interval.
        high: Upper end.
        clustered_low: Lower end of the 95% bootstrap interval that resamples tasks; null without episodes.
        clustered_high: Upper end.
        agent_errors: Of the losses, those that the agent's own failure caused.
        infrastructure_errors: Episodes not scored, because the machinery failed.
    """

    wins: int
    n: int
    rate: float | None
    low: float
    high: float
    clustered_low: float | None = None
    clustered_high: float | None = None
    agent_errors: int = 0
    infrastructure_errors: int = 0


@dataclass(frozen=True)
class Threshold:
    """Result of the adaptive protocol: where the agent succeeds half the time.

    Attributes:
        value: Index in ``ladder`` (fractional) at which success is even.
        low: Lower end of its 95% interval.
        high: Upper end.
        episodes: How many episodes it took.
        ladder: Names of the cells, from the easiest to the hardest.
    """

    value: float
    low: float
    high: float
    episodes: int
    ladder: tuple[str, ...]


@dataclass(frozen=True)
class Summary:
    """The run in numbers: ``summary.json``.

    Attributes:
        suite: As in :class:`Config`; so are the next five.
        suite_version: Version.
        suite_hash: Hash.
        agent: The agent.
        agent_kind: Its kind.
        seed: Seed.
        complete: Whether every planned episode was played and scored.
        episodes_planned: How many there should be.
        episodes_played: How many traces there are.
        success: Over all cells.
        cells: By cell, in the suite's order.
        stops: How many episodes ended in each way.
        tasks_hash: SHA-256 of the task hashes by position; equal for two runs of the same tasks.
        steps: Actions, over all scored episodes.
        prompt_tokens: Tokens read, likewise.
        completion_tokens: Tokens written, likewise.
        threshold: Of the adaptive protocol, else null.
        schema: Version of the format.
    """

    suite: str
    suite_version: int
    suite_hash: str
    agent: str
    agent_kind: str
    seed: int
    complete: bool
    episodes_planned: int
    episodes_played: int
    success: Success
    cells: Mapping[str, Success]
    stops: Mapping[str, int]
    tasks_hash: str
    steps: int
    prompt_tokens: int = 0
    completion_tokens: int = 0
    threshold: Threshold | None = None
    schema: int = SCHEMA


class Run(NamedTuple):
    """A run folder, read.

    Attributes:
        folder: Where it is.
        config: What was run.
        traces: The episodes, by position.
        summary: The run in numbers; None while episodes are missing.
        timings: By position; an episode may lack one.
    """

    folder: Path
    config: Config
    traces: tuple[Trace, ...]
    summary: Summary | None
    timings: Mapping[int, Timing]


def read_run(folder: str | Path) -> Run:
    """Read a run folder, finished or not.

    Raises:
        InputError: If a file is missing, half written or not as described here; names file, line and field.
    """
    path = Path(folder)
    config = read_config(path)
    traces = read_records(path / TRACES, Trace)
    seen: dict[int, int] = {}
    for line, trace in enumerate(traces, start=1):
        if trace.position in seen:
            raise InputError(
                f"{path / TRACES}, line {line}: position {trace.position} was in line "
                f"{seen[trace.position]} already"
            )
        seen[trace.position] = line
    timings = read_records(path / TIMINGS, Timing) if (path / TIMINGS).exists() else ()
    summary = read_summary(path) if (path / SUMMARY).exists() else None
    ordered = tuple(sorted(traces, key=lambda trace: trace.position))
    return Run(path, config, ordered, summary, {timing.position: timing for timing in timings})


def read_config(folder: str | Path) -> Config:
    """Read ``config.toml`` of a run folder; raises InputError naming the field."""
    path = Path(folder, CONFIG)
    if not path.exists():
        raise InputError(f"{folder}: expected the folder of a benchmark run, but there is no {CONFIG}")
    return parse_record(Config, read_toml(path), str(path))


def read_summary(folder: str | Path) -> Summary:
    """Read ``summary.json`` of a run folder; raises InputError naming the field."""
    path = Path(folder, SUMMARY)
    return parse_record(Summary, _json(_bytes(path), str(path)), str(path))


def read_records(path: Path, cls: type[RecordT]) -> tuple[RecordT, ...]:
    """Read a file of JSON lines.

    Raises:
        InputError: On a line that is cut short or not a ``cls``; names file, line and field.
    """
    *lines, rest = _bytes(path).split(b"\n")
    records = []
    for number, line in enumerate(lines, start=1):
        where = f"{path}, line {number}"
        records.append(parse_record(cls, _json(line, where), where))
    if rest:
        raise InputError(
            f"{path}, line {len(lines) + 1}: the line is half written ({rest[:40]!r}...); run the same "
            "`rla bench run` again to finish the run"
        )
    return tuple(records)


def dump_json(record: object) -> str:
    """Return a record as one line of JSON, in the order of its fields; without the newline."""
    return json.dumps(dataclasses.asdict(typing.cast(Any, record)), allow_nan=False)


def dump_config(config: Config) -> str:
    """Return the text of ``config.toml``."""
    return dump_toml(config)


def parse_record(cls: type[RecordT], data: object, where: str) -> RecordT:
    """Return a record of this module from plain JSON or TOML values.

    Args:
        cls: One of the dataclasses here.
        data: An object with its fields; those that have defaults may be left out.
        where: File and line, for errors.

    Raises:
        InputError: On another version of the format, an unknown or missing field, or a wrong type.
    """
    if not isinstance(data, Mapping):
        raise InputError(f"{where}: expected an object, got {type(data).__name__}")
    hints, required = _fields(typing.cast(Any, cls))
    if "schema" in hints and data.get("schema") != SCHEMA:
        raise InputError(f"{where}: schema: expected version {SCHEMA}, got {data.get('schema')!r}")
    if unknown := sorted(set(data) - set(hints)):
        raise UnknownNameError(f"{where}: unknown field {unknown[0]!r}; known: {', '.join(hints)}")
    if missing := sorted(required - set(data)):
        raise InputError(f"{where}: missing field {missing[0]!r}")
    values = {name: _value(hints[name], value, f"{where}: {name}") for name, value in data.items()}
    try:
        return cls(**values)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


@cache
def _fields(cls: type[Any]) -> tuple[Mapping[str, object], frozenset[str]]:
    """Return the fields of a record with their types, and those that must be given."""
    fields = dataclasses.fields(cls)
    required = (f.name for f in fields if f.default is f.default_factory is dataclasses.MISSING)
    return typing.get_type_hints(cls), frozenset(required)


_NESTED: dict[object, type[Any]] = {Success: Success, Threshold | None: Threshold}


def _value(hint: object, value: object, where: str) -> object:
    if hint in _NESTED and value is not None:
        return parse_record(_NESTED[hint], value, where)
    if hint == tuple[Step, ...] and isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(parse_record(Step, step, f"{where}[{i}]") for i, step in enumerate(value))
    if hint == Mapping[str, Success] and isinstance(value, Mapping):
        return {name: parse_record(Success, cell, f"{where}.{name}") for name, cell in value.items()}
    if hint == Action and isinstance(value, list | dict):
        return value
    try:
        return parse_value(hint, value)
    except (TypeError, KeyError) as error:
        raise InputError(f"{where}: expected {error}, got {str(value)[:80]!r}") from error


def _json(data: bytes, where: str) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{where}: expected a JSON object ({error}); half written or not a run's file"
        ) from error


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
