"""The README's examples run as they stand."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_quick_start_runs():
    pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    runnable = [block for block in blocks if "Mine/" not in block]
    assert len(runnable) == 3
    names = {}
    for block in runnable:
        exec(block, names)
    assert names["info"]["rla"]["steps"] > 0
    assert names["again"] == names["task"]
