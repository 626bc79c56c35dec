"""What other tools read says what the report says."""

import csv
import dataclasses
import io
import json

import pytest
import yaml
from huggingface_hub import ModelCard
from huggingface_hub.repocard_data import model_index_to_eval_results

from benchmarks.bench.exporters import ExportArguments, export, export_run
from benchmarks.bench.schema import Step, read_run
from rla_envs.coding.livebench import load_livebench
from rla_envs.coding.livebench_results import livebench_scores, read_judgments
from rla_envs.errors import InputError
from rla_envs.task import Task
from tests.benchmarks.bench.bench_runs import CONFIG, HOSTILE, episode, ten, write_run
from tests.rla_envs.coding import livebench_files as lb


@pytest.fixture
def run(tmp_path):
    stamps = {
        "started": "2026-11-30T12:00:00+00:00",
        "git": "ab12+",
        "python": "3.11.9",
        "rlanything": "0.1.0",
    }
    return write_run(tmp_path / "run", ten(), dataclasses.replace(CONFIG, stamps=stamps))


def exported(run, name):
    (path,) = export_run(ExportArguments(str(run), name))
    return path.read_text()


def test_an_inspect_log_scores_losses_and_shows_broken_episodes_unscored(run):
    log = json.loads(exported(run, "inspect"))
    (score,) = log["results"]["scores"]
    assert (score["scored_samples"], score["unscored_samples"]) == (9, 1)
    assert score["metrics"]["accuracy"]["value"] == pytest.approx(6 / 9)
    values = [sample.get("scores", {}).get("success", {}).get("value") for sample in log["samples"]]
    assert values == ["C"] * 6 + ["I"] * 3 + [None]
    assert ["error" in sample for sample in log["samples"]] == [False] * 9 + [True]
    assert log["samples"][8]["scores"]["success"]["explanation"] == "the agent raised ValueError: no"
    assert log["status"] == "error"
    assert "Incomplete" in log["error"]["message"]


def test_inspect_reads_the_log_and_loses_no_field(run):
    log_module = pytest.importorskip("inspect_ai.log", reason="inspect_ai is not installed")
    (path,) = export_run(ExportArguments(str(run), "inspect"))
    log = log_module.read_eval_log(str(path))
    assert log.results.scores[0].metrics["accuracy"].value == pytest.approx(6 / 9)
    assert [message.role for message in log.samples[0].messages] == ["user", "assistant"] * 2 + ["user"]
    assert list(_lost(json.loads(path.read_text()), json.loads(log.model_dump_json()), "log")) == []
    # The head alone, as its viewer and its data frames read logs.
    head = log_module.read_eval_log(str(path), header_only=True)
    assert (head.status, head.error.message) == ("error", log.error.message)


def test_inspect_finds_the_log_in_the_run_folder(run):
    log_module = pytest.importorskip("inspect_ai.log", reason="inspect_ai is not installed")
    (path,) = export_run(ExportArguments(str(run), "inspect"))
    (found,) = log_module.list_eval_logs(str(run))
    assert (found.name.removeprefix("file://"), found.task) == (str(path), CONFIG.suite)


