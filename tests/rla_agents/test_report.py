"""The report says what is in the run folder, keeps text as text, and asks nothing of the network."""

import json
import re

import pytest
from scipy.stats import binomtest

from rla_agents.report import write_report
from rla_agents.report.charts import Series, line_chart
from rla_agents.report.sections import in_words
from rla_agents.report.stats import trailing_mean, wilson
from rla_agents.report.trajectories import LIMIT
from rla_envs.errors import InputError
from tests.parsed_page import Page
from tests.rla_agents.fake_run import HOSTILE, fake_run


def page_of(folder):
    return Page(write_report(folder).read_text(encoding="utf-8"))


def change_rows(path, change):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(change(row)) + "\n" for row in rows))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return fake_run(tmp_path_factory.mktemp("runs") / "demo", iterations=12, episodes=4)


@pytest.fixture(scope="module")
def page(run):
    return page_of(run)


def test_the_header_says_what_ran(page):
    for words in (
        "RLA/AlfWorld-v0, engine textworld",
        "tiny, 3 votes a step",
        "threshold",
        "12 of 12",
        "torch 2.13.0",
    ):
        assert words in page.text
    assert "16 tasks × 8 episodes" in page.text


def test_held_out_success_is_shown_with_counts_and_intervals(run, page):
    result = json.loads((run / "evaluation.json").read_text())
    for side in ("before", "after"):
        for decoding in ("sampled", "greedy"):
            got = result[side][decoding]
            assert f"({round(got['success'] * got['n'])}/{got['n']})" in page.text
            assert f"{100 * got['success']:.1f}%" in page.text
    gain = 100 * (result["after"]["sampled"]["success"] - result["before"]["sampled"]["success"])
    assert f"{gain:+.1f} points on 504 games" in page.text
    assert "pick_two_obj_and_place, after" in page.text
    rows = [json.loads(line) for line in (run / "traces.jsonl").read_text().splitlines()]
    trained = {row["difficulty"].get("task_type") for row in rows if row["phase"] == "train"}
    kinds = len(trained) if len(trained) > 1 else 0
    # Before and after, sampled and greedy, overall and for four types; and training success by type.
    assert sum(attributes.get("class") == "whisker" for _, attributes in page.tags) == 4 + 2 * 2 * 4 + kinds


def test_every_difficulty_parameter_and_accuracy_has_a_chart(page):
    charts = [attributes["aria-label"] for tag, attributes in page.tags if tag == "svg"]
    for title in ("receptacles", "objects", "closed_share", "step_budget", "Critic accuracy per iteration"):
        assert title in charts
    assert "KL to the model before the update" in charts
    assert "against the optimal-plan oracle, iteration 11" in page.text


def test_edits_are_listed_with_direction_change_and_verdict(run, page):
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    accepted = [event for event in events if event["event"] == "edit_accepted"]
    rejected = [event for event in events if event["event"] == "edit_rejected"]
    assert f"{len(accepted)} accepted, {len(rejected)} rejected, 1 waiting" in page.text
    assert page.text.count("hide target object apple 1, receptacle fridge 1") == len(accepted) + len(rejected)
    assert f"{100 * accepted[0]['success_after']:.1f}%" in page.text


def test_the_viewer_holds_each_steps_votes_and_advantage(run, page):
    rows = [json.loads(line) for line in (run / "traces.jsonl").read_text().splitlines()]
    assert len(rows) == len(page.episodes) == 60 + 12 * 4 + 60
    assert "All of them are shown" in page.text
    for row, episode in zip(rows, page.episodes, strict=True):
        assert episode["goal"] == "put a clean apple in fridge."
        assert episode["outcome"] == ("won" if row["success"] else "lost")
        for step, shown in zip(row["steps"], episode["steps"], strict=True):
            assert (shown["action"], shown["next"]) == (step["action"], step["next_observation"])
            assert (shown["votes"], shown["oracle"]) == (step["votes"], step["oracle"])
            assert (shown["reward"], shown["advantage"]) == (step["reward"], step["advantage"])


def test_numbers_of_difficulty_values_become_their_names(run, tmp_path):
    fake_run(tmp_path, iterations=1)
    change_rows(
        tmp_path / "traces.jsonl", lambda row: {**row, "difficulty": {"task_type": 5, "receptacles": 7}}
    )
    episode = page_of(tmp_path).episodes[0]
    assert episode["difficulty"] == {"task_type": "pick_two_obj_and_place", "receptacles": "7"}
    assert episode["type"] == "pick_two_obj_and_place"


