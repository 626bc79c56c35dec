"""JSON values as text survive the way out and back, whatever their size."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rla_envs.coding.values import dump_value, load_value
from rla_envs.errors import InputError

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_what_is_written_reads_back_equal_and_is_what_json_reads(value):
    text = dump_value(value)
    assert load_value(text) == value
    assert json.loads(text) == value
    assert "\n" not in text


@pytest.mark.parametrize("value", [[10**5000], [-(7**9999)], [1, [10**4300]], {"a": 2**20000}])
def test_integers_beyond_the_interpreters_limit_of_digits_are_values_like_any_other(value):
    assert load_value(dump_value(value)) == value


def test_tuples_are_written_as_lists():
    assert dump_value((1, (2, "a"))) == '[1, [2, "a"]]'


@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf], {1: 2}, {"a": {1}}, b"x", object()])
def test_what_json_does_not_have_is_refused(value):
    with pytest.raises(InputError, match="expected"):
        dump_value(value)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "-Infinity", "", "{", "1 2", "[" * 100_000])
def test_what_is_not_json_is_refused_in_one_line(text):
    with pytest.raises(InputError, match="expected a JSON value") as caught:
        load_value(text)
    assert "\n" not in str(caught.value)


def test_nesting_too_deep_to_write_is_refused():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match="levels"):
        dump_value(deep)
