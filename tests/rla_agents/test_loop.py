"""The closed loop as a whole: what a run leaves, that it repeats exactly, and what it refuses."""

import dataclasses
import json
import math
import multiprocessing
import shutil

import pytest
from safetensors.torch import load_file

from rla_agents.config import (
    CriticConfig,
    CurriculumConfig,
    EditorConfig,
    EnvConfig,
    EvalConfig,
    PolicyConfig,
    RolloutConfig,
    UpdateConfig,
)
from rla_agents.files import read_jsonl
from rla_agents.loop import train
from rla_envs.errors import InputError
from tests.rla_agents.doors import FragileDoorsEnv
from tests.rla_agents.scripted import ScriptedModel
from tests.rla_agents.small_run import DOORS, doors_config, outcome, save_models
from wrappers.curricula.thompson import Thompson

ALFWORLD = EnvConfig(id="RLA/AlfWorld-v0", difficulty={"step_budget": 1.5, "objects": 6})


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    pytest.importorskip("alfworld", reason="the tokenizer is made from alfworld's tables")
    return save_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def finished(models, tmp_path_factory):
    """A complete run of each curriculum; tests copy it before they change anything."""
    folder = tmp_path_factory.mktemp("runs")
    for curriculum in ("threshold", "thompson"):
        train(doors_config(models, folder / curriculum, curriculum), quiet=True)
    return folder


def alfworld_config(models, run_dir, workers):
    arguments = {"grid": {"receptacles": [5, 6]}}
    return dataclasses.replace(
        doors_config(models, run_dir),
        iterations=2,
        env=dataclasses.replace(ALFWORLD, workers=workers),
        curriculum=CurriculumConfig("thompson", arguments),
        rollout=RolloutConfig(tasks=2, rollouts=2),
        evaluation=EvalConfig(games=2, greedy=False),
    )


@pytest.mark.parametrize("curriculum", ["threshold", "thompson"])
def test_every_iteration_has_its_rows(finished, curriculum):
    run = finished / curriculum
    metrics = read_jsonl(run / "metrics.jsonl")
    assert [row["iteration"] for row in metrics] == [0, 1, 2]
    assert [row["iteration"] for row in read_jsonl(run / "timings.jsonl")] == [0, 1, 2]
    traces = read_jsonl(run / "traces.jsonl")
    phases = [(row["phase"], row["iteration"]) for row in traces]
    expected = [("eval_before", -1)] * 2 + [("train", i) for i in range(3) for _ in range(8)]
    assert phases == expected + [("eval_after", 3)] * 2
    assert {row["env_id"] for row in traces} == {"RLATest/Doors-v0"}
    for row in metrics:
        played = [t for t in traces if (t["phase"], t["iteration"]) == ("train", row["iteration"])]
        assert row["policy/success"] == sum(t["success"] for t in played) / 8
        votes = [v for t in played for s in t["steps"] for v in s["votes"]]
        assert len(votes) == 2 * sum(len(t["steps"]) for t in played)
        assert row["critic/vote_mean"] == pytest.approx(sum(votes) / len(votes))
        assert row["policy/logprob_gap"] is None or row["policy/logprob_gap"] < 1e-4
    lengths = [len(t["steps"]) for t in traces if t["phase"] == "train"]
    assert [row["env_steps"] for row in metrics] == [sum(lengths[: 8 * n]) for n in (1, 2, 3)]
    assert (run / "report.html").stat().st_size > 10_000


@pytest.mark.parametrize("curriculum", ["threshold", "thompson"])
def test_all_three_parts_move(finished, models, curriculum):
    run = finished / curriculum
    newest = run / "checkpoints" / "000002"
    for role in ("policy", "critic"):
        before = load_file(models / role / "model.safetensors")
        after = load_file(newest / role / "model.safetensors")
        assert any((before[name] != after[name]).any() for name in before)
    assert sum(row["policy/updates"] for row in read_jsonl(run / "metrics.jsonl")) > 0
    difficulties = [row["difficulty/doors"] for row in read_jsonl(run / "metrics.jsonl")]
    assert len(set(difficulties)) > 1 or curriculum == "thompson"


