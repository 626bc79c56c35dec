"""Values come back as they were, and what is no encoded value is refused without harm."""

import json
import math
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rla_envs.coding.sandbox.guest.values import MAX_DEPTH, ValueFormError, decode, encode

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=20)
)
KEYS = SCALARS | st.tuples(SCALARS, SCALARS)
VALUES = st.recursive(
    SCALARS | st.frozensets(KEYS, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.sets(KEYS, max_size=4)
    ),
)


def same(a, b):
    """Compare with types, which == does not: 1 == 1.0 == True."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    return a == b


@settings(max_examples=40)
@given(VALUES)
def test_a_value_is_decoded_to_what_was_encoded(value):
    assert same(decode(encode(value)), value)


@settings(max_examples=40)
@given(VALUES)
def test_the_form_is_strict_json_in_ascii(value):
    json.loads(encode(value).decode("ascii"), parse_constant=pytest.fail)


def test_values_that_json_lacks_are_kept():
    for value in (math.inf, -math.inf, 10**5000, -(10**5000), "\ud800", "\0", 5e-324):
        assert bool(decode(encode([value])) == [value])
    assert math.isnan(decode(encode(math.nan)))
    assert math.copysign(1, decode(encode(-0.0))) == -1


@pytest.mark.parametrize("value", [object(), range(3), iter([]), 1j, {}.keys(), bytearray(b"x"), print, int])
def test_other_values_are_refused_by_name(value):
    with pytest.raises(ValueFormError, match=f"expected a plain value .*, got a {type(value).__name__}"):
        encode(value)


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_nesting_has_a_limit_on_both_sides():
    assert decode(encode(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    with pytest.raises(ValueFormError, match="at most 200 levels"):
        encode(nested(MAX_DEPTH + 1))
    for depth in (MAX_DEPTH + 2, 10**6):
        with pytest.raises(ValueFormError):
            decode(b"[" * depth + b"]" * depth)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"nope", b"[1,2", b"NaN", b"Infinity", b"[-Infinity]", b"\xff", b"1\x00", b"{}",
        b'{"t":"tuple"}',
        b'{"t":"object","v":[]}', b'{"t":["x"],"v":[]}', b'{"t":"set","v":[[1]]}', b'{"t":"dict","v":[1]}',
        b'{"t":"dict","v":[[1,2,3]]}', b'{"t":"dict","v":[[[],2]]}', b'{"t":"int","v":"12z"}',
        b'{"t":"int","v":5}',
        b'{"t":"float","v":"1e5"}', b'{"t":"float","v":[]}', b'{"t":"bytes","v":"0"}', b'{"t":"bytes","v":3}',
        b'{"t":"tuple","v":5}', b"1" * 5000, "1\0".encode("utf-32-be"),
    ],
    ids=lambda data: data[:30].decode("latin-1"),
)  # fmt: skip
def test_what_is_no_encoded_value_is_refused(data):
    with pytest.raises(ValueFormError):
        decode(data)


@settings(max_examples=40)
@given(st.binary(max_size=60) | st.text(alphabet='[]{}"tv:,0123xaeinf').map(str.encode))
def test_no_bytes_raise_anything_else(data):
    with suppress(ValueFormError):
        decode(data)


@pytest.mark.parametrize("kind", ["set", "frozenset", "dict"])
def test_keys_chosen_to_have_one_hash_are_refused(kind):
    keys = [i * (2**61 - 1) for i in range(1, 1500)]
    content = [[key, 0] for key in keys] if kind == "dict" else keys
    with pytest.raises(ValueFormError, match="one"):
        decode(json.dumps({"t": kind, "v": content}).encode())
