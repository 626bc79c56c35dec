"""Generated problems: the same everywhere, similar at similar difficulties, and as difficult as asked for."""

import ast
import itertools
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from rla_envs.coding import Problem
from rla_envs.coding.families import (
    FAMILIES,
    PARAMETERS,
    GeneratedSource,
    draw_plan,
    generate,
    generated_problems,
)
from rla_envs.errors import InputError, UnknownNameError
from rla_envs.task import Task

NAMES = tuple(FAMILIES)
EASY = {"operations": 2, "size": 1, "edge_cases": 1, "distractor_text": 0, "io_kind": 1}
BY_NAME = {parameter.name: parameter for parameter in PARAMETERS}


def problem(name, seed=0, **values):
    return generate({"family": NAMES.index(name), **EASY, **values}, seed)


def measured(name, parameter, value, seed):
    made = problem(name, seed, **{parameter: value})
    assert made.metadata["difficulty"][parameter] == value
    task = Task("RLA/LiveBenchCoding-v0", made.metadata["difficulty"], {"problem": made.to_dict()})
    return BY_NAME[parameter].statistic(task)


def steps(made):
    return re.findall(r"^\d+\. (.*)$", made.statement, flags=re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("parameter", ["operations", "edge_cases", "distractor_text", "io_kind"])
def test_every_value_of_a_parameter_is_honoured_and_moves_its_statistic_in_every_family(name, parameter):
    p = BY_NAME[parameter]
    for seed in range(2):
        row = [measured(name, parameter, value, seed) for value in range(p.low, p.high + 1)]
        assert all(before < after for before, after in itertools.pairwise(row)), row


@pytest.mark.parametrize("name", NAMES)
def test_every_size_makes_the_longest_input_several_times_longer(name):
    row = [measured(name, "size", size, seed=3) for size in (1, 2, 3, 4)]
    assert all(after > before + 0.5 for before, after in itertools.pairwise(row)), row


def test_families_are_ordered_by_the_mean_size_of_their_programs():
    measure = [[program_nodes(name, seed) for seed in range(20)] for name in NAMES]
    means, errors = np.mean(measure, axis=1), np.std(measure, axis=1, ddof=1) / np.sqrt(20)
    assert (np.diff(means) > -2 * np.hypot(errors[1:], errors[:-1])).all(), means
    assert means[0] + 50 < means[4] < means[-1] - 50
    assert measured("grids", "family", NAMES.index("grids"), seed=7) == program_nodes("grids", 7)


def program_nodes(name, seed):
    family = FAMILIES[name]
    text = family.program(draw_plan({"family": NAMES.index(name), **EASY}, seed), "stdin")
    return len(list(ast.walk(ast.parse(text))))


@pytest.mark.parametrize("name", NAMES)
def test_a_step_more_keeps_the_others_and_text_and_form_keep_all(name):
    kept = []
    for seed in range(8):
        three, two = (
            draw_plan({"family": NAMES.index(name), **EASY, "operations": count}, seed) for count in (3, 2)
        )
        kept.append(two in (three[1:], three[::2]))
    # Where too few steps matter beside the earlier ones, all are drawn again.
    assert sum(kept) >= 5
    assert steps(problem(name, distractor_text=5)) == steps(problem(name, io_kind=0)) == steps(problem(name))


def test_no_two_seeds_give_the_same_problem():
    assert len({problem(name, seed).content_hash for name in NAMES for seed in range(5)}) == 5 * len(NAMES)


def test_a_problem_survives_json():
    for name in NAMES:
        made = problem(name)
        assert Problem.from_json(made.to_json()) == made


def test_problems_are_the_same_in_every_process():
    code = (
        "from rla_envs.coding.families import generated_problems\n"
        "print([p.content_hash for p in generated_problems(12, seed=3)])"
    )
    here = str([p.content_hash for p in generated_problems(12, seed=3)])
    environment = {**os.environ, "PYTHONHASHSEED": "17"}
    there = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert there.stdout.strip() == here


def test_more_problems_begin_with_the_same_ones_and_all_families_come_up():
    many = generated_problems(60, seed=1, difficulty={"operations": 1, "size": 1})
    assert many[:5] == generated_problems(5, seed=1, difficulty={"operations": 1, "size": 1})
    assert {made.task for made in many} == set(NAMES)
    assert {made.source for made in many} == {"generated"}


def test_the_source_draws_from_the_generator_alone():
    source = GeneratedSource()
    assert source.difficulty_parameters == PARAMETERS
    values = {"family": 0, **EASY}
    first, second = (source.sample(values, np.random.default_rng(5)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"famly": 1}, UnknownNameError, "Did you mean 'family'"),
        ({"family": "array"}, UnknownNameError, "Did you mean 'arrays'"),
        ({"operations": 0}, InputError, "from 1 to 5"),
        ({"size": 6}, InputError, "from 1 to 5"),
    ],
)
def test_a_difficulty_that_does_not_exist_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        generated_problems(1, difficulty=given)
