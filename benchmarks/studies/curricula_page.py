"""The tables and figures of the comparison of curricula, from its races."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.studies.learners import SCENARIOS
from benchmarks.studies.output import panels, table, write_figure
from benchmarks.studies.races import ARMS, GRIDNAV
from benchmarks.studies.summary import BASELINES

_MEANING = {**{name: s.meaning for name, s in SCENARIOS.items()}, GRIDNAV: "the real learner"}


def tables(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the parts of the page by name."""
    summary = content["summary"]
    return {
        "study: size": _size(content),
        "study: overall": _overall(summary),
        "study: verdict": _verdict(summary),
        "study: steps": _steps(summary["scenarios"]),
        "study: ratios": _ratios(summary["scenarios"]),
        "study: wasted": _wasted(summary["scenarios"]),
    }


def draw(content: Mapping[str, Any], folder: Path) -> None:
    """Draw the ratios to `uniform`, and the learning curves on GridNav if there are any, into a folder."""
    scenarios = content["summary"]["scenarios"]
    arms = [arm for arm in ARMS if arm != "uniform"]
    figure, axes = panels(1, 8.4, 4.6)
    for place, arm in enumerate(arms):
        for row, cells in enumerate(scenarios.values()):
            found = cells[arm]["ratios"]["uniform"]
            height = row + 0.8 * (place / (len(arms) - 1) - 0.5)
            label = arm if row == 0 else None
            marker = {"": "o", "<=": "<", ">=": ">", "?": "x"}[found["bound"]]
            (line,) = axes[0].plot(found["ratio"], height, marker, color=f"C{place}", ms=4, label=label)
            if found["interval"]:
                axes[0].plot(found["interval"], [height] * 2, color=line.get_color(), lw=1)
    axes[0].axvline(1.0, color="k", lw=0.8)
    axes[0].axvline(0.5, color="k", lw=0.8, ls=":")
    axes[0].set_yticks(range(len(scenarios)), list(scenarios))
    ticks = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
    axes[0].set_xscale("log")
    axes[0].set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes[0].minorticks_off()
    axes[0].set(xlabel="steps to the target, as a multiple of uniform's", ylim=(-0.6, len(scenarios) - 0.4))
    axes[0].invert_yaxis()
    axes[0].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    write_figure(figure, folder / "curricula_ratios.svg")

    records = [r for r in content["races"] if r["scenario"] == GRIDNAV]
    if not records:
        return
    figure, axes = panels(1, 8.4, 3.6)
    every = content["budget"]["every"]
    for arm in ARMS:
        curves = [r["curve"] for r in records if r["arm"] == arm]
        longest = max(map(len, curves), default=0)
        # A race ends at the target; from there on its last value stands for it.
        padded = np.array([curve + curve[-1:] * (longest - len(curve)) for curve in curves])
        if longest:
            axes[0].plot(every * np.arange(1, longest + 1), padded.mean(axis=0), label=arm)
    axes[0].axhline(content["budget"]["target"], color="k", lw=0.8, ls=":")
    axes[0].set(xlabel="environment steps of practice", ylabel="success on held-out grids")
    axes[0].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    write_figure(figure, folder / "curricula_gridnav.svg")


def _size(content: Mapping[str, Any]) -> str:
    budget, done = content["budget"], content["races"]
    seeds = sorted({cells["uniform"]["seeds"] for cells in content["summary"]["scenarios"].values()})
    return (
        f"{len(done)} of {content['planned']} races run, {' or '.join(map(str, seeds))} paired seeds for "
        f"each curriculum and learner.\nBudgets: {budget['attempts']:,} attempts of a simulated learner, "
        f"{budget['steps']:,} environment steps of the real one.\nThe real one's target is a success of "
        f"{budget['target']:g} in two exams in a row; one comes every {budget['every']:,} steps."
    )


def _overall(summary: Mapping[str, Any]) -> str:
    heads = ["curriculum", "simulated, of uniform", "simulated, of threshold", "at most half of uniform"]
    gridnav = summary["scenarios"].get(GRIDNAV)
    if gridnav:
        heads += ["GridNav, of uniform", "GridNav, of threshold"]
    heads += ["missed"]
    rows = []
    for arm in ARMS:
        overall = summary["overall"]["simulated"][arm]
        row = [arm, *(_interval(overall[b]) for b in BASELINES)]
        row.append(f"{overall['uniform']['at_most_half']} of {overall['uniform']['scenarios']}")
        if gridnav:
            row += [_interval(gridnav[arm]["ratios"][b]) for b in BASELINES]
        cells = [c[arm] for c in summary["scenarios"].values()]
        row.append(f"{sum(c['seeds'] - c['reached'] for c in cells)} of {sum(c['seeds'] for c in cells)}")
        rows.append(row)
    return table(heads, rows)


def _verdict(summary: Mapping[str, Any]) -> str:
    """Return the order over all learners, and who reached the goal of half the steps of both baselines."""
    every = summary["overall"]["all"]
    order = sorted(ARMS, key=lambda arm: every[arm]["uniform"]["ratio"])
    ranks = ";\n".join(f"{arm} {_interval(every[arm]['uniform'])}" for arm in order)
    goals = {"all learners": every, "the simulated ones": summary["overall"]["simulated"]}
    if GRIDNAV in summary["scenarios"]:
        cells = summary["scenarios"][GRIDNAV]
        goals["GridNav"] = {arm: cells[arm]["ratios"] for arm in ARMS}
    halves = "; ".join(
        f"over {name} by {', '.join(a for a in ARMS if _halves(found[a])) or 'none'}"
        for name, found in goals.items()
    )
    count = every["uniform"]["uniform"]["scenarios"]
    return (
        f"Over all {count} learners, steps as a multiple of uniform's (geometric mean):\n{ranks}.\n\n"
        f"Half the steps of `uniform` and of `threshold`, or fewer, were taken\n{halves}."
    )


def _halves(found: Mapping[str, Any]) -> bool:
    # A lower bound may be more than it says.
    return all(found[b]["ratio"] <= 0.5 and found[b].get("bound", "") in ("", "<=") for b in BASELINES)


def _per_scenario(scenarios: Mapping[str, Any], cell: Any) -> str:
    rows = [[name, *(cell(cells[arm]) for arm in ARMS)] for name, cells in scenarios.items()]
    return table(["learner", *ARMS], rows)


def _steps(scenarios: Mapping[str, Any]) -> str:
    def cell(arm: Mapping[str, Any]) -> str:
        if arm["reached"] == arm["seeds"]:
            return f"{arm['steps']:,.0f}"
        return f">= {arm['steps']:,.0f} ({arm['reached']}/{arm['seeds']})"

    meanings = "\n".join(f"- {name}: {_MEANING[name]}" for name in scenarios)
    return f"{_per_scenario(scenarios, cell)}\n\n{meanings}"


def _ratios(scenarios: Mapping[str, Any]) -> str:
    return _per_scenario(scenarios, lambda arm: _interval(arm["ratios"]["uniform"]))


def _wasted(scenarios: Mapping[str, Any]) -> str:
    return _per_scenario(scenarios, lambda arm: f"{arm['wasted']:.2f}; {arm['final']:.2f}")


def _interval(found: Mapping[str, Any]) -> str:
    if found["ratio"] is None:
        return "-"
    text = f"{found.get('bound', '')} {found['ratio']:.2f}".strip()
    ends: Sequence[float] | None = found["interval"]
    return text if ends is None else f"{text} ({ends[0]:.2f}, {ends[1]:.2f})"
