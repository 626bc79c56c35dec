"""A run's page, table and comparison say the same, keep text as text, and refuse what cannot be compared."""

import csv
import dataclasses
import io
import itertools
import json
import re
import shutil
import subprocess

import pytest

from benchmarks.bench import compare, table
from benchmarks.bench.report import write_report
from benchmarks.bench.results import read_results
from benchmarks.bench.schema import Threshold
from benchmarks.bench.statistics import paired
from benchmarks.bench.summary import success
from rla_agents.cli import main
from rla_agents.report.difficulty import by_difficulty
from rla_agents.report.stats import wilson
from rla_agents.report.trajectories import LIMIT
from rla_envs.errors import InputError
from tests.benchmarks.bench.bench_runs import CONFIG, HOSTILE, episode, ten, write_run
from tests.parsed_page import Page

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def page_of(folder, **arguments):
    return Page(write_report(folder, **arguments).read_text(encoding="utf-8"))


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run", ten())


def rows(results):
    return table.table_rows(results)


def test_every_output_has_the_same_denominator_and_errors_by_kind(run):
    text = page_of(run).text
    assert "66.7% (6/9)" in text
    assert "6 of 9 scored episodes" in text
    assert "The agent failed (counted as lost): 1" in text
    assert "The machinery failed (not scored): 1" in text
    assert "Incomplete: the machinery broke 1, which are not scored." in text
    summary = json.loads((run / "summary.json").read_text())
    assert (summary["success"]["wins"], summary["success"]["n"], summary["complete"]) == (6, 9, False)
    header, row = rows([read_results(run)])
    shown = dict(zip(header, row, strict=True))
    assert (shown["success"], shown["agent errors"], shown["not scored"]) == ("66.7% (6/9)", "1", "1")
    assert shown["complete"] == "INCOMPLETE"
    for render in table.FORMATS.values():
        assert "66.7% (6/9)" in render([header, row])
    assert "66.7% (6/9), 1 agent errors, 1 not scored" in "\n".join(
        compare.in_text(compare.compare_runs(run, run))
    )


def test_a_run_in_which_everything_failed_shows_no_figure(tmp_path):
    run = write_run(tmp_path / "run", [episode(i, "infrastructure") for i in range(10)])
    shown = dict(zip(*rows([read_results(run)]), strict=True))
    for column in ("95% Wilson", "95% by task", "steps", "tokens written", "agent s"):
        assert shown[column] == "–"
    assert shown["success"] == "– (0/0)"
    assert "No scored" not in page_of(run).text


def test_claims_are_shown_apart_and_never_counted(tmp_path):
    run = write_run(tmp_path / "run", [episode(i, "failed", claim=True) for i in range(10)])
    shown = dict(zip(*rows([read_results(run)]), strict=True))
    assert (shown["success"], shown["false claims"]) == ("0.0% (0/10)", "10")
    assert "lost episodes that the agent calls solved" in page_of(run).text


def test_an_unfinished_run_and_a_changed_summary_are_said(tmp_path):
    run = write_run(tmp_path / "run", ten()[:4], summary=False)
    assert "Incomplete: 6 of 10 episodes were not played." in page_of(run).text
    done = write_run(tmp_path / "done", [episode(i) for i in range(10)])
    assert "Incomplete" not in page_of(done).text
    summary = json.loads((done / "summary.json").read_text())
    summary["success"]["wins"] = 3
    (done / "summary.json").write_text(json.dumps(summary))
    assert "summary.json does not match the traces" in page_of(done).text


def test_hostile_text_stays_text_in_every_output(tmp_path, capsys):
    plain = page_of(write_run(tmp_path / "plain", ten()))
    hostile = []
    for trace in ten():
        steps = tuple(
            dataclasses.replace(
                step,
                observation=HOSTILE,
                action={HOSTILE: HOSTILE},
                error=HOSTILE,
                details={HOSTILE: HOSTILE},
            )
            for step in trace.steps
        )
        error = HOSTILE if trace.error else ""
        difficulty = {HOSTILE: trace.difficulty["doors"], "kind": HOSTILE + trace.difficulty["kind"]}
        hostile.append(
            dataclasses.replace(
                trace,
                steps=steps,
                error=error,
                final=HOSTILE,
                task_id=HOSTILE,
                cell=HOSTILE,
                difficulty=difficulty,
            )
        )
    config = dataclasses.replace(CONFIG, suite=HOSTILE, agent=HOSTILE, stamps={"a": HOSTILE})
    run = write_run(tmp_path / "hostile", hostile, config)
    attacked = page_of(run, against=run)
    assert len(attacked.scripts) == len(plain.scripts) == 2
    assert {tag for tag, _ in attacked.tags} == {tag for tag, _ in plain.tags}
    assert not any(name.startswith("on") for _, attributes in attacked.tags for name in attributes)
    assert attacked.scripts[1] == plain.scripts[1]
    assert json.loads(attacked.scripts[0])[0]["steps"][0]["error"] == HOSTILE
    assert "49" not in re.sub(r"[\d.,–]{3,}", "", attacked.text.split("Success")[0])
    result = [read_results(run)]
    assert len(table.markdown(rows(result)).splitlines()) == 3
    assert "<script" not in table.markdown(rows(result)).replace("\\<", "")
    assert "<script" not in table.html_table(rows(result))
    assert compare.compare([str(run), str(run)]) == 0
    assert "\u2028" not in capsys.readouterr().out


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", 'a,"b"\n'])
def test_csv_is_read_back_and_is_no_formula(tmp_path, text):
    run = write_run(tmp_path / "run", ten(), dataclasses.replace(CONFIG, agent=text))
    (header, row) = csv.reader(io.StringIO(table.comma_separated(rows([read_results(run)]))))
    agent = dict(zip(header, row, strict=True))["agent"]
    assert agent == (text if text[0] == "a" else f"'{text}")


