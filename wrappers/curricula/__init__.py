"""Curricula: rules that choose the next difficulty, or the next task, from results."""

from wrappers.curricula.bayesopt import BayesOpt
from wrappers.curricula.fixed import Fixed
from wrappers.curricula.plr import PLR
from wrappers.curricula.registry import curriculum_names, make, propose_task
from wrappers.curricula.shared import shared_curriculum
from wrappers.curricula.target import Target
from wrappers.curricula.thompson import Thompson
from wrappers.curricula.threshold import Threshold
from wrappers.curricula.uniform import Uniform

__all__ = [
    "PLR",
    "BayesOpt",
    "Fixed",
    "Target",
    "Thompson",
    "Threshold",
    "Uniform",
    "curriculum_names",
    "make",
    "propose_task",
    "shared_curriculum",
]
