"""Every example in docs/coding_grading.md gets exactly the verdicts that the page states."""

import re
from pathlib import Path

import pytest

from rla_envs.coding import Problem
from tests.rla_envs.coding.graders import fenced, grader

PAGE = Path(__file__).parents[3] / "docs" / "coding_grading.md"
EXAMPLE = re.compile(
    r"^### (?P<name>.+): strict (?P<strict>\w+), livebench (?P<livebench>\w+)\n"
    r"(?:(?!```)[^\n]*\n)*```python\n(?P<code>(?:(?!```).*\n)+)```",
    re.MULTILINE,
)
EXAMPLES = [match.groupdict() for match in EXAMPLE.finditer(PAGE.read_text())]

ROWS = [[0, 0], [1, 1]]


SUITE = f"""
import unittest
class TestCases(unittest.TestCase):
    def test_rows(self):
        self.assertEqual(f(2), {ROWS})
"""


def problem(name):
    if name.startswith("Unit tests"):
        return Problem.unittest("", "f", SUITE)
    if "f(2) is" in name:
        return Problem.functional("", "f", [([2], ROWS)] * (2 if "twice" in name else 1))
    if "0.3 is expected" in name:
        return Problem.stdin("", [("0.1 0.2\n", "0.3")])
    return Problem.stdin("", [("1 2\n", "3\n"), ("-5 5\n", "0\n")])


def test_every_section_holds_an_example():
    assert len(EXAMPLES) == PAGE.read_text().count("\n### ") > 12


@pytest.mark.parametrize("grading", ["strict", "livebench"])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["name"])
def test_the_page_states_the_verdict(example, grading):
    verdict = grader(grading).grade(problem(example["name"]), fenced(example["code"]))
    assert verdict.status == example[grading]
    assert verdict.passed is (verdict.status == "ok")
