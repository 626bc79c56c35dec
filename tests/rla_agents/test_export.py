"""What `rla export` writes is what was played, and `rla import` gets it back and learns from it."""

import dataclasses
import json

import numpy as np
import pytest

from rla_agents.cli import main
from rla_agents.dataset import imitate, read_trajectories, train_item
from rla_agents.export import ExportArguments, export_run
from rla_agents.learner import LearnerConfig
from rla_agents.llm import Sampling, load_model
from rla_agents.policy import Policy
from rla_agents.run_files import trace
from rla_agents.trajectory import Turn
from rla_envs.errors import InputError
from rla_envs.task import Task
from tests.rla_agents.played import trajectory

EASY = Task("RLATest/Doors-v0", {"doors": 2, "kind": "wood"}, {"order": ["red", "blue"]})
HARD = Task("RLATest/Doors-v0", {"doors": 5, "kind": "iron"}, {"order": ["red", "green"]})


def played(actions, won, task=EASY, votes=None, **values):
    """Return an episode in which every action leads where it always leads."""
    seed = values.pop("seed", 7)
    votes = votes or [(1, 1, 0)] * len(actions)
    episode = trajectory(won, votes=votes, task=task, **values)
    episode.seed = seed
    seen = ["Two doors.", *(f"You did {action}." for action in actions)]
    episode.turns = [Turn(seen[i], action, seen[i + 1], 0.0) for i, action in enumerate(actions)]
    return episode


@pytest.fixture
def write(tmp_path):
    """Write a run folder with these training episodes, and return it."""

    def run(*episodes, phase="train"):
        folder = tmp_path / "run"
        folder.mkdir(exist_ok=True)
        (folder / "config.toml").write_text('seed = 3\n[env]\nid = "RLATest/Doors-v0"\n')
        with (folder / "traces.jsonl").open("a") as file:
            for episode in episodes:
                file.write(json.dumps(trace(episode, 4, phase, [0.5] * len(episode.turns))) + "\n")
        return folder

    return run


def rows_of(folder, **arguments):
    done = export_run(ExportArguments(str(folder), **arguments))
    rows = [json.loads(line) for line in (done.folder / "train.jsonl").read_text().splitlines()]
    assert len(rows) == done.rows
    return rows


def test_messages_come_back_as_the_episodes_that_were_played(write):
    episodes = [
        played(["open red", "open blue"], True, seed=1),
        played(["open blue"], False, HARD, votes=[(-1, 0, 1)], stop="context", retries=2),
    ]
    episodes[0].turns[0].error, episodes[0].turns[0].oracle = "it is stuck", -1
    done = export_run(ExportArguments(str(write(*episodes))))
    back = read_trajectories(done.folder)
    for one, other in zip(episodes, back, strict=True):
        for name in ("task", "seed", "votes", "stop", "success", "retries", "optimal_length"):
            assert getattr(one, name) == getattr(other, name), name
        assert [dataclasses.replace(turn, reward=0.0) for turn in other.turns] == one.turns
        assert sum(turn.reward for turn in other.turns) == one.success


def test_every_row_says_which_episode_it_came_from(write):
    folder = write(played(["open red"], True), played(["open blue"], True, HARD))
    traces = (folder / "traces.jsonl").read_bytes()
    for name in ("messages", "sft"):
        for row in rows_of(folder, format=name):
            source = row["provenance"]
            origin = json.loads(traces[source["byte"] :].split(b"\n")[0])
            assert origin["task_hash"] == row["task_hash"]
            if name == "messages":
                assert Task.from_json(row["task"]).content_hash == row["task_hash"]
            assert (source["run"], source["iteration"], source["seed"]) == ("run", 4, origin["seed"])


def test_sft_shows_what_came_before_and_asks_for_the_action(write):
    first = played(["open red", "open blue"], True, votes=[(1, 1, 1), (1, -1, 1)])
    rows = rows_of(write(first, played(["wait"], False)), format="sft")
    assert [row["completion"] for row in rows] == [
        [{"role": "assistant", "content": "open red"}],
        [{"role": "assistant", "content": "open blue"}],
    ]
    assert rows[1]["prompt"] == [
        {"role": "user", "content": "Two doors."},
        {"role": "assistant", "content": "open red"},
        {"role": "user", "content": "You did open red."},
    ]


def test_steps_without_effect_or_below_the_vote_are_not_imitated(write):
    episode = played(["a", "b", "c"], True, votes=[(1, 1), (1, -1), (1, 0)])
    episode.turns[2].error = "no such command"
    folder = write(episode)
    assert [row["step"] for row in rows_of(folder, format="sft")] == [0, 1]
    assert [row["step"] for row in rows_of(folder, format="sft", min_vote=0.5)] == [0]
    assert rows_of(folder, min_vote=0.5)[0]["success"]
    with pytest.raises(InputError, match="no row came with votes high enough"):
        rows_of(folder, min_vote=0.6)


def test_a_preference_stands_where_two_rollouts_of_one_task_part(write):
    won = played(["open red", "open blue"], True, seed=1)
    lost = played(["open red", "wait", "wait"], False, seed=2)
    same = played(["open red", "wait"], False, seed=3)
    other_task = played(["open blue"], False, HARD, seed=4)
    (row,) = rows_of(write(won, lost, same, other_task), format="dpo")
    assert [message["content"] for message in row["prompt"]] == [
        "Two doors.",
        "open red",
        "You did open red.",
    ]
    assert row["chosen"] == [{"role": "assistant", "content": "open blue"}]
    assert row["rejected"] == [{"role": "assistant", "content": "wait"}]
    assert (row["step"], row["rejected_seed"]) == (1, 2)


