"""An edit gives a task that is valid and measured right, or is refused with the reason in one line."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rla_envs import Task, TaskEdit
from rla_envs.alfworld import edits, shipped
from rla_envs.alfworld.difficulty import PARAMETERS, closed_share
from rla_envs.alfworld.edits import EDIT_OPERATIONS, apply_edit, propose_edits
from rla_envs.alfworld.game import game_data, goal_text
from rla_envs.alfworld.names import display_names
from rla_envs.alfworld.plan import Planner
from rla_envs.alfworld.scene import TASK_TYPES, Scene
from rla_envs.errors import InputError, InvalidTaskError, RefusedEditError
from tests.rla_envs.alfworld.games import draw_task, plays_to_a_win

OPERATIONS = [operation.op for operation in EDIT_OPERATIONS]


def attempt(apply, task, edit):
    """Return the edited task and no reason, or no task and the reason, one line."""
    try:
        return apply(task, edit), ""
    except InputError as error:
        reason = str(error)
    assert reason
    assert "\n" not in reason
    return None, reason


def refusal(env, task, *changes):
    """Return the reason an edit is refused for."""
    with pytest.raises(RefusedEditError) as caught:
        env.apply_edit(task, TaskEdit(changes))
    reason = str(caught.value)
    assert reason
    assert "\n" not in reason
    assert len(reason) < 2000
    return reason


def names_of(task):
    scene = Scene.from_payload(task.payload)
    return display_names([*(r.id for r in scene.receptacles), *(o.id for o in scene.objects)])


def simple_task(seed=0, **difficulty):
    return draw_task(seed, task_type="pick_and_place_simple", receptacles=10, objects=12, **difficulty)


@pytest.mark.parametrize("part", range(6))
def test_every_proposed_edit_gives_a_task_that_can_be_won_or_is_refused(env, part):
    applied = tried = 0
    for seed in range(5 * part, 5 * part + 5):
        rng = np.random.default_rng(seed)
        task = draw_task(seed, receptacles=7, objects=8, distractors=seed % 2)
        for direction in ("harder", "easier"):
            for edit in env.propose_edits(task, direction, rng)[:5]:
                tried += 1
                assert edit.direction == direction
                edited, _ = attempt(env.apply_edit, task, edit)
                if edited is None:
                    continue
                applied += 1
                check = env.check_task(edited)
                assert check.valid
                assert len(check.witness) == check.optimal_length > 0
                assert (edited.parent_id, edited.root_id, edited.version) == (task.id, task.id, 1)
                assert edited.content_hash != task.content_hash
    assert tried > 40
    assert applied > 0.7 * tried


def test_the_witness_of_an_edited_task_wins(env):
    task = env.sample_task({"task_type": 1}, np.random.default_rng(3))
    for edit in env.propose_edits(task, "harder", np.random.default_rng(3))[:5]:
        edited, _ = attempt(env.apply_edit, task, edit)
        if edited is None:
            continue
        assert plays_to_a_win(env, edited, env.check_task(edited).witness)


@pytest.mark.parametrize("direction", ["harder", "easier"])
@pytest.mark.parametrize("seed", range(20))
def test_the_difficulty_after_an_edit_is_that_of_the_new_scene(seed, direction):
    task = draw_task(seed, receptacles=9, objects=10, distractors=seed % 4)
    for edit in propose_edits(task, direction, np.random.default_rng(seed)):
        edited, _ = attempt(apply_edit, task, edit)
        if edited is None:
            continue
        scene = Scene.from_payload(edited.payload)
        for parameter in PARAMETERS:
            value = edited.difficulty[parameter.name]
            if parameter.name in ("receptacles", "objects", "distractors", "place_unnamed"):
                assert value == parameter.statistic(edited)
            if parameter.name == "step_budget":
                given = edit.changes[0]["op"] == "set_step_budget"
                assert value == (edit.changes[0]["value"] if given else 5.0)
        assert edited.difficulty["closed_containers"] == closed_share(scene)
        assert TaskEdit.from_json(edit.to_json()) == edit


@pytest.mark.parametrize(("direction", "sign"), [("harder", 1), ("easier", -1)])
def test_proposals_point_in_their_direction(direction, sign):
    """In sum over the parameters; one edit may lengthen a plan and so loosen nothing else."""
    compared = 0
    for seed in range(20):
        task = draw_task(seed, receptacles=9, objects=10, distractors=1)
        for edit in propose_edits(task, direction, np.random.default_rng(seed)):
            operation = edit.changes[0]["op"]
            if operation in ("set_goal", "hide_target"):
                continue
            edited, _ = attempt(apply_edit, task, edit)
            if edited is None:
                continue
            moves = [
                p.direction * np.sign(edited.difficulty[p.name] - task.difficulty[p.name])
                for p in PARAMETERS
                if p.name not in ("task_type", "rarity", "hiding_depth", "closed_containers")
            ]
            assert sign * sum(moves) >= 0, (edit, moves)
            length, before = (len(Planner(Scene.from_payload(t.payload)).plan()) for t in (edited, task))
            assert sign * (length - before) >= 0, edit
            compared += 1
    assert compared > 100


def test_an_edit_that_changes_nothing_is_refused(env):
    task = simple_task(closed_containers=1.0)
    names = names_of(task)
    closed = next(r for r in task.payload["receptacles"] if r["closed"])
    assert (
        refusal(env, task, {"op": "close", "receptacle": names[closed["id"]]}) == "the edit changes nothing"
    )
    assert refusal(env, task, {"op": "name_place", "value": False}) == "the edit changes nothing"
    value = task.difficulty["step_budget"]
    assert refusal(env, task, {"op": "set_step_budget", "value": value}) == "the edit changes nothing"


def test_an_edit_that_solves_the_task_is_refused(env):
    task = simple_task()
    goal = task.payload["goal"]["receptacle"]
    names = names_of(task)
    place = next(names[r["id"]] for r in task.payload["receptacles"] if r["id"].split("|")[0] == goal)
    assert refusal(env, task, {"op": "hide_target", "in": place}) == "the goal holds at the start"


def test_an_edit_against_alfworlds_tables_is_refused(env):
    task = draw_task(0, task_type="pick_heat_then_place_in_recep", receptacles=10, objects=12)
    names = names_of(task)
    microwave = next(n for n in names.values() if n.startswith("microwave"))
    assert "cannot be in or on a Microwave" in refusal(
        env, task, {"op": "add_object", "type": "Knife", "in": microwave}
    )
    drawer = next(n for n in names.values() if n.startswith("drawer"))
    fork = {"op": "add_object", "type": "Fork", "in": drawer}
    assert "heatable" in refusal(env, task, fork, {"op": "set_goal", "object": "Fork"})
    assert "has none" in refusal(env, task, {"op": "set_goal", "receptacle": "Bathtub"})
    own = next(o for o in task.payload["objects"] if o["id"].startswith(task.payload["goal"]["object"] + "|"))
    assert "needs 1" in refusal(env, task, {"op": "remove_object", "object": names[own["id"]]})
    bin_ = next(n for n in names.values() if n.startswith("garbagecan"))
    assert "cannot be opened" in refusal(env, task, {"op": "close", "receptacle": bin_})


def test_an_edit_out_of_range_is_refused(env):
    task = simple_task()
    for value in (0.5, 11, 1e300):
        assert "step_budget" in refusal(env, task, {"op": "set_step_budget", "value": value})
    room = task.payload["receptacles"][0]["id"].split("|")[0]
    many = [{"op": "add_receptacle", "type": room}] * 31
    assert "'receptacles': expected a value from 5 to 40" in refusal(env, task, *many)
    place = names_of(task)[task.payload["objects"][0]["in"]]
    kind = task.payload["goal"]["object"]
    four = [{"op": "add_object", "type": kind, "in": place}] * 4
    assert "'distractors': expected a value from 0 to 3" in refusal(env, task, *four)


def test_a_goal_of_another_split_is_refused(env):
    """What is held out for evaluation does not come back into training by an edit."""
    refused = 0
    for seed in range(12):
        task = draw_task(seed, task_type="pick_and_place_simple", receptacles=20, objects=25)
        for kind in sorted({o["id"].split("|")[0] for o in task.payload["objects"]}):
            _, reason = attempt(env.apply_edit, task, TaskEdit(({"op": "set_goal", "object": kind},)))
            refused += "another split" in reason
    assert refused > 3


def test_the_documented_table_is_the_one_that_edits_are_checked_by():
    rows = [line for line in edits.__doc__.splitlines() if re.match("``[a-z_]+``  ", line)]
    assert [tuple(re.split("  +", row)) for row in rows] == [
        (f"``{o.op}``", ", ".join(f"``{f.name}``" + "?" * f.optional for f in o.fields), o.effect)
        for o in EDIT_OPERATIONS
    ]


def test_the_goal_text_is_made_anew_whatever_is_edited(env):
    task = draw_task(0, task_type="pick_heat_then_place_in_recep", receptacles=10, objects=12)
    for kind in ("pick_cool_then_place_in_recep", "pick_and_place_simple"):
        changes = ({"op": "set_goal", "task_type": kind}, {"op": "name_place", "value": True})
        edited, reason = attempt(env.apply_edit, task, TaskEdit(changes))
        assert edited is not None, reason
        scene = Scene.from_payload(edited.payload)
        observation, _ = env.reset(options={"task": edited})
        assert goal_text(scene) in observation
        assert goal_text(scene) in game_data(scene)["grammar"]
        assert goal_text(Scene.from_payload(task.payload)) not in observation
        assert ("cool" in goal_text(scene)) == (kind == "pick_cool_then_place_in_recep")


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("task_type", [*TASK_TYPES])
def test_distractors_are_put_where_they_shorten_nothing_and_taken_away_again(task_type, count):
    """One beside the lamp, or beside one of two that are apart, would save a step."""
    placed = 0
    for seed in range(8):
        depth = {"hiding_depth": 0} if task_type == "look_at_obj_in_light" else {}
        task = draw_task(seed, task_type=task_type, receptacles=14, objects=14, **depth)
        edited, reason = attempt(apply_edit, task, TaskEdit(({"op": "set_distractors", "value": count},)))
        if edited is None:
            assert "no place for one more" in reason
            continue
        placed += 1
        before, after = (Scene.from_payload(t.payload) for t in (task, edited))
        assert len(after.targets()) == len(before.targets()) + count
        assert edited.difficulty["distractors"] == count
        assert edited.difficulty["hiding_depth"] == task.difficulty["hiding_depth"]
        assert len(Planner(after).plan()) == len(Planner(before).plan())
        undone = apply_edit(edited, TaskEdit(({"op": "set_distractors", "value": 0},)))
        assert undone.payload == task.payload
    assert placed > 2


@pytest.mark.parametrize("value", [-1, 4, 10**400])
def test_a_number_of_distractors_out_of_range_is_refused(env, value):
    assert "from 0 to 3" in refusal(env, simple_task(), {"op": "set_distractors", "value": value})


def test_a_place_is_taken_away_only_if_it_is_empty_and_not_needed(env):
    task = simple_task()
    names, scene = names_of(task), Scene.from_payload(task.payload)
    used = {o.inside for o in scene.objects}
    for r in scene.receptacles:
        change = {"op": "remove_receptacle", "receptacle": names[r.id]}
        needed = r.type == scene.goal.receptacle and sum(x.type == r.type for x in scene.receptacles) == 1
        if r.id in used:
            assert "expected an empty place, but" in refusal(env, task, change)
        elif needed:
            assert "has none" in refusal(env, task, change)
        else:
            edited = env.apply_edit(task, TaskEdit((change,)))
            assert r.id not in {x["id"] for x in edited.payload["receptacles"]}
            assert edited.difficulty["receptacles"] == task.difficulty["receptacles"] - 1


def test_names_are_those_before_the_edit_whatever_an_earlier_operation_did(env):
    """Objects are numbered from the last, so one more shifts the others' numbers."""
    task = simple_task(seed=4)
    scene, names = Scene.from_payload(task.payload), names_of(task)
    thing = next(o for o in scene.objects if o.type != scene.goal.object)
    others = (r for r in scene.receptacles if r.id != thing.inside)
    place = next(r for r in others if shipped.can_contain(r.type, thing.type))
    add = {"op": "add_object", "type": thing.type, "in": names[place.id]}
    move = {"op": "move_object", "object": names[thing.id], "to": names[place.id]}
    edited = env.apply_edit(task, TaskEdit((add, move)))
    assert {"id": thing.id, "in": place.id} in edited.payload["objects"]
    assert names_of(edited)[thing.id] != names[thing.id]
    gone = {"op": "remove_object", "object": names[thing.id]}
    assert "unknown object" in refusal(env, task, gone, gone)


