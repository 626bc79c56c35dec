"""Curricula by name: the built-in ones, installed ones, and anybody's as ``"module:Class"``."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import numpy as np
from gymnasium import spaces

from rla_envs.errors import InputError, InvalidTaskError, unknown_name
from rla_envs.task import Task
from wrappers.curricula.bayesopt import BayesOpt
from wrappers.curricula.fixed import Fixed
from wrappers.curricula.plr import PLR
from wrappers.curricula.target import Target
from wrappers.curricula.thompson import Thompson
from wrappers.curricula.threshold import Threshold
from wrappers.curricula.uniform import Uniform
from wrappers.protocols import Curriculum, Proposal, TaskSource

PROPOSAL_LIMIT = 8
"""Proposals in a row that may turn out to have no valid task before that is an error."""

ENTRY_POINTS = "rla.curricula"
"""Group in which installed packages name their curricula: ``[project.entry-points."rla.curricula"]``."""

_BUILT_IN: Mapping[str, Callable[..., Curriculum]] = {
    cls.name: cls for cls in (Fixed, Uniform, Threshold, Target, Thompson, PLR, BayesOpt)
}
_METHODS = ("propose", "observe", "state_dict", "load_state_dict", "explain")


def curriculum_names() -> list[str]:
    """Return the names of the built-in and the installed curricula, sorted."""
    return sorted({*_BUILT_IN, *_installed()})


def make(
    name: str, difficulty_space: spaces.Dict, *, tasks: TaskSource | None = None, **kwargs: Any
) -> Curriculum:
    """Return a new curriculum over a difficulty space.

    Args:
        name: A built-in name; one under which an installed package registered
            its own (entry-point group ``rla.curricula``); or ``"module:Class"``
            of a class that follows :class:`wrappers.protocols.Curriculum`.
        difficulty_space: What it chooses from: an environment's
            ``difficulty_space``, or any ``Dict`` of ``Discrete`` spaces and
            bounded ``Box`` spaces of one number each (there, larger is harder).
        tasks: The environment whose tasks a rule that rewrites tasks works on.
            Rules that only set parameters need none.
        **kwargs: Further arguments of the curriculum.

    Raises:
        UnknownNameError: On an unknown name or argument; suggests the closest.
        InputError: If an argument cannot be used, or the module or class
            cannot be found, or is no curriculum.

    Example:
        >>> import numpy as np
        >>> from gymnasium import spaces
        >>> space = spaces.Dict({"size": spaces.Discrete(8, start=3)})
        >>> curriculum = make("fixed", space, difficulty={"size": 5})
        >>> curriculum.propose(np.random.default_rng(0))
        {'size': 5}
    """
    check_arguments(name, kwargs)
    factory = _find(name)
    if tasks is not None and "tasks" in inspect.signature(factory).parameters:
        kwargs["tasks"] = tasks
    return check_curriculum(factory(difficulty_space, **kwargs))


def check_arguments(name: str, kwargs: Mapping[str, Any]) -> None:
    """Refuse a name or keywords that :func:`make` would refuse whatever the space is.

    Raises:
        UnknownNameError: On an unknown name or argument; suggests the closest.
        InputError: If the module or class cannot be found, or is no curriculum.
    """
    parameters = inspect.signature(_find(name)).parameters
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    # The first is the space, and tasks are the environment's: neither is the user's to give.
    known = [key for key in list(parameters)[1:] if key != "tasks"]
    for key in kwargs:
        if key not in known and (key in parameters or not takes_any):
            raise unknown_name(f"argument of curriculum {name!r}:", key, known)
    try:
        inspect.signature(_find(name)).bind(None, **kwargs)
    except TypeError as error:
        raise InputError(f"curriculum {name!r}: {error}") from error


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


def next_proposal(curriculum: Curriculum, rng: np.random.Generator) -> Proposal:
    """Return what to play next and why, from any curriculum."""
    own = getattr(curriculum, "next_proposal", None)
    if own is not None:
        proposal: Proposal = own(rng)
        return proposal
    return Proposal(curriculum.propose(rng), None, f"proposed by {type(curriculum).__name__}")


def drain_events(curriculum: Curriculum) -> list[dict[str, Any]]:
    """Return what happened since the last call, from any curriculum; nothing if it keeps no events."""
    events: list[dict[str, Any]] = getattr(curriculum, "events", list)()
    return events


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
        proposal = next_proposal(curriculum, rng)
        try:
            return proposal.task or source.sample_task(proposal.difficulty, rng), proposal
        except InvalidTaskError:
            if attempt == PROPOSAL_LIMIT:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")


def _find(name: object) -> Callable[..., Curriculum]:
    if isinstance(name, str) and ":" in name:
        return _load(name)
    if isinstance(name, str) and name in _BUILT_IN:
        return _BUILT_IN[name]
    installed = _installed()
    if isinstance(name, str) and name in installed:
        return _load(installed[name].value)
    raise unknown_name("curriculum", name, {*_BUILT_IN, *installed})


def _installed() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


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
