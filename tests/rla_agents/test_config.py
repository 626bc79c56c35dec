"""Settings come in layers, survive saving, and name the key that is wrong."""

import os
import subprocess
import sys
import tomllib

import pytest

from rla_agents.config import TrainConfig, load_config, save_config
from rla_agents.toml_config import key_paths
from rla_envs.errors import InputError, UnknownNameError


@pytest.fixture
def toml(tmp_path):
    def write(text):
        path = tmp_path / "settings.toml"
        path.write_text(text)
        return path

    return write


def test_each_layer_overrides_the_one_below(toml):
    # Defaults: 16 tasks, 504 games. The demo preset, the file and the command line each take one more key.
    path = toml("seed = 5\n[rollout]\ntasks = 3\nrollouts = 6\n[policy]\nmodel = 'tiny'\n")
    config = load_config(path, ["--rollout.tasks", "2"], preset="demo")
    assert config.rollout.retries == TrainConfig().rollout.retries
    assert config.iterations == load_config(preset="demo").iterations != TrainConfig().iterations
    assert (config.seed, config.rollout.rollouts, config.rollout.tasks) == (5, 6, 2)


def test_a_model_brings_its_own_settings_under_all_others(toml):
    assert load_config(None, ["--model", "/some/folder"]).policy_learner.lr == 1e-6  # the paper's
    assert load_config(None, ["--model", "tiny"]).policy_learner.lr == 4e-4
    assert load_config(toml("[policy_learner]\nlr = 0.5\n"), ["--model", "tiny"]).policy_learner.lr == 0.5
    assert load_config(toml("policy.model = '/some/folder'\n")).policy_learner.lr == 1e-6


@pytest.mark.parametrize(
    "args",
    [
        [],
        [
            "--model",
            "smollm2",
            "--run-dir",
            "somewhere",
            "--env.difficulty",
            "a=1",
            "b=0.5",
            "c=mug",
            "d=true",
        ],
        ["--evaluation.grid", "receptacles=6,10", "hiding_depth=0", "rarity=0.5,1"],
        ["--critic.model", "None", "--policy.max-context", "99", "--policy-learner.ema", "None"],
        ["--policy.temperature", "0.7", "--policy.no-constrained", "--evaluation.games", "0"],
    ],
)
def test_a_saved_config_loads_back_equal(tmp_path, args):
    config = load_config(None, args, preset="demo")
    save_config(config, tmp_path / "config.toml")
    assert load_config(tmp_path / "config.toml") == config


def test_a_saved_config_holds_every_key_and_says_where_it_leaves_the_paper(tmp_path):
    save_config(load_config(None, ["--run-dir", "x"]), tmp_path / "config.toml")
    text = (tmp_path / "config.toml").read_text()
    saved = tomllib.loads(text)
    for path in key_paths(TrainConfig):
        table = saved
        for name in path.split("."):
            table = table[name]
    assert text.startswith("# Where the defaults differ from the paper")


def test_values_on_the_command_line_get_their_types():
    words = ["n=3", "x=0.5", "flag=true", "text=a=b"]
    config = load_config(None, ["--env.difficulty", *words])
    assert config.env.difficulty == {"n": 3, "x": 0.5, "flag": True, "text": "a=b"}


def test_a_grid_takes_several_values_each(toml):
    from_words = load_config(None, ["--evaluation.grid", "receptacles=6,10", "kind=mug"]).evaluation.grid
    from_file = load_config(
        toml("[evaluation.grid]\nreceptacles = [6, 10]\nkind = ['mug']\n")
    ).evaluation.grid
    assert from_words == from_file == {"receptacles": (6, 10), "kind": ("mug",)}


def test_naming_another_curriculum_or_environment_drops_what_was_meant_for_the_one_before(toml):
    path = toml(
        "[curriculum]\nname = 'thompson'\narguments = {bins = 3}\n[env]\ndifficulty = {objects = 9}\n"
    )
    other = load_config(path, ["--curriculum.name", "fixed", "--env", "Other-v0"])
    assert (other.curriculum.arguments, other.env.difficulty) == ({}, {})
    kept = load_config(path, ["--iterations", "3"])
    assert (kept.curriculum.arguments, kept.env.difficulty) == ({"bins": 3}, {"objects": 9})


