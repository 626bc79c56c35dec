"""Unicode is a Gymnasium space of strings that is cheap to build, pickle and batch."""

import json
import pickle

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_space_limit
from gymnasium.vector.utils import batch_space
from hypothesis import given
from hypothesis import strategies as st

from rla_envs import Unicode


@given(st.text())
def test_every_string_up_to_the_cap_is_inside_and_survives_json(text):
    space = Unicode(max(1, len(text)))
    assert text in space
    assert text + "xx" not in space
    jsonable = json.loads(json.dumps(space.to_jsonable([text])))
    assert space.from_jsonable(jsonable) == [text]


@pytest.mark.parametrize("value", [None, 3, b"text", ["text"], np.array("text")])
def test_what_is_no_string_is_outside(value):
    assert value not in Unicode()


@given(st.integers(1, 40), st.integers(0, 2**31))
def test_samples_are_inside_and_follow_the_seed(length, seed):
    one, other = Unicode(length, seed=seed), Unicode(length)
    other.seed(seed)
    drawn = [one.sample() for _ in range(5)]
    assert drawn == [other.sample() for _ in range(5)]
    assert all(text in one for text in drawn)


def test_equality_pickling_and_size():
    assert Unicode(5) == Unicode(5) != Unicode(6)
    assert Unicode(5) != spaces.Text(5)
    assert hash(Unicode(5)) == hash(Unicode(5))
    assert repr(Unicode(5)) == "Unicode(5)"
    pickled = pickle.dumps(Unicode(5))
    assert pickle.loads(pickled) == Unicode(5)
    assert len(pickled) < 1000


def test_it_goes_into_gymnasiums_containers():
    nested = spaces.Dict({"goal": Unicode(50), "grid": spaces.Discrete(3)})
    nested.seed(0)
    assert nested.sample() in nested
    assert batch_space(Unicode(50), 2).contains(("a", "ž"))
    check_space_limit(Unicode(50), "observation")


def test_a_length_below_one_and_masks_are_refused():
    with pytest.raises(ValueError, match="max_length must be 1 or more, got 0"):
        Unicode(0)
    with pytest.raises(ValueError, match="neither a mask nor probabilities"):
        Unicode().sample(mask=object())