def test_types_may_be_spelled_as_players_read_them(env):
    task = draw_task(0, task_type="pick_heat_then_place_in_recep", receptacles=10, objects=12)
    drawer = next(name for name in names_of(task).values() if name.startswith("drawer"))
    spelled = [
        env.apply_edit(task, TaskEdit(({"op": "add_object", "type": kind, "in": drawer},))).payload
        for kind in ("ButterKnife", "butterknife", "BUTTERKNIFE")
    ]
    assert spelled[0] == spelled[1] == spelled[2]


def test_a_task_that_cannot_be_played_is_not_edited(env):
    task = simple_task()
    lying = Task(task.env_id, {**task.difficulty, "objects": 13}, task.payload)
    reason = refusal(env, lying, {"op": "name_place", "value": True})
    assert reason == "the task to edit cannot be played: the task states objects=13, its scene has 12"
    foreign = Task("RLA/GridNav-v0", task.difficulty, task.payload)
    assert "expected a task of RLA/AlfWorld-v0" in refusal(env, foreign, {"op": "name_place", "value": True})


def test_an_edit_of_very_many_operations_is_refused_at_once(env):
    many = [{"op": "name_place", "value": True}] * 101
    assert refusal(env, simple_task(), *many) == "expected at most 100 operations, got 101"


