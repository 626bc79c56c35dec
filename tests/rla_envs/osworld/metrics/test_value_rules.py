"""Rules of a method and a reference value."""

import pytest
from openpyxl.worksheet.cell_range import MultiCellRange

from rla_envs.errors import InputError
from rla_envs.osworld.metrics.value_rules import obeys


@pytest.mark.parametrize(
    ("method", "ref", "right", "wrong"),
    [
        ("eq", 3, [3, 3.0], [4, "3", None]),
        ("ne", 3, [4, "3"], [3]),
        ("lt", 260, [100.0], [260, 300, None, "1"]),
        ("ge", 2, [2, 3], [1]),
        ("re", "b+", ["abbc"], ["ac", "B", None, 3]),
        ("re.I.S", "a.b", ["A\nB"], ["ab"]),
        ("approx:0.1", -186.93, [-186.9, "-187.0"], [-187.1, None, "x"]),
        ("range.te", [0, 2], [1, 2], [0, 3, None]),
        ("range.et", [0, 2], [0, 1], [2, -1]),
        ("str_list_eq", ["a", "b"], ['"a,b"'], ['"b,a"', '"a"', None]),
        ("str_set_eq", ["Pass", "Fail"], ['"Fail,Pass"', "Pass,Fail"], ['"Pass"', '"Pass,Fail,Held"', None]),
        (
            "spreadsheet_range",
            ["D2:D29", "D2:D1048576"],
            [MultiCellRange("D2:D29"), MultiCellRange("D2:D40 D41:D50")],
            [MultiCellRange("D2:D28"), MultiCellRange("D1:D29"), MultiCellRange("D2:E29"), "D2:D29", None],
        ),
    ],
)
def test_methods_tell_values_apart(method, ref, right, wrong):
    for value in right:
        assert obeys(value, {"method": method, "ref": ref}), value
    for value in wrong:
        assert not obeys(value, {"method": method, "ref": ref}), value


@pytest.mark.parametrize("method", ["equals", "approx", "approx:x", "range.xx", "range.t", "re.Q", "", None])
def test_a_method_that_makes_no_sense_is_refused(method):
    with pytest.raises(InputError):
        obeys(1, {"method": method, "ref": [0, 2]})
    with pytest.raises(InputError):
        obeys(1, {"method": "eq"})
