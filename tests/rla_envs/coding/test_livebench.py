"""LiveBench's question files are read as its own code reads them, and never run."""

import base64
import json
import os
import pickle
import zlib

import pytest

from rla_envs.coding import load_problems
from rla_envs.coding.livebench import decode_tests, load_livebench
from rla_envs.errors import InputError
from tests.rla_envs.coding import livebench_files as lb


def test_all_four_tasks_are_read_in_order(tmp_path):
    rows = [
        lb.suite_row("code_completion"),
        lb.suite_row(),
        lb.completion_row(),
        lb.function_row(),
        lb.stdin_row(),
    ]
    problems = load_problems("livebench", path=lb.write(tmp_path, *rows))
    assert [p.id for p in problems] == [
        "q-func",
        "q-stdin",
        "q-comp",
        "q-code_generation",
        "q-code_completion",
    ]
    assert [p.kind for p in problems] == ["functional", "stdin", "stdin", "unittest", "unittest"]
    function, stdin, completion, suite, _ = problems
    assert [case.arguments for case in function.tests] == [[1, 2], [5, 5]]
    assert function.entry_point == "f"
    assert function.metadata["difficulty"] == "easy"
    assert stdin.statement == lb.STATEMENT
    assert (len(stdin.public_tests), len(stdin.private_tests)) == (1, 1)
    assert completion.reference_solutions == (lb.completion_row()["solution"],)
    assert suite.reference_solutions == ("def task_func(a, b):\n    return a + b",)
    assert suite.time_limit == 4.5


def test_private_tests_come_as_json_or_as_a_packed_pickle_of_json():
    tests = lb.tests_of("stdin", ("1", "2"))
    assert decode_tests(json.dumps(tests)) == tests
    assert decode_tests(lb.packed(tests)) == tests


class _Runs:
    def __reduce__(self):
        return os.system, ("touch owned",)


@pytest.mark.parametrize(
    ("pickled", "why"),
    [
        (pickle.dumps(_Runs()), "no globals"),
        (pickle.dumps({"a": 1}), "expected text"),
        (pickle.dumps("not json"), "expected JSON"),
        (b"garbage", "expected JSON"),
        (pickle.dumps("[]")[:-3], "truncated|damaged|expected JSON"),
    ],
)
def test_a_pickle_of_anything_but_text_is_refused_and_nothing_runs(tmp_path, monkeypatch, pickled, why):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=why):
        decode_tests(base64.b64encode(zlib.compress(pickled)).decode())
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("release", "ids"),
    [
        (None, ["always", "late"]),
        ("2024-06-24", ["always", "gone"]),
        ("2024-11-25", ["always", "gone"]),
        ("2025-04-02", ["always"]),
        ("2025-05-30", ["always", "late"]),
    ],
)
def test_a_question_counts_from_its_release_until_its_removal(tmp_path, release, ids):
    rows = [
        lb.stdin_row(question_id="always", livebench_release_date="2024-06-24", livebench_removal_date=None),
        lb.stdin_row(
            question_id="gone", livebench_release_date="2024-06-24", livebench_removal_date="2025-04-02"
        ),
        lb.stdin_row(question_id="late", livebench_release_date="2025-05-30"),
    ]
    problems = load_problems("livebench", path=lb.write(tmp_path, *rows), release=release)
    assert [p.id for p in problems] == ids


def test_test_case_files_are_merged_by_question(tmp_path):
    row = lb.stdin_row()
    private = row.pop("private_test_cases")
    lb.write(tmp_path, row)
    folder = tmp_path / "live_bench" / "coding" / "LCB_generation"
    extra = {"question_id": "q-stdin", "private_test_cases": private}
    (folder / "test_cases_0.jsonl").write_text(json.dumps(extra) + "\n")
    (problem,) = load_problems("livebench", path=tmp_path)
    assert [case.output for case in problem.tests] == ["3\n", "10\n"]


