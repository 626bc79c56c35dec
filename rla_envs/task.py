"""Tasks, edits and verdicts: the plain, frozen values that environments exchange with everyone else."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NoReturn, Self, TypeAlias, TypeVar

from rla_envs.errors import InputError

JSON: TypeAlias = bool | int | float | str | Iterable["JSON"] | Mapping[str, "JSON"] | None
"""A value that survives a round trip through JSON."""

ValueT = TypeVar("ValueT")


class FrozenDict(dict[str, Any]):
    """A ``dict`` with string keys that refuses to change after it is made.

    Values are frozen too: nested mappings become ``FrozenDict``, lists become
    tuples. It compares, pickles and serialises as an ordinary dict.
    """

    def __init__(self, values: Mapping[str, JSON] | None = None) -> None:
        """Freeze ``values`` and everything in them."""
        items = {} if values is None else values
        super().__init__({key: freeze(value) for key, value in items.items()})

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("this mapping is frozen; build a new one from dict(...) instead")

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        """Hash the canonical JSON, the same in every process."""
        return int(_digest(self)[:15], 16)

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        """Pickle as a call of the constructor, which alone may fill the dict."""
        return FrozenDict, (dict(self),)

    def __copy__(self) -> FrozenDict:
        """Return itself: a frozen value needs no copy."""
        return self

    def __deepcopy__(self, memo: object) -> FrozenDict:
        """Return itself: a frozen value needs no copy."""
        return self


_FROZEN = frozenset((FrozenDict, str, int, bool))


def freeze(value: JSON) -> Any:
    """Return ``value`` with every mapping and list in it made immutable.

    Raises:
        InputError: If something in it is not a JSON value.
    """
    # Most values by far are plain strings and integers, and every sampled task is frozen.
    if type(value) in _FROZEN:
        return value
    if value is None or isinstance(value, bool | int | float | str):
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"expected a finite number, got {value!r}; JSON has no such value")
        return value
    if isinstance(value, Mapping):
        bad = [key for key in value if not isinstance(key, str)]
        if bad:
            raise InputError(f"expected string keys, got {bad[0]!r} of type {type(bad[0]).__name__}")
        return FrozenDict(value)
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    raise InputError(
        f"expected a JSON value (null, number, string, list or object), got {value!r} "
        f"of type {type(value).__name__}; convert it first"
    )


def canonical_json(value: JSON) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, plain ASCII."""
    return _CANONICAL.encode(value)


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
"""Made once: every task is written to be hashed."""


def _digest(value: JSON) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


