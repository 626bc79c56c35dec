"""Families of generated desktop tasks, each provably solvable and with a witness that solves it."""

from rla_envs.osworld.families.build import BuiltTask, build
from rla_envs.osworld.families.check import check
from rla_envs.osworld.families.export import export
from rla_envs.osworld.families.register import FAMILIES, families, find_family
from rla_envs.osworld.families.sample import sample_payload

__all__ = ["FAMILIES", "BuiltTask", "build", "check", "export", "families", "find_family", "sample_payload"]
