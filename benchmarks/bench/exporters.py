"""`rla bench export`: a run's results in the files that other tools read.

All of them state the same as the report: success over the scored episodes, an
agent's failure as a loss, and what the machinery broke apart and unscored.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from benchmarks.bench.results import Results, read_results
from benchmarks.bench.schema import Step, Trace
from rla_agents.command_line import parse
from rla_agents.files import write_atomic
from rla_envs.coding.livebench import load_livebench
from rla_envs.coding.livebench_results import write_answers, write_judgments
from rla_envs.coding.problem import Problem
from rla_envs.errors import InputError, missing_extra, unknown_name
from rla_envs.task import Task

_NO_DATE = "1970-01-01T00:00:00+00:00"
"""When a run does not say when it started."""

Json = dict[str, Any]


@dataclass(frozen=True)
class ExportArguments:
    """Write a run's results as another tool's file."""

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of a benchmark run."""
    format: Annotated[str, tyro.conf.arg(metavar="{inspect,huggingface,agentlab,livebench}")]
    """inspect_ai's log, a Hugging Face model card's results, a row of AgentLab's journal, or LiveBench's
    answers and judgments."""
    out: str | None = None
    """File to write (a folder for livebench); one in RUN unless given."""
    questions: str | None = None
    """For livebench: the folder or file of its questions that was played."""


def export(words: Sequence[str]) -> int:
    """Write what a command line asks for, print its path, and return the exit code 0."""
    arguments = parse(ExportArguments, words, prog="rla bench export")
    for path in export_run(arguments):
        print(path)  # noqa: T201
    return 0


def export_run(arguments: ExportArguments) -> list[Path]:
    """Write the export and return its files.

    Raises:
        InputError: If the run cannot be read, the format is not known, or the
            run has nothing to write in it.
    """
    if arguments.format != "livebench" and arguments.format not in FORMATS:
        raise unknown_name("format", arguments.format, [*FORMATS, "livebench"])
    results = read_results(arguments.run)
    if arguments.format == "livebench":
        if arguments.questions is None:
            raise InputError(
                "--questions: expected the folder or file of LiveBench's questions that was played"
            )
        return livebench(results, arguments.questions, arguments.out or Path(arguments.run, "livebench"))
    name, write = FORMATS[arguments.format]
    path = Path(arguments.out) if arguments.out else Path(arguments.run, name or inspect_name(results))
    write_atomic(path, write(results).encode("utf-8", "replace"))
    return [path]


def inspect_name(results: Results) -> str:
    """Return the file name by which inspect_ai finds a log in a folder: its start, task and the task's id."""
    config = results.config
    started = re.sub(r"[^0-9T+-]", "-", config.stamps.get("started") or _NO_DATE)
    task = re.sub(r"[^0-9A-Za-z.-]+", "-", config.suite).strip("-.")
    return f"{started}_{task}_{config.suite_hash[:22]}.json"


