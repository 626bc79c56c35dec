"""What every family must keep: right references, telling tests, and statements that match them."""

import json

import numpy as np
import pytest

from rla_envs.coding.families import FAMILIES, draw_plan, generate
from rla_envs.coding.families.operation import broken_plans
from rla_envs.coding.values import dump_value
from tests.rla_envs.coding.families.mutants import mutants, verdicts

NAMES = tuple(FAMILIES)
BASE = {"operations": 3, "size": 2, "edge_cases": 2, "distractor_text": 0, "io_kind": 0}


def difficulty(name, **values):
    return {"family": NAMES.index(name), **BASE, **values}


def cases(problem):
    return [[case.input, case.output] for case in problem.tests]


def any_plan(family, seed, count):
    steps, final = family.draw_steps((seed,), count, size=3)
    return (*steps[: count - 1], final)


def random_inputs(family, plan, seed, count):
    rng = np.random.default_rng((seed, 77))
    shortest = family.minimum[3]
    return [family.draw_input(rng, int(rng.integers(shortest, family.short)), plan) for _ in range(count)]


@pytest.mark.parametrize("name", NAMES)
def test_the_brute_force_agrees_with_the_reference_on_200_random_inputs_and_every_operation_is_tried(name):
    family = FAMILIES[name]
    tried = set()
    for seed in range(40):
        plan = any_plan(family, seed, 1 + seed % 5)
        tried |= {step.operation.name for step in plan}
        for arguments in random_inputs(family, plan, seed, 10):
            expected = family.solve(plan, arguments)
            assert family.solve(plan, arguments, brute=True) == expected, (plan, arguments)
    assert tried == {operation.name for operation in family.operations}


@pytest.mark.parametrize("name", NAMES)
def test_every_known_mistake_of_every_operation_is_a_mistake_on_some_input(name):
    family = FAMILIES[name]
    open_mistakes = {(o.name, i) for o in family.operations for i in range(len(o.wrong))}
    for seed in range(60):
        plan = any_plan(family, seed, 1 + seed % 3)
        inputs = random_inputs(family, plan, seed, 12) + family.special_inputs(plan)
        for other in broken_plans(plan):
            for step in other:
                mistake = (step.operation.name, step.mistake)
                if mistake in open_mistakes and wrong_somewhere(family, plan, other, inputs):
                    open_mistakes.remove(mistake)
    assert not open_mistakes


def wrong_somewhere(family, plan, other, inputs):
    try:
        return any(family.solve(other, arguments) != family.solve(plan, arguments) for arguments in inputs)
    except Exception:
        return True


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("io_kind", [0, 1])
def test_as_programs_the_reference_and_the_brute_force_pass_and_the_wrong_ones_fail_where_foreseen(
    name, io_kind
):
    family = FAMILIES[name]
    values = difficulty(name, size=1, edge_cases=3, operations=4, io_kind=io_kind)
    problem, plan = generate(values, 5), draw_plan(values, 5)
    everything = list(range(len(problem.tests)))
    right = [*problem.reference_solutions, problem.metadata["brute_force"]]
    assert verdicts(right, problem.kind, cases(problem)) == [everything] * 2
    broken = {family.program(other, problem.kind): other for other in broken_plans(plan)}
    inputs = [arguments_of(family, problem, case) for case in problem.tests]
    foreseen = [passes(family, plan, broken[text], inputs) for text in problem.wrong_solutions]
    assert verdicts(problem.wrong_solutions, problem.kind, cases(problem), stop=False) == foreseen
    assert all(passed != everything for passed in foreseen)
    assert len(foreseen) >= 4


def arguments_of(family, problem, case):
    return case.arguments if problem.kind == "functional" else family.form.read(case.input)


def passes(family, plan, other, inputs):
    return [i for i, arguments in enumerate(inputs) if not wrong_somewhere(family, plan, other, [arguments])]


