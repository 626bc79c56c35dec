"""What a run says is wrong with it reaches its report."""

import json

import pytest

from rla_agents.report import write_report
from rla_agents.report.alarms import training_alarms
from rla_agents.report.run import Run
from tests.parsed_page import Page
from tests.rla_agents.fake_run import fake_run


def run_of(events=(), metrics=()):
    rows = [{"iteration": i, **row} for i, row in enumerate(metrics)]
    return Run(
        "run", events=[dict(zip(("iteration", "event"), e, strict=True)) for e in events], metrics=rows
    )


def said(run):
    return [(alarm.title.split(":")[0], alarm.when, alarm.over) for alarm in training_alarms(run)]


@pytest.mark.parametrize(
    ("events", "when", "over"),
    [
        ([(3, "stalled")], "since iteration 3", False),
        ([(3, "stalled"), (5, "recovered")], "iteration 3 to 5", True),
        (
            [(3, "stalled"), (5, "recovered"), (8, "stalled")],
            "since iteration 8; the 2 times so far began in iteration 3, 8",
            False,
        ),
        ([(2, "recovered"), (3, "stalled"), (4, "edit_accepted")], "since iteration 3", False),
    ],
)
def test_a_stall_lasts_until_it_ends(events, when, over):
    assert said(run_of(events)) == [("The curriculum stalled", when, over)]


@pytest.mark.parametrize(
    ("ending", "over"), [("critic_trusted", True), ("critic_unproven", True), ("x", False)]
)
def test_a_critic_is_ignored_until_it_is_not(ending, over):
    (alarm,) = training_alarms(run_of([(1, "critic_ignored"), (4, ending)]))
    assert alarm.title.startswith("The critic is ignored")
    assert alarm.over == over


def test_broken_episodes_and_updates_are_counted_and_last_while_the_last_iteration_has_them():
    metrics = [
        {"infrastructure_errors": 2, "policy/skipped": 0, "critic/skipped": 1},
        {"infrastructure_errors": 0, "policy/skipped": 3, "critic/skipped": 0, "policy/loss": None},
    ]
    found = {alarm.title: alarm.over for alarm in training_alarms(run_of(metrics=metrics))}
    assert found == {
        "3 of the policy's updates left out: the loss or its gradient was not finite": False,
        "The machinery broke 2 episode(s) for good; they are not scored": True,
        "1 of the critic's updates left out: the loss or its gradient was not finite": True,
    }
    assert list(found.values()) == [False, True, True]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_figures_that_are_not_finite_are_named(value):
    (alarm,) = training_alarms(run_of(metrics=[{"policy/loss": 1.0}, {"policy/loss": value, "tokens": 3}]))
    assert (alarm.title, alarm.detail, alarm.over) == ("Figures that are not finite", "policy/loss", False)


def test_a_sound_run_has_none():
    assert training_alarms(run_of()) == []
    events = [(0, "edit_proposed"), (1, "critic_trusted"), (2, "recovered")]
    assert training_alarms(run_of(events, [{"policy/skipped": 0, "infrastructure_errors": 0}])) == []


def test_the_report_shows_them(tmp_path):
    fake_run(tmp_path, iterations=4)
    with (tmp_path / "events.jsonl").open("a") as file:
        for row in (
            {"iteration": 1, "event": "stalled", "reason": "15 of 16 groups were wasted"},
            {"iteration": 2, "event": "critic_ignored", "reason": "votes say <b>nothing</b>"},
        ):
            file.write(json.dumps(row) + "\n")
    page = Page(write_report(tmp_path).read_text(encoding="utf-8"))
    for words in ("The curriculum stalled", "15 of 16 groups were wasted", "votes say <b>nothing</b>"):
        assert words in page.text
    assert sum(attributes.get("class") == "open" for _, attributes in page.tags) == 2