def test_named_values_are_categories_and_have_no_mean(tmp_path):
    fake_run(tmp_path, iterations=3)
    kinds = iter(range(10**6))
    change_rows(
        tmp_path / "traces.jsonl",
        lambda row: {**row, "difficulty": {"task_type": next(kinds) % 2, "receptacles": 7}},
    )
    rows = [json.loads(line) for line in (tmp_path / "traces.jsonl").read_text().splitlines()]
    page = page_of(tmp_path)
    charts = [attributes["aria-label"] for tag, attributes in page.tags if tag == "svg"]
    assert "receptacles" in charts
    assert "task_type" not in charts
    assert "Success by task_type" in charts
    for kind, name in enumerate(("pick_and_place_simple", "look_at_obj_in_light")):
        played = [r for r in rows if r["phase"] == "train" and r["difficulty"]["task_type"] == kind]
        won = sum(row["success"] for row in played)
        assert name in page.text
        assert f"{100 * won / len(played):.1f}% ({won}/{len(played)})" in " ".join(page.text.split())


def test_of_many_episodes_a_stated_choice_is_embedded(tmp_path):
    page = page_of(fake_run(tmp_path, iterations=30, episodes=32))
    assert len(page.episodes) <= LIMIT
    assert len(page.episodes) > LIMIT * 0.9
    assert f"{len(page.episodes)} of {60 + 30 * 32 + 60} are shown" in page.text
    training = [episode for episode in page.episodes if episode["phase"] == "train"]
    assert {0, 29} <= {episode["iteration"] for episode in training}
    for group in ("train", "eval_before", "eval_after"):
        outcomes = [episode["outcome"] == "won" for episode in page.episodes if episode["phase"] == group]
        assert 0.4 < sum(outcomes) / len(outcomes) < 0.6


def hostile(value):
    """Return the value with every string in it made hostile; keys and known words stay."""
    if isinstance(value, dict):
        kept = ("event", "phase", "pending_id", "stop")
        return {key: item if key in kept else hostile(item) for key, item in value.items()}
    if isinstance(value, list):
        return [hostile(item) for item in value]
    return HOSTILE if isinstance(value, str) else value


def test_hostile_text_stays_text_everywhere(run, page, tmp_path):
    fake_run(tmp_path, iterations=12, episodes=4)
    for name in ("traces.jsonl", "events.jsonl"):
        change_rows(tmp_path / name, hostile)
    change_rows(tmp_path / "metrics.jsonl", lambda row: {**row, f"difficulty/{HOSTILE}": 1.0})
    result = json.loads((tmp_path / "evaluation.json").read_text())
    result["grid"] = {HOSTILE: HOSTILE}
    result["after"]["sampled"]["by_type"][HOSTILE] = [1, 2]
    (tmp_path / "evaluation.json").write_text(json.dumps(result))
    (tmp_path / "versions.json").write_text(json.dumps({HOSTILE: HOSTILE}))
    with (tmp_path / "config.toml").open("a") as file:
        file.write(f"# {HOSTILE}\n[other]\nname = {json.dumps(HOSTILE)}\n")
    attacked = page_of(tmp_path)
    assert len(attacked.scripts) == len(page.scripts) == 2
    assert {tag for tag, _ in attacked.tags} == {tag for tag, _ in page.tags}
    assert attacked.scripts[1] == page.scripts[1]
    assert attacked.episodes[0]["steps"][0]["action"] == HOSTILE
    assert HOSTILE in attacked.text


def test_the_viewer_writes_text_and_never_markup(page):
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", page.scripts[1])


def test_the_page_needs_nothing_but_itself(page):
    for tag, attributes in page.tags:
        assert tag not in ("link", "iframe", "img", "object", "embed", "base", "form") or tag == "form"
        for name in ("src", "href", "action", "data", "srcset", "xlink:href"):
            assert attributes.get(name, "#").startswith("#")
    html = " ".join(page.scripts)
    assert "fetch(" not in html
    assert any(a.get("content", "").startswith("default-src 'none'") for tag, a in page.tags if tag == "meta")


@pytest.mark.parametrize("iterations", [0, 1])
def test_a_run_that_has_hardly_begun_gives_a_page(tmp_path, iterations):
    page = page_of(fake_run(tmp_path, iterations=iterations))
    assert ("No iterations yet." in page.text) == (iterations == 0)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("evaluation.json", "The held-out evaluation is not there yet."),
        ("metrics.jsonl", "metrics.jsonl is missing."),
        ("traces.jsonl", "No episodes were recorded."),
        ("events.jsonl", "No edit was decided."),
        ("versions.json", "not recorded"),
        ("config.toml", "config.toml could not be read"),
    ],
)
def test_a_missing_file_is_said_and_the_rest_is_shown(tmp_path, name, said):
    fake_run(tmp_path, iterations=2)
    (tmp_path / name).unlink()
    assert said in page_of(tmp_path).text


def test_an_evaluation_without_its_end_shows_the_start(tmp_path):
    fake_run(tmp_path, iterations=1)
    result = json.loads((tmp_path / "evaluation.json").read_text())
    (tmp_path / "evaluation.json").write_text(json.dumps({"grid": None, "before": result["before"]}))
    page = page_of(tmp_path)
    assert "before training only" in page.text
    assert "sampled, after" not in page.text


