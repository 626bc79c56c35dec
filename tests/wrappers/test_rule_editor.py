"""The rule editor relaxes what the rollouts failed at, and raises what they did not."""

import pickle

import numpy as np
import pytest

from rla_envs.edit_language import concerns
from tests.rla_envs.toy_env import ToyEnv
from wrappers import Feedback, RuleEditor

pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")

KINDS = (
    "searching",
    "closed containers",
    "wrong object",
    "wrong device",
    "wrong place",
    "impossible commands",
)


@pytest.fixture(scope="module")
def env():
    from rla_envs.alfworld.env import AlfWorldEnv

    environment = AlfWorldEnv()
    yield environment
    environment.close()


@pytest.fixture(scope="module")
def task(env):
    difficulty = {"task_type": "pick_cool_then_place_in_recep", "distractors": 1, "closed_containers": 0.5}
    return env.sample_task({**difficulty, "receptacles": 14, "objects": 16}, np.random.default_rng(1))


def propose(env, task, direction, lost, seed=0):
    return RuleEditor(env, np.random.default_rng(seed)).propose(task, direction, Feedback([], lost))


def about(env, edit):
    return frozenset().union(*(concerns(change, env.edit_operations) for change in edit.changes))


@pytest.mark.parametrize("kind", KINDS)
def test_easier_begins_with_what_failed_and_harder_ends_with_it(env, task, kind):
    lost = {kind: 9.0, **{other: 0.01 for other in KINDS if other != kind}}
    both = []
    for direction in ("easier", "harder"):
        hits = [kind in about(env, edit) for edit in propose(env, task, direction, lost)]
        assert len(hits) > 5
        assert hits == sorted(hits, reverse=direction == "easier")
        both += hits
    assert 0 < sum(both) < len(both)


def test_without_statistics_the_environments_order_decides(env, task):
    for feedback in ([], ["Lost."], Feedback(["Lost."])):
        found = RuleEditor(env, np.random.default_rng(5)).propose(task, "easier", feedback)
        assert found == list(env.propose_edits(task, "easier", np.random.default_rng(5)))


def test_the_same_edits_are_proposed_with_statistics_as_without(env, task):
    plain = propose(env, task, "harder", {}, seed=3)
    ranked = propose(env, task, "harder", {"searching": 2.0}, seed=3)
    assert {edit.changes for edit in plain} == {edit.changes for edit in ranked}
    assert {edit.direction for edit in ranked} == {"harder"}


def test_the_reason_says_which_failures_an_edit_answers(env, task):
    best = propose(env, task, "easier", {"wrong device": 3.0, "searching": 1.0})[0]
    assert best.changes[0]["op"] == "set_goal"
    assert best.reason == "75% of the lost steps: wrong device"


def test_an_environment_without_an_edit_language_keeps_its_own_order():
    env = ToyEnv()
    task = env.sample_task(None, np.random.default_rng(0))
    found = propose(env, task, "harder", {"doors": 4.0})
    assert [e.changes for e in found] == [e.changes for e in env.propose_edits(task, "harder", None)]


def test_feedback_is_the_tuple_of_its_summaries_and_survives_pickling():
    feedback = Feedback(["Lost.", "Again."], {"searching": 2.5})
    assert feedback == ("Lost.", "Again.")
    copy = pickle.loads(pickle.dumps(feedback))
    assert (copy, copy.lost_steps) == (feedback, {"searching": 2.5})