@pytest.mark.parametrize("name", ["rules", "llm"])
def test_tasks_are_rewritten_by_the_editor_that_the_settings_name(models, tmp_path, monkeypatch, name):
    answers = ["no idea", '{"changes": [{"op": "name_place", "value": true}], "reason": "Say where it is."}']
    model = ScriptedModel(answers)
    monkeypatch.setattr("rla_agents.task_editor.load_model", lambda *_: model)
    config = dataclasses.replace(
        alfworld_config(models, tmp_path / "run", 0),
        curriculum=CurriculumConfig("threshold", {"slots": 1, "n": 2}),
        editor=EditorConfig(name, samples=2),
        rollout=RolloutConfig(tasks=1, rollouts=2),
        updates=UpdateConfig(0, 0),
        evaluation=EvalConfig(games=0),
    )
    train(config, quiet=True)
    kinds = {"edit_drafted", "edit_malformed", "edit_proposed"}
    events = [e for e in read_jsonl(tmp_path / "run" / "events.jsonl") if e["event"] in kinds]
    row = read_jsonl(tmp_path / "run" / "metrics.jsonl")[1]
    assert {event["iteration"] for event in events} == {1}
    assert (events[-1]["event"], events[-1]["direction"]) == ("edit_proposed", "easier")
    if name == "rules":
        assert "of the lost steps: " in events[-1]["reason"]
        assert (row["editor/drafted"], row["editor/malformed"]) == (0, 0)
    else:
        assert [event["event"] for event in events[:-1]] == ["edit_malformed", "edit_drafted"]
        assert events[-1]["reason"] == "Say where it is."
        assert (row["editor/drafted"], row["editor/malformed"]) == (1, 1)
        assert "Steps lost, by what they were spent on: " in model.sent[0][1]["content"]


def test_an_editor_needs_an_edit_language_and_a_curriculum_that_edits(models, tmp_path):
    config = doors_config(models, tmp_path / "run", editor=EditorConfig("llm", model=str(models / "policy")))
    with pytest.raises(InputError, match="DoorsEnv states no edit_operations"):
        train(config, quiet=True)
    config = doors_config(models, tmp_path / "run", "thompson", editor=EditorConfig("rules"))
    with pytest.raises(InputError, match="unknown argument of curriculum 'thompson': 'editor'"):
        train(config, quiet=True)
    assert not (tmp_path / "run").exists()


def test_edits_are_logged_and_counted(finished):
    events = read_jsonl(finished / "threshold" / "events.jsonl")
    assert {"edit_proposed", "edit_rejected"} <= {event["event"] for event in events}
    for row in read_jsonl(finished / "threshold" / "metrics.jsonl"):
        mine = [e["event"] for e in events if e["iteration"] == row["iteration"]]
        assert row["curriculum/accepted"] == mine.count("edit_accepted")
        assert row["curriculum/rejected"] == mine.count("edit_rejected")


def test_rollouts_of_a_rejected_edit_do_not_train_the_policy(finished):
    rejected = {
        event["pending_id"]
        for event in read_jsonl(finished / "threshold" / "events.jsonl")
        if event["event"] == "edit_rejected"
    }
    rows = [t for t in read_jsonl(finished / "threshold" / "traces.jsonl") if t["task_id"] in rejected]
    assert rows
    assert {step["advantage"] for row in rows for step in row["steps"]} == {None}


def test_the_evaluation_plays_the_same_games_before_and_after(finished):
    result = json.loads((finished / "thompson" / "evaluation.json").read_text())
    assert set(result) == {"grid", "before", "iteration_1", "after"}
    assert {result[when][mode]["n"] for when in ("before", "after") for mode in ("sampled", "greedy")} == {2}
    traces = read_jsonl(finished / "thompson" / "traces.jsonl")
    before, after = ([t["task_id"] for t in traces if t["phase"] == f"eval_{w}"] for w in ("before", "after"))
    assert before == after


def test_evaluating_leaves_the_training_as_it_is(finished, models, tmp_path):
    config = doors_config(models, tmp_path / "run", "thompson", evaluation=EvalConfig(games=0))
    train(config, quiet=True)
    rows = (tmp_path / "run" / "metrics.jsonl").read_bytes()
    assert rows == (finished / "thompson" / "metrics.jsonl").read_bytes()
    assert not (tmp_path / "run" / "evaluation.json").exists()


def test_a_run_repeats_byte_for_byte_also_with_workers(finished, models, tmp_path):
    config = doors_config(models, tmp_path / "run", env=EnvConfig(id=DOORS, workers=2))
    train(config, quiet=True)
    assert outcome(tmp_path / "run") == outcome(finished / "threshold")


def test_another_seed_is_another_run(finished, models, tmp_path):
    train(doors_config(models, tmp_path / "run", "thompson", seed=1, iterations=1), quiet=True)
    (first,) = read_jsonl(tmp_path / "run" / "metrics.jsonl")
    assert first != read_jsonl(finished / "thompson" / "metrics.jsonl")[0]


