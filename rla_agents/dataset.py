"""`rla import`: read exported episodes back, and teach a model those that were solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from rla_agents.command_line import parse
from rla_agents.export import SCHEMA
from rla_agents.files import read_jsonl
from rla_agents.learner import Learner, LearnerConfig, UpdateStats
from rla_agents.llm.base import Generated, Sampling, TokenSequence, TrainItem
from rla_agents.llm.models import load_model
from rla_agents.policy import Policy
from rla_agents.trajectory import Trajectory, Turn
from rla_envs.errors import InputError
from rla_envs.task import Task


@dataclass(frozen=True)
class ImportArguments:
    """Teach a model the solved episodes of an export (`rla export --format messages`), offline.

    The result is a model folder: `rla train --model FOLDER` goes on from there.
    """

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DATASET")]
    """Folder of the export, or its JSON-lines file."""
    out: str
    """Folder for the trained model."""
    model: str = "tiny"
    """Model to start from: tiny, smollm2, or the folder of any causal language model."""
    epochs: int = 1
    """Passes over the data."""
    lr: float = 4e-4
    """Learning rate; the embedded models take this one, large models 1e-6."""
    seed: int = 0
    """Seed of the order of the data."""
    device: str = "auto"
    """Where it runs: auto, cpu, cuda, cuda:1."""


def import_(words: Sequence[str]) -> int:
    """Train on the dataset that a command line names, save the model, and return the exit code 0."""
    arguments = parse(ImportArguments, words, prog="rla import")
    if Path(arguments.out).exists() and any(Path(arguments.out).iterdir()):
        raise InputError(f"--out: expected a new or empty folder for the model, {arguments.out} holds files")
    config = LearnerConfig(lr=arguments.lr, epochs=arguments.epochs, kl_weight=0.0)
    trajectories = read_trajectories(arguments.data)
    model = load_model(arguments.model, arguments.device)
    policy = Policy(model, Sampling(), instructed=not model.plain)
    stats = imitate(policy, trajectories, config, np.random.default_rng(arguments.seed))
    model.save(arguments.out)
    print(  # noqa: T201
        f"{len(trajectories)} episodes read, {sum(t.success for t in trajectories)} solved; trained on "
        f"{stats.tokens} tokens of {stats.sequences} in {stats.updates} updates"
    )
    print(arguments.out)  # noqa: T201
    return 0


def read_trajectories(path: str | Path) -> list[Trajectory]:
    """Return the episodes of an export of the format ``messages``.

    They are as they were played, but for what traces do not keep: a turn's
    reward is 1 where the episode was solved by it and else 0, and the token
    sequences are empty (:func:`train_item` makes them for the model at hand).

    Args:
        path: The export's folder, or its JSON-lines file.

    Raises:
        InputError: If it is no such export; names the row.
    """
    path = Path(path)
    file = path / "train.jsonl" if path.is_dir() else path
    found = []
    for number, row in enumerate(read_jsonl(file), start=1):
        if "messages" not in row:
            raise InputError(
                f"{file}, row {number}: expected an episode with 'messages', got {', '.join(list(row)[:3])}; "
                "sft and dpo rows are for other trainers, export with --format messages"
            )
        try:
            found.append(_trajectory(row))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{file}, row {number}: not an exported episode ({reason})") from error
    if not found:
        raise InputError(f"{file}: expected exported episodes, found none")
    return found


def _trajectory(row: dict[str, Any]) -> Trajectory:
    provenance, messages = row["provenance"], row["messages"]
    if provenance["schema"] != SCHEMA:
        raise ValueError(f"schema {provenance['schema']}, this version reads {SCHEMA}")
    roles = [message["role"] for message in messages]
    if not roles or roles != ["user", "assistant"] * (len(roles) // 2):
        raise ValueError("messages do not alternate between user and assistant")
    texts = [message["content"] for message in messages]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a message's content is not text")
    after = [*texts[2::2], row["final_observation"]]
    columns = zip(texts[::2], texts[1::2], after, row["step_errors"], row["oracle"], strict=True)
    turns = [Turn(seen, action, then, 0.0, error, oracle) for seen, action, then, error, oracle in columns]
    turns[-1].reward = float(row["success"])
    votes = tuple(tuple(step) for step in row["votes"])
    return Trajectory(
        task=Task.from_json(row["task"]),
        seed=provenance["seed"],
        turns=turns,
        stop=row["stop"],
        retries=row["retries"],
        optimal_length=row["optimal_length"],
        votes=votes if any(votes) else (),
    )


def imitate(
    policy: Policy, trajectories: Sequence[Trajectory], config: LearnerConfig, rng: np.random.Generator
) -> UpdateStats:
    """Train the policy's model on the actions of the solved episodes: filtered behaviour cloning.

    Raises:
        InputError: If none was solved, or none fits the model's context.
    """
    items = [item for t in trajectories if t.success and (item := train_item(policy, t)) is not None]
    if not items:
        raise InputError(
            f"none of {len(trajectories)} episodes can be imitated: each was lost, or is longer than the "
            f"model's context of {policy.model.context_length} tokens"
        )
    return Learner(policy.model, config).update(items, rng)


def train_item(policy: Policy, trajectory: Trajectory) -> TrainItem | None:
    """Return an episode as the policy would have produced it, or None if it does not fit the model.

    The ids are those of generation: one beginning token, each turn tokenised once,
    the end-of-turn token after each action. Actions without effect have no loss. Every
    token counts as chosen among the whole vocabulary, for traces do not list the
    admissible commands.
    """
    sequence = TokenSequence()
    for index, turn in enumerate(trajectory.turns):
        if index:
            sequence.ids.extend(policy.continuation(turn.observation, (), sequence.ids[-1]))
        else:
            sequence.ids.extend(policy.opening(turn.observation, ()))
        ids = policy.model.chat.command(turn.action)
        sequence.add(Generated(ids, (0.0,) * len(ids), (None,) * len(ids), turn.action, True))
    if len(sequence.ids) > policy.model.context_length:
        return None
    return sequence.train_item([None if turn.error else 1.0 for turn in trajectory.turns])
