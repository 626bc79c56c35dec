"""The data set on disk: what can be played and what not is said, and stays the same from start to start."""

import gc
import json
import os
import re

import gymnasium as gym
import pytest

from rla_agents.cli import main
from rla_envs.alfworld import dataset
from rla_envs.alfworld.dataset import COMPLETE, DataSet
from rla_envs.alfworld.scene import TASK_TYPES
from rla_envs.errors import InputError, InvalidTaskError
from tests.rla_envs.alfworld.games import ENV_ID, draw_scene
from tests.rla_envs.alfworld.real_files import real_game, write_game

SPLIT = "valid_seen"
SCENE = draw_scene(1, SPLIT, task_type="pick_two_obj_and_place", receptacles=6, objects=9)
GAME = real_game(SCENE)


def doubled(game):
    text = re.sub(r"(\n +Sink - object)", r"\1\1", game["pddl_problem"])
    return {**game, "pddl_problem": text}


def undeclared(game):
    text = re.sub(r"\(objectType \?o1 \w+Type\)", "(objectType ?o1 UnicornType)", game["pddl_problem"])
    return {**game, "pddl_problem": text}


BAD = {
    "b_no_game/trial_1": (None, "without game file"),
    "c_unsolvable/trial_1": ({**GAME, "solvable": False}, "marked unsolvable"),
    "d_unsaid/trial_1": ({k: v for k, v in GAME.items() if k != "solvable"}, "without 'solvable'"),
    "e_doubled/trial_1": (doubled(GAME), "malformed"),
    "f_undeclared/trial_1": (undeclared(GAME), "malformed"),
}


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data"


@pytest.fixture
def folder(root):
    """The data set of the field: one good game and five bad ones."""
    write_game(root, SPLIT, "a_good/trial_1", SCENE, GAME)
    for name, (game, _) in BAD.items():
        write_game(root, SPLIT, name, SCENE, game)
    return root


def ids(split=SPLIT):
    return [game.id for game in DataSet(split).games]


def test_one_line_says_what_was_found_and_skipped_and_why(folder, capfd):
    env = gym.make(ENV_ID, data="alfred", split=SPLIT).unwrapped
    assert env.dataset.summary == (
        "valid_seen: 6 found, 1 playable, 5 skipped (2 malformed, 1 marked unsolvable, "
        "1 without 'solvable', 1 without game file); the complete data set has 140 playable"
    )
    assert [game.id for game in env.dataset.games] == ["valid_seen/a_good/trial_1"]
    assert {e.id.removeprefix("valid_seen/"): e.kind for e in env.dataset.skipped} == {
        name: kind for name, (_, kind) in BAD.items()
    }
    assert all(str(folder) in entry.defect for entry in env.dataset.skipped)
    _, info = env.reset(seed=0)
    assert info["rla"]["task_id"] == "AlfWorld-v0:valid_seen/a_good/trial_1"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "defect"),
    [
        ("b_no_game/trial_1", "there is no such file"),
        ("e_doubled/trial_1", "'sink' occurs twice"),
        ("f_undeclared/trial_1", "unknown object 'unicorntype'"),
    ],
)
def test_a_bad_game_asked_for_by_path_is_named_with_its_defect(folder, name, defect):
    path = folder / "json_2.1.1" / SPLIT / name / "game.tw-pddl"
    for engine in ("native", "textworld"):
        with pytest.raises(InputError) as caught:
            gym.make(ENV_ID, engine=engine, game_file=str(path))
        assert str(path) in str(caught.value)
        assert defect in str(caught.value)


def test_a_game_that_only_the_data_set_leaves_out_can_be_played_by_path(folder):
    path = folder / "json_2.1.1" / SPLIT / "d_unsaid/trial_1" / "game.tw-pddl"
    env = gym.make(ENV_ID, game_file=str(path)).unwrapped
    env.reset(seed=0)
    assert [env.step(command)[2] for command in env.optimal_plan()][-1]


def test_order_and_ids_do_not_move_when_other_games_come(root):
    for name in ("m/trial_2", "m/trial_1", "k/trial_9"):
        write_game(root, SPLIT, name, SCENE, GAME)
    before = ids()
    assert before == sorted(before)
    tasks = [DataSet(SPLIT).task(game, ENV_ID, 5.0) for game in DataSet(SPLIT).games]
    for name, (game, _) in BAD.items():
        write_game(root, SPLIT, name, SCENE, game)
    assert ids() == before
    assert [DataSet(SPLIT).task(game, ENV_ID, 5.0) for game in DataSet(SPLIT).games] == tasks
    write_game(root, SPLIT, "l/trial_0", SCENE, GAME)
    assert [name for name in ids() if name != "valid_seen/l/trial_0"] == before


