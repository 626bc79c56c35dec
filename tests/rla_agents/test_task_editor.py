"""A language model's edits: what it is asked, which answers count, and that nothing unsound gets through."""

import json

import numpy as np
import pytest
import torch

from rla_agents import task_editor
from rla_agents.config import EditorConfig
from rla_agents.llm.base import Sampling
from rla_agents.task_editor import LLMEditor, first_sentences, make_editor, parse_edit
from rla_envs import TaskEdit
from rla_envs.errors import InputError
from tests.rla_agents.scripted import ScriptedModel
from tests.rla_envs.toy_env import ToyEnv
from wrappers import Feedback, RuleEditor
from wrappers.curricula import Threshold

pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")

BUDGET = '{"changes": [{"op": "set_step_budget", "value": 2}], "reason": "Less time."}'
NAMED = '{"changes": [{"op": "name_place", "value": true}]}'


@pytest.fixture(scope="module")
def env():
    from rla_envs.alfworld.env import AlfWorldEnv

    environment = AlfWorldEnv()
    yield environment
    environment.close()


@pytest.fixture(scope="module")
def task(env):
    return env.sample_task({"task_type": "pick_heat_then_place_in_recep"}, np.random.default_rng(0))


def refusal(env, task, change):
    try:
        env.apply_edit(task, TaskEdit((change,)))
    except InputError as error:
        return str(error)
    return ""


def editor(env, *answers, **kwargs):
    model = ScriptedModel(answers, **kwargs)
    return model, LLMEditor(model, env, Sampling(max_tokens=100), None, samples=len(answers))


def test_the_model_is_shown_the_language_the_scene_the_failures_and_the_direction(env, task):
    model, edits = editor(env, BUDGET)
    feedback = Feedback(
        ["It never opened the fridge. It ran out of steps! And a third sentence.", "Same.", "Same."],
        {"closed containers": 4.5, "searching": 12},
    )
    edits.propose(task, "easier", feedback)
    ((system, user),) = model.sent
    assert (system["role"], user["role"]) == ("system", "user")
    for operation in env.edit_operations:
        assert f'{{"op": "{operation.op}"' in system["content"]
    assert env.describe_task(task) in user["content"]
    assert "- It never opened the fridge. It ran out of steps!\n- Same.\n- Steps lost" in user["content"]
    assert "third sentence" not in user["content"]
    assert "closed containers 4.5, searching 12.0" in user["content"]
    assert user["content"].endswith("Make this task easier.")


def test_every_name_and_type_in_the_scene_shown_can_be_used_in_an_edit(env, task):
    """What the model reads is what edits take."""
    shown = env.describe_task(task)
    places = [line.split(" (")[0] for line in shown.split("what is there:\n")[1].splitlines()]
    assert len(places) == len(task.payload["receptacles"])
    for place in places:
        for op in ("open", "close"):
            change = {"op": op, "receptacle": place}
            assert "unknown" not in refusal(env, task, change)
    goal = task.payload["goal"]
    assert f"object {goal['object']}, receptacle {goal['receptacle']})" in shown
    assert f"has {env.check_task(task).optimal_length} steps" in shown


def test_each_different_edit_comes_back_once_in_the_order_drawn(env, task):
    _, edits = editor(env, BUDGET, NAMED, "no idea", BUDGET.replace("Less time.", "Hurry."))
    found = edits.propose(task, "harder", ["Lost."])
    assert [edit.changes[0]["op"] for edit in found] == ["set_step_budget", "name_place"]
    assert {(edit.direction, edit.author) for edit in found} == {("harder", "llm")}
    assert [edit.reason for edit in found] == ["Less time.", ""]
    assert found == [TaskEdit.from_json(edit.to_json()) for edit in found]
    for edit in found:
        assert env.check_task(env.apply_edit(task, edit)).valid


def test_every_answer_is_accounted_for_once(env, task):
    _, edits = editor(env, BUDGET, "no idea", NAMED, '{"changes": 3}')
    edits.propose(task, "harder", [])
    events = edits.events()
    assert [event["event"] for event in events] == ["edit_drafted", "edit_malformed"] * 2
    assert {(event["task_id"], event["direction"]) for event in events} == {(task.id, "harder")}
    assert events[1]["reason"] == "expected a JSON object, found none"
    assert json.loads(json.dumps(events)) == events
    assert edits.events() == []


def test_a_prompt_that_leaves_no_room_for_an_answer_is_not_sent(env, task):
    model, edits = editor(env, BUDGET, context_length=500)
    assert edits.propose(task, "harder", []) == []
    (event,) = edits.events()
    assert event["event"] == "edit_not_asked"
    assert model.answers == [BUDGET]


@pytest.mark.parametrize(
    "text",
    [
        BUDGET,
        f"```json\n{BUDGET}\n```",
        f"The set {{a, b}} is hard.\n\n{BUDGET} I hope that helps {{:-)}}.",
        f'First I thought {{"changes": []}} but then: {BUDGET}',
        BUDGET.replace(" ", "\n "),
        BUDGET.replace("Less time", "Less\n\ttime"),
        "<think>{</think>" + BUDGET,
    ],
)
def test_an_edit_is_found_wherever_the_answer_has_it(text):
    edit = parse_edit(text, "harder")
    assert edit.changes == ({"op": "set_step_budget", "value": 2},)
    assert (edit.direction, edit.author, edit.reason) == ("harder", "llm", "Less time.")


