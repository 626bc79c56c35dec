"""Keys and values of token sequences of different lengths that grow by different amounts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional as F
from transformers import Cache

_BLOCK = 64


class RaggedCache(Cache):
    """A cache in which a token's column is its position, in every row.

    A batch of new tokens is padded on the right, and rows have different lengths. Here
    each row's new keys and values are written behind that row's own old ones, so
    there are no gaps to mask, and nothing to compact. What padding writes lies
    behind its row's end: it is never attended to, and the row's next tokens
    overwrite it. Attention needs only "column <= position of the query".

    Args:
        rows: Number of rows.
    """

    def __init__(self, rows: int) -> None:
        """Start empty; see the class for the arguments."""
        super().__init__(layers=[])
        self._rows = rows
        self._store: list[list[torch.Tensor]] = []
        self._slots: torch.Tensor | None = None
        self._columns = torch.empty(0)
        self._capacity = 0
        self._used = 0

    def plan(self, slots: torch.Tensor | None, columns: torch.Tensor, used: int) -> None:
        """Say where the next forward pass writes.

        Args:
            slots: The row of each batch entry; ``None`` if the batch is all rows in order.
            columns: Column of each new token, padding included, one line per batch entry.
            used: Columns to attend to: the longest row's length after the pass.
        """
        self._slots, self._columns, self._used = slots, columns, used
        # Padding may write further right than the longest row will reach.
        need = int(columns.max()) + 1
        if need > self._capacity:
            grown = -(-max(need, self._capacity * 5 // 4) // _BLOCK) * _BLOCK
            for layer in self._store:
                layer[:] = [F.pad(part, (0, 0, 0, 0, 0, grown - self._capacity)) for part in layer]
            self._capacity = grown

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        layer_idx: int,
        *args: Any,
        **kwargs: Any,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write one layer's new keys and values; return all that the planned rows hold."""
        while len(self._store) <= layer_idx:
            self._store.append([])
        layer = self._store[layer_idx]
        new = (key_states, value_states)
        if not layer:
            # Zeros, not garbage: a masked column still enters attention as 0 times its value.
            layer += [
                part.new_zeros(self._rows, self._capacity, part.shape[1], part.shape[3]) for part in new
            ]
        out = []
        for stored, part in zip(layer, new, strict=True):
            rows = torch.arange(self._rows, device=part.device) if self._slots is None else self._slots
            stored[rows[:, None], self._columns] = part.transpose(1, 2)
            seen = stored[:, : self._used]
            if self._slots is not None:
                seen = seen.index_select(0, self._slots)
            out.append(seen.transpose(1, 2))
        return out[0], out[1]

    def copy_rows(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """Give the target rows what the source rows hold."""
        for layer in self._store:
            for part in layer:
                part[torch.tensor(targets, device=part.device)] = part[
                    torch.tensor(sources, device=part.device)
                ]

    def keep(self, rows: Sequence[int]) -> None:
        """Drop all other rows."""
        self._rows = len(rows)
        for layer in self._store:
            layer[:] = [
                part.index_select(0, torch.tensor(rows, dtype=torch.long, device=part.device))
                for part in layer
            ]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return the columns in use; models ask, though positions are passed explicitly."""
        return self._used
