"""Families of generated programming problems, with difficulty parameters."""

from rla_envs.coding.families.base import Family
from rla_envs.coding.families.generator import GeneratedSource, draw_plan, generate, generated_problems
from rla_envs.coding.families.operation import Operation, Plan, Step
from rla_envs.coding.families.parameters import PARAMETERS
from rla_envs.coding.families.register import FAMILIES

__all__ = [
    "FAMILIES",
    "PARAMETERS",
    "Family",
    "GeneratedSource",
    "Operation",
    "Plan",
    "Step",
    "draw_plan",
    "generate",
    "generated_problems",
]
