"""The examples in the docstrings run as printed."""

import doctest
import importlib

import pytest


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
