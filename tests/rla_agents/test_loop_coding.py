"""The closed loop runs on programming problems, with a critic that writes unit tests."""

import dataclasses
import json

import pytest

pytest.importorskip("alfworld", reason="the tokenizer is made from alfworld's tables")

from rla_agents.config import EnvConfig, EvalConfig, PolicyConfig
from rla_agents.files import read_jsonl
from rla_agents.loop import train
from tests.rla_agents.small_run import doors_config, save_models
from tests.rla_envs.coding.graders import grader

LEVEL = {"family": 0, "operations": 1, "size": 1, "edge_cases": 0, "io_kind": 0}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_iteration_plays_judges_and_saves(tmp_path):
    grader()  # skips where there is no sandbox
    models, run_dir = save_models(tmp_path / "models"), tmp_path / "run"
    env = EnvConfig("RLA/LiveBenchCoding-Adaptive-v0", difficulty=LEVEL, arguments={"reward": "fraction"})
    config = doors_config(models, run_dir, curriculum="thompson", iterations=1)
    config = dataclasses.replace(
        config,
        env=env,
        policy=dataclasses.replace(config.policy, max_tokens=8),
        critic=dataclasses.replace(config.critic, max_tokens=8),
        curriculum=dataclasses.replace(config.curriculum, arguments={"grid": {"distractor_text": [0, 1]}}),
        evaluation=EvalConfig(games=0),
    )
    assert isinstance(config.policy, PolicyConfig)
    train(config, quiet=True)
    (row,) = read_jsonl(run_dir / "metrics.jsonl")
    assert row["policy/episode_length"] == 1.0
    assert {"critic/syn_ut_acc", "critic/perfect_ut_rate"} <= set(row)
    assert row["critic/malformed"] == 1.0  # an untrained model writes no test
    traces = read_jsonl(run_dir / "traces.jsonl")
    assert len(traces) == 8
    assert all(trace["task"]["payload"]["problem"]["source"] == "generated" for trace in traces)
    assert json.loads((run_dir / "versions.json").read_text())
    assert (run_dir / "report.html").exists() or list(run_dir.glob("*.html"))
