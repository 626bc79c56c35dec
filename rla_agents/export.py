"""`rla export`: the episodes of a training run as chat data that other trainers read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import tyro

from rla_agents.command_line import Arguments, UsageError, parse
from rla_agents.files import storing, write_atomic
from rla_agents.report.run import Row, Run, read_run
from rla_envs.errors import InputError, unknown_name

SCHEMA = 1
"""Version of the exported rows."""

FORMATS = {
    "messages": "one row an episode: the whole conversation, with votes and outcome",
    "sft": "one row a step: the conversation so far (prompt) and the action (completion)",
    "dpo": "one row a fork: two rollouts of a task that part here; the one that won is chosen",
}
"""What can be written, and its meaning."""

_OUTCOMES = ("won", "lost", "any")


@dataclass(frozen=True)
class ExportArguments:
    """Turn the training episodes of a run into chat data that Hugging Face `datasets` reads.

    Held-out evaluations and episodes that the machinery broke are never exported.
    """

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of a training run."""
    format: Annotated[str, tyro.conf.arg(metavar="{sft,dpo,messages}")] = "messages"
    """One row a step (sft), a preference (dpo) or an episode (messages)."""
    out: str | None = None
    """Folder to write; RUN/export-FORMAT unless given."""
    outcome: Annotated[str | None, tyro.conf.arg(metavar="{won,lost,any}")] = None
    """Which episodes: won is sft's default, any that of messages; dpo compares both."""
    min_vote: float | None = None
    """Least mean vote, -1 to 1: of a step (sft), of the chosen step (dpo), of an episode (messages)."""
    difficulty: Arguments = field(default_factory=dict)
    """Ranges of difficulty parameters: `receptacles=4..8 task_type=0`."""


class Exported(NamedTuple):
    """What an export wrote.

    Attributes:
        folder: The dataset's folder.
        rows: How many rows it has.
        episodes: How many episodes they were made from.
        left_out: Why other episodes are not in it, with their numbers.
    """

    folder: Path
    rows: int
    episodes: int
    left_out: dict[str, int]


def export(words: Sequence[str]) -> int:
    """Export what a command line asks for, say what was written, and return the exit code 0."""
    done = export_run(parse(ExportArguments, words, prog="rla export"))
    reasons = _reasons(done.left_out)
    left_out = f"; left out: {reasons}" if reasons else ""
    print(f"{done.rows} rows from {done.episodes} episodes{left_out}")  # noqa: T201
    print(done.folder)  # noqa: T201
    return 0


def export_run(arguments: ExportArguments) -> Exported:
    """Write the dataset: ``train.jsonl``, and ``README.md`` that says where it came from.

    Raises:
        InputError: If the run cannot be read, an argument is not understood, or
            no episode is left.
    """
    if arguments.format not in FORMATS:
        raise unknown_name("format", arguments.format, FORMATS)
    keep = _Filter(arguments)
    run = read_run(arguments.run)
    name = run.folder.resolve().name
    make = {"messages": _messages_rows, "sft": _sft_rows, "dpo": _dpo_rows}[arguments.format]
    try:
        episodes = [(offset, row) for offset, row in run.rows("traces.jsonl") if keep(row)]
        rows = list(make(name, episodes, -1.0 if arguments.min_vote is None else arguments.min_vote))
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"export {run.folder}: traces.jsonl holds an episode that this version cannot read ({error!r})"
        ) from error
    if not rows:
        reasons = _reasons(keep.left_out) or "nothing filtered"
        raise InputError(
            f"export {run.folder}: nothing is left to write: of {len(episodes)} episodes ({reasons}) no row "
            f"came{'' if arguments.min_vote is None else ' with votes high enough'}; filter less, or take "
            "another format"
        )
    folder = Path(arguments.out) if arguments.out else run.folder / f"export-{arguments.format}"
    with storing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(row, allow_nan=False) + "\n" for row in rows)
    write_atomic(folder / "train.jsonl", "".join(lines))
    write_atomic(folder / "README.md", _card(run, arguments, len(rows), len(episodes), keep.left_out))
    return Exported(folder, len(rows), len(episodes), keep.left_out)