OPEN = '{"op": "open", "receptacle": "drawer 1"}'
MALFORMED = [
    ("", "expected a JSON object, found none"),
    ("[1, 2]", "expected a JSON object, found none"),
    ("{}", "expected a JSON object, found none"),
    (f'{{"changes": [{OPEN}]', "expected a JSON object, got one that cannot be read"),
    (f"{{'changes': [{OPEN}]}}", "expected a JSON object, got one that cannot be read"),
    (OPEN, "unknown key of the answer: 'op'. Known: changes, reason."),
    (f'{{"changes": [{OPEN}], "cmd": 1}}', "unknown key of the answer: 'cmd'"),
    (f'{{"change": [{OPEN}]}}', "Did you mean 'changes'"),
    (f'{{"changes": {OPEN}}}', "'changes': expected a list of operations"),
    ('{"changes": null}', "'changes': expected a list of operations"),
    ('{"reason": "none"}', "'changes': expected a list of operations"),
    ('{"changes": []}', "expected a non-empty list"),
    ('{"changes": ["open drawer 1"]}', "expected objects with a string 'op'"),
    ('{"changes": [{"op": 3}]}', "expected objects with a string 'op'"),
    (f'{{"changes": [{OPEN}], "reason": 3}}', "'reason': expected a string, got int"),
    ('{"changes": [{"op": "set_step_budget", "value": NaN}]}', "NaN is not JSON"),
    ('{"changes": [{"op": "open", "op": "close"}]}', "a key occurs twice"),
    ('{"changes": [{"op": "x", "value": ' + "9" * 5000 + "}]}", "cannot be read"),
    ('{"changes": [{"op": "x", "value": ' + "[" * 5000 + "]" * 5000 + "}]}", "cannot be read"),
    ('{"changes": [{"op": "x", "value": ' + "[" * 600 + "]" * 600 + "}]}", "a few levels"),
    ("{" * 5000, "cannot be read"),
    ('{"changes": [' + "{" * 100, "cannot be read"),
    ("__import__('os').system('echo {}')", "found none"),
]


@pytest.mark.parametrize(("text", "reason"), MALFORMED, ids=[str(n) for n in range(len(MALFORMED))])
def test_a_malformed_answer_is_refused_with_the_reason_in_a_line(text, reason):
    with pytest.raises(InputError) as caught:
        parse_edit(text, "harder")
    message = str(caught.value)
    assert reason in message
    assert "\n" not in message
    assert len(message) < 500


def test_a_curriculum_takes_the_first_answer_that_the_environment_accepts(env):
    solved = '{"changes": [{"op": "set_goal", "receptacle": "Throne"}]}'
    _, edits = editor(env, "no idea", solved, BUDGET, NAMED)
    curriculum = Threshold(env.difficulty_space, slots=1, n=2, tasks=env, editor=edits)
    rng = np.random.default_rng(0)
    root = curriculum.next_proposal(rng).task
    for _ in range(2):
        curriculum.observe(root.difficulty, True, task=root)
    pending = curriculum.next_proposal(rng).task
    assert (pending.parent_id, pending.difficulty["step_budget"]) == (root.id, 2.0)
    assert pending.payload == root.payload
    (event,) = curriculum.events()
    assert (event["event"], event["reason"]) == ("edit_proposed", "Less time.")


def test_a_reason_is_one_line_that_can_be_written_down():
    text = json.dumps({"changes": [{"op": "open"}], "reason": "One\n\n\ttwo. Three! Four? \ud800"})
    reason = parse_edit(text, "easier").reason
    assert reason == "One two. Three!"
    odd = json.dumps({"changes": [{"op": "open"}], "reason": "bad \ud800 half"})
    assert parse_edit(odd, "easier").reason.encode()


def test_sentences_are_counted_by_their_ends_and_cut_where_they_do_not_end():
    assert first_sentences("It went to drawer 1. Then  to\ndrawer 2! Lost.") == (
        "It went to drawer 1. Then to drawer 2!"
    )
    assert first_sentences("") == ""
    assert len(first_sentences("word " * 1000)) == 300


def test_an_environment_that_states_no_edit_language_is_refused():
    with pytest.raises(InputError, match="ToyEnv states no edit_operations"):
        LLMEditor(ScriptedModel(), ToyEnv(), Sampling(), None)


def test_an_editor_is_made_by_name(env, monkeypatch):
    model, asked = ScriptedModel([BUDGET] * 3), []
    monkeypatch.setattr(task_editor, "load_model", lambda *arguments: asked.append(arguments) or model)
    rng, generator = np.random.default_rng(0), torch.Generator()
    assert make_editor(EditorConfig(), env, rng, generator) is None
    assert isinstance(make_editor(EditorConfig("rules"), env, rng, generator), RuleEditor)
    made = make_editor(EditorConfig("llm", "some/model", 3, 0.5, 77), env, rng, generator, "cpu")
    assert (made.samples, made.sampling.temperature, made.sampling.max_tokens) == (3, 0.5, 77)
    assert asked == [("some/model", "cpu")]
