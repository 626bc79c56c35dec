"""Update a language model on token sequences with advantages; knows no environment and no critic."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch

from rla_agents.llm.base import LanguageModel, TrainItem
from rla_agents.objectives import LossStats, ppo_k3_loss
from rla_envs.errors import InputError

_LENGTH_BUCKET = 64
"""Sequences whose lengths agree up to this many tokens share minibatches at random."""


@dataclass(frozen=True)
class LearnerConfig:
    """How a model is updated."""

    lr: float
    """Learning rate after the warm-up (the paper: 1e-6 for 7-8 B parameters; a tiny model takes 4e-4)."""
    epochs: int = 1
    """Passes over the data of each call."""
    minibatch: int = 32
    """Sequences per update, about: the data is cut into equal parts no larger than this."""
    warmup_updates: int = 0
    """Updates over which the learning rate rises linearly from 0."""
    final_lr: float = 1.0
    """Share of the learning rate left at the end of the run, reached linearly; 1 keeps it constant."""
    betas: tuple[float, float] = (0.9, 0.99)
    """AdamW's averaging factors of the gradient and of its square."""
    weight_decay: float = 0.01
    """AdamW's weight decay."""
    max_grad_norm: float = 1.0
    """The gradient is scaled down to this norm where it is larger."""
    clip: float = 0.2
    """PPO clips the probability ratio to 1 - clip and 1 + clip (the paper: 0.2)."""
    kl_weight: float = 0.01
    """Weight of the k3 KL term towards the policy before the update (the paper: 0.01)."""
    temperature: float = 1.0
    """Temperature at which the actions were sampled; the trained log-probabilities use the same."""
    recompute_old: bool = True
    """Score the data with the trainer before the update, as the authors do; else trust the sampler's."""
    importance_cap: float | None = None
    """Upper limit of the importance weights of stale data (needs recompute_old); None weighs nothing."""
    token_budget: int = 16384
    """Padded tokens per forward pass. Bounds memory only: the update is that of the whole minibatch."""
    ema: float | None = None
    """Decay of the averaged weights, such as 0.97; None keeps none."""

    def __post_init__(self) -> None:
        """Refuse values that cannot train."""
        checks = {
            "lr": (0 < self.lr < math.inf, "a number above 0"),
            "epochs": (self.epochs >= 1, "1 or more"),
            "minibatch": (self.minibatch >= 1, "1 or more"),
            "warmup_updates": (self.warmup_updates >= 0, "0 or more"),
            "final_lr": (0 <= self.final_lr <= 1, "a share from 0 to 1"),
            "betas": (all(0 <= beta < 1 for beta in self.betas), "two numbers from 0 to below 1"),
            "weight_decay": (0 <= self.weight_decay < math.inf, "a number of 0 or more"),
            "max_grad_norm": (self.max_grad_norm > 0, "a number above 0"),
            "clip": (self.clip > 0, "a number above 0"),
            "kl_weight": (0 <= self.kl_weight < math.inf, "a number of 0 or more"),
            "temperature": (self.temperature > 0, "a number above 0"),
            "importance_cap": (
                self.importance_cap is None or (self.importance_cap > 0 and self.recompute_old),
                "none, or a number above 0 together with recompute_old",
            ),
            "token_budget": (self.token_budget >= 1, "1 or more"),
            "ema": (self.ema is None or 0 < self.ema < 1, "none, or a number between 0 and 1"),
        }
        for name, (good, expected) in checks.items():
            if not good:
                raise InputError(f"learner.{name}: expected {expected}, got {getattr(self, name)!r}")


class UpdateStats(NamedTuple):
    """What one call of :meth:`Learner.update` did; None where nothing was measured."""

    loss: float | None
    """Mean loss of the updates."""
    kl: float | None
    """Mean k3 estimate of the KL to the policy before the call, at each update's start."""
    clip_fraction: float | None
    """Share of tokens whose ratio was outside the clip range."""
    grad_norm: float | None
    """Mean norm of the gradient before clipping."""
    logprob_gap: float | None
    """Largest ``abs(trainer - sampler)`` log-probability before the first update."""
    updates: int
    """Updates made."""
    skipped: int
    """Updates left out because the loss or the gradient was not finite."""
    sequences: int
    """Sequences trained on (in each epoch)."""
    tokens: int
    """Tokens trained on (in each epoch)."""
    lr: float | None
    """Learning rate of the last update."""


class _Row(NamedTuple):
    """A train item with the log-probabilities of the policy before the update."""

    item: TrainItem
    old: Sequence[float]


