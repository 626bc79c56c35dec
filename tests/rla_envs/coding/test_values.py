"""JSON values as text survive the way out and back, whatever their size."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rla_envs.coding.sandbox.guest.values import encode
from rla_envs.coding.values import MAX_DEPTH, dump_value, load_value, show_value
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


@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", "-Infinity", "1e999", "[-1e999]", "", "{", "1 2", "[" * 100_000]
)
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


def test_nesting_is_read_as_deep_as_the_sandbox_takes_arguments():
    allowed, beyond = ("[" * levels + "]" * levels for levels in (MAX_DEPTH, MAX_DEPTH + 1))
    assert len(encode([load_value(allowed)])) > 2 * MAX_DEPTH
    with pytest.raises(InputError, match="more than 199 levels"):
        load_value(beyond)
    assert load_value(json.dumps("[" * 1000)) == "[" * 1000


@given(JSON_VALUES)
def test_a_value_is_shown_as_json(value):
    text = dump_value(value)
    assert show_value(value, len(text)) == text
    assert (
        show_value(value, max(1, len(text) - 1))[:-1] == text[: max(1, len(text) - 1) - 1] or len(text) == 1
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ([1 << 16_000_000], "[<integer of 16000001 bits>]"),
        ({10**5000}, "<set of 1>"),
        ({10**5000: 1}, "{<integer of 16610 bits>: 1}"),
        ({(1, None): {1: True}}, "{[1, null]: {1: true}}"),
        ([math.nan, b"abc", math.inf], "[nan, <bytes of 3>, inf]"),
        (["ab"] * 10**6, '["ab", "ab", "ab", "a…'),
        (["a" * 10**6], '["' + "a" * 19 + "…"),
        ("\ud800", '"\\ud800"'),
    ],
)
def test_whatever_a_program_returns_can_be_shown_in_short(value, shown):
    assert show_value(value, max(22, len(shown)) if "…" not in shown else 22) == shown


@pytest.mark.parametrize("value", [{10**5000: 1}, {10**5000}])
def test_a_refusal_can_name_any_value(value):
    with pytest.raises(InputError, match="expected"):
        dump_value(value)
