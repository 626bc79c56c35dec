"""What things are called: alfworld's numbering, from any game's ids."""

from __future__ import annotations

import functools
from collections.abc import Collection

from rla_envs.errors import InvalidTaskError


def names_of(mentioned: Collection[str]) -> dict[str, str]:
    """Return the name of each thing, numbered as alfworld's Demangler does.

    It goes through the ids in order and counts each kind down; what has no
    place in its id keeps its id as a name, with a space after it.
    """
    left: dict[str, int] = {}
    kind_of: dict[str, str] = {}
    order = sorted(mentioned)
    for thing in order:
        kind, marked, _ = thing.partition("_bar_")
        if marked:
            kind_of[thing] = kind = kind + "basin" if "basin" in thing else kind
            left[kind] = left.get(kind, 0) + 1
        elif "|" in thing:
            raise InvalidTaskError(f"PDDL objects: no name can be made of {thing!r}")
    names = {}
    for thing in order:
        if thing in kind_of:
            kind = kind_of[thing]
            names[thing] = f"{_plain(kind)} {left[kind]}"
            left[kind] -= 1
        else:
            names[thing] = f"{_plain(thing)} "
    return names


@functools.lru_cache(maxsize=1024)
def _plain(word: str) -> str:
    for mangled, character in (("_minus_", "-"), ("_plus_", "+"), ("_dot_", "."), ("_comma_", ",")):
        word = word.replace(mangled, character)
    return word