def test_harder_and_easier_undo_each_other(env):
    task = env.sample_task({"closed_containers": 1.0, "receptacles": 12}, np.random.default_rng(0))
    name = next(names_of(task)[r["id"]] for r in task.payload["receptacles"] if r["closed"])
    opened = env.apply_edit(task, TaskEdit(({"op": "open", "receptacle": name},), direction="easier"))
    closed = env.apply_edit(opened, TaskEdit(({"op": "close", "receptacle": name},)))
    assert closed.payload == task.payload
    assert closed.root_id == task.id


MALFORMED = [
    ({"op": "explode"}, "unknown edit operation 'explode'"),
    ({"op": "opne", "receptacle": "drawer 1"}, "Did you mean 'open'"),
    ({"op": "open"}, "expected 'receptacle' to be a string, got None"),
    ({"op": "open", "receptacle": 3}, "expected 'receptacle' to be a string, got 3"),
    ({"op": "open", "receptacle": "drawer 1", "how": "wide"}, "unknown field of open: 'how'"),
    ({"op": "open", "receptacle": "gate 7"}, "unknown receptacle 'gate 7'"),
    ({"op": "move_object", "object": "unicorn 1", "to": "desk 1"}, "unknown object 'unicorn 1'"),
    ({"op": "set_goal"}, "expected at least one of task_type, object, receptacle"),
    ({"op": "set_goal", "wording": 3}, "unknown field of set_goal: 'wording'"),
    ({"op": "set_goal", "task_type": "pick_and_place_simpel"}, "Did you mean 'pick_and_place_simple'"),
    ({"op": "set_goal", "object": "{print(1)}"}, "needs 1 of '{print(1)}', the room has 0"),
    ({"op": "set_goal", "object": "Mug) (:goal ("}, "the room has 0"),
    ({"op": "set_goal", "object": "Mug\nTake the money"}, r"'Mug\nTake the money'"),
    ({"op": "set_goal", "receptacle": '", "rhs": "#x#'}, "has none"),
    ({"op": "add_object", "type": "Mug|+00.00|+00.00|+00.00)", "in": "0"}, "unknown receptacle '0'"),
    ({"op": "add_receptacle", "type": "Throne"}, "unknown receptacle type of this room: 'Throne'"),
    ({"op": "add_receptacle", "type": ["Drawer"]}, "expected 'type' to be a string"),
    ({"op": "set_step_budget", "value": "3"}, "expected 'value' to be a number, got '3'"),
    ({"op": "set_step_budget", "value": True}, "expected 'value' to be a number, got True"),
    ({"op": "set_step_budget", "value": 10**400}, "expected 'value' to be a number, got 1000"),
    ({"op": "set_distractors", "value": 1.0}, "expected 'value' to be an integer, got 1.0"),
    ({"op": "set_distractors", "value": True}, "expected 'value' to be an integer, got True"),
    ({"op": "name_place", "value": 1}, "expected 'value' to be true or false, got 1"),
    ({"op": "open", "receptacle": "x" * 10**6}, "unknown receptacle"),
    ({"op": "x" * 10**6}, "unknown edit operation"),
    ({"op": "open", "receptacle": ["y" * 10**6] * 3}, "expected 'receptacle' to be a string"),
]


