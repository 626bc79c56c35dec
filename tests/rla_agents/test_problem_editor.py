"""A rewritten problem comes with programs that were written without a look at its tests."""

import json

import numpy as np
import pytest

from rla_agents.config import EditorConfig
from rla_agents.llm.base import Sampling
from rla_agents.problem_editor import ProblemEditor
from rla_agents.task_editor import LLMEditor, make_editor
from rla_envs.coding.env import LiveBenchCodingEnv
from rla_envs.coding.problem import Problem
from rla_envs.errors import RefusedEditError
from tests.rla_agents.scripted import ScriptedModel
from tests.rla_envs.coding import livebench_files as lb
from tests.rla_envs.coding.graders import fenced, grader

STATEMENT = "Read two integers and print their product."
TESTS = [["2 3\n", "6"], ["-1 4\n", "-4"], ["0 9\n", "0"]]
PRODUCT = "a, b = map(int, input().split())\nprint(a * b)"
OTHER_PRODUCT = "import math\nprint(math.prod(int(word) for word in input().split()))"
SUM = "print(sum(map(int, input().split())))"


@pytest.fixture
def env(tmp_path):
    grader()  # skips where there is no sandbox
    env = LiveBenchCodingEnv("livebench", source_options={"path": str(lb.write(tmp_path, lb.stdin_row()))})
    yield env
    env.close()


def rewrite(tests=TESTS, statement=STATEMENT):
    change = {"op": "rewrite", "statement": statement, "tests": json.dumps(tests)}
    return json.dumps({"changes": [change], "reason": "another operation"})


def editor(env, *answers, samples=2):
    return ProblemEditor(ScriptedModel(answers), env, Sampling(max_tokens=50), None, samples)


def proposed(env, *codes, text=None):
    task = env.sample_task(None, np.random.default_rng(0))
    answers = [text or rewrite(), "no edit", *map(fenced, codes)]
    (edit,) = editor(env, *answers).propose(task, "harder", [])
    return task, edit


def test_two_programs_that_agree_on_every_test_make_the_problem_playable(env):
    task, edit = proposed(env, PRODUCT, OTHER_PRODUCT)
    child = env.apply_edit(task, edit)
    problem = Problem.from_dict(child.payload["problem"])
    assert problem.statement == STATEMENT
    assert set(problem.reference_solutions) == {PRODUCT, OTHER_PRODUCT}
    assert [case.output for case in problem.tests] == ["6", "-4", "0"]
    assert (child.root_id, child.parent_id, child.version) == (task.id, task.id, 1)
    env.reset(options={"task": child})
    assert env.step(fenced(PRODUCT))[1] == 1.0


@pytest.mark.parametrize(
    "codes",
    [
        (PRODUCT, SUM),
        (PRODUCT, "# the same with a comment\n" + PRODUCT),
        (SUM, SUM),
        (PRODUCT, "1/0"),
    ],
)
def test_one_program_alone_vouches_for_nothing(env, codes):
    task, edit = proposed(env, *codes)
    with pytest.raises(RefusedEditError, match="expected a reference or 2 different solutions"):
        env.apply_edit(task, edit)


def test_a_wrong_expected_output_is_refused_by_programs_that_are_right(env):
    task, edit = proposed(env, PRODUCT, OTHER_PRODUCT, text=rewrite([*TESTS, ["2 2\n", "5"]]))
    with pytest.raises(RefusedEditError, match="got 0 of 2 solutions"):
        env.apply_edit(task, edit)


def test_a_reference_of_the_old_problem_is_enough(env):
    (known,) = env._source.problems
    task = env.sample_task(None, np.random.default_rng(0))
    task = task.child({"problem": known.replace(reference_solutions=(SUM,)).to_dict()})
    _, edit = proposed(env, PRODUCT, PRODUCT, text=rewrite([["40 2\n", "42"]], "Add two numbers."))
    child = env.apply_edit(task, edit)
    assert Problem.from_dict(child.payload["problem"]).reference_solutions == (SUM,)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (rewrite([]), "JSON list"),
        (rewrite("x"), "JSON list"),
        (rewrite([["1 2"]]), "a pair"),
        (rewrite([["1 2", 3]]), "to be strings"),
        (rewrite([["1 2", ""]]), "an empty program would pass"),
        (rewrite([["1 2", "2"], ["1 2", "3"]]), "two tests have the same input"),
        (json.dumps({"changes": [{"op": "rewrite", "statement": "x", "tests": "[NaN]"}]}), "NaN"),
        (json.dumps({"changes": [{"op": "rewrite", "statement": "x"}]}), "tests"),
        (json.dumps({"changes": [{"op": "solution", "code": "x"}]}), "exactly one 'rewrite'"),
        (json.dumps({"changes": [{"op": "set", "parameter": "size", "value": 2}]}), "unknown edit operation"),
    ],
)
def test_a_malformed_rewrite_is_refused_with_the_reason(env, text, reason):
    task, edit = proposed(env, PRODUCT, OTHER_PRODUCT, text=text)
    with pytest.raises(RefusedEditError, match=reason):
        env.apply_edit(task, edit)


def test_the_solver_sees_the_new_statement_and_none_of_its_tests(env):
    task = env.sample_task(None, np.random.default_rng(0))
    asked = editor(env, rewrite(), "no edit", fenced(PRODUCT), fenced(OTHER_PRODUCT))
    asked.propose(task, "harder", [])
    (solving,) = asked.model.sent[1:]
    text = "".join(message["content"] for message in solving)
    assert STATEMENT in text
    assert "-4" not in text
    assert "5 5" not in text


def test_the_settings_choose_the_editor_by_what_the_environment_takes(env, monkeypatch):
    monkeypatch.setattr("rla_agents.task_editor.load_model", lambda *_: ScriptedModel())
    rng = np.random.default_rng(0)
    assert type(make_editor(EditorConfig(name="llm"), env, rng, None)) is ProblemEditor
    assert type(make_editor(EditorConfig(name="llm"), LiveBenchCodingEnv(), rng, None)) is LLMEditor


def test_a_language_model_can_set_parameters_of_generated_problems():
    grader()
    env = LiveBenchCodingEnv(difficulty={"family": 0, "operations": 1, "size": 1})
    task = env.sample_task(None, np.random.default_rng(0))
    answer = json.dumps({"changes": [{"op": "set", "parameter": "operations", "value": 2}]})
    scripted = ScriptedModel([answer])
    (edit,) = LLMEditor(scripted, env, Sampling(), None, 1).propose(task, "harder", [])
    assert env.apply_edit(task, edit).difficulty["operations"] == 2
    wrong = json.dumps({"changes": [{"op": "set", "parameter": "operatons", "value": 2}]})
    (edit,) = LLMEditor(ScriptedModel([wrong]), env, Sampling(), None, 1).propose(task, "harder", [])
    with pytest.raises(RefusedEditError, match="Did you mean 'operations'"):
        env.apply_edit(task, edit)
    env.close()
