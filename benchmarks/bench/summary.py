"""A run in numbers, made from its traces alone: the same traces give the same summary."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from benchmarks.bench.schema import Config, Success, Summary, Threshold, Trace
from rla_agents.report.stats import wilson

_RESAMPLES = 2000


def summarise(config: Config, traces: Sequence[Trace], threshold: Threshold | None = None) -> Summary:
    """Return the summary of a run.

    Args:
        config: What was run.
        traces: Its episodes, in any order.
        threshold: What the adaptive protocol found, if that was run. It decides itself
            how many episodes it needs.
    """
    ordered = sorted(traces, key=lambda trace: trace.position)
    scored = [trace for trace in ordered if trace.success is not None]
    planned = config.episodes if threshold is None else threshold.episodes
    cells = dict.fromkeys(trace.cell for trace in ordered)
    stops = Counter(trace.stop for trace in ordered)
    hashes = "\n".join(trace.task_hash for trace in ordered)
    return Summary(
        suite=config.suite,
        suite_version=config.suite_version,
        suite_hash=config.suite_hash,
        agent=config.agent,
        agent_kind=config.agent_kind,
        seed=config.seed,
        complete=len(scored) >= planned and len(scored) == len(ordered),
        episodes_planned=planned,
        episodes_played=len(ordered),
        success=success(ordered),
        cells={cell: success(trace for trace in ordered if trace.cell == cell) for cell in cells},
        stops=dict(sorted(stops.items())),
        tasks_hash=hashlib.sha256(hashes.encode()).hexdigest(),
        steps=sum(len(trace.steps) for trace in scored),
        prompt_tokens=sum(trace.prompt_tokens for trace in scored),
        completion_tokens=sum(trace.completion_tokens for trace in scored),
        threshold=threshold,
    )


def success(traces: Iterable[Trace]) -> Success:
    """Return the success rate of some episodes, with both intervals and the errors beside it."""
    by_task: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    errors: Counter[str] = Counter()
    for trace in traces:
        errors[trace.stop] += 1
        if trace.success is not None:
            by_task[trace.task_hash][0] += trace.success
            by_task[trace.task_hash][1] += 1
    counts = np.array(list(by_task.values()), dtype=np.int64).reshape(-1, 2)
    wins, n = (int(total) for total in counts.sum(axis=0))
    interval = wilson(wins, n)
    low, high = clustered_interval(counts) if n else (None, None)
    return Success(
        wins=wins,
        n=n,
        rate=wins / n if n else None,
        low=interval.low,
        high=interval.high,
        clustered_low=low,
        clustered_high=high,
        agent_errors=errors["agent_error"],
        infrastructure_errors=errors["infrastructure"],
    )


def clustered_interval(counts: np.ndarray) -> tuple[float, float]:
    """Return the 95% percentile-bootstrap interval of a success rate that resamples whole tasks.

    Attempts at one task are not independent, so tasks are drawn, with all of
    their attempts. Random numbers come from a fixed seed. Where all tasks have
    one rate, see :func:`unvaried_interval`.

    Args:
        counts: Wins and episodes of each task, shape (tasks, 2), at least one task.
    """
    tasks = len(counts)
    rates = counts[:, 0] / counts[:, 1]
    if (rates == rates[0]).all():
        return unvaried_interval(float(rates[0]), tasks, 0.0)
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(tasks, np.full(tasks, 1 / tasks), size=_RESAMPLES) @ counts
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], (0.025, 0.975))
    return float(low), float(high)


def unvaried_interval(value: float, tasks: int, least: float) -> tuple[float, float]:
    """Return an interval around a mean that is the same for every task, of which a bootstrap shows no spread.

    It reaches as far as the 95% Wilson interval of none in so many tasks: that
    share of other tasks might be unlike these.

    Args:
        value: The mean.
        tasks: How many tasks have it.
        least: The least value there can be; the largest is 1.
    """
    reach = wilson(0, tasks).high
    return max(least, value - reach), min(1.0, value + reach)
