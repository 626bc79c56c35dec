"""RLA/LiveBenchCoding-v0: one answer is LiveBench, more get feedback, and no hidden test is seen."""

import gymnasium as gym
import numpy as np
import pytest

from rla_envs.coding import Problem
from rla_envs.coding.env import LiveBenchCodingEnv
from rla_envs.coding.prompt import solution_answer
from rla_envs.conformance import check_adaptive_env
from rla_envs.errors import InfrastructureError, InputError, InvalidTaskError
from rla_envs.task import Task
from tests.rla_envs.coding import livebench_files as lb
from tests.rla_envs.coding.graders import fenced, grader

EASY = {"family": 0, "operations": 1, "size": 1, "edge_cases": 0}


@pytest.fixture
def make():
    grader()  # skips where there is no sandbox
    envs = []

    def made(**kwargs):
        envs.append(gym.make("RLA/LiveBenchCoding-v0", **kwargs))
        return envs[-1]

    yield made
    for env in envs:
        env.close()


@pytest.fixture
def livebench(make, tmp_path):
    folder = lb.write(tmp_path, lb.stdin_row())

    def made(**kwargs):
        return make(source="livebench", source_options={"path": str(folder)}, **kwargs)

    return made


def test_one_answer_ends_the_episode_and_the_reference_wins(make):
    env = make(source="generated", attempts=1, difficulty=EASY)
    observation, info = env.reset(seed=0)
    task = env.unwrapped.task
    problem = Problem.from_dict(task.payload["problem"])
    assert observation.startswith(problem.statement.rstrip())
    assert info["coding"]["status"] == ""
    (witness,) = env.unwrapped.check_task(task).witness
    assert witness == solution_answer(problem.reference_solutions[0])
    _, reward, terminated, truncated, info = env.step(witness)
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["rla"]["success"]
    assert (info["coding"]["status"], info["coding"]["fraction"]) == ("ok", 1.0)


@pytest.mark.parametrize("position", range(3))
def test_a_known_wrong_program_loses(make, position):
    env = make(difficulty={**EASY, "operations": 2})
    env.reset(seed=1)
    wrong = Problem.from_dict(env.unwrapped.task.payload["problem"]).wrong_solutions[position]
    _, reward, terminated, truncated, info = env.step(fenced(wrong))
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert not info["rla"]["success"]
    assert info["rla"]["last_action_error"] == ""


def test_livebenchs_prompt_is_shown_unchanged_and_its_question_needs_no_reference(livebench):
    env = livebench()
    observation, info = env.reset(seed=0)
    assert observation == lb.STATEMENT
    assert info["coding"]["problem_id"] == "q-stdin"
    assert env.step(fenced("print(sum(map(int, input().split())))"))[1] == 1.0


def test_feedback_shows_a_public_test_and_of_hidden_ones_nothing(livebench):
    env = livebench(attempts=4)
    env.reset(seed=0)
    observation, _, terminated, truncated, info = env.step("I think it is easy.")
    assert "no program was found" in observation
    assert "no program was found" in info["rla"]["last_action_error"]
    assert (info["coding"]["status"], terminated, truncated) == ("no_code", False, False)
    observation, *_, info = env.step(fenced("print(7)"))
    assert observation.startswith("Attempt 2 of 4: test 'public 1' failed (wrong_answer).")
    assert "Expected:\n3\n" in observation
    assert info["rla"]["last_action_error"] == ""
    observation, *_ = env.step(fenced("print(3)"))
    assert observation == "Attempt 3 of 4: the public tests passed, but not all of the hidden ones."
    _, reward, terminated, truncated, _ = env.step(fenced("print(sum(map(int, input().split())))"))
    assert (reward, terminated, truncated) == (1.0, True, False)


def test_the_only_answer_is_final_and_of_several_there_are_exactly_so_many(livebench):
    for attempts, end in ((1, (True, False)), (2, (False, True)), (7, (False, True))):
        env = livebench(attempts=attempts)
        env.reset(seed=0)
        ends = [env.step("no")[2:4] for _ in range(attempts)]
        assert ends == [(False, False)] * (attempts - 1) + [end]


def test_fractions_add_up_to_the_best_share(livebench):
    env = livebench(attempts=4, reward="fraction")
    env.reset(seed=0)
    rewards = [env.step(fenced(code))[1] for code in ("print(3)", "print(7)", "print(10)")]
    assert rewards == [0.5, 0.0, 0.0]
    assert env.step(fenced("print(sum(map(int, input().split())))"))[1] == 0.5


def test_livebenchs_grading_can_be_chosen(livebench):
    answer = fenced("print(sum(map(int, open(0).read().split())))")
    for grading, reward in (("strict", 1.0), ("livebench", 0.0)):
        env = livebench(grading=grading)
        env.reset(seed=0)
        assert env.step(answer)[1] == reward


def coding_task(env, **changes):
    problem = Problem.from_dict(env.unwrapped.task.payload["problem"]).replace(**changes)
    return Task("RLA/LiveBenchCoding-v0", env.unwrapped.task.difficulty, {"problem": problem.to_dict()})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"reference_solutions": ()}, "no program is known that solves it"),
        ({"reference_solutions": ("print(0)",)}, "reference solution 1 fails: public 1 is wrong_answer"),
        ({"reference_solutions": ("1/0",)}, "runtime_error"),
        ({"public_tests": (), "private_tests": ()}, "at least one test, got none"),
    ],
)
def test_a_problem_that_no_program_is_known_to_solve_is_never_presented(make, changes, reason):
    env = make(difficulty=EASY)
    env.reset(seed=0)
    task = coding_task(env, **changes)
    check = env.unwrapped.check_task(task)
    assert not check.valid
    assert reason in check.reason
    with pytest.raises(InvalidTaskError, match="cannot be played"):
        env.reset(options={"task": task})