def test_games_that_alfworld_does_not_support_are_left_out(root):
    write_game(root, SPLIT, "pick_and_place_with_movable_recep-Mug/t", SCENE, GAME)
    write_game(root, SPLIT, "pick_and_place_simple-AppleSliced/t", SCENE, GAME)
    write_game(root, SPLIT, "other/t", SCENE, GAME, task_type="pick_and_place_with_something")
    write_game(root, SPLIT, "good/t", SCENE, GAME)
    (write_game(root, SPLIT, "torn/t", SCENE, GAME).parent / "traj_data.json").write_text("{")
    (write_game(root, SPLIT, "lost/t", SCENE, GAME).parent / "traj_data.json").unlink()
    found = DataSet(SPLIT)
    assert ids() == ["valid_seen/good/t"]
    assert [entry.kind for entry in found.skipped] == [
        "without traj_data.json",
        "of another task type",
        "with movable receptacles or slices",
        "with movable receptacles or slices",
        "with a malformed traj_data.json",
    ]


def test_a_complete_split_is_not_said_to_be_incomplete(root, monkeypatch):
    write_game(root, SPLIT, "a/t", SCENE, GAME)
    assert COMPLETE == {"train": 3553, "valid_seen": 140, "valid_unseen": 134}
    assert "complete data set has 140" in DataSet(SPLIT).summary
    monkeypatch.setitem(COMPLETE, SPLIT, 1)
    assert DataSet(SPLIT).summary == "valid_seen: 1 found, 1 playable, 0 skipped"


# --- What is remembered from start to start. ---


def refuse_to_read(*_args):
    raise AssertionError("a game was read again")


def index_file(root):
    return root / "rlanything" / f"{SPLIT}.json"


def test_a_second_start_reads_no_game(folder, monkeypatch):
    first = DataSet(SPLIT)
    monkeypatch.setattr(dataset, "read_game_file", refuse_to_read)
    second = DataSet(SPLIT)
    assert (second.games, second.skipped) == (first.games, first.skipped)
    assert [path.name for path in index_file(folder).parent.iterdir()] == [f"{SPLIT}.json"]


def test_only_what_changed_is_read_again(folder, monkeypatch):
    assert ids() == ["valid_seen/a_good/trial_1"]
    read = []
    kept = dataset.read_game_file
    monkeypatch.setattr(dataset, "read_game_file", lambda path: read.append(path) or kept(path))
    repaired = folder / "json_2.1.1" / SPLIT / "e_doubled/trial_1" / "game.tw-pddl"
    repaired.write_text(json.dumps(GAME))
    assert ids() == ["valid_seen/a_good/trial_1", "valid_seen/e_doubled/trial_1"]
    assert read == [repaired]
    # Of the same size, but of another time.
    status = repaired.stat()
    os.utime(repaired, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9))
    assert len(ids()) == 2
    assert read == [repaired, repaired]
    repaired.unlink()
    assert ids() == ["valid_seen/a_good/trial_1"]


def test_an_interrupted_index_goes_on_where_it_stopped(root, monkeypatch):
    for number in range(4):
        write_game(root, SPLIT, f"game_{number}/t", SCENE, GAME)
    kept, read = dataset.read_game_file, []

    def read_two(path):
        read.append(path)
        if len(read) == 3:
            raise KeyboardInterrupt
        return kept(path)

    monkeypatch.setattr(dataset, "read_game_file", read_two)
    with pytest.raises(KeyboardInterrupt):
        DataSet(SPLIT)
    assert len(ids()) == 4
    assert len(read) == 3 + 2


@pytest.mark.parametrize("contents", ["", "{", "[]", '{"made_by": 1}', '{"games": {"a": 1}}'])
def test_an_index_that_cannot_be_used_is_made_again(folder, contents):
    before = ids()
    good = index_file(folder).read_text()
    index_file(folder).write_text(contents)
    assert ids() == before
    assert index_file(folder).read_text() == good


