"""Rules that decide whether a pending task edit is kept, and what they get wrong."""

from wrappers.acceptance.base import AcceptanceRule, Decision, Results
from wrappers.acceptance.characteristics import Characteristics, awaits_active, characteristics
from wrappers.acceptance.posterior import PosteriorRule
from wrappers.acceptance.registry import acceptance_names, make
from wrappers.acceptance.threshold import ThresholdRule

__all__ = [
    "AcceptanceRule",
    "Characteristics",
    "Decision",
    "PosteriorRule",
    "Results",
    "ThresholdRule",
    "acceptance_names",
    "awaits_active",
    "characteristics",
    "make",
]
