"""What each section of the report says, from a run's files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from rla_agents.report.charts import Bar, Series, line_chart, rate_chart
from rla_agents.report.run import Row, Run
from rla_agents.report.stats import Rate, trailing_mean, wilson

_MOST_EDITS = 200
_SMALL = (310, 180)
_DURING = re.compile(r"iteration_\d+$")


class Card(NamedTuple):
    """A headline figure.

    Attributes:
        label: What it is.
        figure: The figure.
        note: What to read it against.
        tone: ``good``, ``bad`` or empty.
    """

    label: str
    figure: str
    note: str
    tone: str = ""


class Chart(NamedTuple):
    """A small chart with its caption."""

    title: str
    picture: Markup


class Comparison(NamedTuple):
    """Held-out success under one way of decoding, before and after."""

    decoding: str
    before: Rate | None
    after: Rate | None
    types: list[tuple[str, Rate | None, Rate | None]]

    @property
    def gain(self) -> float | None:
        """Points of success gained, or None where one side is missing."""
        if self.before is None or self.after is None:
            return None
        return 100 * (self.after.rate - self.before.rate)


def comparisons(run: Run) -> list[Comparison]:
    """Return the held-out results of each way of decoding that was measured."""
    found = []
    for decoding in ("sampled", "greedy"):
        before, after = (_result(run.evaluation, side, decoding) for side in ("before", "after"))
        if before or after:
            names = dict.fromkeys([*_types(before), *_types(after)])
            types = [(name, _types(before).get(name), _types(after).get(name)) for name in names]
            found.append(Comparison(decoding, _overall(before), _overall(after), types))
    return found


def _result(evaluation: Row, side: str, decoding: str) -> Row:
    result = evaluation.get(side)
    result = result.get(decoding) if isinstance(result, dict) else None
    return result if isinstance(result, dict) else {}


def _overall(result: Row) -> Rate | None:
    n, success = result.get("n"), result.get("success")
    if not isinstance(n, int) or not isinstance(success, int | float):
        return None
    return wilson(round(success * n), n)


def _types(result: Row) -> dict[str, Rate]:
    by_type = result.get("by_type")
    if not isinstance(by_type, dict):
        return {}
    return {str(name): wilson(*counts) for name, counts in by_type.items()}


def overall_chart(found: Sequence[Comparison]) -> Markup:
    """Return before and after, sampled and greedy, in one chart."""
    bars = []
    for comparison in found:
        bars += _pair(comparison.decoding, comparison.before, comparison.after)
    return rate_chart("Held-out success before and after", bars) if bars else Markup()


def over_time_chart(run: Run) -> Markup:
    """Return held-out success at each evaluation, or nothing if there is none between start and end."""
    sides = {int(key.removeprefix("iteration_")): key for key in run.evaluation if _DURING.match(key)}
    if not sides:
        return Markup()
    sides |= {-1: "before"} | ({len(run.metrics): "after"} if "after" in run.evaluation else {})
    xs = sorted(sides)
    series = []
    for index, decoding in enumerate(("sampled", "greedy")):
        rates = [_overall(_result(run.evaluation, sides[x], decoding)) for x in xs]
        series.append(Series(decoding, [rate.rate if rate else None for rate in rates], f"s{index}"))
    return line_chart("Held-out success over time", xs, series, bounds=(0, 1), percent=True)


def evaluation_errors(run: Run) -> int:
    """Return how many held-out episodes the machinery broke for good."""
    results = [
        _result(run.evaluation, side, mode) for side in run.evaluation for mode in ("sampled", "greedy")
    ]
    return sum(errors for result in results if isinstance(errors := result.get("errors"), int))


def type_chart(comparison: Comparison) -> Markup:
    """Return before and after for each type of task."""
    bars = [bar for name, before, after in comparison.types for bar in _pair(name, before, after)]
    title = f"Held-out success by task type, {comparison.decoding}"
    return rate_chart(title, bars, label_width=290) if bars else Markup()


def _pair(name: str, before: Rate | None, after: Rate | None) -> list[Bar]:
    sides = (("before", before, "s3"), ("after", after, "s0"))
    return [_bar(f"{name}, {side}", rate, style) for side, rate, style in sides if rate is not None]


def _bar(label: str, rate: Rate, style: str) -> Bar:
    note = f"{_percent(rate.rate)}  ({rate.wins}/{rate.n})"
    return Bar(label, rate.rate, rate.low, rate.high, note, style)


def cards(run: Run, found: Sequence[Comparison]) -> list[Card]:
    """Return the headline figures."""
    shown = [_held_out_card(comparison) for comparison in found]
    for label, key in (
        ("Training success, last", "policy/success"),
        ("Critic against the oracle", "critic/oracle_accuracy"),
    ):
        values = [value for value in column(run, key) if value is not None]
        if values:
            shown.append(Card(label, _percent(values[-1]), f"first iteration {_percent(values[0])}"))
    if run.metrics:
        verdicts = Counter(str(event.get("event")) for event in run.events)
        shown.append(
            Card("Edits accepted", str(verdicts["edit_accepted"]), f"{verdicts['edit_rejected']} rejected")
        )
        last = run.metrics[-1]
        failures = sum(value or 0 for value in column(run, "infrastructure_errors"))
        shown.append(
            Card(
                "Environment steps",
                _count(last.get("env_steps")),
                f"{_count(last.get('tokens'))} tokens; failures of the machinery: {failures:g}",
            )
        )
    return shown


def _held_out_card(comparison: Comparison) -> Card:
    before, after, gain = comparison.before, comparison.after, comparison.gain
    label = f"Held-out success, {comparison.decoding}"
    if after is None or before is None or gain is None:
        rate = after or before
        side = "after" if after else "before"
        return Card(label, _percent(rate.rate) if rate else "–", f"{side} training only")
    sure = after.low > before.high or after.high < before.low
    tone = ("good" if gain > 0 else "bad") if sure else ""
    note = f"from {_percent(before.rate)}: {gain:+.1f} points on {after.n} games"
    return Card(label, _percent(after.rate), note, tone)


def training_chart(run: Run) -> Markup:
    """Return success per iteration, as measured and smoothed."""
    values = column(run, "policy/success")
    window = smoothing_window(run)
    return line_chart(
        "Training success per iteration",
        iterations(run),
        [
            Series("each iteration", values, "s0 faint"),
            Series(f"mean of the last {window}", trailing_mean(values, window), "s0"),
        ],
        bounds=(0, 1),
        percent=True,
    )


def smoothing_window(run: Run) -> int:
    """Return over how many iterations the training curve is smoothed."""
    return max(3, len(run.metrics) // 10)


def critic_chart(run: Run) -> Markup:
    """Return how often the critic's votes are right, over iterations."""
    return line_chart(
        "Critic accuracy per iteration",
        iterations(run),
        [
            Series("against the optimal-plan oracle", column(run, "critic/oracle_accuracy"), "s0"),
            Series("against the outcome", column(run, "critic/outcome_accuracy"), "s1"),
            Series("malformed votes", column(run, "critic/malformed"), "s2"),
        ],
        bounds=(0, 1),
        percent=True,
    )


