"""The closed loop: rollout, judge, adapt, train the policy, train the critic; then again.

After every iteration the whole state is saved (weights, optimizers, random
generators, curriculum, counters), so a run that is killed at any moment and
resumed ends with the same metrics and the same weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter

from rla_agents.batches import Group, critic_items, policy_items, score, unit_test_items
from rla_agents.checkpoint import (
    CheckpointStore,
    generator_state,
    load_state,
    restore_generator,
    state_writer,
)
from rla_agents.config import TrainConfig
from rla_agents.critic import Judgement, LLMCritic
from rla_agents.display import Display
from rla_agents.env_pool import EnvPool
from rla_agents.environments import make_env
from rla_agents.evaluate import evaluate, heldout_tasks, summary
from rla_agents.learner import Learner, UpdateStats
from rla_agents.llm.base import Sampling
from rla_agents.llm.models import critic_name, load_model
from rla_agents.metrics import iteration_metrics, unit_test_metrics
from rla_agents.policy import Policy
from rla_agents.report import write_report
from rla_agents.rollout import rollout
from rla_agents.run_files import RunFiles, group_traces, trace
from rla_agents.task_editor import LLMEditor, make_editor
from rla_agents.trajectory import Trajectory
from rla_agents.unit_test_critic import UnitTestCritic
from rla_envs.adaptive import AdaptiveEnv
from rla_envs.coding.env import LiveBenchCodingEnv
from rla_envs.coding.grade import Grader
from rla_envs.difficulty import parse_difficulty
from rla_envs.errors import InputError, InvalidTaskError
from rla_envs.spaces import Unicode
from rla_envs.task import Task
from wrappers import FreeParameters, LostSteps, curricula
from wrappers.curricula.registry import PROPOSAL_LIMIT, drain_events, next_proposal

_TRACED_EVALUATIONS = 60
"""Episodes of each evaluation that are kept in traces.jsonl, spread over its games."""


def train(config: TrainConfig, resume: bool = False, quiet: bool = False) -> None:
    """Run the closed loop, from the start or from the last checkpoint, and write the report.

    Args:
        config: The run's settings; ``run_dir`` must be set.
        resume: Go on from the newest complete checkpoint in ``run_dir``.
        quiet: Show no progress.

    Raises:
        InputError: If a setting does not fit the environment or the models.
        StorageError: If a file cannot be written; what was written before is whole.
    """
    if config.run_dir is None:
        raise InputError("run_dir: expected the folder of the run, got none")
    if config.threads:
        torch.set_num_threads(config.threads)
    folder = Path(config.run_dir)
    if not resume and (folder / "config.toml").exists():
        raise InputError(f"run_dir: {folder} already holds a run; resume it, or name another folder")
    loop = Loop(config)  # first: settings that do not fit must leave nothing behind
    try:
        files = RunFiles(folder)
        store = CheckpointStore(folder / "checkpoints")
        with Display(config, quiet) as display:
            start = _resume(loop, store, files, display) if resume else 0
            if start == 0:
                # The evaluation before training stays if a killed run has finished it.
                files.rewind(-1 if "before" in files.evaluation() else -2)
                files.begin(config)
            _run(loop, store, files, display, start)
    finally:
        loop.close()
    write_report(folder)


def _resume(loop: Loop, store: CheckpointStore, files: RunFiles, display: Display) -> int:
    found = store.latest()
    for skipped in found.skipped:
        display.note(f"checkpoint {skipped.path.name} is skipped: {skipped.reason}")
    if found.checkpoint is None:
        if found.skipped:
            # Starting over would throw away what the run has written.
            raise InputError(
                f"--resume: no checkpoint in {store.folder} can be read; the newest, "
                f"{found.skipped[0].path.name}, is damaged: {found.skipped[0].reason}. Restore one, or "
                "start a new run in another folder"
            )
        display.note("no checkpoint yet: starting from the beginning")
        return 0
    loop.restore(found.checkpoint.path)
    files.rewind(found.checkpoint.iteration)
    display.note(f"resuming after iteration {found.checkpoint.iteration}")
    return found.checkpoint.iteration + 1


def _run(loop: Loop, store: CheckpointStore, files: RunFiles, display: Display, start: int) -> None:
    config = loop.config
    for row in files.metrics():
        display.iteration(row)
    if start == 0:
        _evaluate(loop, files, display, "before", -1)
    with _board(files.folder, start) as board:
        for iteration in range(start, config.iterations):
            begun = perf_counter()
            row, timings = loop.iterate(iteration, files, display)
            files.add("metrics.jsonl", [row])
            seconds = {"iteration": iteration, **timings, "seconds": perf_counter() - begun}
            files.add("timings.jsonl", [seconds])
            for name, value in [*row.items(), *((f"seconds/{k}", v) for k, v in timings.items())]:
                if isinstance(value, int | float):
                    board.add_scalar(name, value, iteration)
            every = config.evaluation.every
            if every and (iteration + 1) % every == 0 and iteration + 1 < config.iterations:
                _evaluate(loop, files, display, f"iteration_{iteration}", iteration)
            if (iteration + 1) % config.checkpoint_every == 0 or iteration + 1 == config.iterations:
                store.save(iteration, loop.parts())
            display.iteration(row)
    display.note(loop.curriculum.explain())
    _evaluate(loop, files, display, "after", config.iterations)


@contextmanager
def _board(folder: Path, start: int) -> Iterator[Any]:
    writer = SummaryWriter(str(folder / "tensorboard"), purge_step=start)
    try:
        yield writer
    finally:
        writer.close()


def _evaluate(loop: Loop, files: RunFiles, display: Display, when: str, iteration: int) -> None:
    """Play the held-out games and write the result, unless a resumed run has it already."""
    config, result = loop.config, files.evaluation()
    if not config.evaluation.games or when in result:
        return
    result["grid"] = {
        "split": config.evaluation.split,
        "games": config.evaluation.games,
        "cells": dict(config.evaluation.grid),
        "difficulty": dict(config.env.difficulty),
        "seed": config.evaluation.seed,
    }
    result[when] = {"iteration": iteration}
    modes = [m for m in ("sampled", "greedy") if getattr(config.evaluation, m)]
    for mode, played in loop.evaluations(modes, display).items():
        result[when][mode] = summary(played, loop.task_types)
        stride = max(1, len(played) // _TRACED_EVALUATIONS)
        if mode == modes[0] and when in ("before", "after"):
            files.add("traces.jsonl", [trace(t, iteration, f"eval_{when}") for t in played[::stride]])
    files.write_evaluation(result)


class Loop:
    """The state of a run: environments, policy, critic, curriculum and their learners.

    Args:
        config: The run's settings.
    """

    def __init__(self, config: TrainConfig) -> None:
        """Load the models and start the environments; see the class for the arguments."""
        self.config = config
        self.generator = torch.Generator().manual_seed(config.seed)
        self.rng = np.random.default_rng(config.seed)
        self._env = make_env(config.env.id, self._env_kwargs(config.env.split))
        source = self._env.unwrapped
        if not isinstance(source, AdaptiveEnv):
            raise InputError(f"env.id: expected an adaptive environment, got {config.env.id}; see rla envs")
        seen = self._env.observation_space
        desktop = isinstance(seen, gym.spaces.Dict) and "instruction" in seen.spaces
        for part, space in (("observations", seen), ("actions", self._env.action_space)):
            if not isinstance(space, Unicode) and not (desktop and space is seen):
                raise InputError(
                    f"env.id: expected an environment of texts, for a language model; {config.env.id} has "
                    f"{part} in {space}. Train on it with a library for such spaces, or wrap it into text"
                )
        self._check_evaluation(source)
        parameters = {p.name: p for p in source.difficulty_parameters}
        self.task_types = parameters["task_type"].names if "task_type" in parameters else ()
        free = FreeParameters(source)
        self.source = source
        self.editor = make_editor(config.editor, source, self.rng, self.generator, config.policy.device)
        arguments = {**config.curriculum.arguments, **({"editor": self.editor} if self.editor else {})}
        self.curriculum = curricula.make(
            config.curriculum.name, free.difficulty_space, tasks=free, **arguments
        )
        # A missing package, or a difficulty without any task, shows itself with the first task.
        source.sample_task(None, np.random.default_rng(config.seed))
        model = load_model(config.policy.model, config.policy.device)
        sampling = Sampling(config.policy.temperature, max_tokens=config.policy.max_tokens)
        self.policy = Policy(
            model,
            sampling,
            config.policy.constrained,
            config.policy.numbered,
            not model.plain,
            source.whole_answers,
            desktop,
        )
        self.policy_learner = Learner(model, config.policy_learner)
        self.critic: LLMCritic | UnitTestCritic | None = None
        if config.critic.votes:
            self.critic = self._load_critic()
            self.critic_learner = Learner(self.critic.model, config.critic_learner)
        kwargs = self._env_kwargs(config.env.split)
        self.pool = EnvPool(config.env.id, kwargs, config.env.workers, model.sees)
        self.env_steps = self.tokens = 0

    def _load_critic(self) -> LLMCritic | UnitTestCritic:
        config = self.config.critic
        model = load_model(config.model or critic_name(self.config.policy.model), self.config.policy.device)
        sampling = Sampling(config.temperature, max_tokens=config.max_tokens)
        if isinstance(self.source, LiveBenchCodingEnv):
            grader = Grader(backend=self.source.backend)
            return UnitTestCritic(model, sampling, self.generator, grader, config.votes)
        return LLMCritic(model, sampling, self.generator, config.votes, config.reason, not model.plain)

    def _check_evaluation(self, source: AdaptiveEnv[Any, Any]) -> None:
        """Refuse now what would only fail at the first evaluation."""
        if not self.config.evaluation.games:
            return
        make_env(self.config.env.id, self._env_kwargs(self.config.evaluation.split)).close()
        for name, values in self.config.evaluation.grid.items():
            for value in values:
                parse_difficulty(source.difficulty_parameters, {name: value})

    def _env_kwargs(self, split: str) -> dict[str, Any]:
        env = self.config.env
        kwargs: dict[str, Any] = {**env.arguments, "split": split, "difficulty": dict(env.difficulty)}
        if env.engine is not None:
            kwargs["engine"] = env.engine
        return kwargs

    def close(self) -> None:
        """End the environments, and what the critic runs."""
        self.pool.close()
        self._env.close()
        if isinstance(self.critic, UnitTestCritic):
            self.critic.close()

    def iterate(
        self, iteration: int, files: RunFiles, display: Display
    ) -> tuple[dict[str, Any], dict[str, float]]:
        """Run one iteration; return its metrics, and the seconds that each part took."""
        config, clock = self.config, _Clock()
        tasks = self._tasks(iteration)
        clock.lap("tasks")
        rows = [task for task in tasks for _ in range(config.rollout.rollouts)]
        display.phase("rollout", len(rows))
        played = rollout(
            self.policy,
            self.pool,
            rows,
            config.seed,
            self.generator,
            config.rollout.retries,
            config.policy.max_context,
            display.advance,
        )
        clock.lap("rollout")
        display.phase("judge")
        groups = self._judged(played)
        clock.lap("judge")
        events = self._adapt(groups)
        files.add("events.jsonl", [{"iteration": iteration, **event} for event in events])
        rejected = {event.get("pending_id") for event in events if event.get("event") == "edit_rejected"}
        for group in groups:
            score(group, config.objective, group.trajectories[0].task.id not in rejected)
        clock.lap("adapt")
        display.phase("train")
        progress = iteration / config.iterations
        policy = critic = None
        if _due(config.updates.policy_every, iteration):
            policy = self.policy_learner.update(policy_items(groups), self.rng, progress)
        clock.lap("policy")
        if self.critic is not None and _due(config.updates.critic_every, iteration):
            made = unit_test_items if isinstance(self.critic, UnitTestCritic) else critic_items
            critic = self.critic_learner.update(made(groups, config.objective), self.rng, progress)
        clock.lap("critic")
        traces = [row for group in groups for row in group_traces(group, iteration)]
        traces += [trace(t, iteration, "train") for t in played if not t.healthy]
        files.add("traces.jsonl", traces)
        return self._metrics(iteration, played, groups, events, policy, critic), clock.laps

    def _metrics(
        self,
        iteration: int,
        played: Sequence[Trajectory],
        groups: Sequence[Group],
        events: Sequence[Mapping[str, Any]],
        policy: UpdateStats | None,
        critic: UpdateStats | None,
    ) -> dict[str, Any]:
        broken = sum(not t.healthy for t in played)
        self.env_steps += sum(len(t.turns) for t in played)
        self.tokens += sum(len(s.generated.ids) for t in played for s in t.spans)
        return {
            "iteration": iteration,
            **iteration_metrics(groups, broken, policy, critic),
            **(unit_test_metrics(groups) if isinstance(self.critic, UnitTestCritic) else {}),
            "curriculum/accepted": sum(event.get("event") == "edit_accepted" for event in events),
            "curriculum/rejected": sum(event.get("event") == "edit_rejected" for event in events),
            "editor/drafted": sum(event.get("event") == "edit_drafted" for event in events),
            "editor/malformed": sum(event.get("event") == "edit_malformed" for event in events),
            "env_steps": self.env_steps,
            "tokens": self.tokens,
        }

    def _tasks(self, iteration: int) -> list[Task]:
        """Ask the curriculum for the iteration's tasks; a difficulty without any is passed over."""
        tasks: list[Task | None] = [None] * self.config.rollout.tasks
        failure: InvalidTaskError | None = None
        for attempt in range(PROPOSAL_LIMIT):
            missing = [i for i, task in enumerate(tasks) if task is None]
            proposals = [next_proposal(self.curriculum, self.rng) for _ in missing]
            wanted = []
            for index, proposal in zip(missing, proposals, strict=True):
                if proposal.task is not None:
                    tasks[index] = proposal.task
                else:
                    seed = (self.config.seed, iteration, index, attempt)
                    wanted.append((index, (proposal.difficulty, seed)))
            made = self.pool.sample([arguments for _, arguments in wanted])
            for (index, _), task in zip(wanted, made, strict=True):
                if isinstance(task, InvalidTaskError):
                    failure = task
                else:
                    tasks[index] = task
            found = [task for task in tasks if task is not None]
            if len(found) == len(tasks):
                return found
        assert failure is not None
        raise failure

    def _judged(self, played: Sequence[Trajectory]) -> list[Group]:
        """Let the critic vote on every healthy episode, and group the episodes by task."""
        size = self.config.rollout.rollouts
        groups = []
        healthy = [t for t in played if t.healthy]
        if self.critic is None:
            judgements: dict[int, list[Judgement]] = {id(t): [] for t in healthy}
        else:
            episodes = [t.episode() for t in healthy]
            made = self.critic.judgements(episodes)
            judgements = {id(t): j for t, j in zip(healthy, made, strict=True)}
            for trajectory, episode, passes in zip(healthy, episodes, made, strict=True):
                trajectory.votes, trajectory.summary = self.critic.verdict(episode, passes)
        for start in range(0, len(played), size):
            members = [t for t in played[start : start + size] if t.healthy]
            if members:
                groups.append(Group(members, [judgements[id(t)] for t in members]))
        return groups

    def _adapt(self, groups: Sequence[Group]) -> list[dict[str, Any]]:
        """Tell the curriculum what happened; return what it did about it."""
        for group in groups:
            for t in group.trajectories:
                self.curriculum.observe(
                    t.task.difficulty,
                    t.success,
                    task=t.task,
                    votes=t.votes,
                    summary=t.summary,
                    lost_steps=LostSteps(self.source, t.episode(), t.votes),
                )
        drafts = self.editor.events() if isinstance(self.editor, LLMEditor) else []
        return [*drafts, *drain_events(self.curriculum)]

    def evaluations(self, modes: Sequence[str], display: Display) -> dict[str, list[Trajectory]]:
        """Play the held-out games with the averaged weights, once per decoding mode."""
        config = self.config
        kwargs = self._env_kwargs(config.evaluation.split)
        played = {}
        made = EnvPool(config.env.id, kwargs, config.env.workers, self.policy.model.sees)
        with made as pool, self.policy_learner.averaged():
            display.phase("making held-out games")
            tasks = heldout_tasks(config, pool)
            for mode in modes:
                display.phase(f"evaluation, {mode}", len(tasks))
                greedy = mode == "greedy"
                played[mode] = evaluate(self.policy, pool, tasks, config, greedy, display.advance)
        return played

    def parts(self) -> Mapping[str, Any]:
        """Return what a checkpoint holds, as the writers of its parts."""
        state = {
            "generator": generator_state(self.generator),
            "rng": generator_state(self.rng),
            "curriculum": self.curriculum.state_dict(),
            "env_steps": self.env_steps,
            "tokens": self.tokens,
        }
        parts = {
            "policy": self.policy.model.save,
            "policy_learner": state_writer(self.policy_learner.state_dict()),
            "state": state_writer(state),
        }
        if self.critic is not None:
            parts["critic"] = self.critic.model.save
            parts["critic_learner"] = state_writer(self.critic_learner.state_dict())
        return parts

    def restore(self, folder: Path) -> None:
        """Go on from a checkpoint.

        Raises:
            InputError: If it belongs to other models or another curriculum.
        """
        self.policy.model.load(folder / "policy")
        self.policy_learner.load_state_dict(load_state(folder / "policy_learner"))
        if self.critic is not None:
            self.critic.model.load(folder / "critic")
            self.critic_learner.load_state_dict(load_state(folder / "critic_learner"))
        state = load_state(folder / "state")
        restore_generator(self.generator, state["generator"])
        restore_generator(self.rng, state["rng"])
        self.curriculum.load_state_dict(state["curriculum"])
        self.env_steps, self.tokens = state["env_steps"], state["tokens"]


def _due(every: int, iteration: int) -> bool:
    return every > 0 and (iteration + 1) % every == 0


class _Clock:
    """Seconds between laps, by name."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, name: str) -> None:
        now = perf_counter()
        self.laps[name] = now - self._last
        self._last = now