def test_the_page_needs_nothing_but_itself(run):
    page = page_of(run)
    for tag, attributes in page.tags:
        assert tag not in ("link", "iframe", "img", "object", "embed", "base")
        for name in ("src", "href", "action", "data", "srcset"):
            assert attributes.get(name, "#").startswith("#")
    assert any(a.get("content", "").startswith("default-src 'none'") for tag, a in page.tags if tag == "meta")


def test_the_viewer_has_what_each_step_saw_did_and_was_told(run):
    first = json.loads(page_of(run).scripts[0])[0]
    assert first["goal"] == "leave the room."
    assert first["steps"][0] == {
        "action": "open red",
        "next": "Nothing happens.",
        "screenshot": "",
        "error": "it is locked",
        "votes": [],
        "oracle": None,
        "reward": 0.0,
        "advantage": None,
        "verdict": "",
    }
    last = first["steps"][1]
    assert (last["next"], last["verdict"], last["votes"]) == ("You are outside.", "passed: true", [1, 0, -1])


def test_of_many_episodes_failures_and_an_equal_share_of_cells_are_embedded(tmp_path):
    traces = [episode(i, "solved" if i % 3 else "failed", cell=f"cell {i % 4}") for i in range(2 * LIMIT)]
    traces.append(episode(2 * LIMIT, "agent_error", cell="cell 0"))
    page = page_of(write_run(tmp_path / "run", traces))
    episodes = json.loads(page.scripts[0])
    assert len(episodes) == LIMIT
    assert f"{LIMIT} of {2 * LIMIT + 1} are shown" in page.text
    cells = [entry["phase"] for entry in episodes]
    assert max(map(cells.count, set(cells))) - min(map(cells.count, set(cells))) < 12
    links = {a["href"] for tag, a in page.tags if tag == "a" and a["href"].startswith("#trace-")}
    assert links <= {f"#trace-{entry['place']}" for entry in episodes}
    assert f"#trace-{2 * LIMIT}" in links


@pytest.mark.parametrize("command", ["report", "export"])
def test_commands_for_training_runs_refuse_a_benchmark_in_one_line(run, capsys, command):
    assert main([command, str(run)]) == 2
    assert "expected the folder of a training run, got a benchmark's" in capsys.readouterr().err
    assert not (run / "report.html").exists()


def test_a_threshold_is_shown_with_its_interval_and_ladder(tmp_path):
    run = write_run(tmp_path / "run", ten())
    summary = json.loads((run / "summary.json").read_text())
    summary["threshold"] = dataclasses.asdict(Threshold(1.5, 1.2, 1.9, 10, ("easy", "hard")))
    (run / "summary.json").write_text(json.dumps(summary))
    assert "half the time at place 1.50 (95%: 1.20 to 1.90)" in page_of(run).text
    assert "1.50 (1.20 to 1.90) in 10 episodes" in rows([read_results(run)])[1]


