"""Slots that decide on a posterior: fresh evidence on both versions, longer edits, and no wedge."""

import json

import numpy as np
import pytest
from gymnasium import spaces

from rla_envs import Task
from rla_envs.errors import InputError
from tests.rla_envs.toy_env import ToyEnv
from tests.wrappers.curricula.learners import LINE, practise, skilled
from wrappers.acceptance import PosteriorRule, characteristics, make
from wrappers.curricula import Threshold


def bound(**kwargs):
    env = ToyEnv(difficulty={"doors": 1})
    kwargs = {"slots": 1, "acceptance": "posterior", **kwargs}
    return Threshold(env.difficulty_space, tasks=env, **kwargs)


def give(curriculum, task, wins, n=8):
    for i in range(n):
        curriculum.observe(task.difficulty, i < wins, task=task)


def test_while_an_edit_is_pending_both_versions_are_rolled_out_in_turn():
    curriculum, rng = bound(), np.random.default_rng(0)
    root = curriculum.next_proposal(rng).task
    give(curriculum, root, 8)
    versions = []
    for _ in range(4):
        task = curriculum.next_proposal(rng).task
        versions.append(task.version)
        give(curriculum, task, 8 if task.version == 0 else 4)
    assert versions == [0, 1, 0, 1]
    slot = curriculum.slots[0]
    assert (slot.active.task.version, slot.pending) == (1, None)
    proposed, accepted = curriculum.events()
    assert (proposed["event"], accepted["event"]) == ("edit_proposed", "edit_accepted")
    # The group that asked is not counted: 16 fresh rollouts of the root, 16 of the edit.
    assert (accepted["success_before"], accepted["success_after"]) == (1.0, 0.5)
    assert accepted["rollouts"] == [16, 16]


def test_an_unlucky_trigger_is_corrected_by_fresh_rollouts():
    curriculum, rng = bound(), np.random.default_rng(0)
    give(curriculum, curriculum.next_proposal(rng).task, 8)
    for _ in range(8):
        task = curriculum.next_proposal(rng).task
        give(curriculum, task, 4)  # both are even: the eight wins were luck
    assert [event["event"] for event in curriculum.events()][:2] == ["edit_proposed", "edit_rejected"]
    assert curriculum.slots[0].version == 0


@pytest.mark.parametrize(("p", "q"), [(0.7, 0.7), (0.9, 0.5)])
def test_slots_accept_as_often_as_the_exact_characteristics_say(p, q):
    rng, asked, accepted = np.random.default_rng(1), 0, 0
    while asked < 250:
        curriculum = bound(low=0.001)  # only harder edits are asked for
        curriculum._rule = PosteriorRule()
        kinds = []
        for _ in range(40):
            task = curriculum.next_proposal(rng).task
            for _ in range(8):
                rate = p if task.version == 0 else q
                curriculum.observe(task.difficulty, bool(rng.random() < rate), task=task)
            kinds += [event["event"] for event in curriculum.events()]
            if kinds and kinds[-1] in ("edit_accepted", "edit_rejected"):
                break
        if "edit_proposed" in kinds:
            asked += 1
            accepted += kinds[-1] == "edit_accepted"
    expected = characteristics(PosteriorRule(), "harder", p, q).accepted
    assert accepted / asked == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / asked))


def test_an_edit_that_fell_short_is_followed_by_one_twice_as_long():
    curriculum, rng = bound(patience=None), np.random.default_rng(0)
    lengths = []
    for _ in range(80):
        task = curriculum.next_proposal(rng).task
        give(curriculum, task, 8 if task.version < 4 else 4)
        lengths += [len(e["changes"]) for e in curriculum.events() if e["event"] == "edit_proposed"]
        if curriculum.slots[0].version:
            break
    assert lengths == [1, 2, 4]
    assert (curriculum.slots[0].version, curriculum.slots[0].drift) == (4, 4)


def test_an_edit_that_goes_too_far_makes_the_next_one_shorter():
    curriculum, rng = bound(patience=None), np.random.default_rng(0)
    curriculum.next_proposal(rng)
    curriculum.slots[0].stride = 4
    lengths = []
    for _ in range(60):
        task = curriculum.next_proposal(rng).task
        give(curriculum, task, 8 if task.version < 2 else 0)
        lengths += [len(e["changes"]) for e in curriculum.events() if e["event"] == "edit_proposed"]
        if len(lengths) == 3:
            break
    assert lengths[:2] == [4, 2]


