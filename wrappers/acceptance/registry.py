"""Acceptance rules by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from rla_envs.errors import unknown_name
from wrappers.acceptance.base import AcceptanceRule
from wrappers.acceptance.posterior import PosteriorRule
from wrappers.acceptance.threshold import ThresholdRule

_RULES: Mapping[str, Callable[..., AcceptanceRule]] = {
    rule.name: rule for rule in (PosteriorRule, ThresholdRule)
}


def acceptance_names() -> list[str]:
    """Return the names of the rules, sorted."""
    return sorted(_RULES)


def make(name: str, **kwargs: Any) -> AcceptanceRule:
    """Return a new rule.

    Args:
        name: ``"posterior"`` or ``"threshold"`` (the paper's).
        **kwargs: Arguments of its constructor.

    Raises:
        UnknownNameError: On an unknown name or argument; suggests the closest.
        InputError: If an argument cannot be used.

    Example:
        >>> make("threshold", high=0.9).decide("easier", before=(0, 8), after=(7, 8))
        'accept'
    """
    rule = _RULES.get(name) if isinstance(name, str) else None
    if rule is None:
        raise unknown_name("acceptance rule", name, _RULES)
    known = inspect.signature(rule).parameters
    for key in kwargs:
        if key not in known:
            raise unknown_name(f"argument of acceptance rule {name!r}:", key, known)
    return rule(**kwargs)