def test_a_learner_takes_the_temperature_of_its_sampler():
    config = load_config(None, ["--policy.temperature", "0.7", "--critic.temperature", "0.9"])
    assert (config.policy_learner.temperature, config.critic_learner.temperature) == (0.7, 0.9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[policy]\ntemprature = 1.0\n",
            r"unknown key 'policy.temprature'. Did you mean 'policy.temperature'\?",
        ),
        ("iteration = 3\n", r"unknown key 'iteration'. Did you mean 'iterations'\?"),
        ("[rolout]\ntasks = 3\n", r"unknown key 'rolout'. Did you mean 'rollout'\?"),
        ("[rollout]\ntasks = 'many'\n", "rollout.tasks: expected an integer, got 'many'"),
        ("[rollout]\ntasks = 2.5\n", "rollout.tasks: expected an integer, got 2.5"),
        ("[rollout]\ntasks = true\n", "rollout.tasks: expected an integer, got True"),
        ("[policy]\nconstrained = 1\n", "policy.constrained: expected true or false, got 1"),
        ("[policy]\ntemperature = '1'\n", "policy.temperature: expected a number, got '1'"),
        ("[policy]\nmax_context = 1.5\n", "policy.max_context: expected an integer, got 1.5"),
        ("policy = 3\n", "policy: expected a table, got 3"),
        ("run_dir = 3\n", "run_dir: expected a string, got 3"),
        (
            "[objective]\npolicy_accuracy = [0.1]\n",
            r"policy_accuracy: expected a list of 2 numbers, got \[0.1\]",
        ),
        ("[objective]\npolicy_accuracy = [0.9, 0.1]\n", "policy_accuracy: expected two rates"),
        ("[env]\ndifficulty = 3\n", "env.difficulty: expected a table of names and values, got 3"),
        ("[env]\ndifficulty = {a = [1]}\n", "env.difficulty: expected .* for 'a'"),
        ("[evaluation]\ngrid = {a = 1}\n", "evaluation.grid: expected a list of values for 'a'"),
        ("[evaluation]\ngrid = {a = []}\n", "evaluation.grid: expected one value or more for 'a', got none"),
        ("[rollout]\ntasks = 0\n", "rollout.tasks: expected 1 or more, got 0"),
        ("[policy]\ntemperature = nan\n", "policy.temperature: expected a positive number, got nan"),
        ("[objective]\nestimator = 'step_indx'\n", "Did you mean 'step_index'"),
        ("[policy_learner]\nlr = -1\n", "policy_learner: .*lr.*-1.0"),
        ("[env]\nsplit = 'valid_unseen'\n", "evaluation.split: expected a split that does not train"),
        ("= 3\n", "not valid TOML"),
    ],
)
def test_a_bad_file_is_refused_in_one_line_with_its_key(toml, text, message):
    path = toml(text)
    with pytest.raises(InputError, match=message) as caught:
        load_config(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\x00"])
def test_a_file_that_is_no_text_is_refused(tmp_path, content):
    (tmp_path / "x.toml").write_bytes(content)
    with pytest.raises(InputError, match="not valid TOML"):
        load_config(tmp_path / "x.toml")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--policy.temprature", "1"], r"--policy.temprature.* Did you mean --policy.temperature\?"),
        (["--rollout.tasks", "x"], "--rollout.tasks: expected an integer, got 'x'"),
        (["--policy.temperature", "x"], "--policy.temperature: expected a number, got 'x'"),
        (["--rollout.tasks"], "--rollout.tasks"),
        (["--rollout.tasks", "0"], "rollout.tasks: expected 1 or more, got 0"),
        (["--editor", "rule"], "unknown editor 'rule'. Did you mean 'rules'"),
        (["--editor.samples", "0"], "editor.samples: expected 1 or more, got 0"),
        (["--editor.temperature", "0"], "editor.temperature: expected a positive number, got 0.0"),
        (["--policy-learner.lr", "-1"], "policy-learner: .*lr.*-1.0"),
        (["--env.difficulty", "receptacles"], "expected NAME=VALUE, got 'receptacles'"),
        (["--env.difficulty", "a=1", "a=2"], "'a' is given twice"),
        (["stray"], "stray"),
    ],
)
def test_a_bad_option_is_refused_in_one_line(args, message):
    with pytest.raises(InputError, match=message) as caught:
        load_config(None, args)
    assert "\n" not in str(caught.value)
    assert "│" not in str(caught.value)


@pytest.mark.parametrize("terminal", ["plain", "colour"])
def test_the_line_is_the_same_on_any_terminal(terminal):
    # tyro draws boxes only for UTF-8, and colours only where stdout is a terminal.
    master, slave = os.openpty()
    done = subprocess.run(
        [sys.executable, "-c", "from rla_agents.cli import main; exit(main(['play', 'X', '--sed', '3']))"],
        stdout=slave if terminal == "colour" else subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=os.environ | ({"TERM": "xterm"} if terminal == "colour" else {"PYTHONIOENCODING": "ascii"}),
    )
    os.close(slave)
    os.close(master)
    expected = "Unrecognized options: --sed, 3. Did you mean --seed?; see rla play --help"
    assert (done.returncode, done.stderr) == (2, f"rla: error: {expected}\n")


def test_an_unknown_preset_is_refused_with_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"Did you mean 'demo'\?"):
        load_config(preset="demmo")


GRID = {"receptacles": [5, 8], "task_type": ["look_at_obj_in_light"]}


@pytest.mark.parametrize("how", ["file", "command line"])
def test_a_curriculum_takes_lists_and_tables(tmp_path, how):
    inline = '{receptacles = [5, 8], task_type = ["look_at_obj_in_light"]}'
    if how == "file":
        path = tmp_path / "c.toml"
        path.write_text(f'[curriculum]\nname = "thompson"\narguments = {{ grid = {inline}, bins = 4 }}\n')
        config = load_config(path)
    else:
        words = ["--curriculum.name", "thompson", "--curriculum.arguments", f"grid={inline}", "bins=4"]
        config = load_config(None, words)
    assert config.curriculum.arguments == {"grid": GRID, "bins": 4}
    save_config(config, tmp_path / "saved.toml")
    assert load_config(tmp_path / "saved.toml") == config


def test_a_table_that_is_not_toml_is_one_line():
    with pytest.raises(InputError, match="grid: expected a list or table as in TOML"):
        load_config(None, ["--curriculum.arguments", "grid={5, 8"])


def test_keywords_of_the_environment_may_be_lists(tmp_path):
    words = ["--env", "RLA/OSWorld-v0", "--env.arguments", "family=text_append", 'observation=["screenshot"]']
    config = load_config(args=words)
    assert config.env.arguments == {"family": "text_append", "observation": ["screenshot"]}
    save_config(config, tmp_path / "config.toml")
    assert load_config(tmp_path / "config.toml") == config
