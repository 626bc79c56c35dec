"""The errors this project raises: each says what was expected, what came and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class RLAError(Exception):
    """Base of every error raised on purpose; its message is one line fit for a user."""


class InputError(RLAError, ValueError):
    """A value from outside (argument, option, file) is not one that can be used."""


class UnknownNameError(InputError):
    """A name (environment, curriculum, model, parameter) is not known."""


class InvalidTaskError(InputError):
    """A task cannot be presented: it is malformed, unsolvable or already solved."""


class RefusedEditError(InvalidTaskError):
    """A task edit was refused; the message is the reason."""


class MissingExtraError(RLAError, ImportError):
    """A feature needs packages of an extra that is not installed."""


class InfrastructureError(RLAError, RuntimeError):
    """The machinery failed (engine, sandbox, desktop, server), not the agent.

    Neither a success nor a failure of the episode: it is retried a bounded
    number of times, counted, and never scored.
    """


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Return the error for a name that is not among the known ones.

    Args:
        kind: What is named, in words: ``"environment"``, ``"difficulty parameter"``.
        name: What came.
        known: The names that would have been accepted.

    Returns:
        An error whose message suggests the closest known name.
    """
    names = sorted(known)
    close = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(names) if names else "none"
    return UnknownNameError(f"unknown {kind} {name!r}.{hint} Known: {listed}.")


def missing_extra(feature: str, extra: str, cause: ImportError) -> MissingExtraError:
    """Return the error for a feature whose optional packages are not installed."""
    return MissingExtraError(
        f"{feature} needs the {extra!r} extra ({cause.name or cause} is missing); "
        f"install it with: pip install 'rlanything[{extra}]'"
    )
