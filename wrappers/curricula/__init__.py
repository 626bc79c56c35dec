"""Curricula: rules that choose the next difficulty, or the next task, from results."""

from wrappers.curricula.fixed import Fixed
from wrappers.curricula.registry import curriculum_names, make, propose_task
from wrappers.curricula.shared import shared_curriculum
from wrappers.curricula.thompson import Thompson
from wrappers.curricula.threshold import Threshold
from wrappers.curricula.uniform import Uniform

__all__ = [
    "Fixed",
    "Thompson",
    "Threshold",
    "Uniform",
    "curriculum_names",
    "make",
    "propose_task",
    "shared_curriculum",
]
