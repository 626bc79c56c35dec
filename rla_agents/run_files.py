"""What a training run writes: settings, versions, metrics, traces, events and the held-out evaluation."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rla_agents.batches import Group
from rla_agents.config import TrainConfig, save_config
from rla_agents.files import append_jsonl, read_jsonl, storing, truncate_jsonl, write_atomic
from rla_agents.trajectory import Trajectory
from rla_envs.errors import InputError

SCHEMA = 1
"""Version of the rows of ``traces.jsonl``."""

BY_ITERATION = ("metrics.jsonl", "timings.jsonl", "traces.jsonl", "events.jsonl")
_VERSIONED = ("rlanything", "gymnasium", "numpy", "torch", "transformers", "alfworld", "textworld")


class RunFiles:
    """The files of one run folder, besides its checkpoints.

    ``metrics.jsonl`` has one row an iteration with values that depend on the
    settings alone; what the clock says goes to ``timings.jsonl``.

    Args:
        folder: The run folder; it is made if missing.
    """

    def __init__(self, folder: Path) -> None:
        """Make the folder; see the class for the arguments."""
        self.folder = folder
        with storing(folder):
            folder.mkdir(parents=True, exist_ok=True)

    def begin(self, config: TrainConfig) -> None:
        """Write what describes the run."""
        save_config(config, self.folder / "config.toml")
        versions = {"python": platform.python_version()}
        for name in _VERSIONED:
            try:
                versions[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                continue
        write_atomic(self.folder / "versions.json", json.dumps(versions, indent=1) + "\n")

    def rewind(self, iteration: int) -> None:
        """Drop the rows and evaluations after this iteration: they will be made again."""
        evaluation = self.evaluation()
        kept = {when: e for when, e in evaluation.items() if e.get("iteration", iteration) <= iteration}
        if kept != evaluation:
            self.write_evaluation(kept)
        for name in BY_ITERATION:
            if (self.folder / name).exists():
                truncate_jsonl(self.folder / name, lambda row: int(row.get("iteration", -1)) <= iteration)

    def add(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows to one of the JSON-lines files."""
        append_jsonl(self.folder / name, rows)

    def metrics(self) -> list[dict[str, Any]]:
        """Return the metrics so far."""
        path = self.folder / "metrics.jsonl"
        return read_jsonl(path) if path.exists() else []

    def evaluation(self) -> dict[str, Any]:
        """Return the held-out evaluation so far.

        Raises:
            InputError: If its file cannot be read.
        """
        path = self.folder / "evaluation.json"
        if not path.exists():
            return {}
        try:
            loaded: dict[str, Any] = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise InputError(f"cannot read {path} ({error}); remove it to evaluate again") from error
        return loaded

    def write_evaluation(self, evaluation: Mapping[str, Any]) -> None:
        """Write the held-out evaluation."""
        write_atomic(self.folder / "evaluation.json", json.dumps(evaluation, indent=1) + "\n")


def trace(
    trajectory: Trajectory,
    iteration: int,
    phase: str,
    rewards: Sequence[float] = (),
    advantages: Sequence[float | None] = (),
) -> dict[str, Any]:
    """Return the row of ``traces.jsonl`` of one episode.

    Args:
        trajectory: The episode.
        iteration: When it was played; -1 before training.
        phase: ``"train"``, ``"eval_before"`` or ``"eval_after"``.
        rewards: Integrated reward per step, if it was scored.
        advantages: Advantage per step, None where it did not train.
    """
    task, turns = trajectory.task, trajectory.turns
    spans = trajectory.spans
    return {
        "schema": SCHEMA,
        "iteration": iteration,
        "phase": phase,
        "env_id": task.env_id,
        "task": json.loads(task.to_json()),
        "task_id": task.id,
        "task_hash": task.content_hash,
        "difficulty": dict(sorted(task.difficulty.items())),
        "seed": trajectory.seed,
        "success": trajectory.success,
        "outcome": trajectory.outcome if trajectory.healthy else None,
        "stop": trajectory.stop,
        "error": trajectory.error,
        "retries": trajectory.retries,
        "optimal_length": trajectory.optimal_length,
        "token_count": sum(len(sequence.ids) for sequence in trajectory.sequences),
        "prompt": turns[0].observation if turns else "",
        "steps": [
            {
                "observation": turn.observation,
                "action": turn.action,
                "next_observation": turn.next_observation,
                "error": turn.error,
                "votes": list(trajectory.votes[i]) if trajectory.votes else [],
                "oracle": turn.oracle,
                "reward": rewards[i] if rewards else None,
                "advantage": advantages[i] if advantages else None,
                "logprob": sum(spans[i].generated.logprobs),
            }
            for i, turn in enumerate(turns)
        ],
    }


def group_traces(group: Group, iteration: int) -> list[dict[str, Any]]:
    """Return the rows of ``traces.jsonl`` of one task's scored rollouts."""
    return [
        trace(t, iteration, "train", rewards, advantages)
        for t, rewards, advantages in zip(group.trajectories, group.rewards, group.advantages, strict=True)
    ]
