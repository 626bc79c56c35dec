"""A task editor without a language model: the environment's own edits, chosen by what rollouts failed at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rla_envs.adaptive import AdaptiveEnv
from rla_envs.edit_language import concerns
from rla_envs.task import Task, TaskEdit


class RuleEditor:
    """Relax what failed, raise what succeeded.

    Candidates are those of the environment's ``propose_edits``. Its
    ``edit_operations`` say which kinds of lost steps each bears on; a candidate
    is ranked by the share of the group's lost steps that are of those kinds:
    the largest first if the task is to become easier, the smallest first if it
    is to become harder. Candidates with equal shares stay in the environment's
    order, so without statistics (a plain list of summaries, or rollouts that
    lost no step) that order decides alone.

    Args:
        env: The environment whose tasks are edited.
        rng: Source of all randomness.

    Example:
        >>> import gymnasium, numpy, rla_envs
        >>> from wrappers import Feedback, RuleEditor
        >>> env = gymnasium.make("RLA/AlfWorld-v0").unwrapped
        >>> rng = numpy.random.default_rng(0)
        >>> task = env.sample_task({"task_type": "pick_heat_then_place_in_recep"}, rng)
        >>> failed = Feedback(["Never used the microwave."], {"wrong device": 9.0, "searching": 1.0})
        >>> RuleEditor(env, rng).propose(task, "easier", failed)[0].reason
        '90% of the lost steps: wrong device'
    """

    def __init__(self, env: AdaptiveEnv[Any, Any], rng: np.random.Generator) -> None:
        """Keep both; see the class for the arguments."""
        self._env = env
        self._rng = rng

    def propose(self, task: Task, direction: str, feedback: Sequence[str]) -> list[TaskEdit]:
        """Return the environment's edits in the order in which they answer the failures."""
        edits = list(self._env.propose_edits(task, direction, self._rng))
        lost: Mapping[str, float] = getattr(feedback, "lost_steps", {})
        total = sum(lost.values())
        if not total:
            return edits
        ranked = []
        for edit in edits:
            kinds = frozenset[str]().union(*(concerns(c, self._env.edit_operations) for c in edit.changes))
            share = sum(lost.get(kind, 0.0) for kind in kinds) / total
            words = ", ".join(sorted(kinds)) or "nothing in particular"
            ranked.append((share, replace(edit, reason=f"{share:.0%} of the lost steps: {words}")))
        ranked.sort(key=lambda pair: pair[0], reverse=direction == "easier")
        return [edit for _, edit in ranked]
