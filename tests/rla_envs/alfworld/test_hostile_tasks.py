"""A task from outside is played only if it is one of alfworld's; anything else is refused in one line."""

import json

import pytest

from rla_envs import Task
from rla_envs.alfworld.scene import MAX_OBJECTS, Scene
from rla_envs.errors import InputError, InvalidTaskError
from tests.rla_envs.alfworld.games import ENV_ID, changed, draw_task

TASK = draw_task(0, task_type="pick_clean_then_place_in_recep", receptacles=8, objects=9)
INJECTIONS = (
    "{__import__('os').system('touch HACKED')}",
    "#intro#",
    "Mug)",
    "Mug (opened x)",
    'Mug"',
    "Mug\\",
    "Mug\n(:goal",
    "[{o.name | holds(a:agent, o:object)}]",
    "Mug;comment",
    "",
    "mug",
    "Μug",
)


def reason(env, task):
    """Return why a task is refused; the same from reset, and never a traceback of another kind."""
    check = env.check_task(task)
    assert not check.valid
    assert check.witness == ()
    assert check.reason
    assert "\n" not in check.reason
    assert len(check.reason) < 1000
    with pytest.raises(InvalidTaskError, match="cannot be played"):
        env.reset(options={"task": task})
    return check.reason


def with_goal(**fields):
    return changed(TASK, goal={**TASK.payload["goal"], **fields})


def with_first(kind, **fields):
    """Return the task with fields of its first receptacle or object replaced."""
    first, *rest = TASK.payload[kind]
    return changed(TASK, **{kind: [{**first, **fields}, *rest]})


def test_the_task_itself_is_fine(env):
    assert env.check_task(TASK).valid


@pytest.mark.parametrize("name", ["split", "room", "receptacles", "objects", "goal", "place_named"])
def test_a_missing_field_is_named(env, name):
    payload = {key: value for key, value in TASK.payload.items() if key != name}
    assert f"field '{name}' is missing" in reason(env, Task(ENV_ID, TASK.difficulty, payload))


@pytest.mark.parametrize("name", ["task_type", "object", "receptacle", "wording"])
def test_a_missing_field_of_the_goal_is_named(env, name):
    goal = {key: value for key, value in TASK.payload["goal"].items() if key != name}
    assert f"goal: field '{name}' is missing" in reason(env, changed(TASK, goal=goal))


def test_an_unknown_field_is_named(env):
    assert "field 'walkthrough' is unknown" in reason(env, changed(TASK, walkthrough="look"))
    assert "field 'mood' is unknown" in reason(env, with_goal(mood="good"))
    assert "field 'type' is unknown" in reason(env, with_first("objects", type="Mug"))


WRONG = [None, True, 3, -1, 1.5, "x", "train ", [], ["x"], {}, {"id": 1}, "y" * 10**5, [["z"] * 1000]]


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("name", ["split", "room", "receptacles", "objects", "goal", "place_named"])
def test_a_field_of_a_wrong_type_is_refused(env, name, value):
    if name == "place_named" and value is True:
        value = 1  # a flag may be true
    reason(env, changed(TASK, **{name: value}))


@pytest.mark.parametrize(
    "value", [value for value in WRONG if not isinstance(value, int)], ids=lambda v: repr(v)[:20]
)
@pytest.mark.parametrize("name", ["task_type", "object", "receptacle", "wording"])
def test_a_field_of_the_goal_of_a_wrong_type_is_refused(env, name, value):
    reason(env, with_goal(**{name: value}))


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize(("kind", "name"), [("receptacles", "id"), ("objects", "id"), ("objects", "in")])
def test_an_id_of_a_wrong_form_is_refused(env, kind, name, value):
    assert "id: expected the form" in reason(env, with_first(kind, **{name: value}))