def test_an_edited_livebench_question_needs_a_reference(livebench):
    env = livebench()
    env.reset(seed=0)
    assert env.unwrapped.check_task(env.unwrapped.task).valid
    edited = coding_task(env, statement="Print their product.")
    assert "no program is known" in env.unwrapped.check_task(edited).reason


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (Task("RLA/AlfWorld-v0", {}, {}), "expected a task of RLA/LiveBenchCoding-v0"),
        (Task("RLA/LiveBenchCoding-v0", {}, {}), "payload: expected 'problem' alone, got nothing"),
        (
            Task("RLA/LiveBenchCoding-v0", {}, {"problem": 3}),
            "payload.problem: Problem: expected a JSON object",
        ),
        (Task("RLA/LiveBenchCoding-v0", {"operations": 99}, {"problem": lb.STATEMENT}), "payload.problem"),
    ],
)
def test_a_task_that_is_none_is_refused_with_the_reason(make, task, reason):
    assert reason in make().unwrapped.check_task(task).reason


def test_a_stated_difficulty_must_be_the_problems_own(make):
    env = make(difficulty=EASY)
    env.reset(seed=0)
    task = env.unwrapped.task
    lied = Task(task.env_id, {**task.difficulty, "operations": 5}, task.payload)
    assert "the task states operations=5" in env.unwrapped.check_task(lied).reason
    bare = Task(task.env_id, {}, task.payload)
    assert "'family' is missing" in env.unwrapped.check_task(bare).reason


@pytest.mark.parametrize(
    ("kwargs", "match"),
    [
        ({"attempts": 0}, "attempts: expected an integer of 1 or more"),
        ({"attempts": True}, "attempts"),
        ({"reward": "outcom"}, "Did you mean 'outcome'"),
        ({"grading": "livebnch"}, "Did you mean 'livebench'"),
        ({"backend": "bwrap"}, "unknown sandbox backend"),
        ({"source": "humanevl"}, "Did you mean 'humaneval'"),
        ({"split": "test"}, "unknown split"),
        ({"difficulty": {"level": 3}}, "unknown difficulty parameter"),
        ({"source": "livebench", "source_options": {"path": "/nowhere"}}, "question.jsonl"),
        ({"source_options": "path"}, "source_options: expected a mapping"),
    ],
)
def test_a_wrong_keyword_is_refused_in_one_line(kwargs, match):
    with pytest.raises(InputError, match=match):
        gym.make("RLA/LiveBenchCoding-v0", **kwargs)


def test_an_action_that_is_no_text_is_refused_and_a_flood_is_an_answer_without_a_program(livebench):
    env = livebench()
    env.reset(seed=0)
    with pytest.raises(InputError, match="expected an answer as text"):
        env.unwrapped.step(None)
    *_, info = env.unwrapped.step("x" * (10 << 20))
    assert info["coding"]["status"] == "no_code"


def test_a_failed_sandbox_is_raised_and_not_scored(livebench, monkeypatch):
    env = livebench()
    env.reset(seed=0)

    def fail(*_, **__):
        raise InfrastructureError("the sandbox is gone")

    monkeypatch.setattr(env.unwrapped._grader, "grade", fail)
    with pytest.raises(InfrastructureError, match="gone"):
        env.step(fenced("print(3)"))


def test_making_starts_no_sandbox_and_closing_ends_it(livebench):
    env = livebench().unwrapped
    assert env._grader._sandbox is None
    for _ in range(2):
        env.reset(seed=0)
        env.step(fenced("print(3)"))
        assert env._grader._sandbox is not None
        env.close()
        assert env._grader._sandbox is None


def test_a_harder_proposal_moves_one_parameter_and_keeps_the_problem_solvable(make):
    env = make(difficulty=EASY).unwrapped
    env.reset(seed=3)
    edits = env.propose_edits(env.task, "harder", np.random.default_rng(0))
    assert {edit.changes[0]["parameter"] for edit in edits} == {
        "operations", "size", "edge_cases", "distractor_text",
    }  # fmt: skip
    for edit in edits:
        child = env.apply_edit(env.task, edit)
        (change,) = edit.changes
        assert child.difficulty == {**env.task.difficulty, change["parameter"]: change["value"]}
        assert child.root_id == env.task.id
        assert env.check_task(child).valid
    easier = env.propose_edits(env.task, "easier", np.random.default_rng(0))
    assert {edit.changes[0]["parameter"] for edit in easier} == {"io_kind"}


def test_other_sources_have_levels_and_rewrites(make):
    env = make(source="humaneval").unwrapped
    assert [p.name for p in env.difficulty_parameters] == ["level"]
    assert list(env.difficulty_space) == ["level"]
    assert [operation.op for operation in env.edit_operations] == ["rewrite"]
    assert env.propose_edits(env.sample_task(None, np.random.default_rng(0)), "harder", env.np_random) == ()
    assert LiveBenchCodingEnv.difficulty_parameters[0].name == "family"


def test_every_levels_problems_are_harder_by_its_measure():
    grader()
    check_adaptive_env(
        "RLA/LiveBenchCoding-v0",
        tasks=4,
        steps=2,
        checks=["solvable_tasks", "difficulty_direction"],
        source="humaneval",
    )