def _reasons(left_out: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in left_out.items() if count)


class _Filter:
    """Which episodes are exported; counts the others by reason."""

    def __init__(self, arguments: ExportArguments) -> None:
        default = {"sft": "won"}.get(arguments.format, "any")
        self._outcome = arguments.outcome or default
        if self._outcome not in _OUTCOMES:
            raise unknown_name("outcome", self._outcome, _OUTCOMES)
        if arguments.format == "dpo" and self._outcome != "any":
            raise UsageError("--outcome: dpo compares solved episodes with unsolved ones, leave it out")
        if arguments.min_vote is not None and not -1 <= arguments.min_vote <= 1:
            raise UsageError(f"--min-vote: expected a number from -1 to 1, got {arguments.min_vote}")
        self._ranges = {name: _range(name, value) for name, value in arguments.difficulty.items()}
        self.left_out = dict.fromkeys(
            (
                "held out",
                "broken by the machinery",
                "without a step",
                "of the other outcome",
                "of other difficulty",
            ),
            0,
        )

    def __call__(self, row: Row) -> bool:
        reason = self._reason(row)
        if reason:
            self.left_out[reason] += 1
        return not reason

    def _reason(self, row: Row) -> str:
        if row.get("phase") != "train":
            return "held out"
        if row.get("stop") == "error":
            return "broken by the machinery"
        if not row.get("steps"):
            return "without a step"
        if self._outcome != "any" and bool(row.get("success")) != (self._outcome == "won"):
            return "of the other outcome"
        difficulty = row.get("difficulty") or {}
        for name, (low, high) in self._ranges.items():
            if name not in difficulty:
                raise unknown_name("difficulty parameter", name, difficulty)
            value = difficulty[name]
            if isinstance(low, str) or isinstance(value, str):
                if str(value) != str(low):
                    return "of other difficulty"
            elif not low <= value <= high:
                return "of other difficulty"
        return ""


def _range(name: str, value: Any) -> tuple[Any, Any]:
    low, dots, high = str(value).partition("..")
    if not dots:
        return value, value
    try:
        return float(low), float(high)
    except ValueError:
        raise UsageError(f"--difficulty {name}: expected LOW..HIGH or one value, got {value!r}") from None


def _messages_rows(run: str, episodes: Sequence[tuple[int, Row]], min_vote: float) -> Iterator[Row]:
    for offset, row in episodes:
        steps = row["steps"]
        if _mean_vote([vote for step in steps for vote in step["votes"]]) < min_vote:
            continue
        yield {
            "messages": [*_conversation(steps, len(steps) - 1), _assistant(steps[-1])],
            "final_observation": steps[-1]["next_observation"],
            "success": row["success"],
            "stop": row["stop"],
            "votes": [step["votes"] for step in steps],
            "step_errors": [step["error"] for step in steps],
            "oracle": [step["oracle"] for step in steps],
            "rewards": [step["reward"] for step in steps],
            "advantages": [step["advantage"] for step in steps],
            "retries": row["retries"],
            "optimal_length": row["optimal_length"],
            "task": json.dumps(row["task"], sort_keys=True),
            **_source(run, offset, row),
        }


def _sft_rows(run: str, episodes: Sequence[tuple[int, Row]], min_vote: float) -> Iterator[Row]:
    """Yield the steps worth imitating: those that had an effect and that the critic liked well enough."""
    for offset, row in episodes:
        for index, step in enumerate(row["steps"]):
            if step["error"] or _mean_vote(step["votes"]) < min_vote:
                continue
            yield {
                "prompt": _conversation(row["steps"], index),
                "completion": [_assistant(step)],
                "step": index,
                "votes": step["votes"],
                "success": row["success"],
                **_source(run, offset, row),
            }


