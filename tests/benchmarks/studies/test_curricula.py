"""The comparison of curricula: learners of known skill, censored runs, paired intervals, races that go on."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy", reason="needs the 'bench' extra")
pytest.importorskip("matplotlib", reason="needs the 'bench' extra")
pytest.importorskip("sklearn", reason="needs the 'bayes' extra")

from benchmarks.studies import curricula as study
from benchmarks.studies.curricula_page import draw, tables
from benchmarks.studies.learners import SCENARIOS, Learner, LocalLearner, success
from benchmarks.studies.races import ARMS, GRIDNAV, Budget, Race, run
from benchmarks.studies.summary import interval, summarize
from rla_envs.errors import InputError
from wrappers.curricula import curriculum_names

DOCS = Path(__file__).parents[3] / "docs"
EASY, MEDIUM, HARD = ({"length": x, "branches": round(8 * x)} for x in (0.0, 0.5, 1.0))
SMALL = Budget(attempts=80, steps=2048, target=0.9, every=1024)


def test_every_curriculum_takes_part():
    assert {arm.name for arm in ARMS.values()} == set(curriculum_names())


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_learner_can_do_at_first_what_it_is_to_reach_and_every_target_can_be_reached(name):
    scenario = SCENARIOS[name]
    exam, learner = scenario.held_out(), scenario.learner()
    assert np.mean([learner.solves(point) for point in exam]) < scenario.target - 0.2
    rng = np.random.default_rng(0)
    for _ in range(400):  # whoever practises what it is just able to do, gets there
        able = max(exam, key=lambda point: -abs(learner.solves(point) - 0.5))
        for _ in range(20):
            learner.attempt(able, rng)
        if np.mean([learner.solves(point) for point in exam]) >= scenario.target:
            return
    pytest.fail(f"stayed at {np.mean([learner.solves(point) for point in exam]):.2f}")


def test_the_success_law_peaks_at_one():
    assert max(success(p) for p in np.linspace(0, 1, 1001)) == pytest.approx(1.0, abs=1e-3)


def test_results_follow_the_true_success_rate_and_flips_mirror_it():
    rng = np.random.default_rng(1)
    p = Learner(rate=0.0, skills=[0.4]).solves(MEDIUM)
    for flips, expected in ((0.0, p), (1.0, 1.0 - p)):
        learner = Learner(rate=0.0, skills=[0.4], flips=flips)
        told = np.mean([learner.attempt(MEDIUM, rng) for _ in range(4000)])
        assert told == pytest.approx(expected, abs=4 * math.sqrt(p * (1 - p) / 4000))


def test_cells_that_cannot_be_learned_teach_nothing_and_are_not_in_the_exam():
    trap = {"length": 0.75, "branches": 4}
    for name, p in (("unlearnable", 0.0), ("coin flips", 0.5)):
        learner = SCENARIOS[name].learner()
        before = list(learner.skills)
        learner.attempt(trap, np.random.default_rng(0))
        assert learner.solves(trap) == p
        assert learner.skills == before
        assert trap not in [
            {**point, "length": 0.75} for point in SCENARIOS[name].held_out() if point["length"] > 0.5
        ]


def test_a_jump_comes_once_and_at_its_time():
    learner = Learner(rate=0.0, skills=[0.5], jump=(3, -0.4))
    rng, skills = np.random.default_rng(0), []
    for _ in range(5):
        learner.attempt(MEDIUM, rng)
        skills.append(learner.skills[0])
    assert skills == pytest.approx([0.5, 0.5, 0.1, 0.1, 0.1])


def test_learning_by_heart_helps_near_and_not_far_and_fades_elsewhere():
    learner, rng = LocalLearner(forgets=0.003), np.random.default_rng(0)
    near, far = {"length": 0.45, "branches": 4}, HARD
    before = learner.solves(near), learner.solves(far)
    for _ in range(800):
        learner.attempt(MEDIUM, rng)
    after = learner.solves(near)
    assert after > before[0] + 0.3
    assert learner.solves(far) == pytest.approx(before[1], abs=0.02)
    for _ in range(800):
        learner.attempt(EASY, rng)
    assert learner.solves(near) < after - 0.1


def test_the_same_race_gives_the_same_record_and_counts_its_attempts():
    race = Race("variance", "thompson", 3)
    record = run(race, SMALL)
    assert record == run(race, SMALL)
    assert (record["steps"], record["reached"]) == (80, False)
    assert run(race, SMALL._replace(attempts=100_000))["reached"]


def test_a_real_learner_races_too_and_says_how_its_exams_went():
    pytest.importorskip("torch", reason="needs the 'train' extra")
    record = run(Race(GRIDNAV, "threshold", 0), SMALL)
    assert record["steps"] == 2048
    assert len(record["curve"]) == 2
    assert record == run(Race(GRIDNAV, "threshold", 0), SMALL)


def records(steps, budget=100):
    """Return records of one scenario: steps by arm, over seeds; the budget means that it missed."""
    return [
        {
            "scenario": "variance",
            "arm": arm,
            "seed": seed,
            "steps": count,
            "reached": count < budget,
            "final": 0.5,
            "wasted": 0.1,
        }
        for arm in ARMS
        for seed, count in enumerate(steps.get(arm, [50, 60, 70]))
    ]


def test_ratios_are_of_paired_means_and_censored_runs_turn_them_into_bounds():
    found = summarize(records({"plr": [25, 30, 35], "target": [100, 60, 70]}))["scenarios"]["variance"]
    half = found["plr"]["ratios"]["uniform"]
    assert (half["ratio"], half["bound"]) == (0.5, "")
    assert half["interval"] == pytest.approx((0.5, 0.5))  # every pair has the same ratio
    assert found["target"]["ratios"]["uniform"]["bound"] == ">="
    assert found["target"]["reached"] == 2
    missed = {"uniform": [100, 60, 70], "target": [100, 60, 70]}
    found = summarize(records(missed))["scenarios"]["variance"]
    assert found["plr"]["ratios"]["uniform"]["bound"] == "<="
    assert found["target"]["ratios"]["uniform"]["bound"] == "?"


def test_the_overall_ratio_is_a_geometric_mean_and_counts_the_halves():
    overall = summarize(records({"plr": [25, 60, 35]}))["overall"]["simulated"]
    assert overall["plr"]["uniform"]["ratio"] == pytest.approx((0.5 * 1.0 * 0.5) ** (1 / 3))
    assert overall["plr"]["uniform"]["at_most_half"] == 0
    assert overall["uniform"]["uniform"]["ratio"] == 1.0


def test_the_verdict_ranks_by_the_overall_ratio_and_names_who_took_half_the_steps():
    text = tables(
        {
            "summary": summarize(records({"plr": [20, 30, 35], "fixed": [100, 100, 100]})),
            "races": [],
            "planned": 0,
            "budget": SMALL._asdict(),
        }
    )["study: verdict"]
    assert text.index("plr 0.4") < text.index("uniform 1.00") < text.index("fixed 1.6")
    assert "over all learners by plr; over the simulated ones by plr." in text


def test_a_seed_that_some_arm_has_not_run_is_left_out():
    found = summarize(records({"plr": [25, 30]}))["scenarios"]["variance"]
    assert {cell["seeds"] for cell in found.values()} == {2}


def test_the_bootstrap_interval_of_a_mean_is_as_wide_as_theory_says():
    sample = np.random.default_rng(0).normal(5.0, 2.0, 400)
    low, high = interval(np.mean, (sample,))
    assert high - low == pytest.approx(2 * 1.96 * sample.std() / 20, rel=0.1)
    assert interval(np.mean, (sample[:1],)) is None


def test_a_study_goes_on_where_it_stopped_and_writes_page_and_figures(tmp_path, monkeypatch):
    out = tmp_path / "races.json"
    monkeypatch.setattr(study, "QUICK", SMALL)
    monkeypatch.setattr(study, "_run_all", lambda todo, budget, jobs, minutes: done(todo[:20]))

    def done(todo):
        for race in todo:
            yield {**race._asdict(), "steps": 8, "reached": True, "final": 1.0, "wasted": 0.0, "curve": [1.0]}

    total = len(study.races(1))
    codes = [study.main(["--json", str(out), "--quick", "--seeds", "1", "--quiet"]) for _ in range(5)]
    assert codes == [int(20 * (n + 1) < total) for n in range(5)]
    content = json.loads(out.read_text())
    assert [(r["scenario"], r["arm"], r["seed"]) for r in content["races"]] == [*map(tuple, study.races(1))]
    page = tmp_path / study.PAGE
    page.write_text("".join(f"<!-- {name} -->\n<!-- end of {name} -->\n" for name in tables(content)))
    assert (
        study.main(["--json", str(out), "--quick", "--seeds", "1", "--quiet", "--docs", str(tmp_path)]) == 0
    )
    assert f"{total} of {total} races run" in page.read_text()
    first = {path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()}
    draw(content, tmp_path / "figures")
    assert first == {path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()}
    assert set(first) == {"curricula_ratios.svg", "curricula_gridnav.svg"}


def test_the_page_and_its_figures_are_what_its_races_give(tmp_path):
    for name in ("curricula_races.json", study.PAGE):
        (tmp_path / name).write_text((DOCS / name).read_text())
    races = tmp_path / "curricula_races.json"
    assert study.main(["--json", str(races), "--quiet", "--docs", str(tmp_path)]) == 0
    figures = ("figures/curricula_ratios.svg", "figures/curricula_gridnav.svg")
    for name in (races.name, study.PAGE, *figures):
        assert (tmp_path / name).read_bytes() == (DOCS / name).read_bytes()


def test_published_races_can_be_run_again():
    published = json.loads((DOCS / "curricula_races.json").read_text())["races"]
    for race in (Race("success", "target", 2), Race("jump", "bayesopt", 0), Race("coin flips", "plr", 1)):
        (record,) = [r for r in published if Race(r["scenario"], r["arm"], r["seed"]) == race]
        assert run(race, study.FULL) == record


def test_races_run_in_processes_of_their_own():
    todo = [Race("variance", "uniform", seed) for seed in range(3)]
    found = list(study._run_all(todo, SMALL, 2, None))
    assert sorted(found, key=lambda r: r["seed"]) == [run(race, SMALL) for race in todo]
    assert list(study._run_all(todo, SMALL, 2, 0.0)) == []


@pytest.mark.parametrize("text", ["no json", "[]", '{"budget": {"attempts": 1}, "races": []}'])
def test_a_file_of_something_else_is_refused_and_left_as_it_is(tmp_path, text):
    path = tmp_path / "out.json"
    path.write_text(text)
    with pytest.raises(InputError, match="name another file"):
        study.main(["--json", str(path), "--quick", "--quiet"])
    assert path.read_text() == text


@pytest.mark.parametrize("option", ["--seeds", "--jobs"])
def test_fewer_than_one_seed_or_process_is_refused(tmp_path, option):
    with pytest.raises(InputError, match=f"{option}: expected 1 or more, got 0"):
        study.main(["--json", str(tmp_path / "out.json"), option, "0"])