def test_an_edit_that_is_never_solved_cannot_wedge_a_slot():
    curriculum, rng = bound(), np.random.default_rng(0)
    groups_pending = 0
    for _ in range(120):
        task = curriculum.next_proposal(rng).task
        groups_pending = groups_pending + 1 if curriculum.slots[0].pending else 0
        assert groups_pending <= 8
        give(curriculum, task, 8 if task.version == 0 else 0)
    assert {"edit_rejected", "root_replaced"} <= {event["event"] for event in curriculum.events()}


def test_a_rule_that_never_decides_cannot_wedge_a_slot_either():
    class Undecided:
        def decide(self, direction, before, after):
            return "more"

    curriculum, rng = bound(acceptance=Undecided(), n=2), np.random.default_rng(0)
    for _ in range(100):
        give(curriculum, curriculum.next_proposal(rng).task, 2, n=2)
    assert "edit_rejected" in [event["event"] for event in curriculum.events()]


def test_results_that_come_one_by_one_and_late_end_in_the_same_decision():
    """As from a vector environment: members play different versions and end at different times."""
    curriculum, rng, running = bound(), np.random.default_rng(0), []
    for _ in range(600):
        running.append(curriculum.next_proposal(rng).task)
        if len(running) > 5:
            task = running.pop(int(rng.integers(5)))
            won = rng.random() < (0.97 if task.version == 0 else 0.5)
            curriculum.observe(task.difficulty, bool(won), task=task)
        if curriculum.slots and curriculum.slots[0].version:
            break
    assert curriculum.slots[0].version == 1


def test_history_is_bounded_and_late_results_reach_what_is_in_it():
    curriculum, rng = bound(acceptance="threshold", n=1, patience=None, hold=None), np.random.default_rng(0)
    for i in range(400):
        task = curriculum.next_proposal(rng).task
        curriculum.observe(task.difficulty, i % 2 == 0, task=task)
    slot = curriculum.slots[0]
    assert len(slot.history) == slot.history_limit
    entry = slot.history[10]
    late = Task("RLATest/Toy-v0", {}, {}, entry["task_id"], entry["root_id"], None, entry["version"])
    counts = [e["count"] for e in slot.history]
    curriculum.observe({"doors": 1}, True, task=late)
    (grown,) = [e for e, count in zip(slot.history, counts, strict=True) if e["count"] == count + 1]
    assert (grown["task_id"], grown["version"]) == (late.id, late.version)


def test_over_a_bare_space_it_climbs_to_where_the_learner_is_even():
    curriculum, rng = Threshold(LINE, slots=2, acceptance="posterior"), np.random.default_rng(0)
    practise(curriculum, skilled(0.6, 10.0), 400, rng)
    success = practise(curriculum, skilled(0.6, 10.0), 60, rng)[:, 1]
    assert np.mean((success > 0.1) & (success < 0.9)) > 0.6


def test_over_a_bare_space_late_results_count_for_their_own_point():
    curriculum, rng = Threshold(LINE, slots=1, n=4), np.random.default_rng(0)
    first = curriculum.propose(rng)
    for _ in range(4):
        curriculum.observe(first, True)
    second = curriculum.propose(rng)
    assert second != first
    for result in (True, True, False, False):
        curriculum.observe(second, result)
    before = json.dumps(curriculum.slots[0].active.state_dict())
    curriculum.observe(first, False)
    assert json.dumps(curriculum.slots[0].active.state_dict()) == before
    assert curriculum.slots[0].history[0]["count"] == 5


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"acceptance": "posteriour"}, "Did you mean 'posterior'"),
        ({"acceptance": 3}, r"expected a name or an object with decide\(direction, before, after\), got 3"),
        ({"acceptance_kwargs": {"levl": 0.9}}, "Did you mean 'level'"),
        ({"acceptance": make("posterior"), "acceptance_kwargs": {"level": 0.9}}, "already built"),
        ({"max_drift": 0}, "max_drift: expected an integer of 1 or more, got 0"),
        ({"hold": True}, "hold: expected an integer of 1 or more, got True"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(kwargs, message):
    with pytest.raises(InputError, match=message):
        bound(**kwargs)


def test_a_space_of_one_point_never_stalls_it():
    space = spaces.Dict({"n": spaces.Discrete(1)})
    curriculum, rng = Threshold(space, slots=2, acceptance="posterior"), np.random.default_rng(0)
    for _ in range(100):
        curriculum.observe(curriculum.propose(rng), True)
    assert {event["event"] for event in curriculum.events()} == {"edit_refused", "root_replaced"}
