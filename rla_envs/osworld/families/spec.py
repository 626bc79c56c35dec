"""The payload of a generated task: which work is to be done, and under which circumstances."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rla_envs.errors import InvalidTaskError
from rla_envs.osworld.families import reading
from rla_envs.osworld.families.base import Family
from rla_envs.osworld.families.register import find_family

WORDINGS = ("exact", "named", "described")
"""How an instruction says what is meant: by address, by name, or by description."""

STARTS = ("open", "closed", "elsewhere")
"""Where a task starts: documents open; or the file manager, at their folder or at the user's home."""

MAX_ERRANDS, MAX_HINTS, MAX_DISTRACTOR_FILES, MAX_DISTRACTOR_WINDOWS = 2, 2, 8, 3

_FIELDS = (
    "job",
    "errands",
    "wording",
    "hints",
    "start",
    "folder",
    "distractor_files",
    "distractor_windows",
    "missing",
)
_MAX_DEPTH = 12


@dataclass(frozen=True)
class Work:
    """One job of a task, with its family."""

    family: Family
    job: Mapping[str, Any]


@dataclass(frozen=True)
class Spec:
    """What a payload says, checked but for the jobs themselves.

    Attributes:
        works: The job of the payload's family, then the errands besides.
        wording: Index into :data:`WORDINGS`.
        hints: How many hints the instruction gives for each job.
        start: Index into :data:`STARTS`.
        folder: Absolute path of the folder in which everything lies.
        distractor_files: Names of files that lie there and are of no use.
        distractor_windows: How many windows are open that are of no use.
        missing: Whether the first job's document is not there, so that the
            right answer is ``FAIL``.
    """

    works: tuple[Work, ...]
    wording: int
    hints: int
    start: int
    folder: str
    distractor_files: tuple[str, ...]
    distractor_windows: int
    missing: bool

    @classmethod
    def from_payload(cls, payload: object) -> Spec:
        """Read a payload.

        Raises:
            InvalidTaskError: If it is malformed; names the field.
            UnknownNameError: If a family is unknown.
        """
        _refuse_depth(payload)
        outer = reading.fields(payload, "payload", ("family", "spec"))
        spec = reading.fields(outer["spec"], "spec", _FIELDS)
        errands = [
            reading.fields(entry, "errand", ("family", "job"))
            for entry in reading.items(spec["errands"], "errands", 0, MAX_ERRANDS)
        ]
        works = [Work(find_family(outer["family"]), _job(spec["job"]))]
        works += [Work(find_family(errand["family"]), _job(errand["job"])) for errand in errands]
        if not isinstance(spec["missing"], bool):
            raise InvalidTaskError(f"missing: expected true or false, got {reprlib.repr(spec['missing'])}")
        names = reading.items(spec["distractor_files"], "distractor_files", 0, MAX_DISTRACTOR_FILES)
        return cls(
            works=tuple(works),
            wording=reading.integer(spec["wording"], "wording", 0, len(WORDINGS) - 1),
            hints=reading.integer(spec["hints"], "hints", 0, MAX_HINTS),
            start=reading.integer(spec["start"], "start", 0, len(STARTS) - 1),
            folder=reading.folder(spec["folder"], "folder"),
            distractor_files=tuple(_distractor(name) for name in names),
            distractor_windows=reading.integer(
                spec["distractor_windows"], "distractor_windows", 0, MAX_DISTRACTOR_WINDOWS
            ),
            missing=spec["missing"],
        )


def _job(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidTaskError(f"job: expected an object, got {reprlib.repr(value)}")
    return value


def _distractor(name: object) -> str:
    ending = f".{name.rpartition('.')[2]}" if isinstance(name, str) else ""
    return reading.file_name(name, "distractor_files", reading.choice(ending, "ending of a file", ENDINGS))


ENDINGS = (".txt", ".xlsx")
"""Endings of the files that lie there to distract."""


def _refuse_depth(value: object, depth: int = 0) -> None:
    if depth > _MAX_DEPTH:
        raise InvalidTaskError(
            f"payload: expected at most {_MAX_DEPTH} levels of lists and objects, got more"
        )
    members = (
        value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    )
    for member in members:
        _refuse_depth(member, depth + 1)
