"""LiveBench's answer and judgment files, written so that its scripts read them, and its scores."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rla_envs.coding.livebench import TASKS, json_lines
from rla_envs.coding.problem import Problem
from rla_envs.errors import InputError, unknown_name
from rla_envs.files import write_atomic

CATEGORY = "coding"


def write_answers(
    folder: str | Path, model: str, answers: Iterable[tuple[Problem, str]], *, timestamp: float = 0.0
) -> list[Path]:
    """Write ``model_answer/MODEL.jsonl`` for each task, as LiveBench's own runner does.

    Args:
        folder: LiveBench's ``data`` folder.
        model: The model's display name; written in lower case, as LiveBench does.
        answers: Each problem with the whole answer.
        timestamp: When, in seconds since 1970.

    Returns:
        The files, each written whole or not at all, sorted by question.
    """
    by_task: dict[str, dict[str, str]] = {}
    for problem, answer in answers:
        row = {
            "question_id": problem.id,
            "answer_id": answer_id(problem, model, answer),
            "model_id": model.lower(),
            "choices": [{"index": 0, "turns": [answer]}],
            "tstamp": timestamp,
        }
        by_task.setdefault(problem.task, {})[problem.id] = json.dumps(row)
    files = []
    for task, rows in by_task.items():
        file = _task_folder(folder, task) / "model_answer" / f"{model.lower()}.jsonl"
        files.append(_write_lines(file, [rows[key] for key in sorted(rows)]))
    return files


def write_judgments(
    folder: str | Path,
    model: str,
    judged: Iterable[tuple[Problem, str, bool]],
    *,
    timestamp: float = 0.0,
) -> list[Path]:
    """Write ``model_judgment/ground_truth_judgment.jsonl`` for each task.

    Judgments of other models and questions that a file holds already stay.

    Args:
        folder: LiveBench's ``data`` folder.
        model: The model's display name.
        judged: Each problem with the whole answer, and whether it passed.
        timestamp: When, in seconds since 1970.

    Returns:
        The files, each written whole or not at all, sorted by question and model.

    Raises:
        InputError: If a file is there and is not one of judgments.
    """
    by_task: dict[str, dict[tuple[str, str], str]] = {}
    for problem, answer, passed in judged:
        row = {
            "question_id": problem.id,
            "task": problem.task,
            "model": model.lower(),
            "score": int(passed),
            "tstamp": timestamp,
            "category": CATEGORY,
            "answer_id": answer_id(problem, model, answer),
        }
        by_task.setdefault(problem.task, {})[problem.id, model.lower()] = json.dumps(row)
    files = []
    for task, new in by_task.items():
        file = _task_folder(folder, task) / "model_judgment" / "ground_truth_judgment.jsonl"
        old = {(str(row["question_id"]), str(row["model"])): json.dumps(row) for row in _judgments(file)}
        lines = {**old, **new}
        files.append(_write_lines(file, [lines[key] for key in sorted(lines)]))
    return files


def read_judgments(folder: str | Path) -> list[dict[str, Any]]:
    """Return the rows of all coding judgment files in LiveBench's ``data`` folder."""
    return [
        row
        for task in TASKS
        for row in _judgments(_task_folder(folder, task) / "model_judgment" / "ground_truth_judgment.jsonl")
    ]


def livebench_scores(
    judgments: Iterable[Mapping[str, Any]], problems: Iterable[Problem]
) -> dict[str, dict[str, float]]:
    """Return what ``show_livebench_result`` shows for each model, before it rounds.

    Args:
        judgments: Rows as in the judgment files.
        problems: The questions that count; other judgments are left out.

    Returns:
        For each model the mean score of each task from 0 to 100, and under
        ``"coding"`` the unweighted mean of its tasks. A model without a
        judgment of every question is left out, as LiveBench leaves it out; so is
        a judgment with a score of -1.
    """
    wanted = {problem.id: problem.task for problem in problems}
    scores: dict[str, dict[str, float]] = {}
    for row in judgments:
        if row["score"] != -1 and str(row["question_id"]) in wanted:
            scores.setdefault(str(row["model"]).lower(), {})[str(row["question_id"])] = 100.0 * row["score"]
    shown = {}
    for model, by_question in sorted(scores.items()):
        if set(by_question) != set(wanted):
            continue
        means = {}
        for task in sorted(set(wanted.values())):
            values = [score for question, score in by_question.items() if wanted[question] == task]
            means[task] = sum(values) / len(values)
        shown[model] = {**means, CATEGORY: sum(means.values()) / len(means)}
    return shown


def answer_id(problem: Problem, model: str, answer: str) -> str:
    """Return the id of an answer: 22 characters, as LiveBench's, and the same for the same answer."""
    content = json.dumps([problem.id, model.lower(), answer])
    return hashlib.sha256(content.encode()).hexdigest()[:22]


def _task_folder(folder: str | Path, task: str) -> Path:
    if task not in TASKS:
        raise unknown_name("LiveBench coding task", task, TASKS)
    return Path(folder) / "live_bench" / CATEGORY / task


def _judgments(file: Path) -> list[dict[str, Any]]:
    rows = [] if not file.exists() else list(json_lines(file))
    for where, row in rows:
        for name in ("question_id", "model", "score"):
            if name not in row:
                raise InputError(f"{where}: expected a judgment with {name!r}")
    return [row for _, row in rows]


def _write_lines(file: Path, lines: Sequence[str]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, "".join(f"{line}\n" for line in lines))
    return file
