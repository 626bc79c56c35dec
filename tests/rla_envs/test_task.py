"""Tasks and edits survive JSON, cannot be changed, and refuse what is not a task with a clear line."""

import copy
import dataclasses
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rla_envs import Task, TaskEdit
from rla_envs.errors import InputError
from rla_envs.task import FrozenDict, canonical_json, freeze

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)


@given(OBJECTS, OBJECTS)
def test_a_task_read_back_from_json_is_the_task(difficulty, payload):
    task = Task("RLA/AlfWorld-v0", difficulty, payload)
    again = Task.from_json(task.to_json())
    assert again == task
    assert again.to_json() == task.to_json()
    assert again.content_hash == task.content_hash
    assert hash(again) == hash(task)
    assert pickle.loads(pickle.dumps(task)) == task
    assert copy.deepcopy(task) == task
    assert dataclasses.replace(task) == task


@given(OBJECTS)
def test_key_order_changes_neither_json_nor_hash(payload):
    backwards = dict(reversed(payload.items()))
    one, other = Task("E-v0", {}, payload), Task("E-v0", {}, backwards)
    assert one.to_json() == other.to_json()
    assert one.id == other.id


@given(
    st.lists(st.dictionaries(st.text(), VALUES, max_size=3).map(lambda d: {**d, "op": "move"}), min_size=1)
)
def test_an_edit_read_back_from_json_is_the_edit(changes):
    edit = TaskEdit(tuple(changes), "easier", "rule", "too häßlich")
    assert TaskEdit.from_json(edit.to_json()) == edit


@given(OBJECTS)
def test_a_frozen_dict_is_equal_to_its_source_and_unaffected_by_it(values):
    frozen = FrozenDict(values)
    assert json.loads(canonical_json(frozen)) == json.loads(json.dumps(values))
    before = canonical_json(frozen)
    values.clear()
    assert canonical_json(frozen) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.__setitem__("a", 2),
        lambda d: d.__delitem__("a"),
        lambda d: d.update(a=2),
        lambda d: d.pop("a"),
        lambda d: d.popitem(),
        lambda d: d.clear(),
        lambda d: d.setdefault("b", 1),
        lambda d: d.__ior__({"b": 1}),
        lambda d: d["nested"].__setitem__("x", 2),
    ],
)
def test_no_method_changes_a_frozen_dict(change):
    frozen = FrozenDict({"a": 1, "nested": {"x": 1}})
    with pytest.raises(TypeError, match="frozen"):
        change(frozen)
    assert frozen == {"a": 1, "nested": {"x": 1}}


def test_lists_inside_a_frozen_dict_become_tuples():
    assert FrozenDict({"a": [1, [2]]})["a"] == (1, (2,))


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1, 2}, object(), {1: "a"}, b"bytes", [{"a": {3}}]]
)
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises(InputError, match="expected"):
        freeze(value)


def test_the_id_follows_from_the_content_and_the_hash_ignores_ancestry():
    task = Task("RLA/AlfWorld-v0", {"objects": 3}, {"x": 1})
    assert task.id == f"AlfWorld-v0:{task.content_hash[:16]}"
    assert task.root_id == task.id
    assert dataclasses.replace(task, id="mine", root_id="other", version=3).content_hash == task.content_hash
    for other in (
        Task("RLA/Other-v0", {"objects": 3}, {"x": 1}),
        Task("RLA/AlfWorld-v0", {"objects": 4}, {"x": 1}),
        Task("RLA/AlfWorld-v0", {"objects": 3}, {"x": 2}),
    ):
        assert other.content_hash != task.content_hash


def test_a_child_keeps_root_and_counts_versions():
    root = Task("E-v0", {"n": 1}, {"x": 1})
    child = root.child({"x": 2})
    grandchild = child.child({"x": 3}, {"n": 2})
    assert (child.root_id, child.parent_id, child.version) == (root.id, root.id, 1)
    assert (grandchild.root_id, grandchild.parent_id, grandchild.version) == (root.id, child.id, 2)
    assert grandchild.difficulty == {"n": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "Task: expected JSON text"),
        ("[" * 100_000, "Task: expected JSON of a few levels"),
        (
            '{"env_id": "E", "difficulty": {}, "payload": {"a": ' + "[" * 700 + "]" * 700 + "}}",
            "Task: expected JSON of a few levels",
        ),
        (None, "Task: expected JSON text"),
        (5, "Task: expected JSON text"),
        (b"\xff", "Task: expected JSON text"),
        ("[]", "expected a JSON object, got list"),
        ('{"env_id": "E"}', "missing field 'difficulty'"),
        ('{"env_id": "E", "difficulty": {}, "payload": {}, "colour": 1}', "unknown field 'colour'"),
        ('{"env_id": 3, "difficulty": {}, "payload": {}}', r"Task.env_id: expected a string, got 3"),
        ('{"env_id": "E", "difficulty": [], "payload": {}}', r"Task.difficulty: expected a mapping"),
        ('{"env_id": "E", "difficulty": {}, "payload": {}, "version": -1}', "Task.version"),
        ('{"env_id": "E", "difficulty": {}, "payload": {}, "version": true}', "Task.version"),
        ('{"env_id": "E", "difficulty": {}, "payload": {}, "parent_id": 3}', "Task.parent_id"),
        ('{"env_id": "E", "difficulty": {}, "payload": {"a": NaN}}', "finite number"),
    ],
)
def test_what_is_no_task_is_refused_by_field(text, message):
    with pytest.raises(InputError, match=message):
        Task.from_json(text)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"changes": ()}, "non-empty list"),
        ({"changes": [{"verb": "x"}]}, "string 'op'"),
        ({"changes": [{"op": "x"}], "direction": "sideways"}, "'harder' or 'easier'"),
        ({"changes": [{"op": "x"}], "reason": 1}, "TaskEdit.reason"),
    ],
)
def test_what_is_no_edit_is_refused_by_field(fields, message):
    with pytest.raises(InputError, match=message):
        TaskEdit(**fields)
