"""Regular expressions of task files, bounded in length and time."""

from __future__ import annotations

import regex

from rla_envs.errors import InputError

MAX_PATTERN_CHARS = 2_000
_SECONDS = 2.0


def found(pattern: object, text: str, flags: int = 0) -> bool:
    """Return whether the pattern is found in the text.

    Args:
        pattern: In the syntax of `re`, at most `MAX_PATTERN_CHARS` characters.
        text: Where to search.
        flags: The flags of `re`.

    Raises:
        InputError: The pattern is none, or takes seconds on this text.
    """
    if not isinstance(pattern, str) or len(pattern) > MAX_PATTERN_CHARS:
        raise InputError(
            f"expected a pattern of at most {MAX_PATTERN_CHARS} characters, got {str(pattern)[:60]!r}"
        )
    try:
        return regex.search(pattern, text, flags, timeout=_SECONDS) is not None
    except regex.error as error:
        raise InputError(f"the task's pattern {pattern[:60]!r} is no regular expression: {error}") from error
    except TimeoutError:
        raise InputError(
            f"the task's pattern {pattern[:60]!r} takes more than {_SECONDS:g} s; simplify it"
        ) from None
