"""What to say about a command that the game does not accept."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection

_PLACING = re.compile(
    r"(?:put|place|drop|move|insert)\s+(?P<object>.+?)\s+(?:in\s*/\s*on|into|onto|in|on|to|at)\s+(?P<place>.+)",
    re.IGNORECASE,
)


def refusal(command: str, admissible: Collection[str], form: str = "move {object} to {place}") -> str:
    """Return why a command had no effect, with the accepted form of what it seems to mean.

    AlfWorld 0.4 places things by ``move mug 1 to desk 1``; its older ``put mug 1
    in/on desk 1`` and other ways to say it are named as such.

    Args:
        command: What the player sent; not one of ``admissible``.
        admissible: Commands that do something now.
        form: How something is put somewhere, with fields ``{object}`` and ``{place}``.
    """
    text = " ".join(command.split())[:200]
    refused = f"{text[:80]!r} is not an admissible command"
    if not text:
        return "expected a command, got an empty one"
    placing = _PLACING.fullmatch(text)
    if placing:
        meant = form.format(object=placing["object"], place=placing["place"]).lower()
        if meant in admissible:
            return f"{refused}; the accepted form is {meant!r}"
        if meant != text:
            return (
                f"{refused}; the accepted form is {form.format(object='OBJECT', place='RECEPTACLE')!r}, "
                "with the object in hand, at the receptacle, which must be open"
            )
    close = difflib.get_close_matches(text.lower(), admissible, n=1, cutoff=0.7)
    return f"{refused}; did you mean {close[0]!r}?" if close else refused
