"""The examples in the docstrings run as printed."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

from wrappers import curriculum_names


@pytest.mark.parametrize(
    "module",
    [
        "acceptance.posterior",
        "acceptance.registry",
        "acceptance.threshold",
        "curricula.registry",
        "curricula.votes",
    ],
)
def test_examples_run(module):
    result = doctest.testmod(importlib.import_module(f"wrappers.{module}"))
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("module", ["critic_feedback", "numbered_commands"])
def test_examples_on_alfworld_run(module):
    pytest.importorskip("textworld", reason="needs the alfworld extra")
    result = doctest.testmod(importlib.import_module(f"wrappers.{module}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_the_example_of_the_documentation_runs():
    page = (Path(__file__).parents[2] / "docs" / "curricula.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {}
    exec(code, names)
    assert names["difficulty"] in names["space"]
    table = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert sorted(table) == curriculum_names()
