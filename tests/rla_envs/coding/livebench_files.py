"""Question files in LiveBench's schema."""

import base64
import json
import pickle
import zlib

STATEMENT = "Read two integers and print their sum.\n\nAnswer with a ```python block."


def tests_of(kind, *pairs):
    return [{"input": given, "output": wanted, "testtype": kind} for given, wanted in pairs]


def packed(tests):
    """Return tests as LiveBench packs private ones: JSON, pickled, compressed, in base64."""
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(tests)))).decode()


def stdin_row(**changes):
    return {
        "question_id": "q-stdin",
        "category": "coding",
        "task": "LCB_generation",
        "turns": [STATEMENT],
        "question_title": "sum",
        "livebench_release_date": "2024-11-25",
        "livebench_removal_date": "",
        "public_test_cases": json.dumps(tests_of("stdin", ("1 2\n", "3\n"))),
        "private_test_cases": json.dumps(tests_of("stdin", ("5 5\n", "10\n"))),
        "original_json": {"metadata": "{}"},
        **changes,
    }


def function_row(**changes):
    row = stdin_row(
        question_id="q-func",
        public_test_cases=json.dumps(tests_of("functional", ("1\n2", "3"))),
        private_test_cases=packed(tests_of("functional", ("5\n5", "10"))),
        original_json={
            "metadata": '{"func_name": "f"}',
            "starter_code": "class Solution:\n    def f(self, a: int, b: int) -> int:\n        ",
            "difficulty": "easy",
            "contest_date": "2024-05-01T00:00:00",
        },
    )
    return {**row, **changes}


def completion_row(**changes):
    return stdin_row(
        **{
            "question_id": "q-comp",
            "task": "coding_completion",
            "partial_solution": "a, b = map(int, input().split())\nif True:",
            "remainder": "    print(a + b)",
            "solution": "a, b = map(int, input().split())\nif True:\n    print(a + b)",
            **changes,
        }
    )


SUITE = """\
import unittest

class TestCases(unittest.TestCase):
    def test_small(self):
        self.assertEqual(task_func(1, 2), 3)

    def test_zero(self):
        self.assertEqual(task_func(0, 0), 0)
"""


def suite_row(task="code_generation", **changes):
    return {
        "question_id": f"q-{task}",
        "category": "coding",
        "task": task,
        "turns": ["Write task_func."],
        "question_title": "task",
        "livebench_release_date": "2025-04-25",
        "livebench_removal_date": "",
        "tests": SUITE,
        "entry_point": "task_func",
        "code_prompt": "def task_func(a, b):",
        "ground_truth": "    return a + b",
        "expected_time": 1.5,
        **changes,
    }


def write(folder, *rows):
    """Write rows into ``folder/live_bench/coding/TASK/question.jsonl``; return the folder."""
    for task in {row["task"] for row in rows}:
        file = folder / "live_bench" / "coding" / task / "question.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(row) + "\n" for row in rows if row["task"] == task))
    return folder
