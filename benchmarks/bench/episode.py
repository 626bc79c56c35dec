"""One episode: agent and environment in their processes, a deadline on each action, one trace at the end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.bench.agents import AgentServer, AgentSpec, task_info
from benchmarks.bench.host import Host, HostError
from benchmarks.bench.schema import Config, Step, Stop, Timing, Trace
from benchmarks.bench.screenshots import file_name
from benchmarks.bench.stage import Opening, Seen, Stage
from benchmarks.bench.suites import Suite
from rla_envs.errors import InfrastructureError, InputError

START_SECONDS = 600.0
"""Longest that making an agent or an environment may take: some load models."""


class Episode(NamedTuple):
    """Which episode.

    Attributes:
        position: Its place in the run.
        cell: Index of the cell.
        number: Which task of the cell.
        attempt: Which attempt at it.
    """

    position: int
    cell: int
    number: int
    attempt: int


class Played(NamedTuple):
    """An episode that has ended.

    Attributes:
        trace: What happened.
        timing: How long it took.
        screenshots: PNG files by their names in the run folder; the trace names them.
    """

    trace: Trace
    timing: Timing
    screenshots: Mapping[str, bytes]


class BrokenError(Exception):
    """The machinery failed; the episode can be started again."""


class _AgentFailedError(Exception):
    pass


@dataclass
class _Record:
    """An episode while it is played."""

    opening: Opening
    seen: Seen
    steps: list[Step] = field(default_factory=list)
    reward: float = 0.0
    screenshots: dict[str, bytes] = field(default_factory=dict)


@dataclass
class Table:
    """Where episodes are played, one after the other: an agent and an environment, a process each.

    Attributes:
        config: What is run.
        spec: The agent.
        cells: Names of the suite's cells.
        env_seconds: Longest an environment may take over one step.
        stage: Holds a :class:`~benchmarks.bench.stage.Stage`.
        agent: Holds an :class:`~benchmarks.bench.agents.AgentServer`.
    """

    config: Config
    spec: AgentSpec
    cells: tuple[str, ...]
    env_seconds: float
    stage: Host
    agent: Host

    @classmethod
    def of(cls, suite: Suite, spec: AgentSpec, config: Config, log: Path | None) -> Table:
        """Return a table whose processes start with the first episode.

        Args:
            suite: What is played.
            spec: Who plays.
            config: What is run.
            log: File that the agent's output is appended to; None leaves it be.
        """
        cells = tuple(cell.name for cell in suite.cells)
        return cls(config, spec, cells, suite.env_seconds, Host(Stage, (suite,)), agent_host(spec, log))

    def play(self, episode: Episode, tried: int = 0) -> Played:
        """Play an episode; if the machinery breaks, again, as often as the suite allows.

        Args:
            episode: Which one.
            tried: How often the machinery broke it before.

        Raises:
            InputError: If the suite has no such task, or the agent cannot be made.
        """
        for retries in range(tried, self.config.retries + 1):
            clock = {"agent": 0.0, "env": 0.0}
            attempt = _Attempt(self, episode, clock)
            try:
                trace = attempt.play(retries)
            except BrokenError as error:
                trace = attempt.broken(str(error), retries)
                continue
            break
        timing = Timing(episode.position, round(clock["agent"], 4), round(clock["env"], 4))
        return Played(trace, timing, attempt.screenshots)

    def broken(self, episode: Episode, error: str, retries: int) -> Played:
        """Return an episode that broke where this table cannot see it."""
        trace = _Attempt(self, episode, {}).broken(error, retries)
        return Played(trace, Timing(episode.position, 0.0, 0.0), {})

    def close(self) -> None:
        """End both processes."""
        self.agent.close()
        self.stage.close()

    def abandon(self) -> None:
        """Kill both processes and start no others, also while another thread plays."""
        self.agent.abandon()
        self.stage.abandon()


def agent_host(spec: AgentSpec, log: Path | None) -> Host:
    """Return a process for an agent, not yet started."""
    return Host(AgentServer, (spec,), plain=True, log=log)


class _Attempt:
    def __init__(self, table: Table, episode: Episode, clock: dict[str, float]) -> None:
        self._table, self._episode, self._clock = table, episode, clock
        self._config = table.config
        self._record: _Record | None = None

    def play(self, retries: int) -> Trace:
        opening: Opening = self._env("begin", self._episode.cell, self._episode.number, self._config.seed)
        record = self._record = _Record(opening, opening.seen)
        error = ""
        try:
            self._begin_agent(opening)
            while not (record.seen.terminated or record.seen.truncated):
                self._step(record)
        except _AgentFailedError as failure:
            error = str(failure)
        return self._trace(_stop(record.seen, error), error, retries, self._report(error))

    @property
    def screenshots(self) -> Mapping[str, bytes]:
        """The screenshots that the trace names."""
        return self._record.screenshots if self._record else {}

    def broken(self, error: str, retries: int) -> Trace:
        """Return the trace of an episode that the machinery broke."""
        return self._trace("infrastructure", error, retries, {})

    def _begin_agent(self, opening: Opening) -> None:
        table, config, episode = self._table, self._config, self._episode
        if not table.agent.running:
            self._agent("ready", seconds=START_SECONDS)
            self._clock["agent"] = 0.0
        seed = agent_seed(config.seed, table.cells[episode.cell], episode.number, episode.attempt)
        cell = table.cells[episode.cell]
        told = task_info(config.suite, cell, opening, seed, episode.attempt, config.agent_kind)
        self._agent("reset", told, seconds=config.step_seconds)

    def _step(self, record: _Record) -> None:
        left = self._config.episode_seconds - self._clock["agent"]
        if left <= 0:
            raise _AgentFailedError(f"the episode took longer than {self._config.episode_seconds:.4g} s")
        before = record.seen
        seconds = min(left, self._config.step_seconds)
        action = self._agent("act", before.observation, before.info, seconds=seconds)
        record.seen = self._env("step", action)
        record.reward += record.seen.reward
        first = action[0] if isinstance(action, list) else action
        seen, shown = record.seen, self._keep(before)
        record.steps.append(Step(before.text, first, seen.reward, seen.error, seen.details, shown))

    def _keep(self, seen: Seen) -> str:
        """Keep the screenshot of what is seen now, and return its name."""
        record = self._record
        if record is None or not seen.screenshot:
            return ""
        name = file_name(self._episode.position, len(record.steps))
        record.screenshots[name] = seen.screenshot
        return name

    def _report(self, error: str) -> dict[str, Any]:
        """Ask the agent what it says of the episode; one that has just failed is not asked."""
        if error:
            return {}
        try:
            said = self._agent("report", seconds=self._config.step_seconds)
        except _AgentFailedError:
            return {}
        return said if isinstance(said, dict) else {}

    def _agent(self, method: str, *arguments: object, seconds: float) -> Any:
        started = time.monotonic()
        try:
            return self._table.agent.call(method, *arguments, seconds=seconds)
        except HostError as error:
            raise _AgentFailedError(str(error)) from error
        except InfrastructureError as error:
            # Only our own clients of servers may say so: it spares an agent a loss.
            if self._config.agent_kind == "model":
                raise BrokenError(str(error)) from error
            raise _AgentFailedError(f"{method}() raised InfrastructureError: {error}") from error
        except InputError as error:
            if method == "ready":
                raise
            raise _AgentFailedError(f"{method}(): {error}") from error
        finally:
            self._clock["agent"] += time.monotonic() - started

    def _env(self, method: str, *arguments: object) -> Any:
        started = time.monotonic()
        seconds = self._table.env_seconds if self._table.stage.running else START_SECONDS
        try:
            return self._table.stage.call(method, *arguments, seconds=seconds)
        except (HostError, InfrastructureError) as error:
            # Whatever state it was left in, the next episode must not inherit it.
            self._table.stage.kill()
            raise BrokenError(f"environment: {error}") from error
        except InputError as error:
            if method == "step":
                raise _AgentFailedError(f"the environment refused the action: {error}") from error
            raise
        finally:
            self._clock["env"] += time.monotonic() - started

    def _trace(self, stop: Stop, error: str, retries: int, said: Mapping[str, Any]) -> Trace:
        episode, record = self._episode, self._record
        success = None if stop == "infrastructure" else stop == "solved"
        named: dict[str, Any] = {"env_id": "", "task_id": "", "task_hash": "", "difficulty": {}}
        if record is not None:
            opening = record.opening
            named = {name: getattr(opening, name) for name in (*named, "optimal_length")}
        return Trace(
            position=episode.position,
            cell=self._table.cells[episode.cell],
            number=episode.number,
            attempt=episode.attempt,
            seed=self._config.seed,
            **named,
            success=success,
            stop=stop,
            error=error,
            retries=retries,
            claim=said.get("claim"),
            reward=record.reward if record else 0.0,
            prompt_tokens=said.get("prompt_tokens", 0),
            completion_tokens=said.get("completion_tokens", 0),
            steps=tuple(record.steps) if record else (),
            final=record.seen.text if record else "",
            final_screenshot=self._keep(record.seen) if record else "",
        )


def agent_seed(seed: int, cell: str, number: int, attempt: int) -> int:
    """Return the seed that an agent gets for an episode, of 63 bits; it depends on these four alone."""
    key = [seed, *cell.encode(), number, attempt]
    return int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _stop(seen: Seen, error: str) -> Stop:
    if error:
        return "agent_error"
    if seen.success:
        return "solved"
    return "failed" if seen.terminated else "budget"