def test_runs_of_different_suites_are_refused_in_one_line(tmp_path, run):
    other = write_run(tmp_path / "other", ten(), dataclasses.replace(CONFIG, suite_hash="cd" * 32))
    for call in (lambda: compare.compare_runs(run, other), lambda: write_report(run, against=other)):
        with pytest.raises(InputError, match="cannot compare runs of different suites") as refused:
            call()
        assert "\n" not in str(refused.value)
        assert "abababab" in str(refused.value)
        assert "cdcdcdcd" in str(refused.value)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "expected the folder of at least one run"),
        (["absent"], "absent: expected the folder of a benchmark run"),
        (["absent", "--format", "mdd"], "Did you mean 'md'?"),
    ],
)
def test_a_table_of_nothing_is_refused_in_one_line(capsys, words, expected):
    assert main(["bench", "table", *words]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1


def test_runs_without_a_common_episode_are_refused(tmp_path, run):
    other = write_run(tmp_path / "other", [episode(i, task=100 + i) for i in range(10)])
    with pytest.raises(InputError, match="no scored episode of the same task and attempt"):
        compare.compare_runs(run, other)


def test_a_comparison_pairs_tasks_and_attempts_and_leaves_broken_ones_out(tmp_path):
    first = [
        episode(0, "failed", task=0),
        episode(1, "solved", task=0, attempt=1),
        episode(2, "infrastructure"),
    ]
    second = [episode(0, "solved", task=0), episode(1, "solved", task=0, attempt=1), episode(2, "solved")]
    found = paired(first, second)
    assert (found.tasks, found.episodes, found.first, found.second) == (1, 2, 0.5, 1.0)
    assert (found.first_better, found.second_better, found.equal) == (0, 1, 0)


def test_the_paired_interval_is_that_of_all_resamples():
    outcomes = [(0, 1), (1, 1), (0, 1), (0, 0), (1, 0)]
    sides = [
        [episode(i, "solved" if pair[side] else "failed") for i, pair in enumerate(outcomes)]
        for side in (0, 1)
    ]
    gains = [b - a for a, b in outcomes]
    means = sorted(sum(drawn) / 5 for drawn in itertools.product(gains, repeat=5))
    exact = means[round(0.025 * len(means))], means[round(0.975 * len(means))]
    found = paired(*sides)
    assert (found.low, found.high) == pytest.approx(exact, abs=0.21)
    assert found.difference == pytest.approx(0.2)
    assert not found.decided


@pytest.mark.parametrize(("n", "decided"), [(2, False), (40, True)])
def test_a_difference_that_no_task_varies_is_not_certain_beyond_its_tasks(n, decided):
    lost, won = [episode(i, "failed") for i in range(n)], [episode(i) for i in range(n)]
    same, swept = paired(won, won), paired(lost, won)
    assert same.low < 0 < same.high
    assert same.high == -same.low
    assert (swept.difference, swept.high) == (1.0, 1.0)
    assert (swept.low > 0.9) == decided


@pytest.mark.parametrize(("stop", "rate"), [("solved", 1.0), ("failed", 0.0)])
def test_a_rate_that_no_task_varies_is_not_certain_either(stop, rate):
    found = success(episode(i, stop) for i in range(10))
    assert found.rate == rate
    assert found.clustered_high - found.clustered_low == pytest.approx(wilson(0, 10).high)
    assert found.clustered_low <= rate <= found.clustered_high


def test_success_by_difficulty_counts_each_scored_episode_once():
    levels = by_difficulty(ten(), {"doors": {0: "none"}})
    assert set(levels) == {"doors", "width", "kind"}
    for found in levels.values():
        assert sum(level.rate.n for level in found) == 9
        assert sum(level.rate.wins for level in found) == 6
    assert [level.label for level in levels["doors"]] == ["none", "1", "2"]
    assert len(levels["width"]) == 5
    assert [level.label for level in levels["kind"]] == ["iron", "wood"]


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium or chrome is installed")
@pytest.mark.parametrize(
    ("action", "outcome", "shown_count"),
    [
        ("", "failed", "10 of 10"),
        ("list.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown'}))", "broken", "10 of 10"),
        ("search.value = 'TASK-7'; search.dispatchEvent(new Event('input'))", "lost", "1 of 10"),
        ("outcome.value = 'failed'; outcome.dispatchEvent(new Event('change'))", "failed", "1 of 10"),
    ],
    ids=["link", "keys", "search", "filter"],
)
def test_a_real_browser_opens_searches_and_filters_without_a_script_error(
    tmp_path, action, outcome, shown_count
):
    run = write_run(tmp_path / "run", [dataclasses.replace(trace, final=HOSTILE) for trace in ten()])
    page = write_report(run)
    probe = (
        "<script>window.onerror = (m) => document.documentElement.setAttribute('data-failed', m);"
        "document.addEventListener('securitypolicyviolation', (e) => onerror(e.blockedURI));</script>"
    )
    text = page.read_text().replace("<head>", f"<head>{probe}", 1)
    act = (
        f"for (const id of ['list', 'search', 'outcome']) window[id] = document.getElementById(id); {action};"
    )
    page.write_text(text.replace("</body>", f"<script>{act}</script></body>", 1))
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    shown = subprocess.run(
        [*command, "--dump-dom", f"file://{page}#trace-8"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    dom = shown.split("<body>")[1]
    assert "data-failed" not in shown.split("<head>")[0]
    assert re.search(r'<div id="viewer">', dom)
    assert f'<output id="count">{shown_count}</output>' in dom
    selected = re.search(r'<li class="(\w+)"[^>]*aria-selected="true"', dom)
    assert selected
    assert selected.group(1) == outcome
