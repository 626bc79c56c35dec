"""The paper's two theorems, checked by numbers: exact computation, simulation, figures.

Run it with ``python -m benchmarks.studies.theory``. It takes a few seconds. With
--docs it draws the figures and fills in the tables of docs/theory.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.progress import tracked
from benchmarks.studies import balance, precision
from benchmarks.studies.output import panels, replace_part, table, write_figure, write_json
from rla_envs.errors import InputError, RLAError

PAGE = "theory.md"
CRITICS = ((0.6, 0.6), (0.9, 0.3), (0.7, 0.7), (0.8, 0.8), (0.6, 0.4), (0.5, 0.4))
"""Pairs (p+, p-): three with mu above 1, of which two have the same mu; then one at 1, and one below."""
VOTES = (1, 3, 8, 16, 64)
LATTICE_VOTES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
CORRELATIONS = (0.0, 0.1, 0.3)
RATES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
"""Probabilities of success, P(O = +1)."""
START = balance.Critic(0.6, 0.6)
UPDATES, RATE, BATCH, M = 60, 0.3, 64, 3
_BOUNDS = ("published", "hoeffding", "chernoff")


def study(pairs: int, quiet: bool) -> dict[str, Any]:
    """Return all numbers.

    Args:
        pairs: Simulated pairs of steps, or steps, per figure.
        quiet: Whether to show no progress.
    """
    rng = np.random.default_rng(0)
    cases = [(m, *critic) for critic in CRITICS for m in VOTES]
    return {
        "precision": [
            _precision(m, plus, minus, pairs, rng)
            for m, plus, minus in tracked(cases, "Theorem 1", len(cases), quiet)
        ],
        "lattice": _lattice(),
        "votes_needed": [_votes_needed(mu) for mu in (1.1, 1.2, 1.3, 1.4, 1.6, 1.8)],
        "correlated": [
            {"correlation": c, "m": m, "A": precision.exact(m, 0.7, 0.7, c).strict}
            for c in CORRELATIONS
            for m in (1, 3, 16, 64, 1024)
        ],
        "balance": [_balance(q, pairs, rng) for q in tracked(RATES, "Theorem 2", len(RATES), quiet)],
    }


def _precision(m: int, plus: float, minus: float, pairs: int, rng: np.random.Generator) -> dict[str, Any]:
    truth = precision.exact(m, plus, minus)
    drawn = precision.simulated(m, plus, minus, pairs, rng)
    claimed = plus + minus > 1.0
    return {
        "p_plus": plus,
        "p_minus": minus,
        "m": m,
        "strict": truth.strict,
        "half": truth.half,
        "simulated_strict": drawn.strict,
        "simulated_half": drawn.half,
        **{name: _bound(name, m, plus, minus) if claimed else None for name in _BOUNDS},
    }


def _bound(name: str, m: int, plus: float, minus: float) -> float:
    if name == "chernoff":
        return precision.chernoff_bound(m, plus, minus)
    bound = precision.published_bound if name == "published" else precision.hoeffding_bound
    return bound(m, plus + minus)


def _lattice() -> dict[str, Any]:
    """Return where each bound fails on all pairs (p+, p-) of twentieths with mu > 1, ties as errors."""
    twentieths = range(1, 21)
    cases = [(m, i / 20, j / 20) for m in LATTICE_VOTES for i in twentieths for j in twentieths if i + j > 20]
    truth = [precision.exact(*case).strict for case in cases]
    slack = {
        name: [a - _bound(name, *case) for a, case in zip(truth, cases, strict=True)] for name in _BOUNDS
    }
    return {
        "cases": len(cases),
        # Rounding: both sides are 1 to the last digit where many votes agree.
        "failures": {name: sum(s < -1e-12 for s in values) for name, values in slack.items()},
        "largest_gap": {name: max(values) for name, values in slack.items()},
        "mean_gap": {name: float(np.mean(values)) for name, values in slack.items()},
    }


def _votes_needed(mu: float, wanted: float = 0.95) -> dict[str, Any]:
    """Return the votes from which on A >= 0.95 (ties as errors), in truth and by each bound; p+ = p-."""
    p = mu / 2.0
    limits = {name: next(m for m in range(1, 10_000) if _bound(name, m, p, p) >= wanted) for name in _BOUNDS}
    # A is not monotone in m: even numbers of votes can tie. Search from where it is certain.
    m = limits["chernoff"]
    while m > 1 and precision.exact(m - 1, p, p).strict >= wanted:
        m -= 1
    return {"mu": mu, "exact": m, **limits}


def _balance(q: float, steps: int, rng: np.random.Generator) -> dict[str, Any]:
    exact = balance.signal(q, START, M)
    after = balance.trained(q, START, M, UPDATES, RATE)
    drawn = balance.trained_by_sampling(q, START, M, UPDATES, RATE, BATCH, rng)
    return {
        "success": q,
        "share": balance.share(exact),
        "share_simulated": balance.share(balance.simulated_signal(q, START, M, steps, rng)),
        "share_votes_alone": balance.share(balance.signal(q, START, M, 0.0)),
        "trained": list(after),
        "trained_by_sampling": list(drawn),
        "precision": precision.exact(M, *after).half,
    }


def draw(results: Mapping[str, Any], folder: Path) -> None:
    """Draw both figures into a folder."""
    figure, axes = panels(2)
    counts = np.arange(1, 65)
    for axis, (plus, minus) in zip(axes, ((0.6, 0.6), (0.7, 0.7)), strict=True):
        exact = [precision.exact(int(m), plus, minus) for m in counts]
        axis.plot(counts, [a.strict for a in exact], label="exact, ties are errors")
        axis.plot(counts, [a.half for a in exact], label="exact, ties are half")
        for name, style in zip(_BOUNDS, (":", "-.", "--"), strict=True):
            bound = [_bound(name, int(m), plus, minus) for m in counts]
            axis.plot(counts, bound, style, label=f"bound: {name}")
        rows = [r for r in results["precision"] if (r["p_plus"], r["p_minus"]) == (plus, minus)]
        axis.plot([r["m"] for r in rows], [r["simulated_strict"] for r in rows], "k.", label="simulated")
        axis.set(title=f"p+ = {plus}, p- = {minus}", xlabel="votes m", ylim=(0, 1.02))
    axes[0].set_ylabel("reward precision A")
    axes[1].legend(fontsize=7)
    write_figure(figure, folder / "theory_precision.svg")

    figure, axes = panels(2)
    rates = np.linspace(0.01, 0.99, 99)
    for weight, label in ((1.0, "lambda = 1"), (0.0, "lambda = 0")):
        shares = [balance.share(balance.signal(q, balance.Critic(0.8, 0.6), M, weight)) for q in rates]
        axes[0].plot(rates, shares, label=f"p+ = 0.8, p- = 0.6, {label}")
    axes[0].plot(
        rates, [balance.share(balance.signal(q, START, M)) for q in rates], label="p+ = p-, lambda = 1"
    )
    rows = results["balance"]
    successes = [r["success"] for r in rows]
    axes[0].plot(successes, [r["share_simulated"] for r in rows], "k.", label="simulated, p+ = p-")
    axes[0].set(xlabel="P(O = +1)", ylabel="share of p+ in the training signal")
    axes[0].legend(fontsize=7)
    after = [balance.trained(q, START, M, UPDATES, RATE) for q in rates]
    axes[1].plot(rates, [c.p_plus for c in after], label="p+")
    axes[1].plot(rates, [c.p_minus for c in after], label="p-")
    axes[1].plot(rates, [precision.exact(M, *c).half for c in after], label=f"A at m = {M}, ties half")
    for index in range(2):
        axes[1].plot(successes, [r["trained_by_sampling"][index] for r in rows], "k.")
    axes[1].set(xlabel="P(O = +1)", ylabel=f"after {UPDATES} updates", ylim=(0.5, 1.0))
    axes[1].legend(fontsize=7)
    write_figure(figure, folder / "theory_balance.svg")


def tables(results: Mapping[str, Any]) -> dict[str, str]:
    """Return the parts of the page by name."""
    precise = table(
        ("p+", "p-", "mu", "m", "A (ties err)", "simulated", "A (ties half)", *_BOUNDS),
        [
            (
                *(f"{r[key]:g}" for key in ("p_plus", "p_minus")),
                f"{r['p_plus'] + r['p_minus']:.1f}",
                str(r["m"]),
                *(f"{r[key]:.4f}" for key in ("strict", "simulated_strict", "half")),
                *("not claimed" if r[name] is None else f"{r[name]:.4f}" for name in _BOUNDS),
            )
            for r in results["precision"]
        ],
    )
    lattice = results["lattice"]
    holds = table(
        ("bound", "cases", "fails", "mean gap to A", "largest gap"),
        [
            (
                name,
                str(lattice["cases"]),
                *(str(lattice["failures"][name]),),
                *(f"{lattice[key][name]:.3f}" for key in ("mean_gap", "largest_gap")),
            )
            for name in _BOUNDS
        ],
    )
    needed = table(
        ("mu", "exact", *_BOUNDS),
        [(f"{r['mu']:g}", *(str(r[key]) for key in ("exact", *_BOUNDS))) for r in results["votes_needed"]],
    )
    by_correlation = {c: [r for r in results["correlated"] if r["correlation"] == c] for c in CORRELATIONS}
    correlated = table(
        ("correlation of votes", *(f"m = {r['m']}" for r in by_correlation[CORRELATIONS[0]])),
        [(f"{c:g}", *(f"{r['A']:.4f}" for r in rows)) for c, rows in by_correlation.items()],
    )
    balanced = table(
        ("P(O = +1)", "share of p+", "simulated", "p+ after", "p- after", "sampled p+, p-", "A after"),
        [
            (
                f"{r['success']:g}",
                *(f"{r[key]:.3f}" for key in ("share", "share_simulated")),
                *(f"{p:.3f}" for p in r["trained"]),
                ", ".join(f"{p:.3f}" for p in r["trained_by_sampling"]),
                f"{r['precision']:.3f}",
            )
            for r in results["balance"]
        ],
    )
    return {
        "precision": precise,
        "bounds": holds,
        "votes needed": needed,
        "correlated votes": correlated,
        "balance": balanced,
    }


def main(argv: Sequence[str]) -> int:
    """Run the study and write what was asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.theory", description=__doc__)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all numbers to a file")
    parser.add_argument("--docs", metavar="DIR", type=Path, help="draw figures and fill in theory.md there")
    parser.add_argument("--pairs", type=int, default=200_000, help="simulated pairs of steps per figure")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no tables")
    options = parser.parse_args(argv)
    if options.pairs < 1:
        raise InputError(f"--pairs: expected 1 or more, got {options.pairs}")
    results = study(options.pairs, options.quiet)
    parts = tables(results)
    if not options.quiet:
        sys.stdout.write("\n\n".join(f"{name}\n{text}" for name, text in parts.items()) + "\n")
    if options.json:
        write_json(options.json, results)
    if options.docs:
        draw(results, options.docs / "figures")
        for name, text in parts.items():
            replace_part(options.docs / PAGE, name, text)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except RLAError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