def test_an_index_of_another_place_or_other_rules_is_not_believed(folder):
    (game,) = DataSet(SPLIT).games
    text = index_file(folder).read_text()
    length = f'"optimal_length": {game.optimal_length}'
    for old, new in ((str(folder), "/elsewhere"), ('"made_by": "1 ', '"made_by": "0 ')):
        assert old in text
        assert length in text
        index_file(folder).write_text(text.replace(old, new).replace(length, '"optimal_length": 99'))
        assert DataSet(SPLIT).games == (game,)


def test_where_the_data_cannot_be_written_the_users_cache_is_used(folder, tmp_path, monkeypatch):
    index_file(folder).parent.write_text("in the way of the folder")
    before = ids()
    (kept,) = (tmp_path / "cache").rglob(f"{SPLIT}.json")
    assert json.loads(kept.read_text())["root"] == str(folder)
    monkeypatch.setattr(dataset, "read_game_file", refuse_to_read)
    assert ids() == before


def test_without_any_place_for_the_index_the_games_are_played_all_the_same(folder, tmp_path, monkeypatch):
    index_file(folder).parent.write_text("in the way of the folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(index_file(folder).parent))
    assert ids() == ["valid_seen/a_good/trial_1"]


# --- What is said where there are no games. ---


def nothing(root):
    root.mkdir()


def one_level_too_high(root):
    write_game(root / "alfworld", SPLIT, "a/t", SCENE, GAME)


def one_level_too_low(root):
    write_game(root.parent, SPLIT, "a/t", SCENE, GAME)
    root.symlink_to(root.parent / "json_2.1.1")


def only_bad_games(root):
    write_game(root, SPLIT, "c/t", SCENE, {**GAME, "solvable": False})


@pytest.mark.parametrize(
    ("make", "also"),
    [
        (lambda root: None, "there are no games in"),
        (nothing, "there are no games in"),
        (one_level_too_high, "did you mean ALFWORLD_DATA="),
        (one_level_too_low, "did you mean ALFWORLD_DATA="),
        (only_bad_games, "1 found, 0 playable, 1 skipped (1 marked unsolvable)"),
    ],
    ids=["missing", "empty", "too high", "too low", "only bad games"],
)
def test_without_games_one_line_says_what_to_run_and_the_command_line_exits_with_2(root, make, also, capsys):
    root.parent.mkdir(exist_ok=True)
    make(root)
    with pytest.raises(InputError) as caught:
        gym.make(ENV_ID, data="alfred", split=SPLIT)
    message = str(caught.value)
    assert "\n" not in message
    assert "run alfworld-download" in message
    assert also in message
    assert main(["play", ENV_ID, "--arguments", "data=alfred", f"split={SPLIT}"]) == 2
    assert capsys.readouterr() == ("", f"rla: error: {message}\n")


def test_environments_that_live_at_the_same_time_share_the_data_set_and_later_ones_look_again(folder):
    first, second = (gym.make(ENV_ID, data="alfred", split=SPLIT) for _ in range(2))
    assert first.unwrapped.dataset is second.unwrapped.dataset
    del first, second
    gc.collect()
    write_game(folder, SPLIT, "later/t", SCENE, GAME)
    env = gym.make(ENV_ID, data="alfred", split=SPLIT)
    assert len(env.unwrapped.dataset.games) == 2


def test_a_task_type_without_games_is_said_to_have_none(folder):
    env = gym.make(ENV_ID, data="alfred", split=SPLIT).unwrapped
    with pytest.raises(InvalidTaskError) as caught:
        env.reset(options={"difficulty": {"task_type": "look_at_obj_in_light"}})
    assert str(caught.value) == (
        "split 'valid_seen' has no look_at_obj_in_light game that can be played; "
        "it has pick_two_obj_and_place"
    )
    _, info = env.reset(options={"difficulty": {"task_type": "pick_two_obj_and_place"}})
    assert info["rla"]["difficulty"]["task_type"] == TASK_TYPES.index("pick_two_obj_and_place")


def test_a_parameter_that_real_games_do_not_have_is_refused_with_those_they_have(folder):
    with pytest.raises(InputError, match=r"parameter 'receptacles'.*step_budget, task_type"):
        gym.make(ENV_ID, data="alfred", split=SPLIT, difficulty={"receptacles": 8})
    with pytest.raises(InputError, match="unknown data 'alfre'. Did you mean 'alfred'?"):
        gym.make(ENV_ID, data="alfre")
    env = gym.make(ENV_ID).unwrapped
    with pytest.raises(InputError, match="only data='alfred' has a data set"):
        env.dataset  # noqa: B018 - asking is enough
