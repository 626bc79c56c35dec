"""Choose the episodes that a report embeds, and shape them for its viewer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, TypeAlias

from rla_agents.report.run import Row, Run

ValueNames: TypeAlias = Mapping[str, Mapping[int, str]]
"""By difficulty parameter, the names of its values; only of those that have names."""

LIMIT = 200
"""Most episodes that a page embeds: a few megabytes, which a browser opens at once."""

_LONGEST_TEXT = 6000
_GOAL = re.compile(r"your task is to:?\s*(.+)", re.IGNORECASE)


class _Entry(NamedTuple):
    """What the choice looks at of one episode, and where to find the rest."""

    offset: int
    phase: str
    iteration: int
    success: bool


class Selection(NamedTuple):
    """The embedded episodes.

    Attributes:
        episodes: Their contents, as the viewer's script reads them.
        total: How many the run has.
        rule: How they were chosen, in a sentence.
    """

    episodes: list[Row]
    total: int
    rule: str


def select(run: Run, names: ValueNames, limit: int = LIMIT) -> Selection:
    """Return the episodes to embed.

    All of them where they are few. Else up to an eighth of the room for each
    held-out evaluation, and the rest evenly over iterations from the first to
    the last: eight of them, or more where those leave room. In each,
    successes and failures take turns.

    Args:
        run: The run.
        names: Names of difficulty values.
        limit: Most episodes to embed.
    """
    entries = [
        _Entry(offset, shown_text(row.get("phase")), _integer(row.get("iteration")), bool(row.get("success")))
        for offset, row in run.rows("traces.jsonl")
    ]
    if len(entries) <= limit:
        chosen, rule = entries, "All of them are shown."
    else:
        chosen = _choose(entries, limit)
        iterations = sorted({entry.iteration for entry in chosen if entry.phase == "train"})
        rule = (
            f"{len(chosen)} of {len(entries)} are shown: from each held-out evaluation and from training "
            f"iterations {', '.join(map(str, iterations)) or '(none)'}, successes and failures in turn."
        )
    chosen = sorted(chosen, key=lambda entry: entry.offset)
    episodes = [viewer_episode(run.row_at("traces.jsonl", entry.offset), names) for entry in chosen]
    return Selection(episodes, len(entries), rule)


def _choose(entries: Sequence[_Entry], limit: int) -> list[_Entry]:
    groups: dict[tuple[str, int], list[_Entry]] = {}
    for entry in entries:
        key = (entry.phase, entry.iteration if entry.phase == "train" else 0)
        groups.setdefault(key, []).append(entry)
    chosen: list[_Entry] = []
    for key, group in groups.items():
        if key[0] != "train":
            chosen += _in_turn(group)[: limit // 8]
    training = sorted(key for key in groups if key[0] == "train")
    largest = max((len(groups[key]) for key in training), default=1)
    training = _spread(training, max(8, (limit - len(chosen)) // largest))
    for index, key in enumerate(training):
        room = (limit - len(chosen)) // (len(training) - index)
        chosen += _in_turn(groups[key])[:room]
    return chosen[:limit]


def _in_turn(entries: Sequence[_Entry]) -> list[_Entry]:
    won = [entry for entry in entries if entry.success]
    lost = [entry for entry in entries if not entry.success]
    return [entry for pair in zip_longest(won, lost) for entry in pair if entry is not None]


def _spread(keys: Sequence[tuple[str, int]], count: int) -> list[tuple[str, int]]:
    """Return at most ``count`` keys, evenly spaced, with the first and the last."""
    if len(keys) <= count:
        return list(keys)
    return [keys[round(index * (len(keys) - 1) / (count - 1))] for index in range(count)]


def viewer_episode(row: Row, names: ValueNames) -> Row:
    """Return a row of ``traces.jsonl`` of a training run as the viewer's script reads it."""
    difficulty = named_values(row.get("difficulty"), names)
    prompt = shown_text(row.get("prompt"))
    steps = row.get("steps")
    return {
        "phase": shown_text(row.get("phase")),
        "iteration": _integer(row.get("iteration")),
        "env": shown_text(row.get("env_id")),
        "task": shown_text(row.get("task_id")),
        "seed": row.get("seed"),
        "goal": goal_of(prompt),
        "type": difficulty.get("task_type", ""),
        "difficulty": difficulty,
        "outcome": "broken" if row.get("stop") == "error" else "won" if row.get("success") else "lost",
        "stop": shown_text(row.get("stop")),
        "error": shown_text(row.get("error")),
        "retries": row.get("retries"),
        "optimal": row.get("optimal_length"),
        "tokens": row.get("token_count"),
        "prompt": prompt,
        "steps": [_step(step) for step in steps if isinstance(step, dict)] if isinstance(steps, list) else [],
    }


def _step(step: Row) -> Row:
    votes = step.get("votes")
    return {
        "action": shown_text(step.get("action")),
        "next": shown_text(step.get("next_observation")),
        "error": shown_text(step.get("error")),
        "votes": [vote for vote in votes if vote in (-1, 0, 1)] if isinstance(votes, list) else [],
        "oracle": _number(step.get("oracle")),
        "reward": _number(step.get("reward")),
        "advantage": _number(step.get("advantage")),
    }


def named_values(difficulty: object, names: ValueNames) -> dict[str, str]:
    """Return difficulty values as words."""
    if not isinstance(difficulty, Mapping):
        return {}
    words = {}
    for name, value in difficulty.items():
        known = names.get(str(name), {})
        if isinstance(value, float):
            words[str(name)] = f"{value:.3g}"
        else:
            words[str(name)] = known.get(value, str(value)) if isinstance(value, int) else str(value)
    return words


def goal_of(prompt: str) -> str:
    """Return what a first observation asks for: the goal it names, or else its first line."""
    found = _GOAL.search(prompt)
    return (found.group(1) if found else prompt.strip().split("\n", 1)[0])[:200].strip()


def shown_text(value: Any) -> str:
    """Return a value as text, cut where a page could not show it all."""
    text = "" if value is None else value if isinstance(value, str) else str(value)
    if len(text) <= _LONGEST_TEXT:
        return text
    return f"{text[:_LONGEST_TEXT]} … ({len(text) - _LONGEST_TEXT} more characters)"


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _integer(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
