"""Make the embedded ``tiny`` models from nothing: ``python -m rla_agents.tiny.make --out FOLDER``.

Plays training games as a slow and careless player and clones it into a policy;
then lets the policy play and teaches a copy of it to judge those plays. About
15 minutes on two CPU cores.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
import tyro
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from rla_agents.critic import VERDICTS, LLMCritic
from rla_agents.env_pool import EnvPool
from rla_agents.files import append_jsonl, write_atomic
from rla_agents.llm.base import Generated, Sampling, TokenSequence, TrainItem
from rla_agents.llm.constrained import CandidateWalk, ChoiceTable
from rla_agents.llm.transformers_backend import TransformersModel
from rla_agents.policy import Policy
from rla_agents.rollout import rollout
from rla_agents.tiny.demonstrations import Shown, demonstrations, draw_difficulty
from rla_agents.tiny.vocabulary import LARGEST_NUMBER, build_tokenizer, kinds
from rla_agents.trajectory import Trajectory
from rla_envs.task import Task

Demonstration = list[Shown]

JUDGED_BATCH, JUDGED_BUDGET = 128, 3.0
"""Plays to judge at a time, and their step budget as a multiple of the shortest plan."""


@dataclass(frozen=True)
class MakeConfig:
    """How the embedded models are made."""

    out: Path
    """Folder for the models, the log, and the demonstrations on the way."""
    seed: int = 1
    """Seed of games, weights and order."""
    games: int = 10_000
    """Training games to imitate, each played once."""
    judged_games: int = 1280
    """Further training games, played by the cloned policy, to judge."""
    policy_updates: int = 1000
    """Cloning updates."""
    critic_updates: int = 200
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
    module = LlamaForCausalLM(config)
    _spell_names(module, tokenizer)
    return TransformersModel(module, tokenizer)


def _spell_names(module: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    """Start ``mug 2`` close to ``mug``, so that the model need not learn from examples that it is one."""
    weight = cast(torch.nn.Embedding, module.get_input_embeddings()).weight
    with torch.no_grad():
        numbers = 0.03 * torch.randn(LARGEST_NUMBER, weight.shape[1])
        for kind in kinds():
            for number in range(1, LARGEST_NUMBER + 1):
                name = tokenizer.convert_tokens_to_ids(f"{kind} {number}")
                weight[name] = weight[tokenizer.convert_tokens_to_ids(kind)] + numbers[number - 1]


def policy_item(policy: Policy, shown: Demonstration) -> TrainItem | None:
    """Return a demonstration as the policy would have produced it."""
    sequence = TokenSequence(policy.opening(shown[0].observation, shown[0].commands))
    for index, step in enumerate(shown):
        if index:
            last = sequence.ids[-1]
            sequence.ids.extend(policy.continuation(step.observation, step.commands, last))
        options = policy.candidates(step.commands)
        assert options is not None
        sequence.add(_forced(options, step.commands.index(step.command)))
    return sequence.train_item([1.0] * len(shown))


def critic_item(critic: LLMCritic, played: Trajectory) -> TrainItem | None:
    """Return a judgement of an episode: +1 where the shortest plan became shorter, else -1."""
    episode = played.episode()
    sequence = TokenSequence(critic.opening(episode))
    for index, turn in enumerate(played.turns):
        if index:
            sequence.ids.extend(critic.continuation(episode, index, sequence.ids[-1]))
        sequence.add(_forced(critic.candidates(), VERDICTS.index("+1" if turn.oracle == 1 else "-1")))
    return sequence.train_item([1.0] * len(played.turns))


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


def _play(block: tuple[int, int]) -> list[Demonstration]:
    return list(demonstrations(*block))


def play(config: MakeConfig) -> list[Demonstration]:
    """Return demonstrations, played side by side in blocks of 50 games, each with a seed of its own."""
    blocks = [(config.seed * 100_000 + i, 50) for i in range(config.games // 50)]
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
    model = new_model(config.seed)
    clone(model, config, play(config), log)
    model.save(config.out / "policy")
    teach_to_judge(model, config, log)
    model.save(config.out / "critic")


def clone(model: TransformersModel, config: MakeConfig, shown: Sequence[Demonstration], log: Path) -> None:
    """Fit a policy to the plan's commands in demonstrations."""
    policy = Policy(model, Sampling(), instructed=False)
    items = [item for d in shown if d and (item := policy_item(policy, d))]
    fit(model, items, config.policy_updates, config, log, "policy")


def teach_to_judge(model: TransformersModel, config: MakeConfig, log: Path) -> None:
    """Turn the policy into a critic: let it play, and fit it to what the shortest plan says of its steps."""
    policy = Policy(model, Sampling(), instructed=False)
    critic = LLMCritic(model, Sampling(), torch.Generator(), instructed=False)
    generator = torch.Generator().manual_seed(config.seed)
    rng = np.random.default_rng(config.seed)
    items = []
    kwargs = {"split": "train", "difficulty": {"step_budget": JUDGED_BUDGET}}
    with EnvPool("RLA/AlfWorld-v0", kwargs, config.processes) as pool:
        for block in range(config.judged_games // JUDGED_BATCH):
            wanted = [(draw_difficulty(rng), (config.seed, block, i)) for i in range(JUDGED_BATCH)]
            tasks = [task for task in pool.sample(wanted) if isinstance(task, Task)]
            for played in rollout(policy, pool, tasks, config.seed, generator):
                item = critic_item(critic, played)
                if item is not None:
                    items.append(item)
            print(f"{len(items)} plays to judge", flush=True)  # noqa: T201
    fit(model, items, config.critic_updates, config, log, "critic")


if __name__ == "__main__":
    main(tyro.cli(MakeConfig))
