"""The paper's rule: rewrite a task that is too easy or too hard, keep the edit if its own rollouts agree."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from rla_envs.difficulty import parse_difficulty
from rla_envs.errors import InputError, RefusedEditError
from rla_envs.task import Task, TaskEdit
from wrappers.curricula.base import GROUP_SIZE, BaseCurriculum, GroupTally, check_number, parse_success
from wrappers.curricula.slots import Slot, Version
from wrappers.protocols import Feedback, Proposal, TaskEditor, TaskSource


def accepts(direction: str, before: float, after: float, low: float = 0.2, high: float = 0.8) -> bool:
    """Return whether an edit is kept (arXiv 2602.02488 and its released code).

    Args:
        direction: What the edit wanted, ``"harder"`` or ``"easier"``.
        before: Success of the active version in the group that asked for it.
        after: Success of the edited task in its own group.
        low: Success below which a task is too hard.
        high: Success above which a task is too easy.

    Example:
        >>> accepts("harder", before=0.875, after=0.5), accepts("harder", before=0.875, after=0.0)
        (True, False)
    """
    in_range = low <= after < before if direction == "harder" else before < after <= high
    return in_range and after > 0


class Threshold(BaseCurriculum):
    """Adapt tasks as RLAnything does (arXiv 2602.02488), with its constants.

    A number of *slots* each hold a root task and its active version. Slots
    take turns. Once the active version has ``n`` results, a mean of ``high``
    or more asks for a harder version and one of ``low`` or less for an easier
    one. The edit is *pending*: the slot then plays the edited task instead,
    and after ``n`` results of its own :func:`accepts` decides. An accepted
    edit becomes the active version; a rejected one leaves the active version
    in force. A slot has at most one pending edit.

    Edits come from the environment (``propose_edits``), or from ``editor``;
    they are tried in order until ``apply_edit`` does not refuse one. A result
    counts for the version that was played: one that arrives late, after its
    version was replaced, goes into that version's record and decides nothing.
    Results of tasks that are in no slot are ignored.

    Known weakness, kept for a faithful baseline: with eight rollouts, an edit
    that changes nothing is accepted 93% of the time where true success is 0.5.

    Not in the paper: a slot whose edits are refused or rejected ``patience``
    times in a row takes a fresh root, so that no slot is stuck for good with a
    task that teaches nothing.

    Args:
        slots: Number of root tasks.
        n: Results that a decision takes.
        low: Success at or below which a task is too hard.
        high: Success at or above which a task is too easy.
        difficulty: Difficulty at which roots are sampled; None is the
            environment's own.
        editor: Who proposes edits in place of the environment's rules; it is
            told what the critic said about the group's failures, and where steps were lost.
        max_candidates: How many proposed edits are tried before giving up.
        patience: Fruitless edits in a row after which a slot takes a fresh
            root; None never does, as in the paper.

    Raises:
        InputError: On an argument out of range.
    """

    name: ClassVar[str] = "threshold"
    event_limit: ClassVar[int] = 4096
    """Events kept for :meth:`events`; older ones are dropped if nobody asks."""
    distinct_draws: ClassVar[int] = 16

    def __init__(
        self,
        slots: int = 16,
        n: int = GROUP_SIZE,
        low: float = 0.2,
        high: float = 0.8,
        difficulty: Mapping[str, object] | None = None,
        editor: TaskEditor | None = None,
        max_candidates: int = 8,
        patience: int | None = 4,
    ) -> None:
        """Start with empty slots; each samples its root on its first turn."""
        super().__init__()
        check_number("slots", slots, 1, integer=True)
        check_number("n", n, 1, integer=True)
        check_number("low", low, 0.0, 1.0)
        check_number("high", high, 0.0, 1.0)
        check_number("max_candidates", max_candidates, 1, integer=True)
        if patience is not None:
            check_number("patience", patience, 1, integer=True)
        if not low < high:
            raise InputError(f"threshold: expected low < high, got {low} and {high}")
        self._n, self._low, self._high = n, float(low), float(high)
        self._difficulty, self._editor = difficulty, editor
        self._max_candidates, self._patience = max_candidates, patience
        self._slots: list[Slot | None] = [None] * slots
        self._order = list(range(slots))
        self._counts: Counter[str] = Counter()
        self._events: deque[dict[str, Any]] = deque(maxlen=self.event_limit)
        self._groups = GroupTally(size=n)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots that have had their first turn."""
        return tuple(slot for slot in self._slots if slot is not None)

    def propose(self, rng: np.random.Generator) -> Proposal:
        """Return the current task of the slot whose turn it is, after making the edit it asked for."""
        index = self._order.pop(0)
        self._order.append(index)
        slot = self._slots[index]
        if slot is None:
            root = self._fresh_root(rng)
            slot = self._slots[index] = Slot(root, Version(root))
        elif slot.wanted:
            self._edit(index, slot, rng)
        current = slot.current
        state = f"pending {current.direction} edit" if slot.pending else f"active version {slot.version}"
        return Proposal(
            None, current.task, f"slot {index}: {state}, {len(current.group)} of {self._n} results"
        )

    def observe(self, difficulty: Mapping[str, Any], success: bool | float, **feedback: Any) -> None:
        """Credit the result to the version that was played, and decide when its group is full.

        Raises:
            InputError: If no ``task=`` is given.
        """
        value = parse_success(success)
        task = feedback.get("task")
        if not isinstance(task, Task):
            raise InputError(f"threshold judges tasks, not difficulties: expected task=Task, got {task!r}")
        for index, slot in enumerate(self._slots):
            if slot is not None:
                self._credit(index, slot, task, value, feedback)

    def explain(self) -> str:
        """Return where the slots stand and what became of the edits."""
        pending = sum(slot.pending is not None for slot in self.slots)
        made = ", ".join(f"{self._counts[kind]} {kind}" for kind in ("accepted", "rejected", "refused"))
        return (
            f"Thresholds {self._low:g} and {self._high:g} on {self._n} rollouts, {len(self._slots)} slots: "
            f"{pending} edits pending, {made}, {self._counts['replaced']} roots replaced; "
            f"{self._groups.describe()}."
        )

    def events(self) -> list[dict[str, Any]]:
        """Return what happened since the last call: edits proposed, refused, decided, and roots replaced."""
        events = list(self._events)
        self._events.clear()
        return events

    def _credit(self, index: int, slot: Slot, task: Task, value: float, feedback: Mapping[str, Any]) -> None:
        if slot.pending is not None and slot.pending.plays(task):
            group = slot.pending.take_group(value, feedback, self._n)
            if group is not None:
                self._decide(index, slot, slot.pending, group)
        elif not slot.active.plays(task):
            slot.add_late(task, value)
        elif slot.pending is not None or slot.wanted:
            slot.active.add(value)
        else:
            group = slot.active.take_group(value, feedback, self._n)
            if group is not None:
                self._flag(index, slot, group)

    def _flag(self, index: int, slot: Slot, group: list[float]) -> None:
        self._groups.close(group)
        slot.success = math.fsum(group) / len(group)
        if slot.success >= self._high:
            slot.wanted = "harder"
        elif slot.success <= self._low:
            slot.wanted = "easier"
        if slot.wanted:
            # The next turn is this slot's, so that the edit is rolled out in the next training step.
            self._order.remove(index)
            self._order.insert(0, index)

    def _decide(self, index: int, slot: Slot, pending: Version, group: list[float]) -> None:
        self._groups.close(group)
        after = math.fsum(group) / len(group)
        accepted = accepts(pending.direction, slot.success, after, self._low, self._high)
        self._event("accepted" if accepted else "rejected", index, slot, pending.reason, after)
        slot.pending = None
        if accepted:
            slot.retire(slot.active, "replaced")
            slot.active, slot.fruitless = pending, 0
        else:
            slot.retire(pending, "rejected")
            slot.fruitless += 1

    def _edit(self, index: int, slot: Slot, rng: np.random.Generator) -> None:
        direction, slot.wanted = slot.wanted, ""
        if self._patience is not None and slot.fruitless >= self._patience:
            return self._replace_root(index, slot, rng)
        refusal = "no edit was proposed"
        for edit in self._candidates(slot, direction, rng):
            try:
                task = self.source.apply_edit(slot.active.task, edit)
            except RefusedEditError as error:
                refusal = str(error)
                continue
            slot.pending = Version(task, direction, edit.reason, edit.changes)
            return self._event("proposed", index, slot, edit.reason)
        slot.fruitless += 1
        return self._event("refused", index, slot, refusal, direction=direction)

    def _candidates(self, slot: Slot, direction: str, rng: np.random.Generator) -> Sequence[TaskEdit]:
        task = slot.active.task
        if self._editor is not None:
            feedback = Feedback(slot.active.summaries, slot.active.lost_steps)
            edits = self._editor.propose(task, direction, feedback)
        else:
            edits = self.source.propose_edits(task, direction, rng)
        return edits[: self._max_candidates]

    def _replace_root(self, index: int, slot: Slot, rng: np.random.Generator) -> None:
        old, fruitless = slot.active.task.id, slot.fruitless
        slot.replace_root(self._fresh_root(rng))
        self._event("replaced", index, slot, f"{fruitless} edits of {old} in a row came to nothing")

    def _fresh_root(self, rng: np.random.Generator) -> Task:
        taken = {slot.current.task.id for slot in self.slots}
        for _ in range(self.distinct_draws):
            task = self.source.sample_task(self._difficulty, rng)
            if task.id not in taken:
                break
        # An environment with few tasks may have no unused one: two slots then share evidence.
        return task

    def _event(
        self, kind: str, index: int, slot: Slot, reason: str, after: float | None = None, direction: str = ""
    ) -> None:
        self._counts[kind] += 1
        pending = slot.pending
        self._events.append(
            {
                "event": "root_replaced" if kind == "replaced" else f"edit_{kind}",
                "slot": index,
                "task_id": slot.active.task.id,
                "pending_id": pending.task.id if pending else None,
                "direction": pending.direction if pending else direction,
                "changes": [dict(change) for change in pending.changes] if pending else [],
                "success_before": slot.success,
                "success_after": after,
                "reason": reason,
            }
        )

    def _prepare(self, source: TaskSource) -> None:
        parse_difficulty(source.difficulty_parameters, self._difficulty)

    def _state(self) -> dict[str, Any]:
        return {
            "slots": [slot and slot.state_dict() for slot in self._slots],
            "order": self._order,
            "counts": self._counts,
            "events": list(self._events),
        }

    def _load(self, state: dict[str, Any]) -> None:
        if sorted(state["order"]) != list(range(len(self._slots))) or len(state["slots"]) != len(self._slots):
            raise InputError(
                f"threshold state: expected {len(self._slots)} slots, got {len(state['slots'])}; "
                "use the same number"
            )
        slots = [Slot.from_state(slot) if slot else None for slot in state["slots"]]
        self._slots, self._order = slots, state["order"]
        self._counts = Counter(state["counts"])
        self._events = deque(state["events"], maxlen=self.event_limit)