def _dpo_rows(run: str, episodes: Sequence[tuple[int, Row]], min_vote: float) -> Iterator[Row]:
    """Yield, for each fork of two rollouts of one task, the action that went on to win and the one that lost.

    Up to the fork both saw and did the same, so the prompt is truly shared. Where the
    next action is equal too, the episodes part later by another reason and say nothing.
    """
    by_task: dict[str, list[tuple[int, Row]]] = {}
    for offset, row in episodes:
        by_task.setdefault(row["task_hash"], []).append((offset, row))
    for rollouts in by_task.values():
        seen: set[str] = set()
        won = [(offset, row) for offset, row in rollouts if row["success"]]
        lost = [row for _, row in rollouts if not row["success"]]
        for (offset, winner), loser in ((w, other) for w in won for other in lost):
            index = _fork(winner["steps"], loser["steps"])
            if index is None:
                continue
            chosen, rejected = winner["steps"][index], loser["steps"][index]
            prompt = _conversation(winner["steps"], index)
            key = json.dumps([prompt, chosen["action"], rejected["action"]])
            if key in seen or chosen["error"] or _mean_vote(chosen["votes"]) < min_vote:
                continue
            seen.add(key)
            yield {
                "prompt": prompt,
                "chosen": [_assistant(chosen)],
                "rejected": [_assistant(rejected)],
                "step": index,
                "chosen_votes": chosen["votes"],
                "rejected_votes": rejected["votes"],
                "rejected_seed": loser["seed"],
                **_source(run, offset, winner),
            }


def _fork(left: Sequence[Row], right: Sequence[Row]) -> int | None:
    """Return the first step at which two rollouts, alike until then, act differently."""
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if one["observation"] != other["observation"]:
            return None
        if one["action"] != other["action"]:
            return index
    return None


def _conversation(steps: Sequence[Row], end: int) -> list[dict[str, str]]:
    """Return the messages up to and with the observation of step ``end``."""
    messages = []
    for step in steps[:end]:
        messages += [_user(step), _assistant(step)]
    return [*messages, _user(steps[end])]


def _user(step: Row) -> dict[str, str]:
    return {"role": "user", "content": step["observation"]}


def _assistant(step: Row) -> dict[str, str]:
    return {"role": "assistant", "content": step["action"]}


def _source(run: str, offset: int, row: Row) -> Row:
    """Return where a row came from: enough to find its episode, and so its task, again."""
    return {
        "env_id": row["env_id"],
        "task_id": row["task_id"],
        "task_hash": row["task_hash"],
        # As text: difficulties of different environments share no columns.
        "difficulty": json.dumps(row["difficulty"], sort_keys=True),
        "provenance": {
            "schema": SCHEMA,
            "run": run,
            "file": "traces.jsonl",
            "byte": offset,
            "iteration": row["iteration"],
            "phase": row["phase"],
            "seed": row["seed"],
        },
    }


def _mean_vote(votes: Sequence[int]) -> float:
    """Return the mean of votes; 0 where nobody voted; a malformed vote counts as 0."""
    return sum(votes) / len(votes) if votes else 0.0


def _card(run: Run, arguments: ExportArguments, rows: int, episodes: int, left_out: Mapping[str, int]) -> str:
    settings = {
        "environment": run.setting("env", "id", "?"),
        "policy": run.setting("policy", "model", "?"),
        "critic votes": run.setting("critic", "votes", "?"),
        "curriculum": run.setting("curriculum", "name", "?"),
        "seed": run.config.get("seed", "?"),
        "versions": ", ".join(f"{name} {version}" for name, version in run.versions.items())
        or "not recorded",
    }
    filters = {
        "outcome": arguments.outcome or ("won" if arguments.format == "sft" else "any"),
        "least mean vote": "none" if arguments.min_vote is None else arguments.min_vote,
        "difficulty": json.dumps(dict(arguments.difficulty)) if arguments.difficulty else "any",
    }
    listed = "\n".join(
        f"- {name}: {json.dumps(str(value))}" for name, value in {**settings, **filters}.items()
    )
    apart = "\n".join(f"- {count} {reason}" for reason, count in left_out.items() if count) or "- none"
    return (
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: train.jsonl\n---\n"
        f"# Episodes of the run {json.dumps(run.folder.resolve().name)}\n\n"
        f"Format `{arguments.format}`: {FORMATS[arguments.format]}. {rows} rows from {episodes} training "
        "episodes; messages hold bare observations and commands, without instructions.\n\n"
        f"## Where it came from\n\n{listed}\n\n## Episodes left out\n\n{apart}\n"
    )
