"""Programs get the standard names they forgot to import, and nothing else."""

import pytest

from rla_envs.coding.imports import with_implicit_imports


@pytest.mark.parametrize(
    ("code", "supplied"),
    [
        (
            "def f(x: List[int]) -> Optional[int]: ...",
            ["from typing import List", "from typing import Optional"],
        ),
        ("print(sqrt(4))", ["from math import sqrt"]),
        ("d = deque([1])", ["from collections import deque"]),
        ("print(math.pi)", ["import math"]),
        ("x = datetime.datetime.now()", ["import datetime"]),
        ("sys.stdout.write('1')", ["import sys"]),
        ("from collections import *; x: List[int] = []", ["from typing import List"]),
    ],
)
def test_a_name_that_is_missing_is_imported_first(code, supplied):
    assert with_implicit_imports(code).split("\n") == [*supplied, code]


@pytest.mark.parametrize(
    "code",
    [
        "import math\nprint(math.pi)",
        "from math import *\nprint(sqrt(4))",
        "from another import *\nprint(sqrt(4))",
        "def sqrt(x): return 1\nprint(sqrt(4))",
        "for gcd in [1]: print(gcd)",
        "def f(log): return log",
        "try:\n    pass\nexcept ValueError as e:\n    print(e)",
        "print(undefined_name)",
        "print(max(1, 2), pow(2, 3))",
        "print(1",
        "\x00",
    ],
)
def test_a_program_that_lacks_nothing_standard_stays_as_it_is(code):
    assert with_implicit_imports(code) == code


def test_future_imports_and_the_docstring_stay_first():
    code = '"""Doc."""\nfrom __future__ import annotations\nprint(sqrt(4))'
    completed = with_implicit_imports(code)
    assert completed.split("\n")[2] == "from math import sqrt"
    compile(completed, "solution.py", "exec")