def _lost(mine, theirs, where):
    """Yield the fields that came back changed or not at all."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key, value in mine.items():
            yield from _lost(value, theirs.get(key), f"{where}.{key}")
    elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for i, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            yield from _lost(one, other, f"{where}[{i}]")
    elif mine != theirs:
        yield f"{where}: {mine!r} != {theirs!r}"


def test_an_inspect_log_has_the_name_and_the_head_that_inspect_looks_for(run, tmp_path):
    (path,) = export_run(ExportArguments(str(run), "inspect"))
    assert path.name == f"2026-11-30T12-00-00+00-00_doors_{CONFIG.suite_hash[:22]}.json"
    log = json.loads(path.read_text())
    assert {"version", "status", "eval", "plan", "results", "stats"} < set(log)
    assert list(log)[-1] == "samples"
    tokens = [(t.prompt_tokens, t.completion_tokens) for t in read_run(run).traces]
    (usage,) = log["stats"]["model_usage"].values()
    assert (usage["input_tokens"], usage["output_tokens"]) == tuple(map(sum, zip(*tokens, strict=True)))
    hostile = dataclasses.replace(CONFIG, suite=f"../../{HOSTILE}")
    (path,) = export_run(ExportArguments(str(write_run(tmp_path / "other", ten(), hostile)), "inspect"))
    assert path.parent == tmp_path / "other"
    assert path.name.startswith("1970-01-01T00-00-00+00-00_")


def test_a_finished_run_is_a_log_of_success(tmp_path):
    log = json.loads(exported(write_run(tmp_path / "run", [episode(i) for i in range(10)]), "inspect"))
    assert log["status"] == "success"
    assert "error" not in log


def test_hugging_face_reads_the_results_with_their_denominators(run):
    card = ModelCard(exported(run, "huggingface"))
    name, entries = model_index_to_eval_results(yaml.safe_load(card.data.to_yaml())["model-index"])
    assert name == "heuristic"
    assert [entry.dataset_config for entry in entries] == [None, "easy", "hard"]
    overall = entries[0]
    assert overall.metric_value == pytest.approx(6 / 9)
    assert (overall.metric_args["wins"], overall.metric_args["n"]) == (6, 9)
    assert (overall.metric_args["agent_errors"], overall.metric_args["infrastructure_errors"]) == (1, 1)
    assert overall.metric_name == "success (incomplete run)"


def test_a_journal_row_has_the_columns_of_the_journal(run):
    (row,) = csv.DictReader(io.StringIO(exported(run, "agentlab")))
    assert list(row)[:10] == [
        "git_user",
        "agent_name",
        "benchmark",
        "benchmark_version",
        "date",
        "study_id",
        "avg_reward",
        "std_err",
        "n_err",
        "n_completed",
    ]
    assert (row["avg_reward"], row["std_err"], row["n_err"], row["n_completed"]) == (
        "0.667",
        "0.157",
        "2",
        "9/10",
    )
    assert (
        "success 6/9; 1 agent errors counted as lost; 1 infrastructure errors not scored; INCOMPLETE"
        in row["comment"]
    )
    assert (row["browsergym_git_hash"], row["browsergym__local_modifications"]) == ("ab12", "yes")


def test_without_a_scored_episode_no_figure_is_written(tmp_path):
    run = write_run(tmp_path / "run", [episode(i, "infrastructure") for i in range(10)])
    (row,) = csv.DictReader(io.StringIO(exported(run, "agentlab")))
    assert (row["avg_reward"], row["std_err"], row["n_completed"]) == ("", "", "0/10")
    assert "accuracy" not in json.loads(exported(run, "inspect"))["results"]["scores"][0]["metrics"]
    with pytest.raises(InputError, match="no episode was scored"):
        exported(run, "huggingface")


def test_hostile_names_stay_values(tmp_path):
    config = dataclasses.replace(CONFIG, agent=HOSTILE, suite=f"a: b\n- {HOSTILE}")
    run = write_run(tmp_path / "run", ten(), config)
    assert json.loads(exported(run, "inspect"))["eval"]["model"] == HOSTILE
    card = yaml.safe_load(exported(run, "huggingface").split("---\n")[1])
    assert card["model-index"][0]["name"] == HOSTILE
    (row,) = csv.DictReader(io.StringIO(exported(run, "agentlab")))
    assert row["agent_name"] == HOSTILE


def test_livebench_scores_the_judgments_as_the_run_did(tmp_path):
    data = lb.write(tmp_path / "data", lb.stdin_row(), lb.function_row(), lb.completion_row(), lb.suite_row())
    problems = load_livebench(data)
    traces = []
    for i, problem in enumerate(problems):
        report = {"coding": {"problem_id": problem.id}}
        task = Task("RLA/LiveBenchCoding-v0", {"tests": i}, {"problem": problem.to_dict()})
        silent = i == 0
        trace = episode(
            i, "agent_error" if silent else "solved", env_id=task.env_id, difficulty=dict(task.difficulty)
        )
        steps = () if silent else (Step(problem.statement, "print(1)", 1.0, "", report),)
        traces.append(dataclasses.replace(trace, task_hash=task.content_hash, steps=steps))
    traces.append(episode(len(traces), "failed"))
    run = write_run(tmp_path / "run", traces, dataclasses.replace(CONFIG, episodes=len(traces)))
    files = export_run(ExportArguments(str(run), "livebench", str(tmp_path / "out"), str(data)))
    assert all(path.exists() for path in files)
    rows = read_judgments(tmp_path / "out")
    assert [row["score"] for row in rows if row["question_id"] == problems[0].id] == [0]
    assert sum(row["score"] for row in rows) == len(problems) - 1
    assert set(livebench_scores(rows, problems)) == {"heuristic"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("inspct",), "Did you mean 'inspect'?"),
        (("livebench",), "--questions: expected"),
    ],
)
def test_bad_arguments_are_refused(run, arguments, expected):
    with pytest.raises(InputError) as refused:
        export_run(ExportArguments(str(run), *arguments))
    assert expected in str(refused.value)


def test_the_command_prints_the_file(run, capsys):
    assert export([str(run), "--format", "agentlab"]) == 0
    assert capsys.readouterr().out.strip() == str(run / "agentlab_journal.csv")