def inspect_log(results: Results) -> str:
    """Return the run as an inspect_ai log (version 2 of its JSON format).

    A sample is a task, an epoch an attempt. An episode that the machinery broke
    is a sample with an error and no score, and leaves the log's status at "error".
    """
    config, summary = results.config, results.summary
    success = summary.success
    figures = {
        "accuracy": success.rate,
        "wilson_low": success.low if success.n else None,
        "wilson_high": success.high if success.n else None,
        "clustered_low": success.clustered_low,
        "clustered_high": success.clustered_high,
    }
    ids = list(dict.fromkeys(_sample_id(trace) for trace in results.run.traces))
    log: Json = {
        "version": 2,
        "status": "success" if summary.complete else "error",
        "eval": {
            "created": config.stamps.get("started") or _NO_DATE,
            "run_id": summary.tasks_hash[:22],
            "task": config.suite,
            "task_id": config.suite_hash[:22],
            "task_version": config.suite_version,
            "dataset": {"name": config.suite, "samples": len(ids), "sample_ids": ids},
            "model": config.agent,
            "config": {"epochs": config.attempts, "fail_on_error": False},
            "packages": {k: v for k, v in config.stamps.items() if k in ("rlanything", "gymnasium", "numpy")},
            "metadata": {
                "seed": config.seed,
                "suite_hash": config.suite_hash,
                "agent_kind": config.agent_kind,
                "protocol": config.protocol,
                "notes": list(results.notes),
            },
        },
        "plan": {},
        "results": {
            "total_samples": summary.episodes_planned,
            "completed_samples": success.n,
            "scores": [
                {
                    "name": "success",
                    "scorer": "environment",
                    "scored_samples": success.n,
                    "unscored_samples": success.infrastructure_errors,
                    "metrics": {k: {"name": k, "value": v} for k, v in figures.items() if v is not None},
                    "metadata": {"wins": success.wins, "agent_errors": success.agent_errors},
                }
            ],
        },
        "stats": {
            "started_at": config.stamps.get("started", ""),
            "model_usage": _model_usage(results.run.traces, config.agent),
        },
    }
    if not summary.complete:
        log["error"] = _inspect_error(" ".join(results.notes))
    # Last: what reads only the head of a log stops where they begin.
    log["samples"] = [_sample(trace, config.agent) for trace in results.run.traces]
    return json.dumps(log, indent=1) + "\n"


def _sample_id(trace: Trace) -> str:
    return f"{trace.cell}/{trace.number}"


def _sample(trace: Trace, model: str) -> Json:
    messages: list[Json] = []
    for step in trace.steps:
        messages.append({"role": "user", "content": step.observation, "source": "input"})
        messages.append({"role": "assistant", "content": _action(step), "source": "generate", "model": model})
    messages.append({"role": "user", "content": trace.final, "source": "input"})
    sample: Json = {
        "id": _sample_id(trace),
        "epoch": trace.attempt + 1,
        "input": messages[0]["content"],
        "target": "solved",
        "messages": messages,
        "metadata": {
            "env_id": trace.env_id,
            "task_id": trace.task_id,
            "task_hash": trace.task_hash,
            "difficulty": dict(trace.difficulty),
            "stop": trace.stop,
            "claim": trace.claim,
        },
        "model_usage": _model_usage([trace], model),
    }
    if trace.success is None:
        sample["error"] = _inspect_error(trace.error)
    else:
        score = {
            "value": "C" if trace.success else "I",
            "answer": trace.stop,
            "explanation": trace.error or None,
        }
        sample["scores"] = {"success": score}
    return sample


def _model_usage(traces: Sequence[Trace], model: str) -> Json:
    read, written = sum(t.prompt_tokens for t in traces), sum(t.completion_tokens for t in traces)
    usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    return {model: usage} if read + written else {}


def _inspect_error(message: str) -> Json:
    return {"message": message, "traceback": message, "traceback_ansi": message}


def model_card(results: Results) -> str:
    """Return a Hugging Face model card whose ``model-index`` holds the results, overall and by cell.

    Raises:
        InputError: If no episode was scored: there is no value to state.
        MissingExtraError: If huggingface_hub is not installed.
    """
    try:
        from huggingface_hub import EvalResult, ModelCardData
    except ImportError as error:
        raise missing_extra("the Hugging Face export", "train", error) from error
    config, summary = results.config, results.summary
    if not summary.success.n:
        raise InputError(f"{results.run.folder}: no episode was scored, so there is no result to state")
    entries = []
    for cell, success in {"": summary.success, **summary.cells}.items():
        if success.rate is None:
            continue
        entries.append(
            EvalResult(
                task_type="reinforcement-learning",
                dataset_type=f"rlanything/{config.suite}",
                dataset_name=f"{config.suite} v{config.suite_version}{f', {cell}' if cell else ''}",
                dataset_config=cell or None,
                dataset_revision=config.suite_hash,
                metric_type="success_rate",
                metric_name="success" if summary.complete else "success (incomplete run)",
                metric_value=success.rate,
                metric_args={
                    "wins": success.wins,
                    "n": success.n,
                    "wilson_95": [success.low, success.high],
                    "clustered_95": [success.clustered_low, success.clustered_high],
                    "agent_errors": success.agent_errors,
                    "infrastructure_errors": success.infrastructure_errors,
                    "complete": summary.complete,
                },
            )
        )
    return f"---\n{ModelCardData(model_name=config.agent, eval_results=entries).to_yaml()}\n---\n"


