"""Races in numbers: steps to the target with censored runs, ratios of paired runs, bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.studies.learners import SCENARIOS
from benchmarks.studies.races import ARMS, GRIDNAV

BASELINES = ("uniform", "threshold")
Records = Sequence[Mapping[str, Any]]


def interval(
    statistic: Callable[..., Any], samples: Sequence[NDArray[np.float64]]
) -> tuple[float, float] | None:
    """Return the 95% bootstrap interval (percentiles) for paired samples; None for fewer than two."""
    if len(samples[0]) < 2:
        return None
    found = stats.bootstrap(
        samples,
        statistic,
        paired=True,
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(found.low), float(found.high)


def complete_seeds(records: Records, scenario: str) -> list[int]:
    """Return the seeds with which every arm has run a scenario."""
    done = [{r["seed"] for r in records if (r["scenario"], r["arm"]) == (scenario, arm)} for arm in ARMS]
    return sorted(set.intersection(*done))


def summarize(records: Records) -> dict[str, Any]:
    """Return the summary of all races; seeds that some arm has not run yet are left out.

    Steps of a run that missed the target are the whole budget, so a mean of
    such runs is a lower bound, and a ratio of means says what it is a bound of:
    ``"<="`` if only the baseline missed, ``">="`` if only the arm did, ``"?"``
    if both did.
    """
    cells = {
        scenario: _scenario(records, scenario)
        for scenario in (*SCENARIOS, GRIDNAV)
        if complete_seeds(records, scenario)
    }
    groups = {"simulated": [name for name in cells if name != GRIDNAV], "all": list(cells)}
    overall = {
        group: {arm: _overall(records, names, arm) for arm in ARMS}
        for group, names in groups.items()
        if names
    }
    return {"scenarios": cells, "overall": overall}


def _steps(records: Records, scenario: str, arm: str, seeds: Sequence[int]) -> NDArray[np.float64]:
    found = {r["seed"]: r["steps"] for r in records if (r["scenario"], r["arm"]) == (scenario, arm)}
    return np.array([found[seed] for seed in seeds], np.float64)


def _scenario(records: Records, scenario: str) -> dict[str, Any]:
    seeds = complete_seeds(records, scenario)
    arms = {}
    for arm in ARMS:
        mine = [r for r in records if (r["scenario"], r["arm"]) == (scenario, arm) and r["seed"] in seeds]
        steps = _steps(records, scenario, arm, seeds)
        arms[arm] = {
            "seeds": len(seeds),
            "reached": sum(r["reached"] for r in mine),
            "steps": float(steps.mean()),
            "interval": interval(np.mean, (steps,)),
            "final": float(np.mean([r["final"] for r in mine])),
            "wasted": float(np.mean([r["wasted"] for r in mine])),
        }
    for arm in ARMS:
        arms[arm]["ratios"] = {
            baseline: {
                "ratio": arms[arm]["steps"] / arms[baseline]["steps"],
                "interval": interval(
                    _ratio,
                    (_steps(records, scenario, arm, seeds), _steps(records, scenario, baseline, seeds)),
                ),
                "bound": _bound(arms[arm], arms[baseline]),
            }
            for baseline in BASELINES
        }
    return arms


def _ratio(arm: NDArray[np.float64], baseline: NDArray[np.float64], axis: int = -1) -> Any:
    return arm.mean(axis=axis) / baseline.mean(axis=axis)


def _bound(arm: Mapping[str, Any], baseline: Mapping[str, Any]) -> str:
    missed = arm["reached"] < arm["seeds"], baseline["reached"] < baseline["seeds"]
    return {(False, False): "", (False, True): "<=", (True, False): ">=", (True, True): "?"}[missed]


def _overall(records: Records, scenarios: Sequence[str], arm: str) -> dict[str, Any]:
    """Return the geometric mean over scenarios of the ratio to each baseline, and its interval over seeds."""
    seeds = sorted(set.intersection(*(set(complete_seeds(records, name)) for name in scenarios)))
    result: dict[str, Any] = {}
    for baseline in BASELINES:
        logs = np.array(
            [
                np.log(_steps(records, name, arm, seeds) / _steps(records, name, baseline, seeds))
                for name in scenarios
            ]
        )
        per_seed = logs.mean(axis=0)
        found = interval(np.mean, (per_seed,))
        result[baseline] = {
            "ratio": math.exp(per_seed.mean()) if seeds else None,
            "interval": found and [math.exp(end) for end in found],
            "seeds": len(seeds),
            "at_most_half": sum(math.exp(float(row.mean())) <= 0.5 for row in logs),
            "scenarios": len(scenarios),
        }
    return result