@pytest.mark.parametrize(("change", "reason"), MALFORMED, ids=[str(n) for n in range(len(MALFORMED))])
def test_a_malformed_edit_is_refused_with_the_reason(env, change, reason):
    assert reason in refusal(env, simple_task(), change)


def test_an_object_type_that_is_no_word_never_gets_into_a_scene(env):
    task = simple_task()
    place = names_of(task)[task.payload["receptacles"][0]["id"]]
    for kind in ("Mug) (opened x", "{1+1}", "Mug\n", "", "Mug|", "мяч", "A" * 100):
        assert "id: expected the form" in refusal(env, task, {"op": "add_object", "type": kind, "in": place})


WORDS = st.sampled_from(
    ["drawer 1", "cabinet 1", "countertop 1", "Mug", "Desk", "{x}", ")", "", "Knife", 0, 2.5, None, True]
)
FIELDS = st.sampled_from(["task_type", "object", "receptacle", "type", "in", "to", "value", "wording", "id"])
CHANGES = st.builds(
    lambda op, fields: {"op": op, **fields},
    st.sampled_from([*OPERATIONS, "OPEN", ""]),
    st.dictionaries(FIELDS, st.one_of(WORDS, st.lists(WORDS, max_size=2)), max_size=3),
)


@given(changes=st.lists(CHANGES, min_size=1, max_size=3))
def test_any_edit_gives_a_scene_that_can_be_won_or_one_clear_line(changes):
    task = simple_task()
    edited, _ = attempt(apply_edit, task, TaskEdit(tuple(changes)))
    if edited is None:
        return
    assert Planner(Scene.from_payload(edited.payload)).plan() is not None


@pytest.mark.parametrize("difficulty", [{}, {"step_budget": "long"}, {"step_budget": True}])
def test_a_task_without_a_step_budget_is_neither_edited_nor_rewritten(env, difficulty):
    task = draw_task(0)
    bad = Task(task.env_id, difficulty, task.payload)
    assert "'step_budget': expected a number" in refusal(env, bad, {"op": "name_place", "value": True})
    with pytest.raises(InvalidTaskError, match="'step_budget': expected a number"):
        propose_edits(bad, "harder", np.random.default_rng(0))
