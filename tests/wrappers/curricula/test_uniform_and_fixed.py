"""The two curricula that do not adapt: constant, and evenly spread."""

import numpy as np
import pytest

from rla_envs.errors import InputError
from tests.rla_envs.toy_env import ToyEnv
from wrappers.curricula import Fixed, Uniform

SPACE = ToyEnv().difficulty_space


def draws(curriculum, count=4000):
    rng = np.random.default_rng(0)
    return np.array([list(curriculum.propose(rng).values()) for _ in range(count)])


def test_fixed_proposes_the_same_whatever_happens():
    curriculum = Fixed(SPACE, {"doors": 2})
    for result in (True, False):
        curriculum.observe({"doors": 2, "colours": 4}, result)
        assert curriculum.propose(np.random.default_rng(0)) == {"doors": 2, "colours": 4}


def test_uniform_covers_every_value_equally_and_draws_independently():
    doors, colours = draws(Uniform(SPACE)).T
    assert [np.mean(doors == d) for d in range(1, 6)] == pytest.approx([0.2] * 5, abs=0.03)
    assert [np.mean(colours == c) for c in range(2, 7)] == pytest.approx([0.2] * 5, abs=0.03)
    assert abs(np.corrcoef(doors, colours)[0, 1]) < 0.05


def test_uniform_keeps_to_its_bounds():
    doors, colours = draws(Uniform(SPACE, low={"doors": 2}, high={"doors": 4, "colours": 2}), 300).T
    assert (set(doors), set(colours)) == ({2, 3, 4}, {2})


def test_uniform_draws_only_the_named_parameters():
    doors, colours = draws(Uniform(SPACE, parameters=["colours"]), 100).T
    assert (set(doors), set(colours)) == ({3}, {2, 3, 4, 5, 6})


@pytest.mark.parametrize(
    ("kind", "kwargs", "message"),
    [
        (Fixed, {"difficulty": {"dors": 2}}, "Did you mean 'doors'"),
        (Fixed, {"difficulty": {"doors": 9}}, "expected a value from 1 to 5, got 9"),
        (Uniform, {"low": {"doors": 4}, "high": {"doors": 2}}, "expected low <= high, got 4 > 2"),
        (Uniform, {"high": {"doors": 9}}, "expected a value from 1 to 5, got 9"),
        (Uniform, {"low": {"doors": 1}, "parameters": ["colours"]}, "unknown difficulty parameter 'doors'"),
    ],
)
def test_arguments_out_of_range_are_refused(kind, kwargs, message):
    with pytest.raises(InputError, match=message):
        kind(SPACE, **kwargs)
