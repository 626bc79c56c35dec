"""Make the embedded ``tiny`` models from nothing: ``python -m rla_agents.tiny.make --out FOLDER``.

Plays training games by disturbed shortest plans, clones them into a policy, and
teaches a copy of it to judge steps. Both stop early on purpose: reinforcement
learning needs room. About 25 minutes on two CPU cores, most of it games.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
import tyro
from transformers import LlamaConfig, LlamaForCausalLM

from rla_agents.critic import VERDICTS, LLMCritic
from rla_agents.files import append_jsonl, write_atomic
from rla_agents.llm.base import Generated, Sampling, TokenSequence, TrainItem
from rla_agents.llm.constrained import CandidateWalk, ChoiceTable
from rla_agents.llm.transformers_backend import TransformersModel
from rla_agents.policy import Policy
from rla_agents.tiny.demonstrations import SEARCHING, WANDERING, Shown, demonstrations
from rla_agents.tiny.vocabulary import build_tokenizer
from rla_envs.task import Task
from wrappers.protocols import Episode, Step

Demonstration = list[Shown]


@dataclass(frozen=True)
class MakeConfig:
    """How the embedded models are made."""

    out: Path
    """Folder for the models, the log, and the demonstrations on the way."""
    seed: int = 1
    """Seed of games, weights and order."""
    games: int = 3000
    """Different training games to imitate."""
    plays: int = 3
    """Demonstrations of each game."""
    judged_games: int = 1000
    """Further training games, played badly, to judge."""
    policy_updates: int = 500
    """Cloning updates; more would leave reinforcement learning less room."""
    critic_updates: int = 100
    """Judging updates."""
    batch: int = 32
    """Demonstrations per update."""
    lr: float = 2e-3
    """Peak learning rate; falls linearly to a twentieth."""
    language_weight: float = 0.2
    """Weight of predicting all text, beside choosing the action."""
    processes: int = 2
    """Processes that play; does not change the result."""
    threads: int = 1
    """CPU threads that train; another number gives other roundings, and so other weights."""


def new_model(seed: int) -> TransformersModel:
    """Return an untrained model: Llama architecture, 3 layers of width 128, 0.6 M weights."""
    tokenizer = build_tokenizer()
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=320,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        initializer_range=0.05,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    config.rla_plain = True  # the model takes observations bare, without instructions
    return TransformersModel(LlamaForCausalLM(config), tokenizer)


def policy_item(policy: Policy, shown: Demonstration) -> TrainItem | None:
    """Return a demonstration as the policy would have produced it; disturbed commands carry no loss."""
    sequence = TokenSequence(policy.opening(shown[0].observation, shown[0].commands))
    for index, step in enumerate(shown):
        if index:
            last = sequence.ids[-1]
            sequence.ids.extend(policy.continuation(step.observation, step.commands, last))
        options = policy.candidates(step.commands)
        assert options is not None
        sequence.add(_forced(options, step.commands.index(step.command)))
    return sequence.train_item([1.0 if step.cloned else None for step in shown])


def critic_item(critic: LLMCritic, shown: Demonstration) -> TrainItem | None:
    """Return a judgement of a demonstration: +1 where the shortest plan became shorter, else -1."""
    steps = tuple(Step(s.observation, s.command, s.next_observation, 0.0, "") for s in shown)
    episode = Episode(Task("", {}, {}), steps, True, False)
    sequence = TokenSequence(critic.opening(episode))
    for index, step in enumerate(shown):
        if index:
            sequence.ids.extend(critic.continuation(episode, index, sequence.ids[-1]))
        verdict = VERDICTS.index("+1" if step.shortened else "-1")
        sequence.add(_forced(critic.candidates(), verdict))
    return sequence.train_item([1.0] * len(shown))


def _forced(options: Sequence[tuple[int, ...]], choice: int) -> Generated:
    """Return one candidate as if it had been sampled among the others."""
    walk = CandidateWalk(options)
    ids: list[int] = []
    allowed: list[tuple[int, ...]] = []
    while True:
        forced = walk.forced()
        ids += forced
        allowed += [(token,) for token in forced]
        if walk.choice is not None:
            break
        allowed.append(walk.allowed())
        ids.append(options[choice][len(ids)])
        walk.take(ids[-1])
    return Generated(tuple(ids), (0.0,) * len(ids), tuple(allowed), "", True)


def fit(
    model: TransformersModel,
    items: Sequence[TrainItem],
    updates: int,
    config: MakeConfig,
    log: Path,
    name: str,
) -> None:
    """Maximise the likelihood of the items' decisions, and a little that of all text."""
    rng = np.random.default_rng(config.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr, betas=(0.9, 0.95), weight_decay=0.01)
    for update, batch in enumerate(_batches(items, updates, config.batch, rng)):
        for group in optimizer.param_groups:
            group["lr"] = config.lr * min(1.0, (update + 1) / 40, max(0.05, 1.2 * (1 - update / updates)))
        decisions, text = _losses(model, batch)
        optimizer.zero_grad()
        (decisions + config.language_weight * text).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        model.weights_version += 1
        if (update + 1) % 25 == 0:
            row = {"stage": name, "update": update + 1, "decisions": decisions.item(), "text": text.item()}
            append_jsonl(log, [row])
            print(json.dumps(row), flush=True)  # noqa: T201


