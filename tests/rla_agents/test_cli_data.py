"""The commands say in one line that alfworld's games are not there, and play them where they are."""

import pytest

pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")

from rla_agents.cli import main
from tests.rla_envs.alfworld.games import ENV_ID, draw_scene
from tests.rla_envs.alfworld.real_files import real_game, write_game


@pytest.mark.parametrize("command", ["play", "train"])
def test_without_the_data_set_the_command_says_what_to_run_and_exits_with_2(
    command, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    words = {
        "play": ["play", ENV_ID, "--arguments", "data=alfred"],
        "train": ["train", "--env.arguments", "data=alfred", "--run-dir", str(tmp_path / "run")],
    }
    assert main(words[command]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "run alfworld-download, or set ALFWORLD_DATA" in captured.err


def test_a_game_file_is_played_in_the_terminal(tmp_path, monkeypatch, capsys):
    scene = draw_scene(0, task_type="pick_and_place_simple", receptacles=6, objects=9)
    file = write_game(tmp_path, "train", "a/t", scene, real_game(scene))
    monkeypatch.setattr("builtins.input", lambda _prompt: "quit")
    assert main(["play", ENV_ID, "--arguments", f"game_file={file}"]) == 0
    assert f"Your task is to: {scene.goal.text()}." in capsys.readouterr().out
