"""Answers and judgments are written as LiveBench's scripts read them, and scored as they score."""

import json

import pytest

from rla_envs.coding import load_problems
from rla_envs.coding.livebench_results import (
    livebench_scores,
    read_judgments,
    write_answers,
    write_judgments,
)
from rla_envs.errors import InputError
from tests.rla_envs.coding import livebench_files as lb

JUDGMENTS = "live_bench/coding/LCB_generation/model_judgment/ground_truth_judgment.jsonl"


@pytest.fixture
def problems(tmp_path):
    rows = [lb.stdin_row(question_id=f"s{i}") for i in range(3)] + [lb.completion_row()]
    return load_problems("livebench", path=lb.write(tmp_path, *rows))


def test_answers_are_one_file_a_task_with_the_text_in_the_last_turn(tmp_path, problems):
    files = write_answers(
        tmp_path, "My-Model", [(p, f"answer to {p.id}") for p in reversed(problems)], timestamp=7
    )
    folder = tmp_path / "live_bench" / "coding"
    assert sorted(files) == [
        folder / "LCB_generation" / "model_answer" / "my-model.jsonl",
        folder / "coding_completion" / "model_answer" / "my-model.jsonl",
    ]
    rows = [json.loads(line) for line in sorted(files)[0].read_text().splitlines()]
    assert [row["question_id"] for row in rows] == ["s0", "s1", "s2"]
    assert rows[0]["choices"][0]["turns"][-1] == "answer to s0"
    assert set(rows[0]) == {"question_id", "answer_id", "model_id", "choices", "tstamp"}
    assert len({row["answer_id"] for row in rows}) == 3


def test_judgments_have_livebenchs_fields_and_keep_what_other_models_got(tmp_path, problems):
    write_judgments(tmp_path, "A", [(p, "x", p.id == "s0") for p in problems], timestamp=7)
    write_judgments(tmp_path, "b", [(p, "x", True) for p in problems], timestamp=8)
    write_judgments(tmp_path, "a", [(problems[1], "y", True)], timestamp=9)
    file = tmp_path / JUDGMENTS
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert set(rows[0]) == {"question_id", "task", "model", "score", "tstamp", "category", "answer_id"}
    assert [(r["question_id"], r["model"], r["score"]) for r in rows] == [
        ("s0", "a", 1), ("s0", "b", 1), ("s1", "a", 1), ("s1", "b", 1), ("s2", "a", 0), ("s2", "b", 1),
    ]  # fmt: skip
    assert {r["category"] for r in rows} == {"coding"}


def test_the_answer_and_its_judgment_carry_the_same_id(tmp_path, problems):
    (file, _) = write_answers(tmp_path, "m", [(p, "x") for p in problems])
    write_judgments(tmp_path, "m", [(p, "x", True) for p in problems])
    answer = json.loads(file.read_text().splitlines()[0])
    judged = [row for row in read_judgments(tmp_path) if row["question_id"] == answer["question_id"]]
    assert [row["answer_id"] for row in judged] == [answer["answer_id"]]


def test_the_category_is_the_unweighted_mean_of_its_tasks(tmp_path, problems):
    write_judgments(tmp_path, "M", [(p, "x", p.id in ("s0", "q-comp")) for p in problems])
    scores = livebench_scores(read_judgments(tmp_path), problems)
    assert scores == {
        "m": {
            "LCB_generation": pytest.approx(100 / 3),
            "coding_completion": 100.0,
            "coding": pytest.approx((100 / 3 + 100) / 2),
        }
    }


def test_a_model_without_a_judgment_of_every_question_is_left_out(tmp_path, problems):
    write_judgments(tmp_path, "whole", [(p, "x", True) for p in problems])
    write_judgments(tmp_path, "part", [(p, "x", True) for p in problems[1:]])
    judgments = read_judgments(tmp_path)
    assert set(livebench_scores(judgments, problems)) == {"whole"}
    assert set(livebench_scores(judgments, problems[1:])) == {"whole", "part"}
    judgments = [{**row, "score": -1} if row["question_id"] == "s0" else row for row in judgments]
    assert livebench_scores(judgments, problems) == {}


def test_a_judgment_file_that_is_none_is_refused_and_stays(tmp_path, problems):
    file = tmp_path / JUDGMENTS
    file.parent.mkdir()
    file.write_text('{"question_id": "s0"}\n')
    with pytest.raises(InputError, match="line 1: expected a judgment with 'model'"):
        write_judgments(tmp_path, "m", [(problems[0], "x", True)])
    assert file.read_text() == '{"question_id": "s0"}\n'
