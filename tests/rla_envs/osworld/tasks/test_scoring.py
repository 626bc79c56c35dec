"""Scores follow OSWorld's rules; what is not the agent's doing is never a score."""

import pytest

from rla_envs.errors import InfrastructureError, InputError
from rla_envs.osworld.actions.action import Action
from rla_envs.osworld.desktop.base import Completed
from rla_envs.osworld.tasks import evaluate, parse_task
from tests.rla_envs.osworld.tasks.fake_desktop import FakeDesktop

RULE = {"type": "rule", "rules": {"expected": "yes"}}

ONE = {"func": "exact_match", "result": {"type": "vm_command_line", "command": "a"}, "expected": RULE}


def task_with(files=None, **evaluator):
    task = {"id": "7", "instruction": "Do it.", "evaluator": evaluator}
    return parse_task(task, files=files, applications=["soffice"])


def asking(*commands, conj="and"):
    """Return a task with one metric for each command, which must say yes."""
    return task_with(
        func=["exact_match"] * len(commands),
        result=[{"type": "vm_command_line", "command": command} for command in commands],
        expected=[RULE] * len(commands),
        conj=conj,
    )


@pytest.mark.parametrize(
    ("conj", "said", "score"),
    [
        ("and", ["yes", "yes"], 1.0),
        ("and", ["yes", "no"], 0.0),
        ("and", ["no", "yes"], 0.0),
        ("or", ["yes", "no"], 1.0),
        ("or", ["no", "yes"], 1.0),
        ("or", ["no", "no"], 0.0),
    ],
)
def test_and_needs_every_metric_and_or_one(conj, said, score):
    desktop = FakeDesktop(answers={"a": said[0], "b": said[1]})
    scored = evaluate(desktop, asking("a", "b", conj=conj), ["DONE"])
    assert scored.score == score
    assert scored.checkpoints == tuple(float(each == "yes") for each in said)


@pytest.mark.parametrize(("conj", "score"), [("and", 0.75), ("or", 1.0)])
def test_and_is_the_mean_of_partial_scores_and_or_the_highest(conj, score):
    task = task_with(
        func=["fuzzy_match", "exact_match"],
        result=[{"type": "vm_command_line", "command": "a"}, {"type": "vm_command_line", "command": "b"}],
        expected=[{"type": "rule", "rules": {"expected": "abcd"}}, RULE],
        conj=conj,
    )
    scored = evaluate(FakeDesktop(answers={"a": "abxx", "b": "yes"}), task, [])
    assert scored.checkpoints == (0.5, 1.0)
    assert scored.score == score
    assert scored.details == "fuzzy_match 0.5, exact_match 1"


@pytest.mark.parametrize(
    ("history", "score"),
    [([], 0.0), (["FAIL"], 1.0), (["DONE"], 0.0), (["FAIL", "DONE"], 0.0), ([Action(special="FAIL")], 1.0)],
)
def test_an_infeasible_task_is_done_by_saying_so_last(history, score):
    scored = evaluate(FakeDesktop(), task_with(func="infeasible"), history)
    assert (scored.score, scored.checkpoints) == (score, (score,))


@pytest.mark.parametrize("last", ["FAIL", Action(special="FAIL")])
def test_giving_up_a_feasible_task_scores_nothing_even_if_it_is_done(last):
    desktop = FakeDesktop(answers={"a": "yes", "b": "yes"})
    assert evaluate(desktop, asking("a", "b"), ["DONE", last]).score == 0.0
    assert evaluate(desktop, asking("a", "b"), [last, "DONE"]).score == 1.0


def comparing(files=None, conj="and", **result):
    return task_with(
        files=files,
        func="compare_text_file",
        conj=conj,
        result={"type": "vm_file", "path": "/home/user/a.txt", "dest": "a.txt", **result},
        expected={"type": "cloud_file", "path": "data:,gold", "dest": "gold.txt"},
    )


def test_a_file_is_compared_with_the_reference_and_a_missing_one_scores_nothing():
    assert evaluate(FakeDesktop(files={"/home/user/a.txt": b"gold"}), comparing(), []).score == 1.0
    assert evaluate(FakeDesktop(files={"/home/user/a.txt": b"cold"}), comparing(), []).score == 0.0
    assert evaluate(FakeDesktop(), comparing(), []).score == 0.0


