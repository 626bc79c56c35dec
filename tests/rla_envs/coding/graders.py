"""Graders that the tests of one process share: a sandbox takes longer to start than a test to run."""

import atexit
import functools

import pytest

from rla_envs.coding.grade import Grader
from rla_envs.coding.sandbox import why_unavailable


@functools.cache
def _reason():
    return why_unavailable()


@functools.cache
def _grader(grading):
    grader = Grader(grading)
    atexit.register(grader.close)
    return grader


def grader(grading="strict"):
    if _reason() is not None:
        pytest.skip(_reason())
    return _grader(grading)


def fenced(code):
    return f"```python\n{code}\n```"
