"""What the steps that gained nothing were spent on: the failure statistics that a task editor works from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rla_envs.adaptive import AdaptiveEnv
from wrappers.protocols import Episode


def lost_steps(
    env: AdaptiveEnv[Any, Any], episode: Episode, votes: Sequence[Sequence[int]]
) -> dict[str, float]:
    """Return how many steps an episode lost, by what they were spent on.

    The environment says of which kind a lost step is, the critic how much it
    counts: a step weighs the share of the votes against it, ``(1 - mean) / 2``,
    so a malformed vote counts half. Without votes every lost step weighs 1.

    Args:
        env: An environment that can play the task; its running episode is not touched.
        episode: A finished episode, won or not.
        votes: The votes on each of its steps; may be empty.
    """
    kinds = env.lost_step_kinds(
        episode.task, [step.action for step in episode.steps], [not step.error for step in episode.steps]
    )
    lost: dict[str, float] = {}
    for index, kind in enumerate(kinds):
        against = votes[index] if index < len(votes) else ()
        weight = (1 - sum(against) / len(against)) / 2 if against else 1.0
        if kind and weight:
            lost[kind] = lost.get(kind, 0.0) + weight
    return lost