def test_evaluations_during_training_are_drawn_and_broken_episodes_counted(tmp_path):
    fake_run(tmp_path, iterations=9)
    result = json.loads((tmp_path / "evaluation.json").read_text())
    result["iteration_4"] = {"sampled": {"success": 0.45, "n": 100, "errors": 3, "by_type": {}}}
    result["after"]["greedy"] = {"success": None, "n": 0, "errors": 4, "by_type": {}}
    (tmp_path / "evaluation.json").write_text(json.dumps(result))
    page = page_of(tmp_path)
    assert "sampled, iteration 4: 45%" in page.text
    assert "7 episodes broke for good" in page.text


def test_an_episode_that_the_machinery_broke_is_neither_solved_nor_not(tmp_path):
    fake_run(tmp_path, iterations=1)
    change_rows(
        tmp_path / "traces.jsonl", lambda row: {**row, "success": False, "stop": "error", "outcome": None}
    )
    assert {episode["outcome"] for episode in page_of(tmp_path).episodes} == {"broken"}


def test_a_line_cut_by_a_kill_is_left_out_and_others_are_counted(tmp_path):
    fake_run(tmp_path, iterations=3)
    for name in ("metrics.jsonl", "traces.jsonl", "events.jsonl"):
        path = tmp_path / name
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join([lines[0], "not json\n", *lines[1:], lines[-1][:40]]))
    page = page_of(tmp_path)
    assert len(page.episodes) == 60 + 3 * 8 + 60
    assert "3 of 3" in page.text
    assert page.text.count("1 unreadable line(s)") == 3


def test_values_that_are_no_numbers_leave_gaps(tmp_path):
    fake_run(tmp_path, iterations=3)
    change_rows(
        tmp_path / "metrics.jsonl", lambda row: {**row, "policy/loss": float("nan"), "policy/success": None}
    )
    page = page_of(tmp_path)
    assert "No iterations yet." in page.text
    assert not any("nan" in str(attributes).lower() for tag, attributes in page.tags if tag == "polyline")


def test_very_long_text_and_lone_surrogates_do_not_stop_the_page(tmp_path):
    fake_run(tmp_path, iterations=1)
    change_rows(tmp_path / "traces.jsonl", lambda row: {**row, "prompt": "\ud800" + "x" * 100_000})
    change_rows(tmp_path / "events.jsonl", lambda row: {**row, "reason": "\ud800"})
    assert "more characters)" in page_of(tmp_path).episodes[0]["prompt"]


@pytest.mark.parametrize(
    "make", [lambda path: None, lambda path: path.mkdir(), lambda path: path.write_text("")]
)
def test_what_is_no_run_folder_is_refused(tmp_path, make):
    make(tmp_path / "run")
    with pytest.raises(InputError, match=f"run {tmp_path / 'run'}: expected"):
        write_report(tmp_path / "run")
    assert not (tmp_path / "run" / "report.html").exists()


def test_the_report_is_the_same_each_time(run):
    assert write_report(run).read_bytes() == write_report(run).read_bytes()


@pytest.mark.parametrize(("wins", "n"), [(0, 1), (1, 1), (0, 20), (7, 20), (20, 20), (190, 504), (1, 10_000)])
def test_wilson_agrees_with_scipy(wins, n):
    expected = binomtest(wins, n).proportion_ci(method="wilson")
    rate = wilson(wins, n)
    assert (rate.low, rate.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_without_trials_knows_nothing_and_refuses_nonsense():
    assert wilson(0, 0)[2:] == (0.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="wins=3, n=2"):
        wilson(3, 2)


def test_the_trailing_mean_passes_over_gaps():
    assert trailing_mean([1, 2, None, 6, None, None], 2) == [1, 1.5, 2, 6, 6, None]


def test_a_line_chart_puts_values_where_they_belong():
    chart = Page(str(line_chart("t", [0, 1, 2], [Series("a", [0.0, None, 1.0])], size=(200, 100))))
    (low_x, low_y), (high_x, high_y) = (
        (float(a["cx"]), float(a["cy"])) for tag, a in chart.tags if tag == "circle"
    )
    assert low_x < high_x
    assert low_y > high_y
    assert len([tag for tag, _ in chart.tags if tag == "polyline"]) == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            [{"op": "hide_target", "object": "mug 1", "into": "drawer 2"}],
            "hide target object mug 1, into drawer 2",
        ),
        ([{"op": "a"}, {"op": "b"}], "a; b"),
        ({"receptacles": [4, 6], "closed": [0.25, 0.5]}, "receptacles 4 → 6, closed 0.25 → 0.5"),
        ("as it says", "as it says"),
        (None, ""),
    ],
)
def test_changes_are_put_into_words(changes, words):
    assert in_words(changes) == words
