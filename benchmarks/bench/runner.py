"""Run a suite: episodes side by side, each written when it ends; the same command again finishes the run.

Each job is a thread that owns two processes, an agent and an environment. It
writes an episode before it begins the next, so that a kill loses those in
flight and no others. A trace depends on the suite, the agent and the seed,
not on which job played it or when, so a finished run has the same bytes
whatever the number of jobs and however often it was interrupted.
"""

from __future__ import annotations

import dataclasses
import json
import queue
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.bench.adaptive import AdaptivePlan
from benchmarks.bench.agents import AgentServer, AgentSpec
from benchmarks.bench.display import Display
from benchmarks.bench.episode import START_SECONDS, Episode, Played, Table
from benchmarks.bench.host import Host, HostError
from benchmarks.bench.plans import Plan, StaticPlan
from benchmarks.bench.schema import (
    CONFIG,
    SUMMARY,
    TIMINGS,
    TRACES,
    Config,
    Summary,
    Timing,
    Trace,
    dump_config,
    dump_json,
    parse_record,
    read_config,
)
from benchmarks.bench.screenshots import write_screenshots
from benchmarks.bench.stage import Contents, Stage
from benchmarks.bench.stamps import stamps
from benchmarks.bench.suites import Suite
from benchmarks.bench.summary import summarise
from rla_agents.files import append_jsonl, read_jsonl, storing, truncate_jsonl, write_atomic
from rla_envs.errors import InputError

AGENT_LOG = "agent.log"
"""What the agent prints, of all jobs together."""


def run_suite(
    suite: Suite,
    spec: AgentSpec,
    folder: str | Path,
    seed: int = 0,
    jobs: int = 1,
    limit: int = 0,
    quiet: bool = False,
) -> Summary:
    """Play a suite with an agent, or finish a run that was interrupted, and write the run folder.

    Args:
        suite: What to play.
        spec: Who plays.
        folder: The run folder; it is made if missing.
        seed: Seed of the agent's randomness and of the environments' resets.
        jobs: How many episodes are played at once.
        limit: At most so many tasks, taken from the cells in turn; 0 is all.
        quiet: Show no progress.

    Returns:
        The summary. It counts infrastructure errors that were left after all
        retries; the same call again plays those episodes again.

    Raises:
        InputError: If suite or agent cannot be used, or the folder holds another run.
        StorageError: If a file cannot be written.
    """
    for name, value, least in (("seed", seed, 0), ("jobs", jobs, 1), ("limit", limit, 0)):
        if value < least:
            raise InputError(f"{name}: expected an integer of {least} or more, got {value}")
    path = Path(folder)
    stage = Host(Stage, (suite,))
    agent = _agent_host(spec, None)
    try:
        contents = [stage.call("contents", i, seconds=START_SECONDS) for i in range(len(suite.cells))]
        # Before anything is written: an agent that cannot be made is bad input, not a lost episode.
        agent.call("ready", seconds=START_SECONDS)
    except HostError as error:
        raise InputError(f"suite {suite.name!r} with agent {spec.name!r} cannot start: {error}") from error
    finally:
        agent.close()
        stage.close()
    plan = _plan(suite, contents, limit)
    config = _config(suite, spec, contents, seed, limit, plan.most)
    files = _Files(path, config, jobs)
    with Display(plan.most, quiet) as display:
        tables = [
            Table(
                config,
                spec,
                tuple(cell.name for cell in suite.cells),
                suite.env_seconds,
                Host(Stage, (suite,)),
                _agent_host(spec, path / AGENT_LOG),
            )
            for _ in range(min(jobs, plan.most))
        ]
        _play(plan, tables, files, display)
    return files.finish(plan)


def _agent_host(spec: AgentSpec, log: Path | None) -> Host:
    return Host(AgentServer, (spec,), plain=True, log=log)


def _plan(suite: Suite, contents: Sequence[Contents], limit: int) -> Plan:
    counts = [found.tasks for found in contents]
    if suite.protocol == "adaptive":
        return AdaptivePlan(suite, counts, limit)
    return StaticPlan(counts, suite.attempts, limit)


def _config(
    suite: Suite, spec: AgentSpec, contents: Sequence[Contents], seed: int, limit: int, episodes: int
) -> Config:
    found = zip(suite.cells, contents, strict=True)
    return Config(
        suite=suite.name,
        suite_version=suite.version,
        suite_hash=suite.hash,
        protocol=suite.protocol,
        agent=spec.name,
        agent_kind=spec.kind,  # type: ignore[arg-type]  # one of the literal's
        seed=seed,
        episodes=episodes,
        limit=limit,
        attempts=suite.attempts,
        step_seconds=suite.step_seconds,
        episode_seconds=suite.episode_seconds,
        retries=suite.retries,
        data={cell.name: content.data_hash for cell, content in found if content.data_hash},
    )