def difficulty_charts(run: Run, named: Collection[str]) -> list[Chart]:
    """Return one small chart per difficulty parameter that was logged.

    Args:
        run: The run.
        named: Parameters to leave out, because their values are names, whose mean says nothing.
    """
    keys = dict.fromkeys(key for row in run.metrics for key in row if key.startswith("difficulty/"))
    wanted = [(key.removeprefix("difficulty/"), [key]) for key in keys]
    return _small_charts(run, [(name, columns) for name, columns in wanted if name not in named])


def health_charts(run: Run) -> list[Chart]:
    """Return small charts of what tells whether the learners are well."""
    roles = ("policy", "critic")
    wanted = [
        ("KL to the model before the update", [f"{role}/kl" for role in roles]),
        ("Share of tokens clipped", [f"{role}/clip_fraction" for role in roles]),
        ("Gradient norm before clipping", [f"{role}/grad_norm" for role in roles]),
        ("Largest log-probability gap, sampler to trainer", [f"{role}/logprob_gap" for role in roles]),
        ("Loss", [f"{role}/loss" for role in roles]),
        ("Task groups that taught something", ["policy/groups_used", "policy/groups"]),
        ("Steps per episode", ["policy/episode_length"]),
        ("Mean vote", ["critic/vote_mean"]),
    ]
    return _small_charts(run, wanted)


