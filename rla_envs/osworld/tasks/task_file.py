"""A task in OSWorld's own format, as it is once checked."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Availability = Literal["runnable", "needs_files", "needs_network", "needs_application"]
"""Whether a task can run here, and if not, what it needs first."""


@dataclass(frozen=True)
class Step:
    """One step of a task's setup, or of what precedes its evaluation.

    Attributes:
        type: One of :data:`~rla_envs.osworld.tasks.forms.SETUP_STEPS`.
        parameters: Checked parameters.
        field: Where it stands in the file: ``config[2]``.
    """

    type: str
    parameters: Mapping[str, Any]
    field: str


@dataclass(frozen=True)
class Getter:
    """How a value is got that a metric compares.

    Attributes:
        type: OSWorld's name of the getter.
        parameters: Checked parameters; those of a getter that is not offered, as they came.
        field: Where it stands in the file: ``evaluator.result[0]``.
    """

    type: str
    parameters: Mapping[str, Any]
    field: str


@dataclass(frozen=True)
class Check:
    """One metric with what it is given.

    Attributes:
        metric: OSWorld's name of the metric.
        result: How what the agent left is got; None only for ``infeasible``.
        expected: How what it should be is got, if the metric compares.
        options: Keyword arguments of the metric.
    """

    metric: str
    result: Getter | None
    expected: Getter | None
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Evaluator:
    """How a task is scored.

    Attributes:
        checks: The metrics, in the file's order.
        conj: ``"and"`` if all must hold, ``"or"`` if one is enough.
        postconfig: Steps carried out before anything is looked at.
    """

    checks: tuple[Check, ...]
    conj: Literal["and", "or"]
    postconfig: tuple[Step, ...]


@dataclass(frozen=True)
class TaskFile:
    """A task of OSWorld, checked, with whether it can run here.

    Attributes:
        id: The task's identifier.
        instruction: What the agent is asked for.
        domain: One of OSWorld's ten: ``"libreoffice_calc"``, ``"multi_apps"`` ...
        related_apps: The applications it is about, as its authors name them.
        config: Steps that make the start state.
        evaluator: How it is scored.
        availability: ``"runnable"``, or what it needs first. Where several
            things are missing: the network before an application before files,
            since it is the hardest to supply.
        missing: Everything that is missing, of whatever kind, a line each: files
            with the place where they are looked for, applications with the
            Debian package, what needs the network.
        files: The folder in which its files are looked for.
    """

    id: str
    instruction: str
    domain: str
    related_apps: tuple[str, ...]
    config: tuple[Step, ...]
    evaluator: Evaluator
    availability: Availability
    missing: tuple[str, ...]
    files: Path | None
    _json: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def infeasible(self) -> bool:
        """Whether the task cannot be done, and the right answer is to say so with FAIL."""
        return self.evaluator.checks[0].metric == "infeasible"

    def to_json(self) -> dict[str, Any]:
        """Return the task in OSWorld's format, as it was read."""
        return copy.deepcopy(dict(self._json))
