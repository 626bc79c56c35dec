"""Edits of generated tasks do what they say, or are refused with the reason."""

import json

import numpy as np
import pytest

from rla_envs.difficulty import complete_difficulty
from rla_envs.errors import InputError, RefusedEditError
from rla_envs.osworld.difficulty import PARAMETERS, measured
from rla_envs.osworld.edits import EDIT_OPERATIONS, apply_edit, propose_edits
from rla_envs.osworld.families import FAMILIES, build, check, sample_payload
from rla_envs.osworld.families.topics import TOPICS
from rla_envs.task import Task, TaskEdit

DIRECTIONS = {parameter.name: parameter.direction for parameter in PARAMETERS}


def drawn(family="calc_cells", seed=0, split="train", **difficulty):
    rng = np.random.default_rng(seed)
    given = {"applications": len(FAMILIES[family].applications), **difficulty}
    full = complete_difficulty(PARAMETERS, given, rng)
    return Task("RLA/OSWorld-v0", full, sample_payload(family, full, split, rng))


def free_edit(task):
    job = json.loads(json.dumps(task.payload["spec"]["job"]))
    longer = FAMILIES[task.payload["family"]].near_misses(job)["one cell too many"]
    return json.dumps(longer["edits"][-1])


TASK = drawn(hints=1, vagueness=1, start=1, distractor_files=2, distractor_windows=1, step_budget=4.0)
ERRAND = json.dumps(drawn("text_append", seed=5, edits=1).payload["spec"]["job"])


@pytest.mark.parametrize(
    ("change", "difficulty"),
    [
        ({"op": "add_edit", "job": 0, "edit": free_edit(TASK)}, {"edits": 4}),
        ({"op": "remove_edit", "job": 0, "number": 1}, {"edits": 2}),
        ({"op": "add_errand", "family": "text_append", "job": ERRAND}, {"edits": 4, "applications": 2}),
        ({"op": "set_vagueness", "value": "described"}, {"vagueness": 2}),
        ({"op": "set_hints", "value": 0}, {"hints": 0}),
        ({"op": "set_start", "value": "open"}, {"start": 0}),
        ({"op": "add_distractor", "name": "other.txt"}, {"distractor_files": 3}),
        (
            {"op": "remove_distractor", "name": TASK.payload["spec"]["distractor_files"][0]},
            {"distractor_files": 1},
        ),
        ({"op": "set_windows", "value": 3}, {"distractor_windows": 3}),
        ({"op": "set_step_budget", "value": 2}, {"step_budget": 2.0}),
    ],
    ids=lambda value: value.get("op") if isinstance(value, dict) else None,
)
def test_every_operation_changes_the_difficulty_it_names_and_no_other(change, difficulty):
    child = apply_edit(TASK, TaskEdit((change,)))
    assert (child.parent_id, child.version) == (TASK.id, 1)
    assert child.difficulty == {**TASK.difficulty, **difficulty}
    assert check(child.payload).valid


