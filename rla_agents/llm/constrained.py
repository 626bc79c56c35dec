"""Choose among lists of token ids, token by token, and score such choices exactly."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from rla_agents.llm.base import Allowed, Sampling
from rla_envs.errors import InputError


class CandidateWalk:
    """Follow a set of candidate id sequences to the one that is sampled.

    Where all remaining candidates agree, the next token is forced: it is appended
    without asking the model. Elsewhere the model chooses among their next tokens,
    renormalised. So the probability of a candidate is the product over its
    decisions, and the candidates' probabilities add up to 1.

    Args:
        candidates: The id sequences, each closed by an end-of-turn id so that "go"
            can be told from "go on". Equal ones count once, under the first index.

    Raises:
        InputError: If there are none, one is empty, or one is the beginning of another.
    """

    def __init__(self, candidates: Sequence[Sequence[int]]) -> None:
        """Start before the first token; see the class for the arguments."""
        first: dict[tuple[int, ...], int] = {}
        for index, candidate in enumerate(candidates):
            first.setdefault(tuple(candidate), index)
        if not first:
            raise InputError("constrained decoding needs at least one candidate, got none")
        if () in first:
            raise InputError(f"candidate {first[()]} is empty; close each candidate with an end-of-turn id")
        self._open = list(first.items())
        self._depth = 0
        self.longest = max(map(len, first))

    def forced(self) -> list[int]:
        """Advance over the tokens on which all remaining candidates agree, and return them."""
        ids: list[int] = []
        while self.choice is None and len(allowed := self.allowed()) == 1:
            ids.append(allowed[0])
            self._depth += 1
        return ids

    def allowed(self) -> tuple[int, ...]:
        """Return the ids that may come next, ascending."""
        ids: set[int] = set()
        for candidate, index in self._open:
            if len(candidate) == self._depth:
                raise InputError(
                    f"candidate {index} is the beginning of another one; close each candidate with an "
                    "end-of-turn id"
                )
            ids.add(candidate[self._depth])
        return tuple(sorted(ids))

    def take(self, token: int) -> None:
        """Advance over a chosen token."""
        self._open = [item for item in self._open if item[0][self._depth] == token]
        self._depth += 1

    @property
    def choice(self) -> int | None:
        """Index of the candidate that was reached; ``None`` while undecided or unfinished."""
        candidate, index = self._open[0]
        return index if len(self._open) == 1 and len(candidate) == self._depth else None


class ChoiceTable:
    """What each of many tokens was chosen among, as index tensors.

    Tokens chosen among few ids are normalised over those ids alone, so neither the
    work nor the memory grows with the vocabulary.
    """

    def __init__(self, allowed: Sequence[Allowed], device: torch.device) -> None:
        """Build the table for one row of logits per entry of ``allowed``."""
        free = [row for row, ids in enumerate(allowed) if ids is None]
        tied = [(row, ids) for row, ids in enumerate(allowed) if ids is not None]
        width = max((len(ids) for _, ids in tied), default=0)
        padded = [list(ids) + [-1] * (width - len(ids)) for _, ids in tied]
        self.free = torch.tensor(free, dtype=torch.long, device=device)
        self.tied = torch.tensor([row for row, _ in tied], dtype=torch.long, device=device)
        self.candidates = torch.tensor(padded, dtype=torch.long, device=device).view(len(tied), width)

    def logprobs(self, logits: torch.Tensor, tokens: torch.Tensor, temperature: float) -> torch.Tensor:
        """Return the log-probability of each row's token, with gradient."""
        parts, rows = [], []
        if len(self.free):
            table = (logits[self.free].float() / temperature).log_softmax(-1)
            parts.append(table.gather(1, tokens[self.free, None])[:, 0])
            rows.append(self.free)
        if len(self.tied):
            table = self._tied_logprobs(logits, temperature)
            slot = (self.candidates == tokens[self.tied, None]).int().argmax(-1, keepdim=True)
            parts.append(table.gather(1, slot)[:, 0])
            rows.append(self.tied)
        if not parts:
            return logits.new_zeros(0, dtype=torch.float32)
        return torch.cat(parts)[torch.cat(rows).argsort()]

    def sample(
        self, logits: torch.Tensor, sampling: Sampling, generator: torch.Generator | None
    ) -> tuple[list[int], list[float]]:
        """Draw one token per row; return the tokens and their log-probabilities."""
        uniform = None
        if not sampling.greedy:
            if generator is None:
                raise InputError("sampling needs a torch.Generator: pass one, or set greedy")
            # One number per row whatever the vocabulary, drawn where the generator lives: a CPU generator
            # gives the same stream to a model on any device.
            uniform = torch.rand(
                len(logits), generator=generator, device=generator.device, dtype=torch.float64
            ).to(logits.device)
        tokens = torch.empty(len(logits), dtype=torch.long, device=logits.device)
        values = torch.empty(len(logits), dtype=torch.float32, device=logits.device)
        for rows, tied in ((self.free, False), (self.tied, True)):
            if not len(rows):
                continue
            if tied:
                table = self._tied_logprobs(logits, sampling.temperature)
            else:
                table = (logits[rows].float() / sampling.temperature).log_softmax(-1)
            table = _truncate(table, sampling)
            pick = table.argmax(-1) if uniform is None else _invert(table, uniform[rows])
            values[rows] = table.gather(1, pick[:, None])[:, 0]
            tokens[rows] = self.candidates.gather(1, pick[:, None])[:, 0] if tied else pick
        return tokens.tolist(), values.tolist()

    def _tied_logprobs(self, logits: torch.Tensor, temperature: float) -> torch.Tensor:
        real = self.candidates >= 0
        chosen = logits[self.tied[:, None], self.candidates.clamp(min=0)].float() / temperature
        return chosen.masked_fill(~real, -torch.inf).log_softmax(-1)


def _invert(table: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """Return, per row, the first index whose cumulative probability exceeds the uniform number."""
    cumulative = table.double().exp().cumsum(-1)
    # The sum is 1 only up to rounding; scaling by it, and staying below it, keeps the last index with
    # probability 0 out of reach.
    target = uniform * (1 - 1e-12) * cumulative[:, -1]
    return torch.searchsorted(cumulative, target[:, None], right=True)[:, 0]


def _truncate(table: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Apply top-k, then top-p, and normalise again."""
    if sampling.top_k and sampling.top_k < table.shape[-1]:
        least = table.topk(sampling.top_k, dim=-1).values[:, -1:]
        table = table.masked_fill(table < least, -torch.inf).log_softmax(-1)
    if sampling.top_p < 1:
        ordered, order = table.sort(dim=-1, descending=True, stable=True)
        probability = ordered.exp()
        # A token stays while what comes before it is below top_p, so the first always stays.
        outside = probability.cumsum(-1) - probability >= sampling.top_p
        drop = torch.zeros_like(outside).scatter(1, order, outside)
        table = table.masked_fill(drop, -torch.inf).log_softmax(-1)
    return table
