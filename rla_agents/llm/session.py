"""Token sequences that a transformers model extends side by side, reading every token once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch

from rla_agents.llm.base import Allowed, Generated, Picture, Sampling, TokenSequence
from rla_agents.llm.constrained import CandidateWalk, ChoiceTable
from rla_agents.llm.kv_cache import RaggedCache
from rla_envs.errors import InputError

if TYPE_CHECKING:
    from rla_agents.llm.transformers_backend import TransformersModel

# A batch entry costs as much as its padding; a pass of its own costs about as much as so many tokens.
_PASS_COST = 256
_MAX_PASS = 16384


class TransformersSession:
    """Rows of token ids with one cache of keys and values behind them.

    Tokens are read when the next one must be sampled, so appending is free and a
    finished row costs nothing. Rows that start with equal prompts (rollouts of one
    task, votes on one step) read the prompt once. If the model's weights changed
    since the cache was filled, all rows are read again by the new weights.

    Args:
        model: The model.
        prompts: One sequence of ids per row, none empty.
    """

    def __init__(self, model: TransformersModel, prompts: Sequence[Sequence[int]]) -> None:
        """Start the rows; see the class for the arguments."""
        if not all(prompts):
            raise InputError("a session needs at least one id in every prompt, got an empty prompt")
        self._model = model
        self._sequences = [TokenSequence(list(prompt)) for prompt in prompts]
        self._read = [0] * len(prompts)
        self._cache = RaggedCache(len(prompts))
        self._version = model.weights_version

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._sequences)

    def sequence(self, row: int) -> TokenSequence:
        """Return a row's sequence, the object itself."""
        return self._sequences[row]

    def append(self, row: int, ids: Sequence[int], pictures: Sequence[Picture] = ()) -> None:
        """Append ids that were not sampled."""
        if pictures:
            raise InputError("a picture was appended, but this model sees none; use a model that does")
        self._sequences[row].ids.extend(ids)

    def shorten(self, row: int, length: int) -> TokenSequence | None:
        """Return None: without pictures there is nothing to leave out."""
        return None

    def room(self, row: int) -> int:
        """Return how many more ids fit into the model's context."""
        return self._model.context_length - len(self._sequences[row].ids)

    def keep(self, rows: Sequence[int]) -> None:
        """Drop all other rows; ``rows[i]`` becomes row ``i``."""
        self._check_rows(rows)
        if list(rows) == list(range(len(self))):
            return
        self._cache.keep(rows)
        self._sequences = [self._sequences[row] for row in rows]
        self._read = [self._read[row] for row in rows]

    @torch.no_grad()
    def generate(
        self,
        rows: Sequence[int],
        sampling: Sampling,
        generator: torch.Generator | None = None,
        constraints: Sequence[Sequence[Sequence[int]]] | None = None,
    ) -> list[Generated]:
        """Sample one action for each of the rows and append it to its sequence.

        Raises:
            InputError: If a row's context has no room for the action, rows repeat,
                candidates are malformed, or no generator came and decoding is not greedy.
        """
        self._check_rows(rows)
        if constraints is not None and len(constraints) != len(rows):
            raise InputError(
                f"expected one list of candidates per row, {len(rows)}, got {len(constraints)} lists"
            )
        self._reread_if_stale()
        actions = [
            _Action(row, self._budget(row, sampling, walk), walk)
            for row, walk in zip(
                rows,
                [None] * len(rows) if constraints is None else map(CandidateWalk, constraints),
                strict=True,
            )
        ]
        stops = self._model.chat.stop_ids
        while asking := [action for action in actions if self._advance(action)]:
            logits = self._forward([action.row for action in asking])
            table = ChoiceTable([action.allowed_now() for action in asking], logits.device)
            drawn = table.sample(logits, sampling, generator)
            for action, token, logprob in zip(asking, *drawn, strict=True):
                self._sequences[action.row].ids.append(token)
                action.take(token, logprob, stops)
        return [self._finish(action, sampling) for action in actions]

    def _check_rows(self, rows: Sequence[int]) -> None:
        if len(set(rows)) != len(rows) or not all(0 <= row < len(self) for row in rows):
            raise InputError(f"expected distinct rows from 0 to {len(self) - 1}, got {list(rows)}")

    def _budget(self, row: int, sampling: Sampling, walk: CandidateWalk | None) -> int:
        room = self.room(row)
        need = 1 if walk is None else walk.longest
        if room < need:
            raise InputError(
                f"row {row} has {len(self._sequences[row].ids)} ids and the model's context holds "
                f"{self._model.context_length}: no room for an action of {need}; end the episode before, or "
                "use a model with a longer context"
            )
        return min(room, sampling.max_tokens) if walk is None else need

    def _reread_if_stale(self) -> None:
        version = self._model.weights_version
        if self._version != version:
            self._version = version
            self._read = [0] * len(self)

    def _advance(self, action: _Action) -> bool:
        """Append what is forced; return whether the model must be asked for the next token."""
        forced = action.forced()
        self._sequences[action.row].ids.extend(forced)
        return not action.ended()

    def _finish(self, action: _Action, sampling: Sampling) -> Generated:
        sequence = self._sequences[action.row]
        generated = Generated(
            ids=tuple(action.ids),
            logprobs=tuple(action.logprobs),
            allowed=tuple(action.allowed),
            text=self._model.chat.text(action.ids),
            finished=action.stopped,
            choice=None if action.walk is None else action.walk.choice,
            sampling=sampling,
            weights_version=self._version,
        )
        del sequence.ids[len(sequence.ids) - len(action.ids) :]
        sequence.add(generated)
        return generated

    def _forward(self, rows: Sequence[int]) -> torch.Tensor:
        """Read what the rows have not read yet; return the logits after each row's last id."""
        pending = {row: tuple(self._sequences[row].ids[self._read[row] :]) for row in rows}
        leaders: dict[tuple[tuple[int, ...], tuple[str, ...]], int] = {}
        # Only rows from the start on can share: later equal tokens have different pasts.
        leader = {
            row: row if self._read[row] else leaders.setdefault((pending[row], self._digests(row)), row)
            for row in rows
        }
        reading = sorted(set(leader.values()), key=lambda row: (len(pending[row]), row))
        logits: dict[int, torch.Tensor] = {}
        for part in _passes(reading, [len(pending[row]) for row in reading]):
            logits.update(zip(part, self._pass(part, [pending[row] for row in part]), strict=True))
        followers = [row for row in rows if leader[row] != row]
        if followers:
            self._cache.copy_rows([leader[row] for row in followers], followers)
        for row in rows:
            self._read[row] = len(self._sequences[row].ids)
        self._followed(leader)
        return torch.stack([logits[leader[row]] for row in rows])

    def _digests(self, row: int) -> tuple[str, ...]:
        return tuple(placed.picture.digest for placed in self._sequences[row].pictures)

    def _followed(self, leader: Mapping[int, int]) -> None:
        """Note that each row has read what its leader has."""

    def _inputs(self, rows: Sequence[int], columns: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return what the model takes besides ids, when it reads these columns of the rows."""
        return {}

    def _pass(self, rows: Sequence[int], pending: Sequence[tuple[int, ...]]) -> torch.Tensor:
        device = self._model.device
        lengths = torch.tensor([len(ids) for ids in pending])
        width = int(lengths.max())
        ids = torch.tensor([ids + (0,) * (width - len(ids)) for ids in pending])
        start = torch.tensor([self._read[row] for row in rows])[:, None]
        last = lengths[:, None] - 1
        columns = start + torch.arange(width)
        # Padding repeats the last real position: no position is beyond the model's table of them.
        positions = torch.minimum(columns, start + last).to(device)
        everyone = list(rows) == list(range(len(self)))
        self._cache.plan(
            None if everyone else torch.tensor(rows, device=device),
            columns.to(device),
            int((start + last).max()) + 1,
        )
        select = (torch.arange(len(rows), device=device), (lengths - 1).to(device))
        inputs = self._inputs(rows, positions)
        return self._model.logits(ids.to(device), select, positions, self._cache, **inputs)


class _Action:
    """An action while it is sampled."""

    def __init__(self, row: int, budget: int, walk: CandidateWalk | None) -> None:
        self.row = row
        self.walk = walk
        self.stopped = False
        self.ids: list[int] = []
        self.logprobs: list[float] = []
        self.allowed: list[Allowed] = []
        self._budget = budget

    def forced(self) -> list[int]:
        ids = [] if self.walk is None else self.walk.forced()
        self.ids += ids
        self.logprobs += [0.0] * len(ids)
        self.allowed += [(token,) for token in ids]
        self.stopped = self.stopped or (self.walk is not None and self.walk.choice is not None)
        return ids

    def ended(self) -> bool:
        return self.stopped or len(self.ids) >= self._budget

    def allowed_now(self) -> Allowed:
        return None if self.walk is None else self.walk.allowed()

    def take(self, token: int, logprob: float, stops: frozenset[int]) -> None:
        self.allowed.append(self.allowed_now())
        self.ids.append(token)
        self.logprobs.append(logprob)
        if self.walk is None:
            self.stopped = token in stops
        else:
            self.walk.take(token)


def _passes(rows: Sequence[int], lengths: Sequence[int]) -> list[list[int]]:
    """Cut rows, shortest first, into passes: few, and with little padding in each."""
    parts: list[list[int]] = []
    begin = 0
    for end in range(1, len(rows) + 1):
        here = lengths[end - 1] * (end - begin)
        saved = 0 if end == len(rows) else (lengths[end] - lengths[end - 1]) * (end - begin)
        if end == len(rows) or saved > _PASS_COST or here + lengths[end] > _MAX_PASS:
            parts.append(sorted(rows[begin:end]))
            begin = end
    return parts