def test_a_reference_that_is_lost_is_no_score(tmp_path):
    (tmp_path / "a.org").mkdir()
    (tmp_path / "a.org" / "gold.txt").touch()
    task = task_with(
        files=tmp_path,
        func="compare_text_file",
        result={"type": "vm_file", "path": "a.txt", "dest": "a.txt"},
        expected={"type": "cloud_file", "path": "https://a.org/gold.txt", "dest": "gold.txt"},
    )
    (tmp_path / "a.org" / "gold.txt").unlink()
    with pytest.raises(InfrastructureError, match=r"a file of the task cannot be read: https://a\.org/gold"):
        evaluate(FakeDesktop(files={"/home/user/a.txt": b"x"}), task, [])


def test_a_task_that_is_not_runnable_is_refused(tmp_path):
    opening = [{"type": "chrome_open_tabs", "parameters": {"urls_to_open": ["https://a.org"]}}]
    for more in ({"postconfig": opening}, {"func": "is_vlc_playing"}):
        task = task_with(**{**ONE, **more})
        with pytest.raises(InputError, match="task 7 is not runnable"):
            evaluate(FakeDesktop(), task, [])


def test_rules_that_the_metric_cannot_use_are_no_score():
    task = task_with(
        func="exact_match",
        result={"type": "vm_command_line", "command": "a"},
        expected={"type": "rule", "rules": {"expcted": "yes"}},
    )
    with pytest.raises(InfrastructureError, match="task 7 cannot be scored: .*expected"):
        evaluate(FakeDesktop(), task, [])


def test_a_desktop_lost_while_scoring_is_no_score():
    desktop = FakeDesktop()
    desktop.lost = True
    for task in (asking("a"), comparing(), task_with(func="infeasible")):
        with pytest.raises(InfrastructureError, match="does not answer"):
            evaluate(desktop, task, ["FAIL"])


SAVE = [
    {"type": "activate_window", "parameters": {"window_name": "a.txt", "strict": True}},
    {"type": "execute", "parameters": {"command": ["save", "{SCREEN_WIDTH}"]}},
]


def test_the_steps_before_the_evaluation_come_before_anything_is_looked_at():
    desktop = FakeDesktop(titles=["a.txt"], files={"/home/user/a.txt": b"gold"})
    task = task_with(**{**comparing().to_json()["evaluator"], "postconfig": SAVE})
    assert evaluate(desktop, task, []).score == 1.0
    kinds = [call[0] for call in desktop.calls if call[0] != "observe"]
    assert kinds == ["activate_window", "execute", "read_file"]
    assert desktop.asked("execute") == [(["save", "1280"], False)]


def test_a_window_that_the_agent_closed_is_told_and_holds_up_nothing():
    desktop = FakeDesktop(
        files={"/home/user/a.txt": b"gold"}, answers={"save 1280": Completed(1, "", "no window")}
    )
    task = task_with(**{**comparing().to_json()["evaluator"], "postconfig": SAVE})
    scored = evaluate(desktop, task, [])
    assert scored.score == 1.0
    assert scored.details == (
        "compare_text_file 1; evaluator.postconfig[0] (activate_window): there is no window 'a.txt'; "
        "windows: none; evaluator.postconfig[1] (execute): the command ended with 1: no window"
    )


def test_a_file_of_the_task_that_is_lost_before_the_evaluation_is_no_score(tmp_path):
    (tmp_path / "a.org").mkdir()
    (tmp_path / "a.org" / "eval.sh").touch()
    lost = {"files": [{"url": "https://a.org/eval.sh", "path": "eval.sh"}]}
    task = task_with(files=tmp_path, **ONE, postconfig=[{"type": "download", "parameters": lost}])
    (tmp_path / "a.org" / "eval.sh").unlink()
    with pytest.raises(InfrastructureError, match=r"postconfig\[0\] \(download\): https://a\.org/eval\.sh"):
        evaluate(FakeDesktop(), task, [])


def test_the_output_of_a_command_before_the_evaluation_can_be_the_result():
    task = task_with(
        func="compare_text_file",
        result={"type": "cache_file", "path": "out/list.txt"},
        expected={"type": "cloud_file", "path": "data:,gold", "dest": "gold.txt"},
        postconfig=[{"type": "execute", "parameters": {"command": ["list"], "stdout": "out/list.txt"}}],
    )
    assert evaluate(FakeDesktop(answers={"list": "gold"}), task, []).score == 1.0
    assert evaluate(FakeDesktop(answers={"list": "iron"}), task, []).score == 0.0
