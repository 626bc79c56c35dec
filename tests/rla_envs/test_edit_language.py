"""An edit language reads the edits it describes, and refuses all others with the reason."""

import json
import re

import pytest

from rla_envs.edit_language import EditField, EditOperation, concerns, describe_operations, parse_change
from rla_envs.errors import RefusedEditError

LANGUAGE = (
    EditOperation("open", (EditField("door", str, "a door's name"),), "open a door", ("doors",)),
    EditOperation(
        "set",
        (
            EditField("width", float, "in metres", True, ("width",)),
            EditField("count", int, "how many", True, ("doors",)),
            EditField("lit", bool, "true or false", True),
        ),
        "change any of the three",
    ),
    EditOperation("reset", (), "start over"),
)


@pytest.mark.parametrize(
    ("change", "values"),
    [
        ({"op": "open", "door": "red"}, {"door": "red"}),
        ({"op": "set", "width": 2}, {"width": 2.0}),
        ({"op": "set", "count": 2, "lit": False}, {"count": 2, "lit": False}),
        ({"op": "reset"}, {}),
    ],
)
def test_a_change_in_the_language_is_read(change, values):
    operation, read = parse_change(change, LANGUAGE)
    assert (operation.op, read) == (change["op"], values)
    assert [type(v) for v in read.values()] == [type(v) for v in values.values()]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"op": "opne", "door": "red"}, "unknown edit operation 'opne'. Did you mean 'open'"),
        ({"op": "open"}, "open: expected 'door' to be a string, got None"),
        ({"op": "open", "door": 1}, "open: expected 'door' to be a string, got 1"),
        ({"op": "open", "dor": "red"}, "unknown field of open: 'dor'. Did you mean 'door'"),
        ({"op": "set"}, "set: expected at least one of width, count, lit"),
        ({"op": "set", "width": None}, "set: expected 'width' to be a number, got None"),
        ({"op": "set", "width": True}, "set: expected 'width' to be a number, got True"),
        ({"op": "set", "width": 10**400}, "set: expected 'width' to be a number, got 1000"),
        ({"op": "set", "count": 1.0}, "set: expected 'count' to be an integer, got 1.0"),
        ({"op": "set", "lit": 1}, "set: expected 'lit' to be true or false, got 1"),
        ({"op": "reset", "now": True}, "unknown field of reset: 'now'"),
        ({"op": "open", "door": ["x" * 10**6]}, "open: expected 'door' to be a string"),
    ],
)
def test_any_other_change_is_refused_with_the_reason(change, reason):
    with pytest.raises(RefusedEditError) as caught:
        parse_change(change, LANGUAGE)
    assert str(caught.value).startswith(reason)
    assert len(str(caught.value)) < 300


def test_a_prompt_names_every_operation_and_field_as_json():
    lines = describe_operations(LANGUAGE).splitlines()
    for line, operation in zip(lines, LANGUAGE, strict=True):
        example, effect = re.fullmatch(r"(\{.*\}): (.*)", line).groups()
        filled = json.loads(re.sub(r"<[^>]*>", '"x"', example))
        assert list(filled) == ["op", *(field.name for field in operation.fields)]
        assert (filled["op"], effect) == (operation.op, operation.effect)
    assert '"width": <in metres, may be left out>' in lines[1]


def test_a_change_bears_on_what_its_operation_and_its_given_fields_are_about():
    assert concerns({"op": "open", "door": "red"}, LANGUAGE) == {"doors"}
    assert concerns({"op": "set", "width": 1.0}, LANGUAGE) == {"width"}
    assert concerns({"op": "set", "width": 1.0, "count": 1}, LANGUAGE) == {"width", "doors"}
    assert concerns({"op": "dance"}, LANGUAGE) == frozenset()
