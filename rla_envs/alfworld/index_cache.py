"""Remember what a split of the data set holds, in a file that is there whole or not at all."""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from rla_envs.alfworld import shipped
from rla_envs.files import write_atomic

_VERSION = 1
"""Raised when what is remembered, or what counts as a game, changes."""

_log = logging.getLogger(__name__)


class Stamp(NamedTuple):
    """Size in bytes and time of change of a folder's two files; -1 where one is missing."""

    game_size: int
    game_time: int
    trajectory_size: int
    trajectory_time: int


@dataclass(frozen=True)
class Entry:
    """One folder of the data set.

    Attributes:
        id: The folder within the data set: ``valid_seen/TASK/TRIAL``.
        task_type: One of alfworld's six; empty if the game cannot be played.
        optimal_length: Length of a shortest plan; None if it is not known.
        kind: Why the game cannot be played, in the words that the summary
            counts by; empty if it can.
        defect: The same in full, with the file.
    """

    id: str
    task_type: str = ""
    optimal_length: int | None = None
    kind: str = ""
    defect: str = ""


Index = Mapping[str, tuple[Stamp, Entry]]
"""What is remembered of each folder, by id."""


def load_index(root: Path, split: str) -> Index:
    """Return what is remembered of a split; nothing if there is no such file, or it is not from now."""
    for file in _files(root, split):
        try:
            contents = json.loads(file.read_text(encoding="utf-8"))
            if contents["made_by"] != _maker() or contents["root"] != str(root.resolve()):
                continue
            return {
                name: (Stamp(*stamp), Entry(id=name, **entry))
                for name, (stamp, entry) in contents["games"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # it can be made again
    return {}


def save_index(root: Path, split: str, index: Index) -> None:
    """Write the file in the first place that can be written; without one, the next start takes as long."""
    games = {}
    for name, (stamp, entry) in index.items():
        fields = asdict(entry)
        del fields["id"]
        games[name] = [stamp, fields]
    text = json.dumps({"made_by": _maker(), "root": str(root.resolve()), "games": games})
    reason: OSError | None = None
    for file in _files(root, split):
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(file, text)
        except OSError as error:
            reason = error
        else:
            return
    _log.warning("the index of AlfWorld's %s games cannot be kept (%s)", split, reason)


def _files(root: Path, split: str) -> Iterator[Path]:
    """Yield where the index may be: beside the data, else in the user's cache."""
    yield root / "rlanything" / f"{split}.json"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    name = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]
    yield cache / "rlanything" / "alfworld" / name / f"{split}.json"


@functools.cache
def _maker() -> str:
    """Return what tells whether a file was made by this code, with the rules that are installed."""
    rules = hashlib.sha256((shipped.domain() + shipped.grammar()).encode()).hexdigest()
    return f"{_VERSION} {rules}"