@pytest.mark.parametrize("text", INJECTIONS)
def test_nothing_can_be_put_into_the_rules_or_the_grammar(env, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spot = "|+01.00|+01.00|+01.00"
    for task in (
        with_goal(object=text),
        with_goal(receptacle=text),
        with_goal(task_type=text),
        with_first("receptacles", id=text),
        with_first("receptacles", id=text + spot),
        with_first("objects", id=text),
        with_first("objects", id=text + spot),
        with_first("objects", id="Mug" + spot + text + " "),
        with_first("objects", **{"in": text}),
        changed(TASK, split=text),
        changed(TASK, room=text),
    ):
        reason(env, task)
    *rest, last = TASK.payload["objects"]
    if text:
        assert "expected the form" in reason(
            env, changed(TASK, objects=[*rest, {**last, "id": last["id"] + text}])
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "identifier"),
    [
        ("objects", "Unicorn|+01.00|+01.00|+01.00"),
        ("objects", "Sink|+01.00|+01.00|+01.00|SinkBasin"),
        ("objects", "Mug|+01.00|+01.00|+01.00|SinkBasin"),
        ("objects", "Fridge|+01.00|+01.00|+01.00"),
        ("receptacles", "Throne|+01.00|+01.00|+01.00"),
        ("receptacles", "Mug|+01.00|+01.00|+01.00"),
        ("receptacles", "Box|+01.00|+01.00|+01.00"),
        ("receptacles", "Cabinet|+01.00|+01.00|+01.00|SinkBasin"),
    ],
)
def test_a_type_that_alfworld_has_not_got_is_refused(env, kind, identifier):
    reason(env, with_first(kind, id=identifier))


def test_a_doubled_id_is_named(env):
    for kind in ("receptacles", "objects"):
        twice = [*TASK.payload[kind], TASK.payload[kind][0]]
        assert f"id {twice[0]['id']} occurs twice" in reason(env, changed(TASK, **{kind: twice}))


def test_a_million_entries_are_refused_at_once(env):
    assert f"a list of 1 to {MAX_OBJECTS} entries" in reason(env, changed(TASK, objects=[0] * 10**6))
    assert "expected the form" in reason(env, with_first("objects", id="A" * 10**6))
    assert "is unknown" in reason(env, changed(TASK, **{f"field{n}": n for n in range(10**5)}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("task_type", 0),
        ("receptacles", 9),
        ("objects", 8),
        ("distractors", 1),
        ("hiding_depth", None),
        ("rarity", None),
        ("closed_containers", 0.0),
        ("step_budget", 100),
        ("step_budget", "much"),
        ("place_unnamed", 0),
        ("receptacles", 10**30),
    ],
)
def test_a_difficulty_that_is_not_the_scenes_is_refused(env, name, value):
    if value is None:
        stated = TASK.difficulty[name]
        value = (stated + 1) % 3 if name == "hiding_depth" else float(stated < 0.5)
    task = Task(ENV_ID, {**TASK.difficulty, name: value}, TASK.payload)
    assert name in reason(env, task)


def test_a_difficulty_without_a_parameter_or_with_another_is_refused(env):
    less = {name: value for name, value in TASK.difficulty.items() if name != "rarity"}
    assert "'rarity' is missing" in reason(env, Task(ENV_ID, less, TASK.payload))
    more = Task(ENV_ID, {**TASK.difficulty, "luck": 1}, TASK.payload)
    assert "unknown difficulty parameter 'luck'" in reason(env, more)


def test_a_task_of_another_environment_is_refused(env):
    assert "expected a task of RLA/AlfWorld-v0" in reason(
        env, Task("RLA/Other-v0", TASK.difficulty, TASK.payload)
    )


def test_a_room_that_is_not_there_is_refused(env):
    for room in (0, 31, 999, 10**30):
        assert "room" in reason(env, changed(TASK, room=room))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"env_id": 1}', "[" * 10**5, '{"env_id": "RLA/AlfWorld-v0"}']
)
def test_text_that_is_no_task_is_refused(text):
    with pytest.raises(InputError) as caught:
        Task.from_json(text)
    assert "\n" not in str(caught.value)


def test_a_task_read_back_from_json_is_the_same_task(env):
    again = Task.from_json(TASK.to_json())
    assert again == TASK
    assert json.loads(again.to_json()) == json.loads(TASK.to_json())
    assert Scene.from_payload(again.payload).payload() == json.loads(TASK.to_json())["payload"]
