"""Problems made from CodeI/O are deterministic, exact, and solved by their own reference."""

import importlib.util

import pytest

from rla_envs.coding import load_problems
from rla_envs.coding.check import problem_fault
from rla_envs.coding.embedded import codeio
from rla_envs.coding.sandbox import open_sandbox
from rla_envs.errors import InfrastructureError, MissingExtraError
from tests.rla_envs.coding.graders import grader

if importlib.util.find_spec("reasoning_gym") is None:
    pytest.skip("reasoning-gym is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def problems():
    grader()  # skips where there is no sandbox
    return load_problems("codeio", limit=12)


def test_every_problem_is_solved_by_its_reference_and_not_by_a_constant(problems):
    judge = grader()
    for problem in problems:
        assert problem_fault(problem, judge) == ""
        assert len({case.output for case in problem.tests}) >= 4
        assert "." not in "".join(case.output for case in problem.tests if '"' not in case.output)


def test_a_row_always_makes_the_same_problem(problems):
    number = int(problems[3].id.removeprefix("codeio-"))
    with open_sandbox() as sandbox:
        assert codeio.codeio_problem(number, sandbox) == problems[3]


ROW = {
    "task_description": "Double it.",
    "input_output_spec": "Input: x (int). Output: int.",
    "code_sample": "def main_solution(x):\n    return 2 * x",
    "input_generator": "def generate_inputs(rng):\n    return {'x': rng.randint(0, 99)}",
    "difficulty": 1,
}


@pytest.mark.parametrize(
    ("change", "made"),
    [
        ({}, True),
        ({"code_sample": "import random\ndef main_solution(x):\n    return 2 * x"}, False),
        ({"code_sample": "import numpy as np\ndef main_solution(x):\n    return 2 * x"}, False),
        ({"code_sample": "def main_solution(x):\n    return x / 2"}, False),
        ({"code_sample": "def main_solution(x):\n    return x > 50"}, False),
        ({"code_sample": "def main_solution(x):\n    return [x, {1, x}]"}, False),
        ({"code_sample": "n = 0\ndef main_solution(x):\n    global n\n    n += 1\n    return n"}, False),
        ({"code_sample": "def main_solution(x):\n    return y"}, False),
        ({"code_sample": "def main_solution(**k):\n    return 2 * k['x']"}, False),
        ({"code_sample": "def main_solution(x) return"}, False),
        ({"code_sample": "def solution(x):\n    return 2 * x"}, False),
        ({"input_generator": "def generate_inputs(rng):\n    return {'y': 1}"}, False),
        ({"input_generator": "def generate_inputs(rng):\n    return {'x': {1}}"}, False),
    ],
)
def test_only_exact_functions_of_their_arguments_make_problems(monkeypatch, change, made):
    monkeypatch.setattr(codeio, "codeio_rows", lambda: ({**ROW, **change},))
    problem = codeio.codeio_problem(0, grader().sandbox)
    assert (problem is not None) is made


def test_a_failed_sandbox_is_no_verdict_on_a_row(monkeypatch):
    from rla_envs.coding.sandbox import Run, Status

    class Broken:
        def run_functional(self, *_):
            yield Run(Status.INFRASTRUCTURE, error="gone")

    monkeypatch.setattr(codeio, "codeio_rows", lambda: (ROW,))
    with pytest.raises(InfrastructureError, match="gone"):
        codeio.codeio_problem(0, Broken())


def test_a_missing_package_says_what_to_install(monkeypatch):
    codeio.codeio_rows.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"rlanything\[coding\]"):
        codeio.codeio_rows()
