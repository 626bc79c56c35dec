"""The paper's scheme: rewrite a task that is too easy or too hard, keep the edit if its rollouts agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from rla_envs.difficulty import parse_difficulty
from rla_envs.errors import InputError, RefusedEditError
from rla_envs.task import Task, TaskEdit
from wrappers.acceptance import AcceptanceRule, awaits_active
from wrappers.acceptance import make as make_rule
from wrappers.curricula.base import GROUP_SIZE, BaseCurriculum, GroupTally, check_number, parse_success
from wrappers.curricula.slots import Slot, Version
from wrappers.curricula.space_tasks import SpaceTasks
from wrappers.curricula.votes import VoteAudit, parse_votes
from wrappers.protocols import Feedback, Proposal, TaskEditor, TaskSource


class Threshold(BaseCurriculum):
    """Adapt tasks as RLAnything does (arXiv 2602.02488), with its constants.

    A number of *slots* each hold a root task and its active version. Slots
    take turns. Once the active version has ``n`` results, a mean of ``high``
    or more asks for a harder version and one of ``low`` or less for an easier
    one. The edit is *pending* until ``acceptance`` decides on its rollouts. An
    accepted edit becomes the active version; a rejected one leaves the active
    version in force. A slot has at most one pending edit.

    By the paper's rule (``acceptance="threshold"``) the slot plays the edited
    task instead of the active one, and ``n`` results of it decide. Known
    weakness, kept for a faithful baseline: an edit that changes nothing is
    accepted 93% of the time where true success is 0.5. With ``"posterior"``
    both versions are rolled out in turn, in groups of ``n``, until the
    evidence is clear or used up; the group that asked is not part of it. Where
    an edit fell short of the band, the next one is twice as long (up to eight
    edits at once), and half as long where one went too far or was accepted.

    Edits come from the environment (``propose_edits``), or from ``editor``;
    they are tried in order until ``apply_edit`` does not refuse one. Without
    ``tasks`` a task is a point of the difficulty space, and an edit moves one
    parameter by a step. A result counts for the version that was played: one
    that arrives late, after its version was replaced, goes into that version's
    record and decides nothing. Results of tasks that are in no slot are
    ignored.

    **Guards** that the paper does not have; None switches one off. A slot takes
    a fresh root after ``patience`` edits in a row that came to nothing, so that
    no slot is stuck with a task that teaches nothing, and instead of an edit
    that would lead further than ``max_drift`` from the root. A slot whose
    accepted edits go to and fro three times asks for none during ``hold``
    groups. What a critic says reaches the editor only while its votes agree
    with the outcomes (:class:`~wrappers.curricula.votes.VoteAudit`); without
    votes there is nothing to doubt.

    Args:
        difficulty_space: See :class:`~wrappers.curricula.base.BaseCurriculum`.
        slots: Number of root tasks.
        n: Results in a group.
        low: Success at or below which a task is too hard.
        high: Success at or above which a task is too easy.
        acceptance: Name of the rule that decides on pending edits (see
            :func:`wrappers.acceptance.make`), or a rule.
        acceptance_kwargs: Arguments of a rule given by name; its band is
            ``low`` to ``high``.
        difficulty: Difficulty at which roots are sampled; None is the
            environment's own.
        editor: Who proposes edits in place of the environment's rules; it is
            told what the critic said about the group's failures, and where
            steps were lost.
        max_candidates: How many proposed edits are tried before giving up.
        patience: Fruitless edits in a row after which a slot takes a fresh root.
        max_drift: Most accepted edits in one direction, less those in the
            other, from the root.
        hold: Groups without an edit after a slot went to and fro.
        tasks: The environment whose tasks are rewritten.

    Raises:
        InputError: On an argument out of range.
    """

    name: ClassVar[str] = "threshold"
    distinct_draws: ClassVar[int] = 16
    flip_limit: ClassVar[int] = 3
    """Turns of direction in a row that count as oscillation."""
    undecided_limit: ClassVar[int] = 64
    """Groups after which an edit is rejected if its rule still has not decided."""
    longest_stride: ClassVar[int] = 8

    def __init__(
        self,
        difficulty_space: spaces.Dict,
        slots: int = 16,
        n: int = GROUP_SIZE,
        low: float = 0.2,
        high: float = 0.8,
        acceptance: str | AcceptanceRule = "threshold",
        acceptance_kwargs: Mapping[str, Any] | None = None,
        difficulty: Mapping[str, object] | None = None,
        editor: TaskEditor | None = None,
        max_candidates: int = 8,
        patience: int | None = 4,
        max_drift: int | None = 16,
        hold: int | None = 4,
        tasks: TaskSource | None = None,
    ) -> None:
        """Start with empty slots; each samples its root on its first turn."""
        super().__init__(difficulty_space)
        check_number("slots", slots, 1, integer=True)
        check_number("n", n, 1, integer=True)
        check_number("low", low, 0.0, 1.0)
        check_number("high", high, 0.0, 1.0)
        check_number("max_candidates", max_candidates, 1, integer=True)
        for key, value in (("patience", patience), ("max_drift", max_drift), ("hold", hold)):
            if value is not None:
                check_number(key, value, 1, integer=True)
        if not low < high:
            raise InputError(f"threshold: expected low < high, got {low} and {high}")
        if editor is not None and not callable(getattr(editor, "propose", None)):
            raise InputError(
                f"editor: expected an object with propose(task, direction, feedback), got {editor!r}"
            )
        parse_difficulty(self._difficulties.parameters, difficulty)
        self._n, self._low, self._high = n, float(low), float(high)
        self._rule = _rule(acceptance, acceptance_kwargs, self._low, self._high)
        self._difficulty, self._editor = difficulty, editor
        self._max_candidates, self._patience = max_candidates, patience
        self._max_drift, self._hold = max_drift, hold
        self._points = SpaceTasks(self._difficulties) if tasks is None else None
        self._tasks: TaskSource = tasks if self._points is None else self._points  # type: ignore[assignment]
        self._slots: list[Slot | None] = [None] * slots
        self._order = list(range(slots))
        self._counts: Counter[str] = Counter()
        self._audit = VoteAudit()
        self._groups = GroupTally(size=n)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots that have had their first turn."""
        return tuple(slot for slot in self._slots if slot is not None)

    def next_proposal(self, rng: np.random.Generator) -> Proposal:
        """Return the current task of the slot whose turn it is, after making the edit it asked for."""
        index = self._order.pop(0)
        self._order.append(index)
        slot = self._slots[index]
        if slot is None:
            root = self._fresh_root(rng)
            slot = self._slots[index] = Slot(root, Version(root))
        elif slot.wanted:
            self._edit(index, slot, rng)
        current = self._current(slot)
        state = (
            f"pending {current.direction} edit"
            if current is slot.pending
            else f"active version {slot.version}"
        )
        reason = f"slot {index}: {state}, {len(current.group)} of {self._n} results"
        if self._points is not None:
            return Proposal(self._difficulties.member(current.task.difficulty), None, reason)
        return Proposal(None, current.task, reason)

    def observe(self, difficulty: Mapping[str, Any], success: bool | float, **feedback: Any) -> None:
        """Credit the result to the version that was played, and decide when its group is full.

        Raises:
            InputError: If no ``task=`` is given while tasks are rewritten.
        """
        value = parse_success(success)
        if self._editor is None:
            feedback.pop("lost_steps", None)  # finding them takes time, and only an editor asks
        task = feedback.get("task") if self._points is None else self._points.task(difficulty)
        if not isinstance(task, Task):
            raise InputError(f"threshold judges tasks, not difficulties: expected task=Task, got {task!r}")
        event = self._audit.add(value, parse_votes(feedback.get("votes")))
        if event is not None:
            self._events.append(event)
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
            f"{self._groups.describe()}; {self._audit.describe()}."
        )

    def _current(self, slot: Slot) -> Version:
        if slot.pending is None:
            return slot.active
        seen = slot.before[1] + len(slot.active.group)
        return slot.active if awaits_active(self._rule, seen, slot.pending.count) else slot.pending

    def _credit(self, index: int, slot: Slot, task: Task, value: float, feedback: Mapping[str, Any]) -> None:
        content_only = self._points is not None
        pending, active = slot.pending, slot.active
        if pending is not None and pending.plays(task, content_only):
            group = pending.take_group(value, feedback, self._n)
            if group is not None:
                self._groups.close(group)
                self._look(index, slot, pending)
        elif not active.plays(task, content_only):
            slot.add_late(task, value, content_only)
        elif slot.wanted or (pending is not None and not _takes_fresh(self._rule)):
            active.add(value)
        else:
            group = active.take_group(value, feedback, self._n)
            if group is not None:
                self._groups.close(group)
                if pending is None:
                    self._flag(index, slot, group)
                else:
                    slot.before = (slot.before[0] + math.fsum(group), slot.before[1] + len(group))
                    self._look(index, slot, pending)

    def _flag(self, index: int, slot: Slot, group: list[float]) -> None:
        if slot.held:
            slot.held -= 1
            return
        slot.success = math.fsum(group) / len(group)
        if slot.success >= self._high:
            slot.wanted = "harder"
        elif slot.success <= self._low:
            slot.wanted = "easier"
        if slot.wanted:
            # Selected for being extreme: no evidence for a rule that takes fresh results.
            slot.before = (0.0, 0) if _takes_fresh(self._rule) else (math.fsum(group), len(group))
            # The next turn is this slot's, so that the edit is rolled out in the next training step.
            self._order.remove(index)
            self._order.insert(0, index)

    def _look(self, index: int, slot: Slot, pending: Version) -> None:
        if pending.count == 0:
            return None
        decision = self._rule.decide(pending.direction, slot.before, (pending.total, pending.count))
        if decision == "more" and slot.before[1] + pending.count < self.undecided_limit * self._n:
            return None
        kind = "accepted" if decision == "accept" else "rejected"
        after = pending.total / pending.count
        self._event(kind, index, slot, pending.reason, after)
        if _takes_fresh(self._rule):
            short = after > self._high if pending.direction == "harder" else after < self._low
            longer = min(self.longest_stride, 2 * slot.stride)
            slot.stride = longer if short and kind == "rejected" else max(1, slot.stride // 2)
        if kind == "rejected":
            return slot.reject()
        slot.accept()
        if self._hold is not None and slot.flips >= self.flip_limit:
            slot.held, slot.flips = self._hold, 0
            self._event("held", index, slot, "accepted edits go to and fro", direction=slot.last)
        return None

    def _edit(self, index: int, slot: Slot, rng: np.random.Generator) -> None:
        direction, slot.wanted = slot.wanted, ""
        drift = slot.drift + (1 if direction == "harder" else -1)
        if self._patience is not None and slot.fruitless >= self._patience:
            reason = f"{slot.fruitless} edits of {slot.active.task.id} in a row came to nothing"
            return self._replace_root(index, slot, reason, rng)
        if self._max_drift is not None and abs(drift) > self._max_drift:
            reason = f"{slot.active.task.id} is {self._max_drift} {direction} edits away from its root"
            return self._replace_root(index, slot, reason, rng)
        edits: list[TaskEdit] = []
        task, refusal = slot.active.task, "no edit was proposed"
        room = slot.stride if self._max_drift is None else self._max_drift - abs(drift) + 1
        for _ in range(max(1, min(slot.stride, room))):
            task, edit, refusal = self._edited(task, slot, direction, rng)
            if edit is None:
                break
            edits.append(edit)
        if not edits:
            slot.fruitless += 1
            return self._event("refused", index, slot, refusal, direction=direction)
        reason = "; ".join(edit.reason for edit in edits)
        changes = tuple(change for edit in edits for change in edit.changes)
        slot.pending = Version(task, direction, reason, changes)
        return self._event("proposed", index, slot, reason)

    def _edited(
        self, task: Task, slot: Slot, direction: str, rng: np.random.Generator
    ) -> tuple[Task, TaskEdit | None, str]:
        """Return the task after the first edit that is not refused, and that edit; else why not."""
        refusal = "no edit was proposed"
        for edit in self._candidates(task, slot, direction, rng):
            try:
                return self._tasks.apply_edit(task, edit), edit, ""
            except RefusedEditError as error:
                refusal = str(error)
        return task, None, refusal

    def _candidates(
        self, task: Task, slot: Slot, direction: str, rng: np.random.Generator
    ) -> Sequence[TaskEdit]:
        if self._editor is not None:
            heard = slot.active.summaries if self._audit.usable else ()
            edits = self._editor.propose(task, direction, Feedback(heard, slot.active.lost_steps))
        else:
            edits = self._tasks.propose_edits(task, direction, rng)
        return edits[: self._max_candidates]

    def _replace_root(self, index: int, slot: Slot, reason: str, rng: np.random.Generator) -> None:
        slot.replace_root(self._fresh_root(rng))
        self._event("replaced", index, slot, reason)

    def _fresh_root(self, rng: np.random.Generator) -> Task:
        taken = {self._current(slot).task.id for slot in self.slots}
        for _ in range(self.distinct_draws):
            task = self._tasks.sample_task(self._difficulty, rng)
            if task.id not in taken:
                break
        # An environment with few tasks may have no unused one: two slots then share evidence.
        return task

    def _event(
        self, kind: str, index: int, slot: Slot, reason: str, after: float | None = None, direction: str = ""
    ) -> None:
        self._counts[kind] += 1
        pending = slot.pending
        total, count = slot.before
        self._events.append(
            {
                "event": "root_replaced" if kind == "replaced" else f"edit_{kind}",
                "slot": index,
                "task_id": slot.active.task.id,
                "pending_id": pending.task.id if pending else None,
                "direction": pending.direction if pending else direction,
                "changes": [dict(change) for change in pending.changes] if pending else [],
                "success_before": total / count if after is not None and count else slot.success,
                "success_after": after,
                "rollouts": [count, pending.count if pending else 0],
                "reason": reason,
            }
        )

    def _state(self) -> dict[str, Any]:
        return {
            "slots": [slot and slot.state_dict() for slot in self._slots],
            "order": self._order,
            "counts": self._counts,
            "audit": self._audit.state_dict(),
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
        self._audit.load_state_dict(state["audit"])


def _rule(
    acceptance: str | AcceptanceRule, kwargs: Mapping[str, Any] | None, low: float, high: float
) -> AcceptanceRule:
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise InputError(f"acceptance_kwargs: expected a mapping of arguments, got {kwargs!r}")
    if isinstance(acceptance, str):
        return make_rule(acceptance, **{"low": low, "high": high, **(kwargs or {})})
    if kwargs:
        raise InputError("acceptance_kwargs are for a rule given by name; this one is already built")
    if not callable(getattr(acceptance, "decide", None)):
        raise InputError(
            f"acceptance: expected a name or an object with decide(direction, before, after), "
            f"got {acceptance!r}"
        )
    return acceptance


def _takes_fresh(rule: AcceptanceRule) -> bool:
    return bool(getattr(rule, "fresh_before", False))
