"""A run that is killed at any moment and resumed ends as one that was never killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rla_agents.small_run import outcome

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("curriculum", ["threshold", "thompson"])
def test_a_killed_and_resumed_run_ends_as_if_nothing_had_happened(curriculum, tmp_path):
    pytest.importorskip("alfworld", reason="the tokenizer is made from alfworld's tables")
    script = Path(__file__).with_name("killed_trainer.py")
    ran = subprocess.run(
        [sys.executable, str(script), str(tmp_path), curriculum],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    whole = outcome(tmp_path / "whole")
    killed = [path.name for path in tmp_path.iterdir() if path.is_dir() and path.name != "models"]
    assert len(killed) >= 3
    different = {
        name: [part for part in whole | found if whole.get(part) != found.get(part)]
        for name in killed
        if (found := outcome(tmp_path / name)) != whole
    }
    assert different == {}
    assert {(tmp_path / name / "report.html").is_file() for name in killed} == {True}
    assert {len(list((tmp_path / name / "checkpoints").iterdir())) for name in killed} == {2}