def test_an_errand_can_be_taken_away_again():
    errand = {"op": "add_errand", "family": "text_append", "job": ERRAND}
    longer = apply_edit(TASK, TaskEdit((errand,)))
    shorter = apply_edit(longer, TaskEdit(({"op": "remove_errand", "number": 0},)))
    assert shorter.payload == TASK.payload


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"op": "add_edits", "job": 0, "edit": "{}"}, "Did you mean 'add_edit'"),
        ({"op": "add_edit", "job": 1, "edit": "{}"}, "expected a number from 0 to 0, got 1"),
        ({"op": "add_edit", "job": -1, "edit": "{}"}, "expected a number from 0 to 0, got -1"),
        ({"op": "add_edit", "job": 0, "edit": "{"}, "expected JSON text"),
        ({"op": "add_edit", "job": 0, "edit": "[" * 100_000}, "expected JSON text"),
        ({"op": "add_edit", "job": 0, "edit": '{"cell": "Z99", "value": 1}'}, "cell: expected"),
        ({"op": "add_edit", "job": 0, "edit": '{"cell": "B2", "value": NaN}'}, "expected"),
        ({"op": "remove_edit", "job": 0, "number": 9}, "expected a number from 0 to 2, got 9"),
        ({"op": "remove_edit", "job": 0}, "'number'"),
        ({"op": "add_errand", "family": "text_appendix", "job": ERRAND}, "Did you mean 'text_append'"),
        ({"op": "add_errand", "family": "text_append", "job": "7"}, "job: expected an object"),
        ({"op": "remove_errand", "number": 0}, "expected a task with a job besides the first"),
        ({"op": "set_vagueness", "value": "vague"}, "expected one of exact, named, described"),
        ({"op": "set_hints", "value": 10**30}, "hints: expected an integer from 0 to 2"),
        ({"op": "set_start", "value": "closed"}, "changes nothing"),
        ({"op": "add_distractor", "name": "../x.txt"}, "distractor_files: expected"),
        ({"op": "add_distractor", "name": "a.pdf"}, "ending of a file"),
        (
            {"op": "add_distractor", "name": TASK.payload["spec"]["job"]["file"]},
            "other names than the task's",
        ),
        ({"op": "remove_distractor", "name": "x.txt"}, "expected one of"),
        ({"op": "set_windows", "value": 4}, "distractor_windows: expected an integer from 0 to 3"),
        ({"op": "set_step_budget", "value": 0.5}, "from 1.0 to 10.0"),
        ({"op": "set_step_budget", "value": "2"}, "'value' to be a number"),
    ],
)
def test_an_edit_that_means_nothing_is_refused_with_the_reason(change, reason):
    with pytest.raises(InputError) as refused:
        apply_edit(TASK, TaskEdit((change,)))
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_last_edit_of_a_job_cannot_be_taken_away():
    with pytest.raises(RefusedEditError, match="more than one edit"):
        apply_edit(drawn(edits=1), TaskEdit(({"op": "remove_edit", "job": 0, "number": 0},)))


@pytest.mark.parametrize("direction", ["harder", "easier"])
def test_a_proposed_edit_moves_the_difficulty_the_way_it_says(direction):
    sign = 1 if direction == "harder" else -1
    for seed, family in enumerate(("calc_sort", "writer_table", "files_move", "notes_to_sheet")):
        task = drawn(family, seed, edits=2, vagueness=1, start=1, distractor_files=2, distractor_windows=1)
        for edit in propose_edits(task, direction, np.random.default_rng(seed)):
            child = apply_edit(task, edit)
            changed = {
                n: child.difficulty[n] - v for n, v in task.difficulty.items() if child.difficulty[n] != v
            }
            assert changed, edit
            assert all(sign * DIRECTIONS[name] * by > 0 for name, by in changed.items()), (edit, changed)
            assert check(child.payload).valid
            assert measured(build(child.payload)).items() <= child.difficulty.items()


def test_proposals_know_every_operation_and_depend_on_the_generator_alone():
    task = drawn(applications=2, vagueness=1, start=1, distractor_files=2, distractor_windows=1)
    proposed = [propose_edits(task, way, np.random.default_rng(3)) for way in ("harder", "easier")]
    assert proposed == [propose_edits(task, way, np.random.default_rng(3)) for way in ("harder", "easier")]
    ops = {edit.changes[0]["op"] for edits in proposed for edit in edits}
    assert ops == {operation.op for operation in EDIT_OPERATIONS}


def test_edits_keep_to_the_topics_of_their_split():
    for seed in range(5):
        task = drawn("calc_cells", seed, "valid")
        for edit in propose_edits(task, "harder", np.random.default_rng(seed)):
            text = json.dumps(apply_edit(task, edit).payload)
            assert not any(topic.about in text for topic in TOPICS["train"])
