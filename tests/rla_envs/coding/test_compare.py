"""Outputs are equal by value where they should be, and by nothing less."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rla_envs.coding.compare import livebench_same_text, same_number, same_text, same_value


@pytest.mark.parametrize(
    ("output", "expected", "strict", "livebench"),
    [
        ("1 2\n3\n", "1 2\n3", True, True),
        ("  1 2  \n3\n\n", "1 2\n3", True, True),
        ("1\r\n2\r\n", "1\n2\n", True, True),
        ("6.0", "6", True, True),
        ("0.50", "0.5", True, True),
        ("1e-05", "0.00001", True, True),
        ("0.30000000000000004", "0.3", True, False),
        ("0.3333333333333333", "0.33333", True, False),
        ("2.718281828459045", "2.7182818285", True, False),
        ("Case 1: 0.50", "Case 1: 0.5", True, False),
        ("a  b", "a b", True, False),
        ("007", "7", False, True),
        ("0.31", "0.3", False, False),
        ("0.3", "0.31", False, False),
        ("0.33334", "0.33333", False, False),
        ("3.14159", "3.14", False, False),
        ("5.999999999", "6", False, False),
        ("1\n2", "1 2", False, False),
        ("1\n\n2", "1\n2", False, False),
        ("YES", "yes", False, False),
        ("", "0", False, False),
        ("1 2 3", "1 2", False, False),
        ("1 2", "1 2 3", False, False),
        ("inf", "1e999", False, False),
        ("1e999", "1e1000", False, False),
        ("nan", "nan", True, True),
        ("1_0", "10", False, True),
        ("٣", "3", False, True),
    ],
)
def test_printed_outputs_compare_as_listed(output, expected, strict, livebench):
    assert same_text(output, expected) is strict
    assert livebench_same_text(output, expected) is livebench


def test_a_digit_wrong_among_thousands_is_wrong():
    digits = "9" * 6021
    assert same_text(digits, digits)
    assert not same_text("8" + digits[1:], digits)
    assert not same_number(digits + ".0", "8" + digits[1:] + ".0")


@given(st.decimals(-1000, 1000, places=7))
def test_a_number_written_in_another_way_is_the_same_number(number):
    written = f"{number:f}"
    assert same_number(f"{Decimal(written).normalize():e}", written)
    assert same_number(written + "000", written)


@given(st.integers(), st.integers())
def test_integers_are_the_same_only_if_they_are(one, other):
    assert same_number(str(one), str(other)) is (one == other)


@pytest.mark.parametrize(
    ("value", "expected", "same"),
    [
        ([(1, 2), (3,)], [[1, 2], [3]], True),
        (((1,),), [[1]], True),
        (True, 1, True),
        (1.0, 1, True),
        (0.1 + 0.2, 0.3, True),
        (0.3333333333, 0.33333, True),
        ([0.1 + 0.2], [0.3], True),
        ({2: "a", None: 2, True: 0}, {"2": "a", "null": 2, "true": 0}, True),
        ([10**5000], [10**5000], True),
        ([10**5000], [1.5], False),
        (10**400, 1e308, False),
        (0.31, 0.3, False),
        (5.9999999999, 6, False),
        ("1", 1, False),
        ([1], 1, False),
        (1, [1], False),
        ([1, 2], [1], False),
        ({1, 2}, [1, 2], False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1}, {"b": 1}, False),
        (None, 0, False),
        (None, None, True),
        (float("nan"), 0.0, False),
        (float("inf"), 1.0, False),
    ],
)
def test_returned_values_compare_as_listed(value, expected, same):
    assert same_value(value, expected) is same


@pytest.mark.parametrize(
    ("start", "repeated", "end"),
    [("", "1", "x"), ("1.", "1", "x"), ("", "1", "e"), ("", "a\n", ""), ("", "a ", ""), ("", "\0", "")],
)
def test_a_flood_of_output_is_compared_in_time_proportional_to_its_length(start, repeated, end):
    output = start + repeated * 10**6 + end
    assert not same_text(output, "3.5")
    assert not livebench_same_text(output, "3.5")


@pytest.mark.parametrize("value", [{10**5000: 1}, {(10**5000,): 1}, {frozenset(): 1}, {b"a": 1}])
def test_keys_that_json_cannot_write_are_other_keys(value):
    assert not same_value(value, {"a": 1})
