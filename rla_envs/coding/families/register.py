"""The families by name, from the one with the shortest programs to the one with the longest."""

from __future__ import annotations

from rla_envs.coding.families.arrays import Arrays
from rla_envs.coding.families.base import Family
from rla_envs.coding.families.counting import Counting
from rla_envs.coding.families.dynamic import DynamicProgramming
from rla_envs.coding.families.events import Events
from rla_envs.coding.families.graphs import Graphs
from rla_envs.coding.families.grids import Grids
from rla_envs.coding.families.intervals import Intervals
from rla_envs.coding.families.parsing import Parsing
from rla_envs.coding.families.stack_machine import StackMachine
from rla_envs.coding.families.strings import Strings

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Arrays(),
        Strings(),
        DynamicProgramming(),
        Intervals(),
        Events(),
        Graphs(),
        Counting(),
        StackMachine(),
        Grids(),
        Parsing(),
    )
}
"""Order of the ``family`` difficulty parameter."""
