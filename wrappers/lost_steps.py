"""What the steps that gained nothing were spent on: the failure statistics that a task editor works from."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rla_envs.adaptive import AdaptiveEnv
from wrappers.protocols import Episode


class LostSteps(Mapping[str, float]):
    """How many steps an episode lost, by what they were spent on.

    The environment says of which kind a lost step is
    (:meth:`rla_envs.adaptive.AdaptiveEnv.lost_step_kinds`), the critic how much
    it counts: a step weighs the share of the votes against it, ``(1 - mean) / 2``,
    so a malformed vote counts half. Without votes every lost step weighs 1.

    The episode is looked into when somebody asks: only task editors do, and it
    takes about as long as playing the episode did. Pickled, it is a plain dict.

    Args:
        env: An environment that can play the task; its running episode is not touched.
        episode: A finished episode, won or not.
        votes: The votes on each of its steps; may be empty.
    """

    def __init__(self, env: AdaptiveEnv[Any, Any], episode: Episode, votes: Sequence[Sequence[int]]) -> None:
        """Keep what is needed to find out."""
        self._env, self._episode, self._votes = env, episode, votes

    @functools.cached_property
    def _steps(self) -> dict[str, float]:
        steps = self._episode.steps
        kinds = self._env.lost_step_kinds(
            self._episode.task, [step.action for step in steps], [not step.error for step in steps]
        )
        lost: dict[str, float] = {}
        for index, kind in enumerate(kinds):
            votes = self._votes[index] if index < len(self._votes) else ()
            weight = (1 - sum(votes) / len(votes)) / 2 if votes else 1.0
            if kind and weight:
                lost[kind] = lost.get(kind, 0.0) + weight
        return lost

    def __getitem__(self, kind: str) -> float:
        return self._steps[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self._steps)

    def __len__(self) -> int:
        return len(self._steps)

    def __repr__(self) -> str:
        return f"LostSteps({self._steps!r})"

    def __reduce__(self) -> tuple[type[dict[str, float]], tuple[dict[str, float]]]:
        return dict, (self._steps,)