def _small_charts(run: Run, wanted: Sequence[tuple[str, Sequence[str]]]) -> list[Chart]:
    charts = []
    for title, keys in wanted:
        lines = [Series(_label(key), column(run, key), f"s{index}") for index, key in enumerate(keys)]
        picture = line_chart(title, iterations(run), lines, size=_SMALL) if run.metrics else Markup()
        if picture:
            charts.append(Chart(title, picture))
    return charts


def _label(key: str) -> str:
    return {"policy/groups_used": "used", "policy/groups": "played"}.get(key, key.split("/")[0])


def column(run: Run, key: str) -> list[float | None]:
    """Return one metric over the iterations, None where it was not logged."""
    values = (row.get(key) for row in run.metrics)
    return [value if isinstance(value, int | float) else None for value in values]


def iterations(run: Run) -> list[float]:
    """Return the iterations that have metrics."""
    return [row["iteration"] for row in run.metrics]


class Edit(NamedTuple):
    """A decided edit, in words."""

    iteration: str
    slot: str
    direction: str
    change: str
    before: str
    after: str
    accepted: bool
    reason: str


class Edits(NamedTuple):
    """The decided edits, and how many there are in all.

    Attributes:
        shown: The decided ones, the latest first.
        accepted: How many were accepted.
        rejected: How many were rejected after their rollouts.
        undecided: How many still wait for evidence.
        refused: How many the environment refused before any rollout.
    """

    shown: list[Edit]
    accepted: int
    rejected: int
    undecided: int
    refused: int


def edits(run: Run) -> Edits:
    """Return what the curriculum's edits came to, the latest first."""
    proposed = {
        event["pending_id"]: event
        for event in run.events
        if event.get("event") == "edit_proposed" and event.get("pending_id") is not None
    }
    decided = [event for event in run.events if event.get("event") in ("edit_accepted", "edit_rejected")]
    open_ids = set(proposed) - {event.get("pending_id") for event in decided}
    # The verdict need not repeat what the proposal said.
    shown = [
        _edit({**_given(proposed.get(event.get("pending_id"), {})), **_given(event)})
        for event in reversed(decided)
    ]
    accepted = sum(edit.accepted for edit in shown)
    refused = sum(event.get("event") == "edit_refused" for event in run.events)
    return Edits(shown[:_MOST_EDITS], accepted, len(shown) - accepted, len(open_ids), refused)


def _given(event: Row) -> Row:
    return {key: value for key, value in event.items() if value not in (None, "", [], {})}


def _edit(event: Row) -> Edit:
    return Edit(
        iteration=str(event.get("iteration", "")),
        slot=str(event.get("slot", "")),
        direction=str(event.get("direction", "")),
        change=in_words(event.get("changes")),
        before=_percent(event.get("success_before")),
        after=_percent(event.get("success_after")),
        accepted=event.get("event") == "edit_accepted",
        reason=str(event.get("reason", "")),
    )


def in_words(changes: Any) -> str:
    """Return an edit's operations, changed values or other settings as one readable line."""
    if isinstance(changes, Mapping):
        if "op" in changes:
            rest = (f"{name} {in_words(value)}" for name, value in changes.items() if name != "op")
            return " ".join([str(changes["op"]).replace("_", " "), ", ".join(rest)]).strip()
        return ", ".join(f"{name} {_change(value)}" for name, value in changes.items())
    if isinstance(changes, list):
        return "; ".join(in_words(change) for change in changes)
    return "" if changes is None else f"{changes:.3g}" if isinstance(changes, float) else str(changes)


def _change(value: Any) -> str:
    if isinstance(value, list) and len(value) == 2:
        return f"{in_words(value[0])} → {in_words(value[1])}"
    return in_words(value)


def _percent(value: Any) -> str:
    return f"{100 * value:.1f}%" if isinstance(value, int | float) else "–"


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else "–"
