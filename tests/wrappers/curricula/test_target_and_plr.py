"""AdaRFT's level follows its formula; level replay follows its weights."""

import math

import numpy as np
import pytest
from gymnasium import spaces

from rla_envs import DifficultyParameter
from rla_envs.difficulty import DifficultySpace
from rla_envs.errors import InputError
from tests.wrappers.curricula.learners import LINE, hardness
from wrappers.curricula import PLR, Target


def level_after(batches, **kwargs):
    """Feed batches of (wins, size) and return the level."""
    curriculum = Target(LINE, **kwargs)
    for wins, size in batches:
        for i in range(size):
            curriculum.observe({"x": 10}, i < wins)
    return curriculum.level


def test_the_level_moves_by_the_papers_formula_with_its_constants():
    # T starts at the easy end; step 50 of a range of 100, sensitivity 2, target reward 0.5.
    expected = 0.5 * math.tanh(2 * (24 / 32 - 0.5))
    assert level_after([(24, 32)]) == pytest.approx(expected)
    expected += 0.5 * math.tanh(2 * (12 / 32 - 0.5))
    assert level_after([(24, 32), (12, 32)]) == pytest.approx(expected)


def test_the_level_stays_from_end_to_end():
    assert level_after([(32, 32)] * 9) == 1.0
    assert level_after([(0, 32)] * 9) == 0.0
    assert level_after([(16, 32)] * 9, start=0.3) == 0.3


def test_one_lucky_last_result_moves_nothing():
    assert level_after([(0, 31)], start=0.5) == 0.5
    curriculum = Target(LINE, start=0.5)
    for i in range(32):
        curriculum.observe({"x": 10}, i == 31)
    assert curriculum.level < 0.2


def test_parameters_are_set_around_the_level_each_towards_its_own_hard_end():
    view = DifficultyParameter("view", 0.0, 1.0, 0.5, "", lambda t: 0.0, direction=-1, continuous=True)
    size = DifficultyParameter("size", 0.0, 10.0, 5.0, "", lambda t: 0.0, continuous=True)
    kind = DifficultyParameter("kind", 0, 2, 0, "", lambda t: 0.0, names=("a", "b", "c"))
    curriculum, rng = Target(DifficultySpace([view, size, kind]), start=0.8), np.random.default_rng(0)
    drawn = [curriculum.propose(rng) for _ in range(600)]
    assert np.median([d["view"] for d in drawn]) == pytest.approx(0.2, abs=0.02)
    assert np.median([d["size"] for d in drawn]) == pytest.approx(8.0, abs=0.2)
    assert np.std([d["size"] for d in drawn if d["size"] > 5]) == pytest.approx(1.0, abs=0.2)
    assert np.bincount([d["kind"] for d in drawn]).min() > 150


def test_one_proposal_in_twenty_revisits_an_easier_level():
    curriculum, rng = Target(LINE, start=0.9, spread=0.0), np.random.default_rng(0)
    drawn = [hardness(curriculum.propose(rng)) for _ in range(2000)]
    assert np.mean(np.array(drawn) < 0.85) == pytest.approx(0.05 * 0.85 / 0.9, abs=0.015)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"step": 0}, "step: expected a number from 0.001 to 1.0, got 0"),
        ({"batch": 0}, "batch: expected an integer of 1 or more"),
        ({"start": 1.5}, "start: expected a number from 0.0 to 1.0"),
        ({"critic_weight": 2}, "critic_weight: expected a number from 0.0 to 1.0, got 2"),
        ({"balance": "yes"}, "balance: expected true or false, got 'yes'"),
    ],
)
def test_arguments_out_of_range_are_refused(kwargs, message):
    with pytest.raises(InputError, match=message):
        Target(LINE, **kwargs)


CELLS = spaces.Dict({"x": spaces.Discrete(4)})


def buffered(results, **kwargs):
    """A buffer with these results of the cells 0, 1, ..., each a list of bools, in turn."""
    curriculum = PLR(CELLS, replay=1.0, memory=10**6, **kwargs)
    for cell, outcomes in enumerate(results):
        for outcome in outcomes:
            curriculum.observe({"x": cell}, outcome)
    return curriculum


def frequencies(curriculum, draws=6000):
    rng = np.random.default_rng(0)
    return np.bincount([curriculum.propose(rng)["x"] for _ in range(draws)], minlength=4) / draws


def test_levels_are_replayed_by_rank_of_learnability_and_by_staleness():
    # Success 0.5, 0.3, 0.9 and 0 in twenty, by learnability in the order 0, 1, 2, 3.
    wins = [10, 6, 18, 0]
    curriculum = buffered([[i < w for i in range(20)] for w in wins], temperature=0.5, staleness=0.2)
    ranked = np.array([1.0, 2.0, 3.0, 4.0]) ** (-1 / 0.5)
    ages = np.array([60.0, 40.0, 20.0, 0.0])
    expected = 0.8 * ranked / ranked.sum() + 0.2 * ages / ages.sum()
    assert frequencies(curriculum) == pytest.approx(expected, abs=0.02)


def test_equally_learnable_levels_share_evenly():
    curriculum = buffered([[True, False]] * 4, staleness=0.0)
    assert frequencies(curriculum) == pytest.approx([0.25] * 4, abs=0.02)


def test_new_levels_come_in_the_stated_share():
    curriculum, rng = PLR(LINE, replay=0.7), np.random.default_rng(0)
    curriculum.observe({"x": 5}, True)
    new = [curriculum.next_proposal(rng).reason.startswith("a new level") for _ in range(3000)]
    assert np.mean(new) == pytest.approx(0.3, abs=0.03)


def test_a_full_buffer_drops_the_least_learnable_level_and_keeps_the_newest():
    curriculum = buffered([[True, False], [True] * 9, [True, False, True]], capacity=3)
    curriculum.observe({"x": 3}, True)
    levels = {level["values"]["x"] for level in curriculum.state_dict()["levels"]}
    assert levels == {0, 2, 3}


def test_a_level_remembers_about_as_many_results_as_told():
    curriculum = PLR(CELLS, memory=4)
    for result in [True] * 50 + [False] * 8:
        curriculum.observe({"x": 1}, result)
    (level,) = curriculum.state_dict()["levels"]
    assert level["won"] + level["lost"] == pytest.approx(4.0, abs=0.01)
    assert level["won"] == pytest.approx(4 * 0.75**8, abs=0.01)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"replay": 1.1}, "replay: expected a number from 0.0 to 1.0, got 1.1"),
        ({"temperature": 0}, "temperature: expected a number from 0.01"),
        ({"capacity": 0}, "capacity: expected an integer of 1 or more, got 0"),
        ({"memory": 2.5}, "memory: expected an integer"),
    ],
)
def test_plr_arguments_out_of_range_are_refused(kwargs, message):
    with pytest.raises(InputError, match=message):
        PLR(LINE, **kwargs)