class _Files:
    """The run folder while it is written."""

    def __init__(self, folder: Path, config: Config, jobs: int) -> None:
        self.folder, self.config = folder, config
        with storing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        if (folder / CONFIG).exists():
            self._go_on()
        elif any((folder / name).exists() for name in (TRACES, SUMMARY)):
            raise InputError(f"{folder} holds traces without a {CONFIG}; name another folder")
        else:
            stamped = dataclasses.replace(config, stamps=stamps(jobs))
            write_atomic(folder / CONFIG, dump_config(stamped))
        self._lock = threading.Lock()
        self.traces = self._read(TRACES, Trace)
        self.timings = self._read(TIMINGS, Timing)

    def _go_on(self) -> None:
        """Drop what must be played again from a run that was begun before."""
        before = read_config(self.folder)
        mine, theirs = dataclasses.asdict(self.config), dataclasses.asdict(before)
        for name in mine:
            if name != "stamps" and mine[name] != theirs[name]:
                raise InputError(
                    f"{self.folder} holds a run with {name} = {theirs[name]}, this one has {mine[name]}; "
                    "repeat the command that began it, or name another folder"
                )
        (self.folder / SUMMARY).unlink(missing_ok=True)
        traces = self._read(TRACES, Trace).values()
        broken = [trace.position for trace in traces if trace.success is None]
        # What an adaptive test chose after a broken episode may be chosen otherwise now.
        end = min(broken, default=0) if broken and self.config.protocol == "adaptive" else len(traces) + 1
        dropped = {t.position for t in traces if t.position in broken or t.position >= end}
        truncate_jsonl(self.folder / TRACES, lambda row: row.get("position") not in dropped)

    def _read(self, name: str, cls: type[Any]) -> dict[int, Any]:
        path = self.folder / name
        rows = read_jsonl(path) if path.exists() else []
        records = [parse_record(cls, row, f"{path}, line {i}") for i, row in enumerate(rows, start=1)]
        return {record.position: record for record in records}

    def add(self, played: Played) -> None:
        """Write an episode; its trace comes last, and a kill before it leaves what a later try replaces."""
        trace, timing, screenshots = played
        write_screenshots(self.folder, trace.position, screenshots)
        with self._lock:
            append_jsonl(self.folder / TIMINGS, [dataclasses.asdict(timing)])
            append_jsonl(self.folder / TRACES, [dataclasses.asdict(trace)])
            self.traces[trace.position], self.timings[timing.position] = trace, timing

    def finish(self, plan: Plan) -> Summary:
        """Put the files into their final order and write the summary."""
        for name, records in ((TIMINGS, self.timings), (TRACES, self.traces)):
            lines = [dump_json(records[position]) + "\n" for position in sorted(records)]
            write_atomic(self.folder / name, "".join(lines))
        summary = summarise(self.config, list(self.traces.values()), plan.threshold(self.traces))
        write_atomic(self.folder / SUMMARY, _indented(summary))
        return summary


def _indented(summary: Summary) -> str:
    return json.dumps(dataclasses.asdict(summary), indent=1, allow_nan=False) + "\n"


def _play(plan: Plan, tables: Sequence[Table], files: _Files, display: Display) -> None:
    """Play what is missing, and write each episode when it ends."""
    todo: queue.Queue[Episode | None] = queue.Queue()
    done: queue.Queue[Trace | BaseException] = queue.Queue()
    threads = [threading.Thread(target=_work, args=(t, files, todo, done), daemon=True) for t in tables]
    for thread in threads:
        thread.start()
    for trace in files.traces.values():
        display.add(trace)
    try:
        while batch := plan.batch(files.traces):
            missing = [episode for episode in batch if episode.position not in files.traces]
            for episode in missing:
                todo.put(episode)
            for _ in missing:
                ended = done.get()
                if isinstance(ended, BaseException):
                    raise ended
                display.add(ended)
        for _ in threads:
            todo.put(None)
        for thread in threads:
            thread.join()
    finally:
        for table in tables:
            table.agent.abandon()
            table.stage.abandon()


def _work(
    table: Table,
    files: _Files,
    todo: queue.Queue[Episode | None],
    done: queue.Queue[Trace | BaseException],
) -> None:
    try:
        while (episode := todo.get()) is not None:
            played = table.play(episode)
            files.add(played)
            done.put(played.trace)
        table.close()
    except BaseException as error:  # raised again in the main thread
        done.put(error)