def _batches(
    items: Sequence[TrainItem], updates: int, size: int, rng: np.random.Generator
) -> Iterator[list[TrainItem]]:
    """Yield batches of similar length, epoch after epoch."""
    made = 0
    while True:
        order = sorted(rng.permutation(len(items)), key=lambda i: len(items[i].ids) // 48)
        batches = [order[i : i + size] for i in range(0, len(order), size)]
        for index in rng.permutation(len(batches)):
            if made == updates:
                return
            made += 1
            yield [items[i] for i in batches[index]]


def _losses(model: TransformersModel, batch: Sequence[TrainItem]) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(len(item.ids) for item in batch)
    ids = torch.tensor([item.ids + (0,) * (width - len(item.ids)) for item in batch])
    real = torch.tensor([[1.0] * len(item.ids) + [0.0] * (width - len(item.ids)) for item in batch])
    logits = model.module(input_ids=ids, use_cache=False).logits
    row = torch.tensor([r for r, item in enumerate(batch) for _ in item.positions])
    position = torch.tensor([p for item in batch for p in item.positions])
    table = ChoiceTable([allowed for item in batch for allowed in item.allowed], logits.device)
    decisions = -table.logprobs(logits[row, position - 1], ids[row, position], 1.0).mean()
    text = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    weight = real[:, 1:].flatten()
    return decisions, (text * weight).sum() / weight.sum()


def _play(block: tuple[int, int, int, tuple[float, float]]) -> list[Demonstration]:
    return list(demonstrations(*block))


def play(config: MakeConfig, games: int, disturbed: tuple[float, float]) -> list[Demonstration]:
    """Return demonstrations, played side by side in blocks of 50 games, each with a seed of its own."""
    first = config.seed * 100_000 + (50_000 if disturbed == WANDERING else 0)
    blocks = [(first + i, 50, config.plays, disturbed) for i in range(games // 50)]
    shown: list[Demonstration] = []
    with multiprocessing.get_context("spawn").Pool(config.processes) as pool:
        for part in pool.imap(_play, blocks):
            shown += part
            print(f"{len(shown)} demonstrations", flush=True)  # noqa: T201
    return shown


def main(config: MakeConfig) -> None:
    """Make both models; see the module."""
    torch.set_num_threads(config.threads)
    config.out.mkdir(parents=True, exist_ok=True)
    log = config.out / "make.jsonl"
    write_atomic(log, "")
    append_jsonl(log, [{"config": {k: v for k, v in vars(config).items() if k != "out"}}])
    imitated = play(config, config.games, SEARCHING)
    train(config, imitated, play(config, config.judged_games, WANDERING), log)


def train(
    config: MakeConfig, imitated: Sequence[Demonstration], judged: Sequence[Demonstration], log: Path
) -> None:
    """Fit the policy to the plays to imitate and a copy of it to those to judge; save both."""
    model = new_model(config.seed)
    policy = Policy(model, Sampling(), instructed=False)
    items = [item for d in imitated if d and (item := policy_item(policy, d))]
    fit(model, items, config.policy_updates, config, log, "policy")
    model.save(config.out / "policy")
    critic = LLMCritic(model, Sampling(), torch.Generator(), instructed=False)
    items = [item for d in judged if d and (item := critic_item(critic, d))]
    fit(model, items, config.critic_updates, config, log, "critic")
    model.save(config.out / "critic")


if __name__ == "__main__":
    main(tyro.cli(MakeConfig))