def test_alfworld_repeats_byte_for_byte_with_and_without_workers(models, tmp_path):
    for workers in (0, 2):
        train(alfworld_config(models, tmp_path / f"{workers}", workers), quiet=True)
    assert outcome(tmp_path / "0") == outcome(tmp_path / "2")
    rows = read_jsonl(tmp_path / "0" / "metrics.jsonl")
    assert len(rows) == 2
    assert {row["difficulty/objects"] for row in rows} == {6.0}
    assert all(5 <= row["difficulty/receptacles"] <= 6 for row in rows)
    assert all(math.isfinite(v) for row in rows for v in row.values() if v is not None)
    result = json.loads((tmp_path / "0" / "evaluation.json").read_text())
    assert result["before"]["sampled"]["n"] == result["after"]["sampled"]["n"] == 2


def truncate_policy(run, checkpoint):
    path = run / "checkpoints" / checkpoint / "policy" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def test_a_damaged_checkpoint_is_passed_over_and_the_run_ends_the_same(finished, models, tmp_path, capsys):
    run = shutil.copytree(finished / "threshold", tmp_path / "run")
    expected = outcome(run)
    truncate_policy(run, "000002")
    train(doors_config(models, run), resume=True)
    assert "checkpoint 000002 is skipped: policy/model.safetensors has" in capsys.readouterr().err
    assert outcome(run) == expected


def test_a_run_whose_checkpoints_are_all_damaged_is_not_started_over(finished, models, tmp_path):
    run = shutil.copytree(finished / "threshold", tmp_path / "run")
    written = (run / "metrics.jsonl").read_bytes()
    for name in ("000002", "000001"):
        truncate_policy(run, name)
    with pytest.raises(InputError, match="000002, is damaged: policy/model.safetensors has"):
        train(doors_config(models, run), resume=True, quiet=True)
    assert (run / "metrics.jsonl").read_bytes() == written


def test_a_resumed_run_may_be_longer_and_is_evaluated_at_its_new_end(finished, models, tmp_path):
    run = shutil.copytree(finished / "thompson", tmp_path / "run")
    train(doors_config(models, run, "thompson", iterations=4), resume=True, quiet=True)
    assert [row["iteration"] for row in read_jsonl(run / "metrics.jsonl")] == [0, 1, 2, 3]
    result = json.loads((run / "evaluation.json").read_text())
    assert result["after"]["iteration"] == 4
    ends = {row["iteration"] for row in read_jsonl(run / "traces.jsonl") if row["phase"] == "eval_after"}
    assert ends == {4}


def test_a_checkpoint_of_another_curriculum_is_refused(finished, models, tmp_path):
    run = shutil.copytree(finished / "thompson", tmp_path / "run")
    with pytest.raises(InputError, match="thompson"):
        train(doors_config(models, run, "threshold"), resume=True, quiet=True)


def test_a_folder_that_holds_a_run_is_not_overwritten(finished, models):
    before = outcome(finished / "thompson")
    with pytest.raises(InputError, match="already holds a run"):
        train(doors_config(models, finished / "thompson", "thompson", seed=9), quiet=True)
    assert outcome(finished / "thompson") == before


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"env": dataclasses.replace(ALFWORLD, engine="textwrld")}, "Did you mean 'textworld'?"),
        (
            {"env": dataclasses.replace(ALFWORLD, difficulty={"recepticles": 5})},
            "Did you mean 'receptacles'?",
        ),
        ({"env": dataclasses.replace(ALFWORLD, difficulty={"receptacles": 500})}, "receptacles"),
        ({"env": EnvConfig(id="RLA/AlfWrld-v0")}, "Did you mean 'RLA/AlfWorld-v0'?"),
        ({"env": EnvConfig(id="CartPole-v1")}, "CartPole-v1"),
        ({"env": EnvConfig(id=DOORS, engine="native")}, "unexpected keyword argument 'engine'"),
        ({"env": EnvConfig(id=DOORS, split="trian")}, "Did you mean 'train'?"),
        ({"policy": PolicyConfig(model="tinny")}, "Did you mean 'tiny'?"),
        ({"critic": CriticConfig(model="/no/such/folder")}, "no model folder at /no/such/folder"),
        ({"curriculum": CurriculumConfig("thomson")}, "Did you mean 'thompson'?"),
        ({"curriculum": CurriculumConfig("thompson", {"grid": {"dors": [1, 2]}})}, "Did you mean 'doors'?"),
        ({"evaluation": EvalConfig(games=2, grid={"dors": [1]})}, "Did you mean 'doors'?"),
        ({"evaluation": EvalConfig(games=2, grid={"doors": [1, 99]})}, "99"),
        ({"evaluation": EvalConfig(games=2, split="valid_unsen")}, "Did you mean 'valid_unseen'?"),
        ({"run_dir": None}, "run_dir"),
    ],
)
def test_settings_that_do_not_fit_are_one_line_and_leave_nothing_behind(models, tmp_path, values, message):
    run = tmp_path / "run"
    children = multiprocessing.active_children()
    with pytest.raises(InputError) as caught:
        train(dataclasses.replace(doors_config(models, run), **values), quiet=True)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not run.exists()
    assert multiprocessing.active_children() == children


