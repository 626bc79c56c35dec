import dataclasses
import json

import numpy as np
import pytest

from benchmarks.bench.schema import Step, Trace, dump_json, parse_record, read_run
from benchmarks.bench.summary import clustered_interval, summarise
from rla_envs.errors import InputError
from tests.benchmarks.bench.made_run import made_run, made_trace


def test_a_run_folder_reads_back_as_it_was_written(tmp_path):
    run = read_run(made_run(tmp_path))
    assert run.traces == tuple(made_trace(i, ending) for i, ending in enumerate("wwwwwwllia"))
    assert run.summary == summarise(run.config, run.traces)
    assert run.timings[3].agent_seconds == 3.5


def test_success_has_its_denominator_and_errors_stand_beside_it(tmp_path):
    summary = read_run(made_run(tmp_path, "wwwwwwllia")).summary
    # Of ten episodes one broke, which nobody can score; the agent's exception is a loss.
    assert (summary.success.wins, summary.success.n) == (6, 9)
    assert summary.success.agent_errors == 1
    assert summary.success.infrastructure_errors == 1
    assert summary.episodes_played == summary.episodes_planned == 10
    assert not summary.complete
    assert sum(cell.n for cell in summary.cells.values()) == 9
    assert read_run(made_run(tmp_path / "whole", "wwa")).summary.complete


def test_a_run_in_which_all_failed_has_no_rate(tmp_path):
    summary = read_run(made_run(tmp_path, "iii")).summary
    assert summary.success.rate is None
    assert summary.success.n == summary.steps == 0


def test_attempts_at_one_task_widen_the_interval():
    independent = clustered_interval(np.array([[i % 2, 1] for i in range(200)]))
    clustered = clustered_interval(np.array([[10 * (i % 2), 10] for i in range(20)]))
    # Two hundred coins have a standard error of 0.035, twenty of 0.112.
    assert independent == pytest.approx((0.43, 0.57), abs=0.02)
    assert clustered == pytest.approx((0.28, 0.72), abs=0.05)


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda text: text[:-20], r"traces\.jsonl, line 10: the line is half written"),
        (lambda text: text[:40] + "\n" + text, r"traces\.jsonl, line 1: expected a JSON object"),
        (lambda text: text + text.splitlines()[2] + "\n", "line 11: position 2 was in line 3 already"),
        (
            lambda text: text.replace('"schema": 1', '"schema": 2', 1),
            "line 1: schema: expected version 1, got 2",
        ),
        (
            lambda text: text.replace('"retries": 0', '"retries": "0"', 1),
            "line 1: retries: expected an integer",
        ),
        (lambda text: text.replace('"retries": 0, ', '"tries": 0, ', 1), "line 1: unknown field 'tries'"),
        (lambda text: text.replace('"cell": "easy", ', "", 1), "line 1: missing field 'cell'"),
        (
            lambda text: text.replace('"success": true', '"success": false', 1),
            "line 1: success: expected True",
        ),
        (
            lambda text: text.replace('"action": "open door 0"', '"action": null', 1),
            r"line 1: steps\[0\]: action",
        ),
        (lambda text: "[]\n" + text, "line 1: expected an object, got list"),
    ],
)
def test_a_damaged_trace_is_named_by_file_line_and_field(tmp_path, damage, complaint):
    folder = made_run(tmp_path)
    path = folder / "traces.jsonl"
    path.write_text(damage(path.read_text()))
    with pytest.raises(InputError, match=complaint):
        read_run(folder)


def test_a_folder_that_is_no_run_says_so(tmp_path):
    with pytest.raises(InputError, match="expected the folder of a benchmark run"):
        read_run(tmp_path)


@pytest.mark.parametrize("action", ["none", 3, 0.5, [1, [2.0, "x"]], {"type": "click", "at": [1, 2]}])
def test_actions_of_any_kind_survive(action):
    trace = dataclasses.replace(made_trace(0, "w"), steps=(Step("δ", action, details={"passed": None}),))
    assert parse_record(Trace, json.loads(dump_json(trace)), "here") == trace