def test_a_file_a_task_folder_or_any_folder_above_can_be_named(tmp_path):
    lb.write(tmp_path, lb.stdin_row(), lb.completion_row())
    folder = tmp_path / "live_bench" / "coding"
    assert len(load_problems("livebench", path=folder)) == 2
    assert len(load_problems("livebench", path=folder / "LCB_generation")) == 1
    assert len(load_problems("livebench", path=str(folder / "LCB_generation" / "question.jsonl"))) == 1
    assert len(load_problems("livebench", path=tmp_path, tasks=["coding_completion"])) == 1


def without(row, name):
    return {key: value for key, value in row.items() if key != name}


@pytest.mark.parametrize(
    ("row", "named"),
    [
        (lb.stdin_row(public_test_cases="[{]"), "public_test_cases: expected JSON"),
        (
            lb.stdin_row(public_test_cases='[{"input": "1"}]'),
            r"public_test_cases\[0\]: output: .*got nothing",
        ),
        (lb.stdin_row(private_test_cases='[{"input": "1", "output": null}]'), r"output: .* got nothing"),
        (
            lb.stdin_row(private_test_cases='[{"input": "1", "output": 3}]'),
            "output: expected a string, got 3",
        ),
        (lb.stdin_row(public_test_cases="[]", private_test_cases="[]"), "at least one test, got none"),
        (
            lb.stdin_row(public_test_cases='[{"input": "", "output": "", "testtype": "functional"}]'),
            "testtype: expected 'stdin'",
        ),
        (lb.function_row(public_test_cases=json.dumps(lb.tests_of("functional", ("1\n2", "NaN")))), "NaN"),
        (lb.function_row(public_test_cases=json.dumps(lb.tests_of("functional", ("x", "1")))), "JSON value"),
        (lb.stdin_row(turns=[]), "turns: expected a list with the prompt"),
        (lb.stdin_row(turns="text"), "turns"),
        (lb.stdin_row(original_json={"metadata": "{"}), "original_json.metadata"),
        (lb.stdin_row(livebench_release_date="soon"), "livebench_release_date: expected a date"),
        (without(lb.stdin_row(), "question_id"), "question_id: expected a string, got nothing"),
        (lb.suite_row(tests="def test(): ..."), "class TestCases"),
        (lb.suite_row(expected_time="fast"), "expected_time"),
    ],
)
def test_a_malformed_row_is_refused_with_its_file_line_and_field(tmp_path, row, named):
    make = lb.stdin_row if row["task"] == "LCB_generation" else lb.suite_row
    lb.write(tmp_path, make(question_id="first"), row)
    with pytest.raises(InputError, match=rf"question.jsonl, line 2: .*{named}") as caught:
        load_problems("livebench", path=tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b"{", "line 1: expected a JSON object"),
        (b"[]\n", "line 1: expected a JSON object, got list"),
        (b"\xff\n", "cannot be read"),
        (json.dumps(lb.stdin_row(task="LCB_generatoin")).encode(), "Did you mean 'LCB_generation'"),
        ((json.dumps(lb.stdin_row()) + "\n").encode() * 2, "occurs twice"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path, text, named):
    file = tmp_path / "question.jsonl"
    file.write_bytes(text)
    with pytest.raises(InputError, match=named):
        load_problems("livebench", path=file)


def test_a_folder_without_questions_says_what_was_expected(tmp_path):
    with pytest.raises(InputError, match="live_bench/coding/TASK/question.jsonl"):
        load_problems("livebench", path=tmp_path)


@pytest.mark.parametrize("options", [{"release": "november"}, {"tasks": ["LCB"]}, {"relase": "2024-11-25"}])
def test_a_wrong_option_is_refused(tmp_path, options):
    with pytest.raises(InputError, match="expected a date|unknown"):
        load_problems("livebench", path=lb.write(tmp_path, lb.stdin_row()), **options)


NESTED = base64.b64encode(zlib.compress(pickle.dumps("[" * 100_000))).decode()


@pytest.mark.parametrize("nested", ["[" * 100_000, NESTED], ids=["plain", "packed"])
def test_tests_nested_without_end_are_refused(nested):
    with pytest.raises(InputError, match="expected"):
        decode_tests(nested)


def test_one_task_for_a_list_of_tasks_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"write \['LCB_generation'\]"):
        load_livebench(tmp_path, tasks="LCB_generation")