@dataclass(frozen=True)
class Task:
    """One concrete problem: everything needed to rebuild its episode.

    Attributes:
        env_id: Registered id of the environment that can play it, without
            ``-Adaptive`` (``"RLA/AlfWorld-v0"``).
        difficulty: Value of every difficulty parameter, in the environment's
            ``difficulty_space``.
        payload: What the environment needs beyond that, as JSON.
        id: Name of the task; derived from its content when left empty.
        root_id: The task this one descends from by edits; itself when sampled.
        parent_id: The task it was edited from, or None when sampled.
        version: Number of edits between root and this task.
    """

    env_id: str
    difficulty: Mapping[str, Any]
    payload: Mapping[str, Any]
    id: str = ""
    root_id: str = ""
    parent_id: str | None = None
    version: int = 0

    def __post_init__(self) -> None:
        """Check the field types, freeze the contents and fill in the ids."""
        for name in ("env_id", "id", "root_id"):
            if not isinstance(getattr(self, name), str):
                raise InputError(f"Task.{name}: expected a string, got {getattr(self, name)!r}")
        for name in ("difficulty", "payload"):
            value = getattr(self, name)
            if not isinstance(value, Mapping):
                raise InputError(f"Task.{name}: expected a mapping, got {value!r}")
            object.__setattr__(self, name, freeze(value))
        if self.parent_id is not None and not isinstance(self.parent_id, str):
            raise InputError(f"Task.parent_id: expected a string or null, got {self.parent_id!r}")
        if isinstance(self.version, bool) or not isinstance(self.version, int) or self.version < 0:
            raise InputError(f"Task.version: expected an integer of 0 or more, got {self.version!r}")
        if not self.id:
            object.__setattr__(self, "id", f"{self.env_id.split('/')[-1]}:{self.content_hash[:16]}")
        if not self.root_id:
            object.__setattr__(self, "root_id", self.id)

    @functools.cached_property
    def content_hash(self) -> str:
        """SHA-256 (64 hex digits) of what defines the episode: env_id, difficulty and payload."""
        return _digest({"env_id": self.env_id, "difficulty": self.difficulty, "payload": self.payload})

    def __hash__(self) -> int:
        """Hash the content; equal in every process, whatever PYTHONHASHSEED is."""
        return int(self.content_hash[:15], 16)

    def child(self, payload: Mapping[str, Any], difficulty: Mapping[str, Any] | None = None) -> Task:
        """Return the next version of this task, with new contents and the same root."""
        return Task(
            env_id=self.env_id,
            difficulty=self.difficulty if difficulty is None else difficulty,
            payload=payload,
            root_id=self.root_id,
            parent_id=self.id,
            version=self.version + 1,
        )

    def to_json(self) -> str:
        """Return the task as canonical JSON text."""
        return canonical_json({f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a task back from :meth:`to_json`.

        Raises:
            InputError: If the text is not JSON or not a task; names the field.
        """
        return _from_json(cls, text)


@dataclass(frozen=True)
class TaskEdit:
    """A proposed change to a task, in the environment's own edit language.

    Attributes:
        changes: The operations, in order; each is a JSON object whose ``"op"``
            names it. The environment documents which ones it knows.
        direction: What the author wants of it: ``"harder"`` or ``"easier"``.
        author: Who proposed it: a rule's name, or the language model's.
        reason: Why, in a sentence or two; shown in reports.
    """

    changes: tuple[Mapping[str, Any], ...]
    direction: str = "harder"
    author: str = "rule"
    reason: str = ""

    def __post_init__(self) -> None:
        """Check the field types and freeze the contents."""
        if not isinstance(self.changes, list | tuple) or not self.changes:
            raise InputError(
                f"TaskEdit.changes: expected a non-empty list of operations, got {reprlib.repr(self.changes)}"
            )
        for change in self.changes:
            if not isinstance(change, Mapping) or not isinstance(change.get("op"), str):
                raise InputError(
                    f"TaskEdit.changes: expected objects with a string 'op', got {reprlib.repr(change)}"
                )
        try:
            object.__setattr__(self, "changes", freeze(self.changes))
        except RecursionError as error:
            raise InputError(
                "TaskEdit.changes: expected JSON of a few levels, got more than can be read"
            ) from error
        if self.direction not in ("harder", "easier"):
            raise InputError(f"TaskEdit.direction: expected 'harder' or 'easier', got {self.direction!r}")
        for name in ("author", "reason"):
            if not isinstance(getattr(self, name), str):
                raise InputError(f"TaskEdit.{name}: expected a string, got {getattr(self, name)!r}")

    def to_json(self) -> str:
        """Return the edit as canonical JSON text."""
        return canonical_json({f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read an edit back from :meth:`to_json`; raises InputError naming the field."""
        return _from_json(cls, text)


@dataclass(frozen=True)
class TaskCheck:
    """The verdict of ``env.check_task(task)``.

    Attributes:
        valid: Whether the task may be presented.
        reason: Why not, in one line; empty when valid.
        witness: Actions that solve the task from its start; empty when invalid.
        optimal_length: Length of a shortest solution in steps, or None if unknown.
    """

    valid: bool
    reason: str = ""
    witness: tuple[Any, ...] = field(default=())
    optimal_length: int | None = None


def require_task(task: object, where: str) -> Task:
    """Return a task as it is.

    Args:
        task: What came.
        where: Where it came, for the error.

    Raises:
        InputError: If it is no Task.
    """
    if not isinstance(task, Task):
        raise InputError(f"{where}: expected a Task, got {type(task).__name__}; use Task.from_json")
    return task


def _from_json(cls: type[ValueT], text: str | bytes) -> ValueT:
    try:
        return cls(**_read_fields(cls, text))
    except RecursionError as error:
        raise InputError(
            f"{cls.__name__}: expected JSON of a few levels, got more than can be read"
        ) from error


def _read_fields(cls: type[Any], text: str | bytes) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (TypeError, ValueError) as error:
        raise InputError(f"{cls.__name__}: expected JSON text, got something else ({error})") from error
    if not isinstance(data, dict):
        raise InputError(f"{cls.__name__}: expected a JSON object, got {type(data).__name__}")
    known = {f.name for f in fields(cls)}
    required = {"env_id", "difficulty", "payload"} if cls is Task else {"changes"}
    for problem, names in (("unknown", set(data) - known), ("missing", required - set(data))):
        if names:
            raise InputError(
                f"{cls.__name__}: {problem} field {sorted(names)[0]!r}; expected {', '.join(sorted(known))}"
            )
    return data
