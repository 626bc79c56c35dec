"""Draw generated tasks of a given difficulty and split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rla_envs.difficulty import Value
from rla_envs.errors import InvalidTaskError, unknown_name
from rla_envs.osworld.families.base import Family
from rla_envs.osworld.families.reading import HOME
from rla_envs.osworld.families.register import FAMILIES, find_family
from rla_envs.osworld.families.topics import SPLITS, TOPICS, Topic

_FOLDERS = ("Documents", "Desktop", "Downloads", "Work", "Shared")
_INNER = ("reports", "archive", "drafts", "plans")


def sample_payload(
    family: str | None, difficulty: Mapping[str, Value], split: str, rng: np.random.Generator
) -> dict[str, Any]:
    """Draw a payload.

    Args:
        family: Name of the family, or None to draw one of those that need at
            most as many applications as the difficulty says.
        difficulty: A value for every difficulty parameter.
        split: ``"train"`` or ``"valid"``: documents of one are about other
            things than those of the other.
        rng: Source of all randomness.

    Raises:
        UnknownNameError: If there is no such family or split.
        InvalidTaskError: If the family needs more applications, or such a draw failed.
    """
    if split not in SPLITS:
        raise unknown_name("split", split, SPLITS)
    # Drawn first and always: two difficulties that differ in it draw the same task besides.
    missing = bool(rng.random() < difficulty["infeasible"])
    applications = int(difficulty["applications"])
    chosen = _choose(family, applications, int(difficulty["edits"]), rng)
    topics = [TOPICS[split][int(i)] for i in rng.permutation(len(TOPICS[split]))]
    families = _with_errands(chosen, applications, rng)
    edits = _shares(int(difficulty["edits"]), len(families))
    jobs = [
        {"family": f.name, "job": f.sample(count, topic, rng)}
        for f, count, topic in zip(families, edits, topics, strict=False)
    ]
    return {
        "family": chosen.name,
        "spec": {
            "job": jobs[0]["job"],
            "errands": jobs[1:],
            "wording": int(difficulty["vagueness"]),
            "hints": int(difficulty["hints"]),
            "start": int(difficulty["start"]),
            "folder": _folder(rng),
            "distractor_files": _useless_names(topics[len(jobs) :], int(difficulty["distractor_files"]), rng),
            "distractor_windows": int(difficulty["distractor_windows"]),
            "missing": missing,
        },
    }


def _choose(name: str | None, applications: int, edits: int, rng: np.random.Generator) -> Family:
    """Return the named family, or a drawn one that leaves an edit for each errand there must be."""
    known = list(FAMILIES.values()) if name is None else [find_family(name)]
    fitting = [f for f in known if len(f.applications) <= applications <= len(f.applications) + edits - 1]
    if not fitting:
        needs = "an edit for each document"
        if name is not None:
            needs = f"{name!r} with its {len(known[0].applications)}, and an edit for each further one"
        raise InvalidTaskError(
            f"difficulty parameters 'applications' {applications} and 'edits' {edits}: expected {needs}; "
            "change one of them"
        )
    return fitting[int(rng.integers(len(fitting)))]


def _with_errands(first: Family, applications: int, rng: np.random.Generator) -> list[Family]:
    """Return families that together need exactly so many applications: the given one and errands."""
    families, used = [first], set(first.applications)
    for i in rng.permutation(len(FAMILIES)):
        family = list(FAMILIES.values())[int(i)]
        if len(used) < applications and len(family.applications) == 1 and not used & set(family.applications):
            families.append(family)
            used.update(family.applications)
    return families


def _shares(edits: int, jobs: int) -> list[int]:
    """Return how many edits each job has: as even as can be."""
    return [edits // jobs + (i < edits % jobs) for i in range(jobs)]


def _folder(rng: np.random.Generator) -> str:
    return f"{HOME}/{rng.choice(_FOLDERS)}/{rng.choice(_INNER)}"


def _useless_names(topics: Sequence[Topic], count: int, rng: np.random.Generator) -> list[str]:
    endings = (".txt", ".xlsx")
    names = [
        f"{topic.stem}_{part}{ending}" for topic in topics for part in ("old", "copy") for ending in endings
    ]
    return [names[int(i)] for i in rng.permutation(len(names))[:count]]
