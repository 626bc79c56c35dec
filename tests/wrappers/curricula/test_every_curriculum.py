"""What holds for every curriculum: results by a stated rule, exact resumption, and no stall."""

import json
import pickle

import numpy as np
import pytest

from rla_envs.difficulty import DifficultyParameter, DifficultySpace
from rla_envs.errors import InputError, InvalidTaskError, UnknownNameError
from tests.rla_envs.toy_env import ToyEnv
from tests.wrappers.players import PickyToy
from wrappers.curricula import curriculum_names, make, propose_task

NAMES = curriculum_names()


def bound(name, env=None, **kwargs):
    env = env or ToyEnv()
    return make(name, env.difficulty_space, tasks=env, **kwargs)


def train(curriculum, rng, iterations, wins, groups=4, rollouts=8):
    """Run a trainer's outer loop with a simulated learner; return the tasks it was given."""
    tasks = []
    for _ in range(iterations):
        batch = [propose_task(curriculum, ToyEnv(), rng)[0] for _ in range(groups)]
        for task in batch:
            for _ in range(rollouts):
                curriculum.observe(task.difficulty, wins(task), task=task, votes=(), summary="")
        tasks += batch
    return tasks


def test_the_built_in_names_are_the_documented_ones():
    assert NAMES == ["bayesopt", "fixed", "plr", "target", "thompson", "threshold", "uniform"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "result", [-1, 2, 1.0000001, float("nan"), float("inf"), None, "1", [True], np.float64(-0.1)]
)
def test_a_result_that_is_not_a_share_is_refused_and_changes_nothing(name, result):
    curriculum = bound(name)
    task = ToyEnv().sample_task(None, np.random.default_rng(0))
    before = curriculum.state_dict()
    with pytest.raises(InputError, match="success: expected a bool or a number from 0 to 1"):
        curriculum.observe(task.difficulty, result, task=task)
    assert curriculum.state_dict() == before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("result", [True, False, 0.4, 1, np.bool_(True), np.float32(0.5)])
def test_bools_and_shares_are_taken(name, result):
    curriculum = bound(name)
    task = propose_task(curriculum, ToyEnv(), np.random.default_rng(0))[0]
    curriculum.observe(task.difficulty, result, task=task)


@pytest.mark.parametrize("name", sorted({*NAMES} - {"fixed", "uniform"}))
@pytest.mark.parametrize("votes", [5, [1, -1], "up", [["up"]], [[float("nan")]], [[2]], [None]])
def test_votes_that_are_none_are_refused_and_change_nothing(name, votes):
    curriculum = bound(name)
    task = propose_task(curriculum, ToyEnv(), np.random.default_rng(0))[0]
    before = curriculum.state_dict()
    with pytest.raises(InputError, match="votes: expected for every step a list of -1, 0 or 1, got"):
        curriculum.observe(task.difficulty, True, task=task, votes=votes)
    assert curriculum.state_dict() == before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("votes", [None, (), [[1], []], np.array([[1, -1], [0, 1]]), [(1.0, -1.0)]])
def test_votes_are_taken_as_lists_and_as_arrays(name, votes):
    curriculum = bound(name)
    task = propose_task(curriculum, ToyEnv(), np.random.default_rng(0))[0]
    curriculum.observe(task.difficulty, True, task=task, votes=votes)


@pytest.mark.parametrize("name", ["fixed", "uniform", "threshold"])
def test_a_result_of_what_is_no_task_is_refused(name):
    curriculum = bound(name)
    difficulty = curriculum.propose(np.random.default_rng(0))
    with pytest.raises(InputError, match="expected .*, got 'task 1'"):
        curriculum.observe(difficulty, True, task="task 1")


@pytest.mark.parametrize("name", NAMES)
def test_a_restored_curriculum_continues_exactly(name):
    def learner(rng):
        return lambda task: bool(rng.random() < 1 / task.difficulty["doors"])

    first, rng = bound(name), np.random.default_rng(0)
    train(first, rng, 12, learner(np.random.default_rng(1)))
    first.propose(rng)
    state, position = json.loads(json.dumps(first.state_dict())), rng.bit_generator.state
    second, rng_2 = bound(name), np.random.default_rng()
    second.load_state_dict(state)
    rng_2.bit_generator.state = position
    assert second.explain() == first.explain()
    continued = [
        train(c, r, 12, learner(np.random.default_rng(2))) for c, r in ((first, rng), (second, rng_2))
    ]
    assert [task.to_json() for task in continued[0]] == [task.to_json() for task in continued[1]]
    assert first.state_dict() == second.state_dict()
    assert first.events() == second.events()


