"""The two curricula that do not adapt: constant, and evenly spread."""

import numpy as np
import pytest

from rla_envs.errors import InputError
from tests.rla_envs.toy_env import ToyEnv
from wrappers.curricula import Fixed, Uniform


def bound(curriculum):
    curriculum.bind(ToyEnv())
    return curriculum


def draws(curriculum, count=4000):
    rng = np.random.default_rng(0)
    return np.array([list(bound(curriculum).propose(rng).difficulty.values()) for _ in range(count)])


def test_fixed_proposes_the_same_whatever_happens():
    curriculum = bound(Fixed({"doors": 2}))
    for result in (True, False):
        curriculum.observe({"doors": 2, "colours": 4}, result)
        assert curriculum.propose(np.random.default_rng(0)).difficulty == {"doors": 2}


def test_uniform_covers_every_value_equally_and_draws_independently():
    doors, colours = draws(Uniform()).T
    assert [np.mean(doors == d) for d in range(1, 6)] == pytest.approx([0.2] * 5, abs=0.03)
    assert [np.mean(colours == c) for c in range(2, 7)] == pytest.approx([0.2] * 5, abs=0.03)
    assert abs(np.corrcoef(doors, colours)[0, 1]) < 0.05


def test_uniform_keeps_to_its_bounds():
    doors, colours = draws(Uniform(low={"doors": 2}, high={"doors": 4, "colours": 2}), 300).T
    assert (set(doors), set(colours)) == ({2, 3, 4}, {2})


def test_uniform_draws_only_the_named_parameters():
    assert draws(Uniform(parameters=["colours"]), 10).shape == (10, 1)


@pytest.mark.parametrize(
    ("curriculum", "message"),
    [
        (Fixed({"dors": 2}), "Did you mean 'doors'"),
        (Fixed({"doors": 9}), "expected a value from 1 to 5, got 9"),
        (Uniform(low={"doors": 4}, high={"doors": 2}), "expected low <= high, got 4 > 2"),
        (Uniform(high={"doors": 9}), "expected a value from 1 to 5, got 9"),
        (Uniform(low={"doors": 1}, parameters=["colours"]), "unknown difficulty parameter 'doors'"),
    ],
)
def test_arguments_out_of_range_are_refused_when_bound(curriculum, message):
    with pytest.raises(InputError, match=message):
        bound(curriculum)
