"""Random edits of random AlfWorld tasks, garbage included: refused with a reason, or won by the witness."""

import json

import numpy as np
import pytest

pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")

from benchmarks import alfworld_edits
from benchmarks.alfworld_edits import fault_of, kind_of, main, play_fault, play_sample, try_edits
from rla_envs.alfworld.edits import EDIT_OPERATIONS
from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.alfworld.native.engine import NativeEngine


@pytest.fixture(scope="module")
def env():
    environment = AlfWorldEnv()
    yield environment
    environment.close()


@pytest.fixture(scope="module")
def task(env):
    return env.sample_task({"task_type": 3, "receptacles": 8, "objects": 8}, np.random.default_rng(0))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_five_hundred_random_edits_are_refused_with_a_reason_or_give_a_task_that_is_won(seed):
    *_, tally = try_edits(500, seed)
    assert tally.failures == []
    assert tally.tried == 500
    assert tally.accepted == len(tally.tasks) > 100
    assert tally.refused["malformed"] > 50
    assert tally.refused["solved at the start"] > 0
    assert tally.refused["other"] == 0
    assert set(tally.operations) == {operation.op for operation in EDIT_OPERATIONS}
    if seed == 1:
        pytest.importorskip("textworld", reason="needs the 'alfworld' extra")
        assert list(play_sample(tally.tasks, 2)) == ["", ""]


def test_a_witness_that_does_not_win_is_noticed(env, task):
    engine, witness = NativeEngine(), env.check_task(task).witness
    assert play_fault(engine, task, witness) == ""
    assert play_fault(engine, task, witness[:-1]).endswith("does not win")
    assert play_fault(engine, task, (*witness, "look")).endswith("wins")
    assert "is impossible" in play_fault(engine, task, witness[1:])
    assert play_fault(engine, task, ()) == "it is solved at the start"


def test_a_task_of_another_history_or_unchanged_is_noticed(env, task):
    assert "history" in fault_of(env, task, task)
    assert "the same task" in fault_of(env, task, task.child(task.payload))
    spoiled = task.child({**task.payload, "objects": task.payload["objects"][:1]})
    assert "not valid" in fault_of(env, task, spoiled)


def test_an_error_that_is_no_refusal_is_a_failure(monkeypatch):
    class Crashing(AlfWorldEnv):
        def apply_edit(self, task, edit):
            raise KeyError("val1")

    monkeypatch.setattr(alfworld_edits, "AlfWorldEnv", Crashing)
    *_, tally = try_edits(30, 0)
    assert tally.refused["crash"] == len(tally.failures) > 0
    assert "KeyError: 'val1'" in tally.failures[0]


def test_refusals_are_counted_by_kind():
    assert kind_of("the goal holds at the start") == "solved at the start"
    assert kind_of("a Mug cannot be in or on a Bed (Mug|1)") == "against alfworld's tables"
    assert kind_of("never heard of") == "other"


def test_the_command_writes_its_figures_and_fails_where_one_does(tmp_path, capsys, monkeypatch):
    file = tmp_path / "edits.json"
    assert main(["--edits", "20", "--textworld", "0", "--quiet", "--json", str(file)]) == 0
    figures = json.loads(file.read_text())
    assert figures["edits"] == figures["accepted"] + sum(figures["refused"].values()) == 20
    assert figures["failures"] == []
    out, err = capsys.readouterr()
    assert out.startswith(f"20 edits: {figures['accepted']} accepted and won natively, 0 of them")
    assert err == ""
    monkeypatch.setattr(alfworld_edits, "play_fault", lambda *_: "lost")
    assert main(["--edits", "20", "--textworld", "0", "--quiet"]) == 1
    assert ": lost" in capsys.readouterr().err