def fragile_config(models, run_dir, **values):
    return doors_config(
        models,
        run_dir,
        "thompson",
        env=EnvConfig(id="tests.rla_agents.doors:RLATest/FragileDoors-v0"),
        rollout=RolloutConfig(tasks=2, rollouts=4, retries=1),
        evaluation=EvalConfig(games=0),
        **{"iterations": 2, **values},
    )


@pytest.mark.parametrize(("broken", "groups"), [(1, 2), (3, 2), (4, 1), (5, 1), (8, 0)])
def test_the_curriculum_sees_no_failure_of_the_machinery(models, tmp_path, monkeypatch, broken, groups):
    observed = []
    observe = Thompson.observe

    def recording(self, difficulty, success, **feedback):
        observed.append((feedback["task"].id, success))
        observe(self, difficulty, success, **feedback)

    monkeypatch.setattr(Thompson, "observe", recording)
    monkeypatch.setattr(FragileDoorsEnv, "started", 0)
    # Broken at the very end too: a lost grader is no failure of the agent.
    monkeypatch.setattr(
        FragileDoorsEnv,
        "fault",
        staticmethod(lambda number, episode, step, won: number < broken and (won or step == 6)),
    )
    train(fragile_config(models, tmp_path / "run"), quiet=True)
    for row in read_jsonl(tmp_path / "run" / "metrics.jsonl"):
        traces = [
            t for t in read_jsonl(tmp_path / "run" / "traces.jsonl") if t["iteration"] == row["iteration"]
        ]
        healthy = [t for t in traces if t["stop"] != "error"]
        assert row["infrastructure_errors"] == broken
        assert row["policy/groups"] == groups
        assert (len(healthy), len(traces)) == (8 - broken, 8)
        wins = [t["success"] for t in healthy]
        assert row["policy/success"] == (sum(wins) / len(wins) if wins else None)
        assert {t["retries"] for t in traces if t["stop"] == "error"} == {1}
        assert {t["outcome"] for t in traces if t["stop"] == "error"} == {None}
        mine, observed[: len(healthy)] = observed[: len(healthy)], []
        assert mine == [(t["task_id"], t["success"]) for t in healthy]
    assert observed == []
    assert (tmp_path / "run" / "report.html").exists()


def test_outcomes_alone_train_the_policy_where_there_is_no_critic(models, tmp_path):
    config = doors_config(
        models, tmp_path / "run", critic=CriticConfig(votes=0), evaluation=EvalConfig(games=0)
    )
    train(config, quiet=True)
    rows = read_jsonl(tmp_path / "run" / "metrics.jsonl")
    assert {row["critic/vote_mean"] for row in rows} == {None}
    assert sum(row["policy/updates"] for row in rows) > 0
    assert not (tmp_path / "run" / "checkpoints" / "000002" / "critic").exists()
    rewards = {step["reward"] for t in read_jsonl(tmp_path / "run" / "traces.jsonl") for step in t["steps"]}
    assert rewards == {-1.0, 1.0}


def test_update_rates_say_who_learns_when(models, tmp_path):
    config = doors_config(
        models,
        tmp_path / "run",
        "thompson",
        updates=UpdateConfig(policy_every=0, critic_every=2),
        evaluation=EvalConfig(games=0),
    )
    train(config, quiet=True)
    rows = read_jsonl(tmp_path / "run" / "metrics.jsonl")
    assert [row["policy/updates"] for row in rows] == [0, 0, 0]
    assert [row["critic/updates"] > 0 for row in rows] == [False, True, False]
    before = load_file(models / "policy" / "model.safetensors")
    after = load_file(tmp_path / "run" / "checkpoints" / "000002" / "policy" / "model.safetensors")
    assert all((before[name] == after[name]).all() for name in before)


def test_quiet_prints_nothing_and_otherwise_progress_goes_to_stderr(models, tmp_path, capfd):
    quick = {"iterations": 1, "evaluation": EvalConfig(games=0)}
    train(doors_config(models, tmp_path / "a", "thompson", **quick), quiet=True)
    assert capfd.readouterr() == ("", "")
    train(doors_config(models, tmp_path / "b", "thompson", **quick))
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "iteration   0  success" in shown.err
