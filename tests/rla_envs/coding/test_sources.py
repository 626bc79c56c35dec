"""Sources are found by name, drawn from at a level, and split without overlap."""

import numpy as np
import pytest

from rla_envs.coding import Problem, load_problems
from rla_envs.coding.sources import SPLITS, FixedSource, SplitSource, in_split, make_source
from rla_envs.errors import InputError, InvalidTaskError
from rla_envs.task import Task
from tests.rla_envs.coding import livebench_files as lb


def numbered(count, **fields):
    return [
        Problem.stdin(
            f"Problem {i}", [("", str(i))], reference_solutions=("#" * i + f"\nprint({i})",), **fields
        )
        for i in range(count)
    ]


def no_sandbox():
    raise AssertionError("no sandbox is needed")


def test_levels_cut_the_set_by_the_length_of_the_reference_and_leave_nothing_out():
    source = FixedSource(numbered(10)[::-1])
    (level,) = source.difficulty_parameters
    assert (level.name, level.low, level.high) == ("level", 1, 4)
    rng = np.random.default_rng(0)
    drawn = {lvl: {source.sample({"level": lvl}, rng) for _ in range(200)} for lvl in (1, 2, 3, 4)}
    assert [len(problems) for problems in drawn.values()] == [2, 3, 2, 3]
    assert set().union(*drawn.values()) == set(source.problems)

    def longest(problems):
        return [level.statistic(Task("x", {}, {"problem": p.to_dict()})) for p in problems]

    for lower, higher in zip((1, 2, 3), (2, 3, 4), strict=True):
        assert max(longest(drawn[lower])) < min(longest(drawn[higher]))


def test_labels_are_the_measure_where_a_reference_is_missing_and_else_there_is_none():
    labelled = [
        Problem.stdin(str(i), [("", "1")], metadata={"difficulty": label})
        for i, label in enumerate(["hard", "easy", "medium", "easy"])
    ]
    source = FixedSource(labelled)
    assert [p.metadata["difficulty"] for p in source.problems] == ["easy", "easy", "medium", "hard"]
    assert source.difficulty_parameters[0].high == 4
    assert FixedSource([*labelled, Problem.stdin("x", [("", "1")])]).difficulty_parameters == ()
    assert FixedSource(labelled[:1]).difficulty_parameters == ()


def test_splits_share_no_statement_and_together_are_everything():
    problems = numbered(300)
    train, held_out = (
        {p.statement for p in problems if in_split(p, split)} for split in ("train", "valid_unseen")
    )
    assert not train & held_out
    assert len(train | held_out) == len(problems) == sum(in_split(p, "all") for p in problems)
    assert 0.6 < len(train) / len(problems) < 0.8


def test_a_split_of_an_endless_source_draws_again_until_it_fits():
    source = SplitSource(FixedSource(numbered(40)), "valid_unseen")
    rng = np.random.default_rng(0)
    assert all(in_split(source.sample({"level": 2}, rng), "valid_unseen") for _ in range(20))
    none = [p for p in numbered(40) if in_split(p, "train")]
    with pytest.raises(InvalidTaskError, match="valid_unseen"):
        SplitSource(FixedSource(none), "valid_unseen").sample({"level": 1}, rng)


def test_generated_problems_are_the_same_for_the_same_seed():
    wanted = {"count": 3, "seed": 5, "difficulty": {"operations": 1, "size": 1}}
    assert load_problems("generated", **wanted) == load_problems("generated", **wanted)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("generatd", "all", {}), "Did you mean 'generated'"),
        (("generated", "test", {}), "unknown split"),
        (("generated", "all", {"seed": 1}), "unknown option"),
        (("humaneval", "all", {"count": 1}), "unknown option"),
    ],
)
def test_an_unknown_name_is_refused(arguments, match):
    with pytest.raises(InputError, match=match):
        make_source(*arguments, no_sandbox)


def test_an_empty_split_of_a_fixed_set_is_refused(tmp_path):
    folder = lb.write(tmp_path, lb.stdin_row())
    (problem,) = load_problems("livebench", path=folder)
    other = next(split for split in SPLITS if not in_split(problem, split))
    with pytest.raises(InputError, match="has no problem; use split='all'"):
        make_source("livebench", other, {"path": str(folder)}, no_sandbox)


@pytest.mark.parametrize(
    ("source", "options", "match"),
    [
        ("generated", {"count": -1}, "count: expected an integer of 0 or more, got -1"),
        ("generated", {"count": "3"}, "count: expected"),
        ("generated", {"seed": -1}, "seed: expected"),
        ("generated", {"seed": True}, "seed: expected"),
        ("codeio", {"limit": -1}, "limit: expected"),
        ("livebench", {"path": None}, "path: expected a path"),
    ],
)
def test_an_option_of_the_wrong_kind_is_refused_by_name(source, options, match):
    with pytest.raises(InputError, match=match):
        load_problems(source, **options)
