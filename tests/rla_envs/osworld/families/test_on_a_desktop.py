"""Witnesses win on a real desktop; doing nothing and near-misses do not."""

import numpy as np
import pytest

from benchmarks.osworld_families import play, trial, ways
from rla_envs.osworld.families import build


@pytest.mark.parametrize("family", ["calc_cells", "text_lines", "terminal_output"])
def test_a_witness_wins_and_doing_nothing_does_not(family, local_desktops):
    payload = trial(family, seed=1, difficulty={"edits": 1})
    won = play(payload, build(payload).witness)
    assert (won.nothing, won.score) == (0.0, 1.0)


def test_the_right_text_in_the_wrong_line_does_not_count(local_desktops):
    payload = trial("text_lines", seed=1, difficulty={"edits": 1})
    assert play(payload, ways(payload, misses=True)["wrong line"]).score == 0.0


def test_work_that_is_not_saved_does_not_count(local_desktops):
    payload = trial("text_append", seed=1, difficulty={"edits": 2})
    steps = [step for step in build(payload).witness if "'ctrl', 's'" not in step]
    assert play(payload, steps).score == 0.0


@pytest.mark.parametrize("family", ["files_move", "settings_editor"])
def test_what_cannot_be_done_is_done_by_saying_so(family, local_desktops):
    payload = trial(family, seed=1, difficulty={"edits": 1, "start": 1})
    payload["spec"]["missing"] = True
    assert play(payload, ["FAIL"]).score == 1.0
    assert play(payload, ["DONE"]).score == 0.0


def test_trials_depend_on_nothing_but_their_seed():
    rng = np.random.default_rng(0)
    rng.random()
    assert trial("calc_cells", 3, {}) == trial("calc_cells", 3, {})
