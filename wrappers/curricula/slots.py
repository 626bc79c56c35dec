"""Root tasks, their active version, the one pending edit, and what became of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from rla_envs.task import Task


@dataclass
class Version:
    """One version of a task and the results of its rollouts.

    Attributes:
        task: The task itself.
        direction: What its edit wanted, ``"harder"`` or ``"easier"``; empty
            for a root.
        reason: Why the edit was made.
        changes: The edit's operations.
        total: Sum of all its results.
        count: Number of all its results.
        group: Results of the group that is being collected.
        summaries: What the critic said went wrong in that group.
        lost_steps: Steps lost in that group, by kind (see
            :class:`wrappers.protocols.Feedback`).
    """

    task: Task
    direction: str = ""
    reason: str = ""
    changes: tuple[Mapping[str, Any], ...] = ()
    total: float = 0.0
    count: int = 0
    group: list[float] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)
    lost_steps: dict[str, float] = field(default_factory=dict)

    def plays(self, task: Task, content_only: bool = False) -> bool:
        """Return whether a rollout of ``task`` is a rollout of this version.

        The id alone would not do: an edit and its reverse lead to the same
        content, hence the same id, two versions later. Where nothing but the
        content is known of what was played, it has to.
        """
        return (content_only and task.id == self.task.id) or (task.id, task.root_id, task.version) == (
            self.task.id,
            self.task.root_id,
            self.task.version,
        )

    def add(self, result: float) -> None:
        """Count a result, outside any group."""
        self.total += result
        self.count += 1

    def take_group(self, result: float, feedback: Mapping[str, Any], size: int) -> list[float] | None:
        """Count a result in the group, with what came along; return the group once it has ``size``."""
        self.add(result)
        if not self.group:
            self.summaries, self.lost_steps = [], {}
        self.group.append(result)
        summary = str(feedback.get("summary") or "")
        if summary and result < 1.0:
            self.summaries.append(summary)
        for kind, steps in (feedback.get("lost_steps") or {}).items():
            self.lost_steps[kind] = self.lost_steps.get(kind, 0.0) + float(steps)
        if len(self.group) < size:
            return None
        group, self.group = self.group, []
        return group

    def state_dict(self) -> dict[str, Any]:
        """Return the version as JSON values."""
        return {**vars(self), "task": self.task.to_json()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Read a version back from :meth:`state_dict`."""
        return cls(**{**state, "task": Task.from_json(state["task"]), "changes": tuple(state["changes"])})


@dataclass
class Slot:
    """One root task and its versions.

    Attributes:
        root: The task that was sampled.
        active: The version in force.
        pending: An edit of it that waits for its own rollouts.
        wanted: The direction in which an edit is asked for but not yet made.
        success: Mean result of the group that asked for it.
        before: Sum and number of the results of the active version that count
            as evidence on the pending edit.
        fruitless: Edits in a row that were refused or rejected.
        drift: Accepted harder edits since the root, less the easier ones.
        last: Direction of the last accepted edit; empty without one.
        flips: Accepted edits in a row whose direction was the opposite of the
            one before.
        held: Groups during which no edit is asked for.
        stride: Edits that the next pending version is made of.
        history: Versions that were replaced, rejected or given up, oldest
            first, each with its verdict; the latest ``history_limit`` of them.
    """

    history_limit: ClassVar[int] = 64

    root: Task
    active: Version
    pending: Version | None = None
    wanted: str = ""
    success: float = 0.0
    before: tuple[float, int] = (0.0, 0)
    fruitless: int = 0
    drift: int = 0
    last: str = ""
    flips: int = 0
    held: int = 0
    stride: int = 1
    history: list[dict[str, Any]] = field(default_factory=list)

    @property
    def version(self) -> int:
        """Number of edits between the root and the active version."""
        return self.active.task.version

    def retire(self, version: Version, verdict: str) -> None:
        """Move a version into the history."""
        task = version.task
        self.history.append(
            {
                "task_id": task.id,
                "root_id": task.root_id,
                "version": task.version,
                "direction": version.direction,
                "verdict": verdict,
                "total": version.total,
                "count": version.count,
            }
        )
        del self.history[: -self.history_limit]

    def accept(self) -> None:
        """Put the pending version in force."""
        pending = self.pending
        assert pending is not None
        self.retire(self.active, "replaced")
        edits = pending.task.version - self.active.task.version
        self.drift += edits if pending.direction == "harder" else -edits
        self.flips = self.flips + 1 if self.last not in ("", pending.direction) else 0
        self.active, self.pending, self.last, self.fruitless = pending, None, pending.direction, 0

    def reject(self) -> None:
        """Drop the pending version."""
        assert self.pending is not None
        self.retire(self.pending, "rejected")
        self.pending = None
        self.fruitless += 1

    def add_late(self, task: Task, result: float, content_only: bool = False) -> None:
        """Credit a result to the retired version it belongs to, the latest one that matches."""
        key = (task.id, task.root_id, task.version)
        for entry in reversed(self.history):
            found = (entry["task_id"], entry["root_id"], entry["version"])
            if found == key or (content_only and entry["task_id"] == task.id):
                entry["total"] += result
                entry["count"] += 1
                return

    def replace_root(self, root: Task) -> None:
        """Give up the root and everything edited from it."""
        self.retire(self.active, "given up")
        self.root, self.active = root, Version(root)
        self.pending, self.wanted, self.last = None, "", ""
        self.fruitless = self.drift = self.flips = self.held = 0
        self.stride = 1

    def state_dict(self) -> dict[str, Any]:
        """Return the slot as JSON values."""
        return {
            **vars(self),
            "root": self.root.to_json(),
            "active": self.active.state_dict(),
            "pending": self.pending and self.pending.state_dict(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Read a slot back from :meth:`state_dict`."""
        pending = state["pending"]
        return cls(
            **{
                **state,
                "root": Task.from_json(state["root"]),
                "active": Version.from_state(state["active"]),
                "before": tuple(state["before"]),
                "pending": Version.from_state(pending) if pending else None,
            }
        )
