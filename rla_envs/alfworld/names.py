"""The names players see (``drawer 2``) for ALFRED ids, by alfworld's numbering."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

_MANGLED = (("|", "_bar_"), ("+", "_plus_"), ("-", "_minus_"), (".", "_dot_"), (",", "_comma_"))


def mangle(identifier: str) -> str:
    """Return an ALFRED id in the form that PDDL names allow."""
    for character, word in _MANGLED:
        identifier = identifier.replace(character, word)
    return identifier


def display_names(identifiers: Iterable[str]) -> dict[str, str]:
    """Return the displayed name of each id of one game.

    alfworld's Demangler goes through the lower-case mangled ids in order and
    counts each kind down, so that the last id is number 1; sinks and bathtubs
    are kinds of their own (``sinkbasin``).

    Args:
        identifiers: Every receptacle and object id of the game: numbers depend
            on which others there are.
    """
    by_mangled = {mangle(i).lower(): i for i in identifiers}
    kinds = {}
    for mangled in by_mangled:
        kind = mangled.split("_bar_", 1)[0]
        kinds[mangled] = kind + "basin" if "basin" in mangled else kind
    left = Counter(kinds.values())
    names = {}
    for mangled in sorted(by_mangled):
        kind = kinds[mangled]
        names[by_mangled[mangled]] = f"{kind} {left[kind]}"
        left[kind] -= 1
    return names