@pytest.mark.parametrize("name", NAMES)
def test_the_tests_notice_at_least_95_percent_of_small_changes_that_matter(name):
    family = FAMILIES[name]
    noticed = missed = 0
    for seed, operations in ((3, 2), (11, 4)):
        values = difficulty(name, operations=operations)
        problem = generate(values, seed)
        plan = draw_plan(values, seed)
        assert family.program(plan, problem.kind) == problem.reference_solutions[0]
        changed = mutants(problem.reference_solutions[0])[:: operations // 2]
        passed = verdicts(changed, problem.kind, cases(problem), seconds=0.1)
        alive = [text for text, p in zip(changed, passed, strict=True) if len(p) == len(problem.tests)]
        more = random_inputs(family, plan, seed, 150) + family.special_inputs(plan)
        more = [arguments for arguments in more if family.length(arguments) >= family.minimum[2]]
        judged = [
            ["\n".join(map(dump_value, arguments)), json.dumps(family.solve(plan, arguments, brute=True))]
            for arguments in more
        ]
        matters = [len(p) < len(judged) for p in verdicts(alive, problem.kind, judged, seconds=0.1)]
        noticed += len(changed) - len(alive)
        missed += sum(matters)
    assert noticed >= 20
    assert noticed / (noticed + missed) >= 0.95


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("size", "edge_cases"), [(1, 0), (1, 3), (2, 3)])
def test_every_test_keeps_to_the_stated_constraints(name, size, edge_cases):
    family = FAMILIES[name]
    problem = generate(difficulty(name, size=size, edge_cases=edge_cases), 1)
    for line in family.constraints(size, edge_cases):
        assert line in problem.statement
    lengths = [family.length(case.arguments) for case in problem.tests]
    assert min(lengths) >= family.minimum[edge_cases]
    assert max(lengths) <= 10**size
    assert problem.metadata["test_kinds"][-1] == "large"
    assert lengths[-1] >= 0.6 * 10**size
    if edge_cases == 3:
        assert min(lengths) == family.minimum[3]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("io_kind", [0, 1])
def test_the_statement_says_what_comes_in_what_goes_out_and_shows_the_first_test(name, io_kind):
    family = FAMILIES[name]
    problem = generate(difficulty(name, io_kind=io_kind), 2)
    for heading in ("\nInput:\n", "\nOutput:\n", "\nConstraints:\n", "\nExample"):
        assert heading in problem.statement
    first = problem.public_tests[0]
    if problem.kind == "stdin":
        assert family.form.text in problem.statement
        assert f"Example input:\n{first.input}\nExample output:\n{first.output}\n" in problem.statement
    else:
        assert (
            f"solve({', '.join(map(repr, first.arguments))}) returns {first.expected!r}\n"
            in problem.statement
        )


@pytest.mark.parametrize("name", NAMES)
def test_written_input_is_read_back_by_the_reader_that_programs_carry(name):
    family = FAMILIES[name]
    plan = any_plan(family, 0, 4)
    for arguments in [*random_inputs(family, plan, 0, 20), *family.special_inputs(plan)]:
        assert family.form.read(family.form.write(*arguments)) == arguments


def test_the_smallest_array_problem_is_one_line_of_python():
    easiest = difficulty("arrays", operations=1, size=1, edge_cases=0, io_kind=1)
    problems = (generate(easiest, seed) for seed in range(10))
    problem = next(p for p in problems if "1. The answer is the sum of the numbers" in p.statement)
    program = "input(); print(sum(map(int, input().split())))"
    assert verdicts([program], "stdin", cases(problem)) == [list(range(len(problem.tests)))]


@pytest.mark.parametrize("name", ["arrays"])
def test_at_the_largest_size_the_reference_is_fast_enough_and_the_brute_force_is_a_wrong_program(name):
    problem = generate(difficulty(name, operations=1, size=5, edge_cases=0, io_kind=1), 0)
    brute = problem.metadata["brute_force"]
    assert brute in problem.wrong_solutions
    large = [cases(problem)[-1]]
    reference = problem.reference_solutions[0]
    assert verdicts([reference, brute], "stdin", large, seconds=problem.time_limit) == [[0], []]
