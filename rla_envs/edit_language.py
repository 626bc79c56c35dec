"""How an environment states its edit language: one table to check edits by and to make prompts from."""

from __future__ import annotations

import contextlib
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from rla_envs.errors import RefusedEditError, unknown_name

DraftT = TypeVar("DraftT")

_KINDS: Mapping[type, str] = {str: "a string", bool: "true or false", int: "an integer", float: "a number"}


@dataclass(frozen=True)
class EditField:
    """One field of an edit operation.

    Attributes:
        name: Its key in the JSON object.
        kind: ``str``, ``bool``, ``int`` or ``float`` (which takes integers too).
        meaning: What it says, in a few words.
        optional: Whether it may be left out; of an operation whose fields are
            all optional, one at least must be given.
        about: Kinds of lost steps (see
            :meth:`rla_envs.adaptive.AdaptiveEnv.lost_step_kinds`) that a change
            of it bears on.
    """

    name: str
    kind: type[Any]
    meaning: str
    optional: bool = False
    about: tuple[str, ...] = ()


@dataclass(frozen=True)
class EditOperation:
    """One operation of an edit language.

    Attributes:
        op: Its name, the value of ``"op"``.
        fields: What else the JSON object holds.
        effect: What it does, in a few words.
        about: Kinds of lost steps that it bears on, whatever its fields.
    """

    op: str
    fields: tuple[EditField, ...]
    effect: str
    about: tuple[str, ...] = ()


def parse_change(
    change: Mapping[str, Any], operations: Sequence[EditOperation]
) -> tuple[EditOperation, dict[str, Any]]:
    """Return the operation that a change names, and its fields without ``"op"``.

    Args:
        change: One entry of :attr:`rla_envs.task.TaskEdit.changes`.
        operations: The environment's edit language.

    Raises:
        RefusedEditError: If the operation or a field is unknown, a field is
            missing, or a value is of another type.
    """
    by_name = {operation.op: operation for operation in operations}
    operation = by_name.get(change["op"])
    if operation is None:
        raise RefusedEditError(str(unknown_name("edit operation", change["op"][:80], by_name)))
    fields = {field.name: field for field in operation.fields}
    unknown = next((name for name in change if name not in (*fields, "op")), None)
    if unknown is not None:
        raise RefusedEditError(str(unknown_name(f"field of {operation.op}:", unknown[:80], fields)))
    values = {
        name: _parse_value(operation.op, field, change.get(name))
        for name, field in fields.items()
        if name in change or not field.optional
    }
    if fields and not values:
        raise RefusedEditError(f"{operation.op}: expected at least one of {', '.join(fields)}")
    return operation, values


def apply_changes(
    before: DraftT,
    changes: Sequence[Mapping[str, Any]],
    operations: Sequence[EditOperation],
    appliers: Mapping[str, Callable[[DraftT, Mapping[str, Any]], DraftT]],
) -> DraftT:
    """Return a draft of a task with changes applied one after another.

    Args:
        before: The draft to start from; it is left as it is.
        changes: The entries of :attr:`rla_envs.task.TaskEdit.changes`.
        operations: The environment's edit language.
        appliers: What each operation does to a draft, by its name.

    Raises:
        RefusedEditError: If a change is malformed or cannot be applied, or if
            nothing changes.
    """
    draft = before
    for change in changes:
        operation, values = parse_change(change, operations)
        draft = appliers[operation.op](draft, values)
    if draft == before:
        # Told here, because measuring alone may change the difficulty: it was drawn, and rounds.
        raise RefusedEditError("the edit changes nothing")
    return draft


def _parse_value(op: str, field: EditField, value: object) -> Any:
    number = isinstance(value, int) and not isinstance(value, bool)
    if field.kind is float and number:
        with contextlib.suppress(OverflowError):  # an integer can be larger than any float
            return float(cast(int, value))
    elif number if field.kind is int else isinstance(value, field.kind):
        return value
    raise RefusedEditError(
        f"{op}: expected {field.name!r} to be {_KINDS[field.kind]}, got {reprlib.repr(value)}"
    )


def concerns(change: Mapping[str, Any], operations: Sequence[EditOperation]) -> frozenset[str]:
    """Return the kinds of lost steps that a change bears on; none if it is of an unknown operation."""
    operation = next((o for o in operations if o.op == change["op"]), None)
    if operation is None:
        return frozenset()
    given = (field.about for field in operation.fields if field.name in change)
    return frozenset(operation.about).union(*given)


def describe_operations(operations: Sequence[EditOperation]) -> str:
    """Return an edit language in words for a prompt: an example and the effect, one operation a line.

    Example:
        >>> place = EditField("receptacle", str, "a place's name")
        >>> print(describe_operations([EditOperation("open", (place,), "let it start open")]))
        {"op": "open", "receptacle": <a place's name>}: let it start open
    """
    lines = []
    for operation in operations:
        parts = [f'"op": "{operation.op}"']
        for field in operation.fields:
            optional = ", may be left out" if field.optional else ""
            parts.append(f'"{field.name}": <{field.meaning}{optional}>')
        lines.append(f"{{{', '.join(parts)}}}: {operation.effect}")
    return "\n".join(lines)
