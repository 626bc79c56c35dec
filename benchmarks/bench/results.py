"""A run's results as every output states them: one reading, so that no two outputs can disagree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.bench.schema import Config, Run, Success, Summary, read_run
from benchmarks.bench.summary import summarise


class Cost(NamedTuple):
    """What scored episodes cost on average; None where nothing was measured.

    Attributes:
        episodes: How many they are.
        steps: Actions an episode.
        prompt_tokens: Tokens read, where the agent counts them.
        completion_tokens: Tokens written, likewise.
        agent_seconds: Wall time of the agent.
        env_seconds: Wall time of the environment.
    """

    episodes: int
    steps: float | None
    prompt_tokens: float | None
    completion_tokens: float | None
    agent_seconds: float | None
    env_seconds: float | None


class Results(NamedTuple):
    """A run and what follows from it.

    Attributes:
        run: The run folder, read.
        summary: Made from its traces, whatever ``summary.json`` says.
        notes: What a reader must know before trusting the figures, in sentences.
    """

    run: Run
    summary: Summary
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.run.folder.resolve().name

    @property
    def config(self) -> Config:
        """What was run."""
        return self.run.config

    def cost(self, cell: str | None = None) -> Cost:
        """Return the mean cost of the scored episodes of a cell, or of all."""
        scored = [t for t in self.run.traces if t.success is not None and cell in (None, t.cell)]
        timed = [self.run.timings[t.position] for t in scored if t.position in self.run.timings]
        return Cost(
            episodes=len(scored),
            steps=_mean([len(trace.steps) for trace in scored]),
            prompt_tokens=_counted([trace.prompt_tokens for trace in scored]),
            completion_tokens=_counted([trace.completion_tokens for trace in scored]),
            agent_seconds=_mean([timing.agent_seconds for timing in timed]),
            env_seconds=_mean([timing.env_seconds for timing in timed]),
        )

    @property
    def false_claims(self) -> int:
        """Lost episodes of which the agent says that it solved them."""
        return sum(trace.claim is True and trace.success is False for trace in self.run.traces)


def read_results(folder: str | Path) -> Results:
    """Read a benchmark run, finished or not.

    Raises:
        InputError: As :func:`benchmarks.bench.schema.read_run`.
    """
    run = read_run(folder)
    summary = summarise(run.config, run.traces, run.summary.threshold if run.summary else None)
    return Results(run, summary, tuple(_notes(run, summary)))


def _notes(run: Run, summary: Summary) -> list[str]:
    notes = []
    missing = summary.episodes_planned - summary.episodes_played
    broken = summary.success.infrastructure_errors
    if not summary.complete:
        reasons = [f"{missing} of {summary.episodes_planned} episodes were not played"] if missing > 0 else []
        if broken:
            reasons.append(f"the machinery broke {broken}, which are not scored")
        notes.append(f"Incomplete: {'; '.join(reasons)}. Run the same command again to finish it.")
    if run.summary is not None and run.summary != summary:
        notes.append("summary.json does not match the traces; the figures here are made from the traces.")
    return notes


def percent(value: float | None) -> str:
    """Return a share in percent, or a dash where there is none."""
    return "–" if value is None else f"{100 * value:.1f}%"


def counted(success: Success) -> str:
    """Return a success rate with its denominator, the same in every output."""
    return f"{percent(success.rate)} ({success.wins}/{success.n})"


def wilson_interval(success: Success) -> str:
    """Return the Wilson interval in percent, or a dash without episodes."""
    return interval(success.low, success.high) if success.n else "–"


def clustered_interval(success: Success) -> str:
    """Return the task-clustered bootstrap interval in percent, or a dash without episodes."""
    return interval(success.clustered_low, success.clustered_high)


def interval(low: float | None, high: float | None) -> str:
    """Return an interval of shares in percent, or a dash where there is none."""
    return "–" if low is None or high is None else f"{100 * low:.1f}–{100 * high:.1f}%"


def figure(value: float | None, digits: int = 1) -> str:
    """Return a number with thousands separated, or a dash where nothing was measured."""
    return "–" if value is None else f"{value:,.{digits}f}"


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _counted(tokens: Sequence[int]) -> float | None:
    """Return the mean number of tokens; an agent that counts none has none to show."""
    return _mean(tokens) if any(tokens) else None
