"""What a run leaves in its folder: complete rows, and nothing from a future that is made again."""

import json
import math

import pytest

from rla_agents.batches import score
from rla_agents.config import ObjectiveConfig, TrainConfig, load_config
from rla_agents.files import read_jsonl
from rla_agents.run_files import RunFiles, group_traces, trace
from rla_envs.errors import InputError
from rla_envs.task import Task
from tests.rla_agents.played import TASK, group, trajectory

ROW = {
    "schema", "iteration", "phase", "env_id", "task", "task_id", "task_hash", "difficulty", "seed", "success",
    "outcome", "stop", "error", "retries", "optimal_length", "token_count", "prompt", "steps",
}  # fmt: skip
STEP = {
    "observation", "action", "next_observation", "error", "votes", "oracle", "reward", "advantage", "logprob",
}  # fmt: skip


def test_a_trace_row_holds_the_whole_episode():
    made = group(
        trajectory(True, [(1, -1), (1, 1)], oracles=[1, -1], retries=1), trajectory(False, [(0, 1), (-1, -1)])
    )
    score(made, ObjectiveConfig(policy_accuracy=(0.0, 1.0)), trains=True)
    first, second = json.loads(json.dumps(group_traces(made, 4), allow_nan=False))
    assert set(first) == set(second) == ROW
    assert {frozenset(step) for step in first["steps"] + second["steps"]} == {frozenset(STEP)}
    assert (first["schema"], first["iteration"], first["phase"]) == (1, 4, "train")
    assert Task.from_json(json.dumps(first["task"])) == TASK
    assert (first["task_id"], first["task_hash"]) == (TASK.id, TASK.content_hash)
    assert (first["success"], first["outcome"], first["stop"]) == (True, 1, "solved")
    assert (second["success"], second["outcome"], second["stop"]) == (False, -1, "budget")
    assert (first["retries"], first["optimal_length"], first["token_count"]) == (1, 2, 6)
    assert first["prompt"] == "room 0"
    assert first["steps"][1] == {
        "observation": "room 1",
        "action": "go 1",
        "next_observation": "room 2",
        "error": "",
        "votes": [1, 1],
        "oracle": -1,
        "reward": 2.0,
        "advantage": 1.0,
        "logprob": -1.0,
    }


def test_an_episode_that_was_never_scored_has_no_rewards():
    row = trace(trajectory(False, steps=2), -1, "eval_before")
    assert {(s["reward"], s["advantage"], tuple(s["votes"])) for s in row["steps"]} == {(None, None, ())}


def test_a_broken_episode_is_visible_and_has_no_outcome():
    row = trace(trajectory(False, steps=1, stop="error", error="lost its sandbox", retries=2), 3, "train")
    assert (row["stop"], row["error"], row["retries"], row["outcome"]) == (
        "error",
        "lost its sandbox",
        2,
        None,
    )


@pytest.fixture
def files(tmp_path):
    """A run folder with three iterations and four evaluations."""
    made = RunFiles(tmp_path / "run")
    for iteration in range(-1, 3):
        for name in ("traces.jsonl", "events.jsonl"):
            made.add(name, [{"iteration": iteration, "n": n} for n in range(2)])
    made.add("metrics.jsonl", [{"iteration": iteration} for iteration in range(3)])
    made.write_evaluation(
        {
            "grid": {"games": 4},
            "before": {"iteration": -1, "sampled": {"n": 4}},
            "iteration_0": {"iteration": 0, "sampled": {"n": 4}},
            "iteration_1": {"iteration": 1, "sampled": {"n": 4}},
            "after": {"iteration": 3, "sampled": {"n": 4}},
        }
    )
    return made


@pytest.mark.parametrize("iteration", [-2, -1, 0, 1, 2, 3])
def test_rewinding_drops_later_rows_and_evaluations_and_keeps_the_others(files, iteration):
    files.rewind(iteration)
    kept = [row["iteration"] for row in read_jsonl(files.folder / "traces.jsonl")]
    assert kept == [i for i in range(-1, 3) for _ in range(2) if i <= iteration]
    assert [row["iteration"] for row in files.metrics()] == [i for i in range(3) if i <= iteration]
    numbers = {"before": -1, "iteration_0": 0, "iteration_1": 1, "after": 3}
    evaluations = {name for name, number in numbers.items() if number <= iteration}
    assert set(files.evaluation()) == {"grid"} | evaluations


def test_rewinding_an_empty_folder_leaves_it_empty(tmp_path):
    files = RunFiles(tmp_path / "run")
    files.rewind(-2)
    assert list(files.folder.iterdir()) == []
    assert files.metrics() == []
    assert files.evaluation() == {}


def test_it_begins_with_the_settings_and_the_versions(tmp_path):
    files = RunFiles(tmp_path / "deep" / "run")
    config = TrainConfig(iterations=3, run_dir=str(files.folder))
    files.begin(config)
    assert load_config(files.folder / "config.toml") == config
    assert {"python", "torch", "gymnasium"} <= set(json.loads((files.folder / "versions.json").read_text()))


def test_numbers_that_json_does_not_have_are_refused_and_leave_the_file_as_it_was(files):
    before = (files.folder / "metrics.jsonl").read_bytes()
    with pytest.raises(ValueError, match="not JSON"):
        files.add("metrics.jsonl", [{"iteration": 3}, {"iteration": 4, "policy/loss": math.nan}])
    assert (files.folder / "metrics.jsonl").read_bytes() == before


def test_a_damaged_evaluation_is_named_with_what_to_do(tmp_path):
    (tmp_path / "evaluation.json").write_bytes(b'{"before": \xff')
    with pytest.raises(InputError, match=r"cannot read .*evaluation\.json .*remove it to evaluate again"):
        RunFiles(tmp_path).evaluation()