def journal_row(results: Results) -> str:
    """Return header and row of AgentLab's reproducibility journal; what a run does not know stays empty.

    ``avg_reward`` is the success rate, as in the benchmarks of that journal;
    ``n_err`` counts agent and machinery errors, told apart in ``comment``.
    """
    config, success, stamps = results.config, results.summary.success, results.config.stamps
    rate = success.rate
    state = "" if results.summary.complete else "; INCOMPLETE"
    commit = stamps.get("git", "")
    row: Mapping[str, object] = {
        "git_user": "",
        "agent_name": config.agent,
        "benchmark": config.suite,
        "benchmark_version": config.suite_version,
        "date": stamps.get("started", ""),
        "study_id": results.name,
        "avg_reward": "" if rate is None else round(rate, 3),
        "std_err": "" if rate is None else round(math.sqrt(rate * (1 - rate) / success.n), 3),
        "n_err": success.agent_errors + success.infrastructure_errors,
        "n_completed": f"{success.n}/{results.summary.episodes_planned}",
        "comment": (
            f"success {success.wins}/{success.n}; {success.agent_errors} agent errors counted as lost; "
            f"{success.infrastructure_errors} infrastructure errors not scored{state}"
        ),
        "os": stamps.get("platform", ""),
        "python_version": stamps.get("python", ""),
        "playwright_version": "",
        "agentlab_version": "",
        "agentlab_git_hash": "",
        "agentlab__local_modifications": "",
        "browsergym_version": f"rlanything {stamps.get('rlanything', '')}".strip(),
        "browsergym_git_hash": commit.removesuffix("+"),
        "browsergym__local_modifications": "yes" if commit.endswith("+") else "",
    }
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([list(row), list(row.values())])
    return out.getvalue()


def livebench(results: Results, questions: str | Path, out: str | Path) -> list[Path]:
    """Write LiveBench's answer and judgment files of the first attempt at each of its questions.

    An episode that the machinery broke is left out; LiveBench then shows no score
    for the model, as for any that has not answered every question.

    Raises:
        InputError: If the run played none of these questions.
    """
    problems = {problem.id: problem for problem in load_livebench(questions)}
    judged = []
    for trace in results.run.traces:
        problem = _problem(trace, problems)
        if problem is not None and trace.success is not None and trace.attempt == 0:
            judged.append((problem, _action(trace.steps[-1]) if trace.steps else "", trace.success))
    if not judged:
        raise InputError(f"{results.run.folder}: none of its scored episodes plays a question of {questions}")
    model = results.config.agent.replace("/", "_")
    answers = write_answers(out, model, [(problem, answer) for problem, answer, _ in judged])
    return [*answers, *write_judgments(out, model, judged)]


def _problem(trace: Trace, problems: Mapping[str, Problem]) -> Problem | None:
    report = trace.steps[-1].details.get("coding") if trace.steps else None
    if isinstance(report, Mapping):
        return problems.get(str(report.get("problem_id")))
    # An agent that failed before it answered left no report; the task's hash names the problem.
    for problem in problems.values():
        task = Task(trace.env_id, trace.difficulty, {"problem": problem.to_dict()})
        if task.content_hash == trace.task_hash:
            return problem
    return None


def _action(step: Step) -> str:
    return step.action if isinstance(step.action, str) else json.dumps(step.action)


FORMATS: Mapping[str, tuple[str, Callable[[Results], str]]] = {
    "inspect": ("", inspect_log),
    "huggingface": ("model-index.md", model_card),
    "agentlab": ("agentlab_journal.csv", journal_row),
}
"""Exports of one file: its name in the run's folder ("": see :func:`inspect_name`), and its writer."""
