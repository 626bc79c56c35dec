"""Let the policy play many tasks at once, one growing token sequence per episode.

Where the policy sees pictures and the context has no room for the next action,
the oldest pictures are left out, and a new sequence goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from rla_agents.env_pool import EnvPool, Seen
from rla_agents.llm.base import Picture, Session
from rla_agents.policy import Policy
from rla_agents.trajectory import Trajectory, Turn
from rla_envs.task import Task


@dataclass
class _Row:
    """An episode while it is played."""

    slot: int
    trajectory: Trajectory
    now: Seen


def rollout(
    policy: Policy,
    pool: EnvPool,
    tasks: Sequence[Task],
    seed: int,
    generator: torch.Generator | None,
    retries: int = 2,
    max_context: int | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Trajectory]:
    """Play one episode per task and return the trajectories, in order.

    An episode that the machinery broke is started again up to ``retries``
    times; after that its trajectory has ``stop="error"`` and must not be scored.

    Args:
        policy: Who acts.
        pool: Where.
        tasks: What; the same task may occur many times (side by side, please).
        seed: Seed of the environments' resets; the tasks fix the rest.
        generator: Source of the policy's randomness; None only if it decodes greedily.
        retries: How often an episode is started again after a failure of the machinery.
        max_context: Longest sequence in tokens, where that is shorter than the model's own limit.
        progress: Called with the number of episodes that have just ended.
    """
    trajectories = [Trajectory(task, number) for number, task in enumerate(tasks)]
    pending = [_Row(slot, trajectories[slot], seen) for slot, seen in enumerate(pool.reset(tasks, seed))]
    while pending:
        playable = _retried(pool, pending, seed, retries)
        progress(len(pending) - len(playable))
        pending = _play(policy, pool, playable, generator, max_context, progress)
    return trajectories


def _retried(pool: EnvPool, rows: list[_Row], seed: int, retries: int) -> list[_Row]:
    """Start broken episodes again; give up on those that were started too often."""
    healthy = []
    for row in rows:
        trajectory = row.trajectory
        while row.now.failure and trajectory.retries < retries:
            trajectory.retries += 1
            row.now = pool.restart(row.slot, trajectory.task, seed)
        if row.now.failure:
            trajectory.stop, trajectory.error = "error", row.now.failure
        else:
            healthy.append(row)
    return healthy


def _play(
    policy: Policy,
    pool: EnvPool,
    rows: list[_Row],
    generator: torch.Generator | None,
    max_context: int | None,
    progress: Callable[[int], None],
) -> list[_Row]:
    """Play the episodes to their ends; return those that the machinery broke on the way."""
    if not rows:
        return []
    session = policy.model.open(
        [policy.opening(row.now.observation, row.now.commands, row.now.picture is not None) for row in rows],
        [_pictures(row.now) for row in rows],
    )
    for index, row in enumerate(rows):
        row.trajectory.turns.clear()
        row.trajectory.earlier.clear()
        row.trajectory.sequence = session.sequence(index)
        row.trajectory.optimal_length = row.now.remaining
    limit = policy.model.context_length
    if max_context is not None:
        limit = min(limit, max_context)
    live, broken = list(rows), []
    while live:
        kept = []
        for index, row in enumerate(live):
            if _make_room(policy, session, index, row, limit):
                kept.append(index)
            else:
                row.trajectory.stop = "context"
        progress(len(live) - len(kept))
        session.keep(kept)
        live = [live[index] for index in kept]
        commands = _act(policy, session, live, generator)
        answers = pool.step({row.slot: command for row, command in zip(live, commands, strict=True)})
        kept = []
        for index, (row, command, seen) in enumerate(zip(live, commands, answers, strict=True)):
            before, row.now = row.now, seen
            if seen.failure:
                broken.append(row)
                continue
            row.trajectory.turns.append(_turn(before, command, seen))
            if seen.terminated or seen.truncated:
                row.trajectory.stop = _stop(seen)
                progress(1)
                continue
            last = row.trajectory.sequence.ids[-1]
            seeing = seen.picture is not None
            following = policy.continuation(seen.observation, seen.commands, last, seeing)
            session.append(index, following, _pictures(seen))
            kept.append(index)
        session.keep(kept)
        live = [live[index] for index in kept]
    return broken


def _pictures(seen: Seen) -> tuple[Picture, ...]:
    return () if seen.picture is None else (Picture(seen.picture),)


def _make_room(policy: Policy, session: Session, index: int, row: _Row, limit: int) -> bool:
    """Leave out pictures, the oldest first, until the next action fits; return whether it does."""
    candidates = policy.candidates(row.now.commands)
    longest = policy.sampling.max_tokens if candidates is None else max(map(len, candidates))
    if len(row.trajectory.sequence.ids) + longest <= limit:
        return True
    shorter = session.shorten(index, limit - longest)
    if shorter is None:
        return False
    row.trajectory.earlier.append(row.trajectory.sequence)
    row.trajectory.sequence = shorter
    return True


def _act(policy: Policy, session: Session, live: list[_Row], generator: torch.Generator | None) -> list[str]:
    candidates = [policy.candidates(row.now.commands) for row in live]
    free = [i for i, options in enumerate(candidates) if options is None]
    bound = [i for i, options in enumerate(candidates) if options is not None]
    commands = [""] * len(live)
    for indices in (free, bound):
        if not indices:
            continue
        constraints = None if indices is free else [options for options in candidates if options is not None]
        drawn = session.generate(indices, policy.sampling, generator, constraints)
        for index, action in zip(indices, drawn, strict=True):
            commands[index] = policy.command(action.text, action.choice, live[index].now.commands)
    return commands


def _turn(before: Seen, command: str, seen: Seen) -> Turn:
    oracle = None
    if before.remaining is not None and seen.remaining is not None:
        oracle = 1 if seen.remaining < before.remaining else -1
    return Turn(before.observation, command, seen.observation, seen.reward, seen.error, oracle)


def _stop(seen: Seen) -> str:
    if seen.success:
        return "solved"
    return "failed" if seen.terminated else "budget"