@pytest.mark.parametrize("name", NAMES)
def test_proposals_are_members_of_the_space_also_where_a_parameter_has_no_default(name):
    space = DifficultySpace(
        [
            DifficultyParameter("kind", 0, 5, None, "", len, names=tuple("abcdef")),
            DifficultyParameter("depth", 0.0, 1.0, None, "", len, continuous=True),
            DifficultyParameter("size", 3, 9, 5, "", len),
        ]
    )
    curriculum, rng = make(name, space), np.random.default_rng(0)
    for number in range(20):
        difficulty = curriculum.propose(rng)
        assert difficulty in space
        curriculum.observe(difficulty, number % 2 == 0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rng", [None, 0])
def test_a_proposal_without_a_generator_is_refused(name, rng):
    with pytest.raises(InputError, match="rng: expected a numpy Generator, got"):
        bound(name).propose(rng)


@pytest.mark.parametrize("name", NAMES)
def test_saved_state_does_not_change_with_the_curriculum(name):
    curriculum, rng = bound(name), np.random.default_rng(0)
    train(curriculum, rng, 3, lambda task: task.difficulty["doors"] < 3)
    state = curriculum.state_dict()
    copy = json.loads(json.dumps(state))
    train(curriculum, rng, 3, lambda task: True)
    assert state == copy


@pytest.mark.parametrize("name", NAMES)
def test_a_pickled_curriculum_proposes_the_same(name):
    curriculum = bound(name)
    train(curriculum, np.random.default_rng(0), 3, lambda task: task.difficulty["doors"] < 3)
    copy = pickle.loads(pickle.dumps(curriculum))
    assert copy.propose(np.random.default_rng(1)) == curriculum.propose(np.random.default_rng(1))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "damage", [{}, {"curriculum": "other"}, {"groups": None}, {"events": [1]}, "text", None]
)
def test_damaged_or_foreign_state_is_refused(name, damage):
    curriculum = bound(name)
    state = damage if not isinstance(damage, dict) or not damage else {**curriculum.state_dict(), **damage}
    with pytest.raises(InputError, match="curriculum state"):
        curriculum.load_state_dict(state)


@pytest.mark.parametrize("name", NAMES)
def test_a_learner_that_wins_half_loses_all_then_wins_all_never_stalls_it(name):
    small = {"thompson": {"bins": 3}, "bayesopt": {"memory": 32, "candidates": 32}}
    curriculum, rng = bound(name, **small.get(name, {})), np.random.default_rng(0)
    half = train(curriculum, rng, 40, lambda task: len(task.payload["order"]) <= 3)
    lost = train(curriculum, rng, 25, lambda task: False)  # 200 episodes a slot of the batch
    won = train(curriculum, rng, 25, lambda task: True)
    assert [len(half), len(lost), len(won)] == [160, 100, 100]
    assert "100% of the last 64 groups were wasted (all results equal)" in curriculum.explain()
    if name != "fixed":
        assert all(len({task.id for task in phase}) > 10 for phase in (half, lost, won))
    if name == "thompson":
        cells = {(task.difficulty["doors"], task.difficulty["colours"]) for task in won}
        assert cells >= set(curriculum.posterior)
        assert all(a / (a + b) > 0.5 for a, b in curriculum.posterior.values())
    if name == "threshold":
        assert {"edit_proposed", "root_replaced"} <= {event["event"] for event in curriculum.events()}


def test_unknown_names_get_a_suggestion():
    with pytest.raises(UnknownNameError, match="unknown curriculum 'tompson'. Did you mean 'thompson'"):
        make("tompson", ToyEnv().difficulty_space)
    with pytest.raises(
        UnknownNameError, match="argument of curriculum 'thompson': 'discont'. Did you mean 'discount'"
    ):
        make("thompson", ToyEnv().difficulty_space, discont=0.9)


def test_a_curriculum_of_somebody_elses_module_is_found_by_path():
    curriculum = bound("wrappers.curricula.uniform:Uniform", parameters=["doors"])
    assert curriculum.name == "uniform"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_module:X", "cannot import module 'no_such_module'"),
        (":X", "cannot import module ''"),
        (".curricula:X", "cannot import module '.curricula'"),
        ("wrappers.curricula.uniform:Unifrm", "Did you mean 'Uniform'"),
        ("rla_envs.task:Task", "has no propose"),
    ],
)
def test_a_path_that_leads_to_no_curriculum_is_refused(path, message):
    with pytest.raises(InputError, match=message):
        make(path, ToyEnv().difficulty_space)


def test_a_proposal_without_a_valid_task_is_passed_over():
    env, rng = PickyToy(), np.random.default_rng(0)
    curriculum = bound("uniform", env, parameters=["doors"])
    tasks = [propose_task(curriculum, env, rng)[0] for _ in range(20)]
    assert {task.difficulty["doors"] for task in tasks} == {1, 2, 3}


def test_a_difficulty_that_never_has_a_valid_task_is_an_error():
    env = PickyToy()
    with pytest.raises(InvalidTaskError, match="only three doors were delivered"):
        propose_task(bound("fixed", env, difficulty={"doors": 5}), env, np.random.default_rng(0))
