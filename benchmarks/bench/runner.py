"""Run a suite: episodes side by side, each written when it ends; the same command again finishes the run.

Each job is a thread that owns two processes, an agent and an environment, on
this machine or where a Ray worker is. It writes an episode before it begins the
next, so that a kill loses those in flight and no others. A trace depends on the
suite, the agent and the seed, not on which job played it, where or when, so a
finished run has the same bytes whatever the number of jobs and however often it
was interrupted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import queue
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.bench.adaptive import AdaptivePlan
from benchmarks.bench.agents import AgentSpec
from benchmarks.bench.display import Display
from benchmarks.bench.episode import START_SECONDS, Episode, Played, Table, agent_host
from benchmarks.bench.host import Host, HostError
from benchmarks.bench.plans import Plan, StaticPlan
from benchmarks.bench.ray_workers import RayTable, load_ray, ray_cluster
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
    ray: str = "",
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
        ray: Play on Ray workers: ``"local"`` starts them on this machine for this run, anything else is
            the address of a cluster, whose machines need this package and the run's data. "" uses none.

    Returns:
        The summary. It counts infrastructure errors that were left after all
        retries; the same call again plays those episodes again.

    Raises:
        InputError: If suite or agent cannot be used, the folder holds another run or is being written by
            one, or the Ray cluster cannot be used.
        MissingExtraError: If ``ray`` is given and not installed.
        StorageError: If a file cannot be written.
    """
    for name, value, least in (("seed", seed, 0), ("jobs", jobs, 1), ("limit", limit, 0)):
        if value < least:
            raise InputError(f"{name}: expected an integer of {least} or more, got {value}")
    if ray:
        load_ray(ray)
    path = Path(folder)
    stage = Host(Stage, (suite,))
    agent = agent_host(spec, None)
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
    given = suite, spec, config, path / AGENT_LOG
    count = min(jobs, plan.most)
    with contextlib.ExitStack() as stack:
        tables: Sequence[Table | RayTable]
        if ray:
            stack.enter_context(ray_cluster(ray, count))
            workers = [RayTable(*given) for _ in range(count)]
            workers[0].ready()
            tables = workers
        else:
            tables = [Table.of(*given) for _ in range(count)]
        stack.enter_context(_alone(path))
        files = _Files(path, config, jobs)
        display = stack.enter_context(Display(plan.most, quiet))
        _play(plan, tables, files, display)
        return files.finish(plan)


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


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Make the run folder, and keep other runs out of it until this one ends, however it ends."""
    with storing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"{folder} is being written by another run; wait for its end, or name another folder"
            ) from None
        except OSError:
            pass  # some network file systems lock no folders
        yield
    finally:
        os.close(descriptor)


class _Files:
    """The run folder while it is written."""

    def __init__(self, folder: Path, config: Config, jobs: int) -> None:
        self.folder, self.config = folder, config
        if (folder / CONFIG).exists():
            self._go_on()
        elif any((folder / name).exists() for name in (TRACES, SUMMARY)):
            raise InputError(f"{folder} holds traces without a {CONFIG}; name another folder")
        else:
            stamped = dataclasses.replace(config, stamps=stamps(jobs))
            write_atomic(folder / CONFIG, dump_config(stamped))
        self._lock = threading.Lock()
        self._closed = False
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
        with self._lock:
            if self._closed:
                return
            write_screenshots(self.folder, trace.position, screenshots)
            append_jsonl(self.folder / TIMINGS, [dataclasses.asdict(timing)])
            append_jsonl(self.folder / TRACES, [dataclasses.asdict(trace)])
            self.traces[trace.position], self.timings[timing.position] = trace, timing

    def close(self) -> None:
        """Take no more episodes: one whose agent is killed to stop the run looks like one that it lost."""
        with self._lock:
            self._closed = True

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


def _play(plan: Plan, tables: Sequence[Table | RayTable], files: _Files, display: Display) -> None:
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
        files.close()
        for table in tables:
            table.abandon()


def _work(
    table: Table | RayTable,
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
