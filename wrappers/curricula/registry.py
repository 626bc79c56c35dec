"""Curricula by name: the built-in ones, and anybody's as ``"module:Class"``."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rla_envs.errors import InputError, InvalidTaskError, unknown_name
from rla_envs.task import Task
from wrappers.curricula.fixed import Fixed
from wrappers.curricula.thompson import Thompson
from wrappers.curricula.threshold import Threshold
from wrappers.curricula.uniform import Uniform
from wrappers.protocols import Curriculum, Proposal, TaskSource

PROPOSAL_LIMIT = 8
"""Proposals in a row that may turn out to have no valid task before that is an error."""


_BUILT_IN: Mapping[str, Callable[..., Curriculum]] = {
    cls.name: cls for cls in (Fixed, Uniform, Threshold, Thompson)
}
_METHODS = ("bind", "propose", "observe", "state_dict", "load_state_dict", "explain", "events")


def curriculum_names() -> list[str]:
    """Return the names of the built-in curricula, sorted."""
    return sorted(_BUILT_IN)


def make_curriculum(name: str, **kwargs: Any) -> Curriculum:
    """Return a new curriculum.

    Args:
        name: A built-in name, or ``"module:Class"`` of a class that follows
            :class:`wrappers.protocols.Curriculum`.
        **kwargs: Arguments of its constructor.

    Raises:
        UnknownNameError: On an unknown name or argument; suggests the closest.
        InputError: If the module or class cannot be found, or is no curriculum.

    Example:
        >>> make_curriculum("thompson", bins=4).name
        'thompson'
    """
    factory = _load(name) if isinstance(name, str) and ":" in name else _BUILT_IN.get(name)
    if factory is None:
        raise unknown_name("curriculum", name, _BUILT_IN)
    try:
        inspect.signature(factory).bind(**kwargs)
    except TypeError as error:
        known = inspect.signature(factory).parameters
        for key in kwargs:
            if key not in known:
                raise unknown_name(f"argument of curriculum {name!r}:", key, known) from error
        raise InputError(f"curriculum {name!r}: {error}") from error
    return factory(**kwargs)


def check_curriculum(curriculum: object) -> Curriculum:
    """Return the object if it can serve as a curriculum.

    Raises:
        InputError: Naming the first method it lacks.
    """
    for method in _METHODS:
        if not callable(getattr(curriculum, method, None)):
            raise InputError(
                f"curriculum: expected a name ({', '.join(curriculum_names())}), 'module:Class' or an object "
                f"with {', '.join(_METHODS)}; {type(curriculum).__name__} has no {method}"
            )
    return curriculum  # type: ignore[return-value]


def propose_task(
    curriculum: Curriculum, source: TaskSource, rng: np.random.Generator
) -> tuple[Task, Proposal]:
    """Return the next task and the proposal it came from, for a trainer that rolls out groups.

    Not every combination of parameter values has a task. A proposal that turns
    out to have none is passed over, up to ``PROPOSAL_LIMIT`` times.

    Raises:
        InvalidTaskError: If that many proposals in a row have no valid task.
    """
    for attempt in range(1, PROPOSAL_LIMIT + 1):
        proposal = curriculum.propose(rng)
        try:
            return proposal.task or source.sample_task(proposal.difficulty, rng), proposal
        except InvalidTaskError:
            if attempt == PROPOSAL_LIMIT:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")


def _load(path: str) -> Callable[..., Curriculum]:
    module_name, _, class_name = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except (ImportError, TypeError, ValueError) as error:  # no name at all, or a relative one
        raise InputError(f"curriculum {path!r}: cannot import module {module_name!r} ({error})") from error
    factory = getattr(module, class_name, None)
    if factory is None:
        public = [name for name in vars(module) if not name.startswith("_")]
        raise unknown_name(f"class of module {module_name!r}:", class_name, public)
    check_curriculum(factory)
    return factory  # type: ignore[no-any-return]
