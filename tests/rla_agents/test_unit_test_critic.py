"""The critic for code writes tests from the statement alone, and its tests are run, not believed."""

import pytest

from rla_agents.batches import Group, mean_unit_test_quality, score, unit_test_items
from rla_agents.config import ObjectiveConfig
from rla_agents.llm.base import Sampling
from rla_agents.trajectory import Trajectory, Turn
from rla_agents.unit_test_critic import UnitTestCritic, UnitTestJudgement, parse_test
from rla_envs.coding import Case, Problem
from rla_envs.task import Task
from tests.rla_agents.scripted import ScriptedModel
from tests.rla_envs.coding.graders import fenced, grader

SUM = Problem.stdin(
    "Print the sum of two integers.",
    [("20 22\n", "42\n"), ("5 6\n", "11\n")],
    public=1,
    reference_solutions=("print(sum(map(int, input().split())))",),
)
FUNCTION = Problem.functional("Return the sum.", "add", [([20, 22], 42)])
TASK = Task("RLA/LiveBenchCoding-v0", {"size": 1}, {"problem": SUM.to_dict()})

RIGHT, PRODUCT, ABSOLUTE = (
    f"a, b = map(int, input().split())\nprint({expression})"
    for expression in ("a + b", "a * b", "abs(a + b)")
)


def written(given, wanted):
    return f"A thought.\nInput:\n```\n{given}\n```\nOutput:\n```\n{wanted}\n```"


@pytest.mark.parametrize(
    ("text", "kind", "test"),
    [
        (written("1 2", "3"), "stdin", Case("1 2\n", "3")),
        (written("2\n1 2", "3\n4"), "stdin", Case("2\n1 2\n", "3\n4")),
        (written("1 2", "3") + "\n\n", "stdin", Case("1 2\n", "3")),
        (written("", "3"), "stdin", Case("\n", "3")),
        (written("0 0", "0") + "\nNo, better:\n" + written("1 2", "3"), "stdin", Case("1 2\n", "3")),
        ("Input:\n```text\n1 2\n```\nOutput:\n```text\n3\n```", "stdin", Case("1 2\n", "3")),
        (written("[1]\n2", "3"), "functional", Case("[1]\n2", "3")),
        (written("[1\n2", "3"), "functional", None),
        (written("[1,2]\n\n 2 ", "[ 3.0]"), "functional", Case("[1, 2]\n2", "[3.0]")),
        (written("1", "NaN"), "functional", None),
        (written("1", "1e999"), "functional", None),
        (written("[" * 200 + "]" * 200, "1"), "functional", None),
        (written("1 2", ""), "stdin", None),
        (written("1 2", "3") + "\nI hope so.", "stdin", None),
        ("Input:\n1 2\nOutput:\n3", "stdin", None),
        ("Input:\n```\n1 2\n```", "stdin", None),
        ("Output:\n```\n3\n```\nInput:\n```\n1 2\n```", "stdin", None),
        (written("1 2", "x" * 20_000), "stdin", None),
        ("", "stdin", None),
    ],
)
def test_the_test_at_the_end_of_an_answer_is_read_strictly(text, kind, test):
    assert parse_test(text, kind) == test


def critic(*answers, tests=2, **model):
    scripted = ScriptedModel(answers, **model)
    return UnitTestCritic(scripted, Sampling(max_tokens=50), None, grader(), tests)


def rollout(code, success, task=TASK):
    turn = Turn("observation", fenced(code) if code else "no program", "", float(success))
    return Trajectory(task, 0, [turn], stop="solved" if success else "failed")


def judged(judge, *rollouts):
    episodes = [trajectory.episode() for trajectory in rollouts]
    made = judge.judgements(episodes)
    for trajectory, episode, judgements in zip(rollouts, episodes, made, strict=True):
        trajectory.votes, trajectory.summary = judge.verdict(episode, judgements)
    return Group(list(rollouts), made)


