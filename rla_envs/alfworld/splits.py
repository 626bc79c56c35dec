"""Which rooms and goals belong to which split; no goal of one is ever a goal of another."""

from __future__ import annotations

import hashlib

from rla_envs.alfworld import shipped

SPLITS = ("train", "valid_seen", "valid_unseen")
"""The training rooms' goals but a tenth, that tenth, and the test rooms (as in AlfWorld's data set)."""


def rooms_of(split: str) -> tuple[shipped.Room, ...]:
    """Return the rooms of a split; ``train`` and ``valid_seen`` share theirs."""
    return shipped.rooms(test=split == "valid_unseen")


def has_goal(split: str, task_type: str, object_type: str, receptacle_type: str, room: int) -> bool:
    """Return whether a goal in one of a split's rooms belongs to the split."""
    if split == "valid_unseen":
        return True
    name = f"{task_type}|{object_type}|{receptacle_type}|{room}"
    held_out = hashlib.sha256(name.encode()).digest()[0] < 26  # 26 of 256: a tenth
    return held_out == (split == "valid_seen")
