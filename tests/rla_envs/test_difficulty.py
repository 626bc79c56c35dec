"""Difficulty values are parsed to plain numbers; anything else is refused with the range."""

import numpy as np
import pytest

from rla_envs import DifficultyParameter
from rla_envs.difficulty import complete_difficulty, parse_difficulty
from rla_envs.errors import InputError, UnknownNameError

COUNT = DifficultyParameter("count", 2, 6, 4, "things", lambda task: 0.0)
SHARE = DifficultyParameter("share", 0.0, 1.0, None, "part", lambda task: 0.0, continuous=True)
KIND = DifficultyParameter("kind", 1, 3, 1, "sort", lambda task: 0.0, direction=-1, names=("a", "b", "c"))
ALL = (COUNT, SHARE, KIND)


@pytest.mark.parametrize(
    ("parameter", "value", "parsed"),
    [
        (COUNT, 2, 2),
        (COUNT, 6.0, 6),
        (COUNT, np.int64(3), 3),
        (COUNT, np.array(5), 5),
        (SHARE, 1, 1.0),
        (SHARE, np.float32(0.5), 0.5),
        (KIND, "b", 2),
        (KIND, 3, 3),
    ],
)
def test_a_value_becomes_a_plain_number_of_its_kind(parameter, value, parsed):
    result = parameter.parse(value)
    assert result == parsed
    assert type(result) is type(parsed)
    assert parameter.space.contains(np.asarray(result, parameter.space.dtype))


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        (COUNT, 1, r"'count': expected a value from 2 to 6, got 1; larger is harder"),
        (COUNT, 7, "from 2 to 6, got 7"),
        (COUNT, 2.5, "expected an integer from 2 to 6, got 2.5"),
        (COUNT, "4", "integer from 2 to 6"),
        (COUNT, True, "integer from 2 to 6"),
        (COUNT, None, "integer from 2 to 6"),
        (COUNT, [3], "integer from 2 to 6"),
        (COUNT, float("nan"), "from 2 to 6"),
        (COUNT, float("inf"), "from 2 to 6"),
        (SHARE, float("nan"), "from 0.0 to 1.0"),
        (SHARE, -0.1, "from 0.0 to 1.0, got -0.1"),
        (KIND, 0, "larger is easier"),
        (KIND, "bb", "Did you mean 'b'"),
    ],
)
def test_any_other_value_is_refused_with_what_is_allowed(parameter, value, message):
    with pytest.raises(InputError, match=message):
        parameter.parse(value)


def test_an_unknown_name_is_refused_with_the_closest_known_one():
    with pytest.raises(UnknownNameError, match="unknown difficulty parameter 'cuont'. Did you mean 'count'"):
        parse_difficulty(ALL, {"cuont": 3})
    with pytest.raises(InputError, match="expected a mapping"):
        parse_difficulty(ALL, [("count", 3)])


def test_parsed_values_follow_the_declared_order():
    assert list(parse_difficulty(ALL, {"kind": "c", "count": 2})) == ["count", "kind"]
    assert parse_difficulty(ALL, None) == {}


def test_missing_values_take_the_default_or_are_drawn():
    rng = np.random.default_rng(0)
    drawn = [complete_difficulty(ALL, {"kind": 2}, rng) for _ in range(20)]
    assert {d["count"] for d in drawn} == {4}
    assert {d["kind"] for d in drawn} == {2}
    assert len({d["share"] for d in drawn}) == 20


@pytest.mark.parametrize("parameter", ALL)
def test_drawn_values_cover_the_range_and_nothing_else(parameter):
    rng = np.random.default_rng(0)
    drawn = [parameter.draw(rng) for _ in range(200)]
    assert [parameter.parse(value) for value in drawn] == drawn
    if not parameter.continuous:
        assert set(drawn) == set(range(parameter.low, parameter.high + 1))