class Learner:
    """Trains one model; keeps its optimizer, update counter and averaged weights between calls.

    The model stays in evaluation mode, so that dropout cannot make the new and
    the old log-probabilities differ before anything was learned.

    Args:
        model: The model to update in place.
        config: How.
    """

    def __init__(self, model: LanguageModel, config: LearnerConfig) -> None:
        """Set up the optimizer; see the class for the arguments."""
        self.model = model
        self.config = config
        self.updates = 0
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self._optimizer = torch.optim.AdamW(
            self._parameters, lr=config.lr, betas=config.betas, weight_decay=config.weight_decay
        )
        self._average: list[torch.Tensor] | None = None
        if config.ema is not None:
            self._average = [parameter.detach().float().clone() for parameter in self._parameters]
        self._showing_average = False

    def update(
        self, items: Sequence[TrainItem], rng: np.random.Generator, progress: float = 0.0
    ) -> UpdateStats:
        """Train on the items and return what happened.

        Args:
            items: Token sequences; those without trained positions are left out.
            rng: Shuffles the minibatches.
            progress: How much of the run is over, 0 to 1; the learning rate
                decays with it.
        """
        if self._showing_average:
            raise RuntimeError("update() inside averaged(): the averaged weights are not those to train")
        self.model.eval()
        rows, gap = self._rows([item for item in items if item.positions])
        totals = _Totals(gap)
        for _ in range(self.config.epochs):
            for minibatch in self._minibatches(rows, rng):
                self._update_once(minibatch, progress, totals)
        tokens = sum(len(row.item.positions) for row in rows)
        return totals.result(sequences=len(rows), tokens=tokens)

    @contextlib.contextmanager
    def averaged(self) -> Iterator[None]:
        """Let the model have its averaged weights inside the block, to evaluate or to save them.

        The trained weights come back bit for bit. Without averaging
        (``ema=None``) the block sees the trained weights.
        """
        if self._average is None:
            yield
            return
        if self._showing_average:
            raise RuntimeError("averaged() inside averaged()")
        trained = [parameter.detach().clone() for parameter in self._parameters]
        self._set_weights(self._average)
        self._showing_average = True
        try:
            yield
        finally:
            self._set_weights(trained)
            self._showing_average = False

    def state_dict(self) -> dict[str, Any]:
        """Return what must outlive the process besides the model's weights; tensors are not copied."""
        return {
            "updates": self.updates,
            "optimizer": self._optimizer.state_dict()["state"],
            "average": self._average,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state; rates and decays stay those of this learner's config.

        Raises:
            InputError: The state belongs to a model of another shape, or holds
                no averaged weights although this learner keeps them.
        """
        average = state["average"]
        shapes = [parameter.shape for parameter in self._parameters]
        if (average is None) != (self._average is None):
            raise InputError(
                "learner state: saved with and without averaged weights differ; set ema as it was"
            )
        moments = {index: entry["exp_avg"].shape for index, entry in state["optimizer"].items()}
        if any(index >= len(shapes) or shape != shapes[index] for index, shape in moments.items()) or (
            average is not None and [tensor.shape for tensor in average] != shapes
        ):
            raise InputError("learner state: it belongs to a model of another shape")
        groups = self._optimizer.state_dict()["param_groups"]
        self._optimizer.load_state_dict({"state": state["optimizer"], "param_groups": groups})
        self.updates = state["updates"]
        if average is not None and self._average is not None:
            for own, saved in zip(self._average, average, strict=True):
                own.copy_(saved)

    def _rows(self, items: Sequence[TrainItem]) -> tuple[list[_Row], float | None]:
        """Attach the old log-probabilities; measure how far the sampler's are from the trainer's."""
        if not self.config.recompute_old:
            return [_Row(item, item.old_logprobs) for item in items], None
        scores = self.model.score(items, self.config.temperature) if items else []
        rows = [_Row(item, old) for item, old in zip(items, scores, strict=True)]
        gaps = (abs(a - b) for row in rows for a, b in zip(row.old, row.item.old_logprobs, strict=True))
        return rows, max(gaps, default=None)

    def _minibatches(self, rows: Sequence[_Row], rng: np.random.Generator) -> Iterator[list[_Row]]:
        """Cut the rows into equal minibatches of like lengths, in random order."""
        if not rows:
            return
        order = sorted(rng.permutation(len(rows)), key=lambda i: len(rows[i].item.ids) // _LENGTH_BUCKET)
        parts = np.array_split(np.array(order), math.ceil(len(rows) / self.config.minibatch))
        for number in rng.permutation(len(parts)):
            yield [rows[i] for i in parts[number]]

    def _microbatches(self, rows: Sequence[_Row]) -> Iterator[list[_Row]]:
        """Cut a minibatch so that each part, padded to its longest, fits the token budget."""
        part: list[_Row] = []
        for row in sorted(rows, key=lambda row: -len(row.item.ids)):
            if part and (len(part) + 1) * len(part[0].item.ids) > self.config.token_budget:
                yield part
                part = []
            part.append(row)
        yield part

    def _update_once(self, rows: Sequence[_Row], progress: float, totals: _Totals) -> None:
        """Make one update on a whole minibatch, or none if it is not finite."""
        self._optimizer.zero_grad(set_to_none=True)
        losses, stats = [], []
        for part in self._microbatches(rows):
            loss, part_stats = self._loss(part)
            # The loss is a mean over sequences: weighted so, the parts add up to the whole minibatch's.
            loss = loss * (len(part) / len(rows))
            loss.backward()  # type: ignore[no-untyped-call]
            losses.append(loss.item())
            stats.append(part_stats)
        norm = torch.nn.utils.clip_grad_norm_(self._parameters, self.config.max_grad_norm).item()
        lr = self._learning_rate(progress)
        finite = math.isfinite(sum(losses)) and math.isfinite(norm)
        if finite:
            for group in self._optimizer.param_groups:
                group["lr"] = lr
            self._optimizer.step()
            self.updates += 1
            self.model.weights_version += 1
            self._follow()
        self._optimizer.zero_grad(set_to_none=True)
        totals.add(sum(losses), norm, lr, stats, finite)

    def _loss(self, rows: Sequence[_Row]) -> tuple[torch.Tensor, LossStats]:
        items = [row.item for row in rows]
        new = self.model.logprobs(items, self.config.temperature)
        lengths = torch.tensor([len(item.positions) for item in items])
        if new.numel() != int(lengths.sum()):
            raise RuntimeError(f"the model scored {new.numel()} tokens of {int(lengths.sum())}")

        def flat(values: Iterator[float]) -> torch.Tensor:
            return torch.tensor(list(values), dtype=new.dtype, device=new.device)

        sampled = None
        if self.config.importance_cap is not None:
            sampled = flat(chain.from_iterable(item.old_logprobs for item in items))
        return ppo_k3_loss(
            new,
            flat(chain.from_iterable(row.old for row in rows)),
            flat(chain.from_iterable(item.advantages for item in items)),
            torch.repeat_interleave(torch.arange(len(items)), lengths).to(new.device),
            clip=self.config.clip,
            kl_weight=self.config.kl_weight,
            logp_behaviour=sampled,
            importance_cap=self.config.importance_cap or math.inf,
        )

    def _learning_rate(self, progress: float) -> float:
        config = self.config
        warm = min(1.0, (self.updates + 1) / config.warmup_updates) if config.warmup_updates else 1.0
        left = 1.0 - (1.0 - config.final_lr) * min(max(progress, 0.0), 1.0)
        return config.lr * warm * left

    @torch.no_grad()
    def _follow(self) -> None:
        """Move the averaged weights; early on faster, as the start is worth nothing to an average."""
        if self._average is None or self.config.ema is None:
            return
        decay = min(self.config.ema, self.updates / (self.updates + 10))
        for average, parameter in zip(self._average, self._parameters, strict=True):
            average.lerp_(parameter.float(), 1 - decay)

    @torch.no_grad()
    def _set_weights(self, weights: Sequence[torch.Tensor]) -> None:
        for parameter, value in zip(self._parameters, weights, strict=True):
            parameter.copy_(value)
        self.model.weights_version += 1


class _Totals:
    """Adds up what the updates of one call saw."""

    def __init__(self, gap: float | None) -> None:
        self.gap = gap
        self.losses: list[float] = []
        self.norms: list[float] = []
        self.stats: list[LossStats] = []
        self.lr: float | None = None
        self.skipped = 0

    def add(self, loss: float, norm: float, lr: float, stats: Sequence[LossStats], finite: bool) -> None:
        """Count one minibatch."""
        if self.gap is None:
            # The first minibatch is scored by the weights that sampled it.
            self.gap = max(part.max_delta for part in stats)
        if not finite:
            self.skipped += 1
            return
        self.losses.append(loss)
        self.norms.append(norm)
        self.stats.extend(stats)
        self.lr = lr

    def mean_of(self, name: str, weight: str) -> float | None:
        """Return the weighted mean of a figure of the loss."""
        total = sum(getattr(part, weight) for part in self.stats)
        weighted = sum(getattr(part, name) * getattr(part, weight) for part in self.stats)
        return weighted / total if total else None

    def result(self, sequences: int, tokens: int) -> UpdateStats:
        """Return the figures for the log."""
        return UpdateStats(
            loss=_mean(self.losses),
            kl=self.mean_of("kl", "sequences"),
            clip_fraction=self.mean_of("clip_fraction", "tokens"),
            grad_norm=_mean(self.norms),
            logprob_gap=self.gap if self.gap is not None and math.isfinite(self.gap) else None,
            updates=len(self.losses),
            skipped=self.skipped,
            sequences=sequences,
            tokens=tokens,
            lr=self.lr,
        )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