def test_rollouts_that_saw_different_things_make_no_preference(write):
    won, lost = played(["open red"], True), played(["wait"], False)
    lost.turns[0].observation = "Three doors."
    with pytest.raises(InputError, match="nothing is left"):
        rows_of(write(won, lost), format="dpo")


def test_held_out_and_broken_episodes_never_become_training_data(write):
    write(played(["cheat"], True), phase="eval_after")
    folder = write(played(["open red"], True), played(["crash"], False, stop="error"))
    done = export_run(ExportArguments(str(folder)))
    assert (done.rows, done.episodes) == (1, 1)
    assert done.left_out["held out"] == done.left_out["broken by the machinery"] == 1
    card = (done.folder / "README.md").read_text()
    assert "- 1 held out" in card
    assert '- environment: "RLATest/Doors-v0"' in card


@pytest.mark.parametrize(
    ("difficulty", "doors"),
    [({"doors": "2..4"}, [2]), ({"doors": 5}, [5]), ({"kind": "iron"}, [5]), ({"doors": "0..9"}, [2, 5])],
)
def test_episodes_are_chosen_by_difficulty(write, difficulty, doors):
    rows = rows_of(write(played(["a"], True), played(["a"], True, HARD)), difficulty=difficulty)
    assert [json.loads(row["difficulty"])["doors"] for row in rows] == doors


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--format", "dop"], "unknown format 'dop'. Did you mean 'dpo'?"),
        (["--outcome", "wom"], "Did you mean 'won'?"),
        (["--format", "dpo", "--outcome", "won"], "dpo compares"),
        (["--min-vote", "2"], "expected a number from -1 to 1, got 2.0"),
        (["--difficulty", "dors=2"], "Did you mean 'doors'?"),
        (["--difficulty", "doors=a..b"], "expected LOW..HIGH or one value"),
        (["--outcome", "lost"], "nothing is left to write: of 0 episodes (1 of the other outcome)"),
    ],
)
def test_bad_arguments_are_one_line(write, capsys, words, expected):
    assert main(["export", str(write(played(["a"], True))), *words]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("damage", [{"steps": [{}]}, {"steps": 3}, {"task_hash": None, "steps": [1]}])
def test_a_trace_of_another_form_is_refused_in_one_line(write, damage):
    folder = write(played(["a"], True))
    row = json.loads((folder / "traces.jsonl").read_text())
    (folder / "traces.jsonl").write_text(json.dumps({**row, **damage}) + "\n")
    for name in ("messages", "sft"):
        with pytest.raises(InputError, match="an episode that this version cannot read"):
            rows_of(folder, format=name)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda row: row.pop("messages"), "expected an episode with 'messages'"),
        (lambda row: row["messages"].pop(), "do not alternate"),
        (lambda row: row["provenance"].update(schema=99), "schema 99, this version reads 1"),
        (lambda row: row.update(task="{}"), "missing field"),
        (lambda row: row.pop("stop"), "no 'stop'"),
        (lambda row: row["step_errors"].pop(), "not an exported episode"),
    ],
)
def test_what_is_no_export_is_refused_by_row(write, change, expected):
    folder = export_run(ExportArguments(str(write(played(["a", "b"], True))))).folder
    row = json.loads((folder / "train.jsonl").read_text())
    change(row)
    (folder / "train.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match="row 1") as refused:
        read_trajectories(folder)
    assert expected in str(refused.value)


def test_imported_ids_are_those_of_generation_with_one_beginning_and_every_end():
    policy = Policy(load_model("tiny", "cpu"), Sampling(), instructed=False)
    episode = played(["go to drawer 1", "take mug 1 from drawer 1"], True)
    item = train_item(policy, episode)
    chat, ids = policy.model.chat, list(policy.opening("Two doors.", ()))
    for turn in episode.turns:
        ids += [*chat.command(turn.action)]
        ids += policy.continuation(turn.next_observation, (), chat.end_id)
    assert list(item.ids) == ids[: len(item.ids)]
    assert item.ids[-1] == chat.end_id
    assert sum(ids[i] == chat.end_id for i in item.positions) == 2


def test_imitation_makes_the_solved_actions_likelier_and_not_the_lost_ones():
    policy = Policy(load_model("tiny", "cpu"), Sampling(), instructed=False)
    won, lost = played(["go to drawer 1"], True), played(["go to fridge 1"], False)
    items = [train_item(policy, episode) for episode in (won, lost)]
    before = [sum(row) for row in policy.model.score(items)]
    config = LearnerConfig(lr=4e-4, epochs=3, kl_weight=0.0)
    stats = imitate(policy, [won, lost], config, np.random.default_rng(0))
    after = [sum(row) for row in policy.model.score(items)]
    assert stats.sequences == 1
    assert after[0] - before[0] > max(0.1, after[1] - before[1])
    with pytest.raises(InputError, match="none of 1 episodes can be imitated"):
        imitate(policy, [lost], config, np.random.default_rng(0))


def test_import_writes_a_model_that_loads(write, tmp_path, capsys):
    folder = export_run(ExportArguments(str(write(played(["go to drawer 1"], True))))).folder
    assert main(["import", str(folder), "--out", str(tmp_path / "model")]) == 0
    assert "1 episodes read, 1 solved" in capsys.readouterr().out
    assert load_model(tmp_path / "model", "cpu").plain
    assert main(["import", str(folder), "--out", str(tmp_path / "model")]) == 2
    assert "expected a new or empty folder" in capsys.readouterr().err