def test_the_critic_sees_the_statement_and_nothing_else_of_the_problem():
    judge = critic(written("1 2", "3"), written("-1 0", "-1"))
    judged(judge, rollout(RIGHT, True), rollout(PRODUCT, False))
    (sent,) = judge.model.sent
    assert sent[-1]["content"] == SUM.statement
    text = "".join(message["content"] for message in sent)
    for hidden in ("42", "20 22", "5 6", "map(int", "a + b"):
        assert hidden not in text


def test_votes_are_what_the_programs_do_on_the_written_tests():
    judge = critic(written("1 2", "3"), written("-1 0", "-1"), "no test", tests=3)
    group = judged(
        judge, rollout(RIGHT, True), rollout(PRODUCT, False), rollout(ABSOLUTE, False), rollout("", False)
    )
    assert [t.votes for t in group.trajectories] == [
        ((1, 1, 0),), ((-1, -1, 0),), ((1, -1, 0),), ((-1, -1, 0),),
    ]  # fmt: skip
    assert group.trajectories[0].summary == ""
    assert group.trajectories[2].summary == (
        "The program fails 1 of 2 written tests. One gives '-1 0' and expects '-1'."
    )


def test_every_task_gets_tests_of_its_own():
    other = Task(TASK.env_id, {"size": 1}, {"problem": FUNCTION.to_dict()})
    judge = critic(written("1 2", "3"), written("1\n2", "3"), tests=1)
    add = "def add(a, b):\n    return a + b"
    group = judged(judge, rollout(RIGHT, True), rollout(add, True, other), rollout(add, False))
    assert [t.votes for t in group.trajectories] == [((1,),), ((1,),), ((-1,),)]


def test_a_problem_that_cannot_be_asked_about_gets_no_votes():
    suite = Problem.unittest("Write f.", "f", "class TestCases: ...")
    judge = critic()
    group = judged(judge, rollout("x = 1", False, Task(TASK.env_id, {}, {"problem": suite.to_dict()})))
    assert group.trajectories[0].votes == ()
    judge = critic(context_length=100)
    group = judged(judge, rollout(RIGHT, True))
    assert group.judgements == [[]]
    assert unit_test_items([group], ObjectiveConfig(critic_accuracy=(0.0, 1.0))) == []
    assert mean_unit_test_quality([group]) is None


def test_training_prefers_the_test_that_tells_right_from_wrong():
    judge = critic(written("-1 0", "-1"), written("2 2", "4"), written("1 1", "3"), "no test", tests=4)
    group = judged(judge, rollout(RIGHT, True), rollout(PRODUCT, False), rollout(ABSOLUTE, False))
    sharp, blunt, untrue, unreadable = unit_test_items([group], ObjectiveConfig())
    values = [set(item.advantages) for item in (sharp, blunt, untrue, unreadable)]
    assert all(len(value) == 1 for value in values)
    (a,), (b,), (c,), (d,) = values
    assert a > b == c > d  # rewards 2, 0, 0 and -3
    assert mean_unit_test_quality([group]) == (0.5, 0.25)


def test_groups_out_of_range_or_without_a_right_program_train_nothing():
    judge = critic(written("1 2", "3"), written("1 2", "4"))
    group = judged(judge, rollout(PRODUCT, False), rollout(ABSOLUTE, False))
    assert unit_test_items([group], ObjectiveConfig()) == []
    assert unit_test_items([group], ObjectiveConfig(critic_accuracy=(0.0, 1.0))) == []


def test_a_share_of_the_tests_counts_in_the_policys_reward():
    shares = (0.0, 0.25, 0.75)
    rollouts = [
        Trajectory(TASK, 0, [Turn("", "", "", share)], stop="failed", votes=((),)) for share in shares
    ]
    group = Group([*rollouts, rollout(RIGHT, True)], [[]] * 4)
    score(group, ObjectiveConfig(), trains=True)
    assert group.rewards == [[-1.0], [-0.5], [0.5], [1.0]]


def test_tests_that_differ_in_blanks_only_are_repeats_of_one():
    one, same, other = (
        UnitTestJudgement(None, test=Case(*pair))
        for pair in (("1 2\n", "3"), (" 1   2 \n\n", "3\n"), ("1\n2\n", "3"))
    )
    assert one.key == same.key != other.key
    assert UnitTestJudgement(None).key is None
