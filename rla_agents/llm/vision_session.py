"""Token sequences with pictures that a vision-language model extends side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch

from rla_agents.llm.base import Picture, PlacedPicture, TokenSequence
from rla_agents.llm.session import TransformersSession
from rla_envs.errors import InputError

if TYPE_CHECKING:
    from rla_agents.llm.vision import VisionModel


class VisionSession(TransformersSession):
    """Rows of token ids and pictures, read as in a :class:`TransformersSession`.

    Args:
        model: The model.
        prompts: One sequence of ids per row, none empty, with one placeholder for each picture.
        pictures: The pictures of each prompt; empty if there are none at all.
    """

    def __init__(
        self, model: VisionModel, prompts: Sequence[Sequence[int]], pictures: Sequence[Sequence[Picture]]
    ) -> None:
        """Start the rows; see the class for the arguments."""
        if pictures and len(pictures) != len(prompts):
            raise InputError(f"expected pictures for every prompt, {len(prompts)}, got {len(pictures)}")
        placed = [
            model.place(prompt, pictures[row] if pictures else (), 0) for row, prompt in enumerate(prompts)
        ]
        super().__init__(model, [ids for ids, _ in placed])
        self._seeing = model
        for sequence, (_, places) in zip(self._sequences, placed, strict=True):
            sequence.pictures.extend(places)
        # By how much a text token's position differs from its column, behind the last picture read.
        self._shift = [0] * len(prompts)

    def append(self, row: int, ids: Sequence[int], pictures: Sequence[Picture] = ()) -> None:
        """Append ids that were not sampled, and the pictures for which placeholders stand among them."""
        sequence = self._sequences[row]
        placed, places = self._seeing.place(ids, pictures, len(sequence.ids))
        sequence.ids.extend(placed)
        sequence.pictures.extend(places)

    def shorten(self, row: int, length: int) -> TokenSequence | None:
        """Start a new sequence without the oldest pictures; see the protocol."""
        old = self._sequences[row]
        dropped, left = 0, len(old.ids)
        while left > length and dropped < len(old.pictures) - 1:
            left -= old.pictures[dropped].stop - old.pictures[dropped].start
            dropped += 1
        if left > length:
            return None
        self._sequences[row] = _without(old, dropped)
        self._read[row] = self._shift[row] = 0
        return self._sequences[row]

    def keep(self, rows: Sequence[int]) -> None:
        """Drop all other rows; ``rows[i]`` becomes row ``i``."""
        super().keep(rows)
        self._shift = [self._shift[row] for row in rows]

    def _followed(self, leader: Mapping[int, int]) -> None:
        for row, first in leader.items():
            self._shift[row] = self._shift[first]

    def _inputs(self, rows: Sequence[int], columns: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the pictures that have not been read yet, and where every id stands."""
        lines = columns.expand(4, -1, -1).clone()
        pictures: list[Picture] = []
        for index, row in enumerate(rows):
            sequence = self._sequences[row]
            unread = [placed for placed in sequence.pictures if placed.start >= self._read[row]]
            if not unread:
                lines[1:, index] += self._shift[row]
                continue
            pictures += [placed.picture for placed in unread]
            rope = self._seeing.rope(sequence.ids, sequence.pictures).to(columns.device)
            lines[1:, index] = rope[:, columns[index]]
            self._shift[row] = int(rope[0, -1]) + 1 - len(sequence.ids)
        return {"position_ids": lines, **self._seeing.picture_inputs(pictures)}


def _without(old: TokenSequence, dropped: int) -> TokenSequence:
    """Return a sequence's ids and pictures without its first pictures."""
    ids: list[int] = []
    begin = 0
    for placed in old.pictures[:dropped]:
        ids += old.ids[begin : placed.start]
        begin = placed.stop
    ids += old.ids[begin:]
    shift = len(old.ids) - len(ids)
    kept = [PlacedPicture(p.start - shift, p.stop - shift, p.picture) for p in old.pictures[dropped:]]
    return TokenSequence(ids, [], kept)
