"""One action of an agent: what it does at the desktop, and whether it ends the episode."""

from __future__ import annotations

import difflib
import math
import reprlib
from collections.abc import Collection
from dataclasses import dataclass

from rla_envs.errors import InputError
from rla_envs.osworld.actions.events import Event

WAIT, DONE, FAIL = "WAIT", "DONE", "FAIL"
SPECIALS = (WAIT, DONE, FAIL)
"""OSWorld's special actions: let time pass, the task is done, the task cannot be done."""

_FEW = 20
_LONGEST_SHOWN = 80


class ActionError(InputError):
    """An action cannot be understood or carried out; the message says what in it, and where."""


@dataclass(frozen=True)
class Action:
    """What an action means.

    Attributes:
        events: What is done at the desktop, in order.
        special: One of :data:`SPECIALS`, which comes after the events, or "".
    """

    events: tuple[Event, ...] = ()
    special: str = ""


def is_number(value: object) -> bool:
    """Return whether a value is a finite number; True and False are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def shown(value: object) -> str:
    """Return a value for an error message, cut to a few words."""
    try:
        text = reprlib.repr(value)
    except ValueError:
        # Python refuses to write out integers of more than 4300 digits.
        return "a number of thousands of digits"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def unknown(kind: str, name: object, known: Collection[str]) -> ActionError:
    """Return the error for a name that is not known, with the closest one, and all if they are few."""
    text = name if isinstance(name, str) else shown(name)
    close = difflib.get_close_matches(text[:60], sorted(known), n=1, cutoff=0.5)
    if close:
        hint = f"; did you mean {close[0]!r}?"
    elif 0 < len(known) <= _FEW:
        hint = f"; known: {', '.join(sorted(known))}"
    else:
        hint = ""
    return ActionError(f"unknown {kind} {shown(name)}{hint}")
