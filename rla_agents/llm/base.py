"""What every language model backend offers: ids in, sampled ids out, and the same ids back into the loss."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rla_envs.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from rla_agents.llm.chat import ChatFormat

Allowed = tuple[int, ...] | None
"""The token ids one token was chosen among; ``None`` is the whole vocabulary."""


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn.

    Attributes:
        temperature: Divides the logits, in sampling and in scoring alike.
        top_p: Keep the smallest set of tokens with this much probability; 1 is off.
        top_k: Keep this many most probable tokens; 0 is off.
        max_tokens: Free text is cut after so many tokens. A constrained action is
            never cut: part of a command is no command.
        greedy: Take the most probable token instead of drawing.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_tokens: int = 64
    greedy: bool = False

    def __post_init__(self) -> None:
        """Refuse values that name no distribution."""
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise InputError(
                f"temperature must be a number above 0, got {self.temperature}; for the most probable "
                "token set greedy"
            )
        if not 0 < self.top_p <= 1:
            raise InputError(f"top_p must be above 0 and at most 1 (off), got {self.top_p}")
        if self.top_k < 0:
            raise InputError(f"top_k must be 0 (off) or positive, got {self.top_k}")
        if self.max_tokens < 1:
            raise InputError(f"max_tokens must be at least 1, got {self.max_tokens}")

    def require_trainable(self) -> None:
        """Refuse a setting whose samples the loss could not weigh.

        The ratio of new to old probability must be 1 before any update. It is only
        if tokens were drawn from the very distribution that scoring computes.

        Raises:
            InputError: If the setting draws from another distribution.
        """
        if self.top_p < 1 or self.top_k > 0:
            name, value = ("top_p", self.top_p) if self.top_p < 1 else ("top_k", self.top_k)
            raise InputError(
                f"{name}={value} cannot be used for training: it samples from a truncated distribution that "
                "changes with the weights, so the ratio before an update would not be 1; use temperature"
            )
        if self.greedy:
            raise InputError(
                "greedy decoding cannot be used for training: it draws nothing, so its log-probabilities "
                "do not describe how actions were chosen; use temperature"
            )


@dataclass(frozen=True)
class Generated:
    """One action as sampled.

    Attributes:
        ids: The sampled ids, with the end-of-turn token if it was sampled.
        logprobs: Log-probability of each id under the distribution it was drawn
            from; 0 for a token that was forced.
        allowed: What each id was chosen among.
        text: The ids as text, without the end-of-turn token.
        finished: Whether the action ended by itself; false if ``max_tokens`` or the
            context cut it.
        choice: Index of the candidate that was chosen; ``None`` for free text.
        sampling: How it was drawn.
        weights_version: The model's version that drew it. Counts within one process.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    allowed: tuple[Allowed, ...]
    text: str
    finished: bool
    choice: int | None = None
    sampling: Sampling = field(default_factory=Sampling)
    weights_version: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        """Refuse columns of different lengths: every id has one log-probability."""
        if not len(self.ids) == len(self.logprobs) == len(self.allowed):
            raise InputError(
                "a generated action needs one log-probability and one allowed set per id, got "
                f"{len(self.ids)} ids, {len(self.logprobs)} log-probabilities and {len(self.allowed)} sets"
            )

    def decisions(self) -> Iterator[int]:
        """Yield the indices of the tokens that were chosen, not forced."""
        return (i for i, allowed in enumerate(self.allowed) if allowed is None or len(allowed) > 1)


@dataclass(frozen=True)
class Span:
    """A sampled action and where it stands in its token sequence."""

    start: int
    generated: Generated

    @property
    def stop(self) -> int:
        """Index after the span's last id."""
        return self.start + len(self.generated.ids)


@dataclass(frozen=True)
class Picture:
    """A picture that a model sees, as the environment gave it.

    Attributes:
        pixels: Red, green and blue, uint8, height x width x 3.
        digest: Tells it from other pictures.
    """

    pixels: NDArray[np.uint8] = field(compare=False, repr=False)
    digest: str = ""

    def __post_init__(self) -> None:
        """Work out the digest."""
        content = repr(self.pixels.shape).encode() + self.pixels.tobytes()
        object.__setattr__(self, "digest", hashlib.blake2b(content, digest_size=16).hexdigest())


@dataclass(frozen=True)
class PlacedPicture:
    """A picture, and the ids that stand for it: one for each of its features, and a frame around them.

    Attributes:
        start: Index of the first of these ids.
        stop: Index after the last.
        picture: The picture.
    """

    start: int
    stop: int
    picture: Picture


@dataclass(frozen=True)
class TrainItem:
    """One token sequence with the positions that have loss.

    Attributes:
        ids: The sequence, as it was sampled.
        positions: Indices into ``ids``, ascending; each id there is an action token.
        allowed: Per position, what the id was chosen among.
        old_logprobs: Per position, its log-probability when it was sampled.
        advantages: Per position.
        pictures: What the model saw in it, in order.
    """

    ids: tuple[int, ...]
    positions: tuple[int, ...]
    allowed: tuple[Allowed, ...]
    old_logprobs: tuple[float, ...]
    advantages: tuple[float, ...]
    pictures: tuple[PlacedPicture, ...] = ()

    def __post_init__(self) -> None:
        """Refuse columns of different lengths and positions that have no past or no id."""
        lengths = {len(self.positions), len(self.allowed), len(self.old_logprobs), len(self.advantages)}
        if len(lengths) != 1:
            raise InputError(
                f"a training item needs one value per position in every column, got {len(self.positions)} "
                f"positions, {len(self.allowed)} allowed sets, {len(self.old_logprobs)} log-probabilities, "
                f"{len(self.advantages)} advantages"
            )
        for position, allowed in zip(self.positions, self.allowed, strict=True):
            if not 0 < position < len(self.ids):
                raise InputError(f"position {position} is not within 1 to {len(self.ids) - 1}")
            if allowed is not None and self.ids[position] not in allowed:
                raise InputError(
                    f"the id {self.ids[position]} at position {position} is not among the {len(allowed)} ids "
                    "it was chosen among; the ids must be those that were sampled"
                )


@dataclass
class TokenSequence:
    """One trajectory as one sequence of ids. It only grows, so what was sampled stays as it was."""

    ids: list[int] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    pictures: list[PlacedPicture] = field(default_factory=list)

    def add(self, generated: Generated) -> Span:
        """Append a sampled action and return where it stands."""
        span = Span(len(self.ids), generated)
        self.ids.extend(generated.ids)
        self.spans.append(span)
        return span

    def train_item(self, advantages: Sequence[float | None]) -> TrainItem | None:
        """Return the sequence as the loss wants it, or ``None`` if no token has loss.

        Loss is on decisions only: a forced token has probability 1 whatever the
        weights. Ids after the last of them are left out.

        Args:
            advantages: One per span; ``None`` keeps a span as context without loss.

        Raises:
            InputError: If the count differs from the number of spans, or a span was
                drawn in a way that cannot be trained on.
        """
        if len(advantages) != len(self.spans):
            raise InputError(f"expected one advantage per span, {len(self.spans)}, got {len(advantages)}")
        rows: list[tuple[int, Allowed, float, float]] = []
        for span, advantage in zip(self.spans, advantages, strict=True):
            if advantage is None:
                continue
            drawn = span.generated
            drawn.sampling.require_trainable()
            rows += [
                (span.start + i, drawn.allowed[i], drawn.logprobs[i], advantage) for i in drawn.decisions()
            ]
        if not rows:
            return None
        positions, allowed, logprobs, values = zip(*rows, strict=True)
        stop = positions[-1] + 1
        pictures = tuple(placed for placed in self.pictures if placed.stop <= stop)
        return TrainItem(tuple(self.ids[:stop]), positions, allowed, logprobs, values, pictures)


class Session(Protocol):
    """Token sequences that grow side by side; what the model has read is kept between turns.

    Rows are numbered from 0; ``keep`` renumbers them.
    """

    def __len__(self) -> int:
        """Return the number of rows."""

    def sequence(self, row: int) -> TokenSequence:
        """Return a row's sequence, the object itself: it stays valid after the row is dropped."""

    def append(self, row: int, ids: Sequence[int], pictures: Sequence[Picture] = ()) -> None:
        """Append ids that were not sampled: an observation, a template.

        Args:
            row: Its number.
            ids: The ids; one stands for each picture, and becomes as many as the picture has features.
            pictures: The pictures, in order; only for a model that sees.
        """

    def shorten(self, row: int, length: int) -> TokenSequence | None:
        """Start a new sequence without the oldest pictures, so that at most ``length`` ids are left.

        As few pictures as that takes are left out, each of them whole, and never
        the newest. The old sequence stays as it is; the new one has no
        spans yet: what was sampled before is context there.

        Returns:
            The row's new sequence, or None if it cannot become so short; then nothing has changed.
        """

    def room(self, row: int) -> int:
        """Return how many more ids fit into the model's context."""

    def generate(
        self,
        rows: Sequence[int],
        sampling: Sampling,
        generator: torch.Generator | None = None,
        constraints: Sequence[Sequence[Sequence[int]]] | None = None,
    ) -> list[Generated]:
        """Sample one action for each of the rows and append it to its sequence.

        Args:
            rows: Distinct row numbers.
            sampling: How tokens are drawn.
            generator: Where randomness comes from; not needed if greedy.
            constraints: Per row, the candidates (each a list of ids that ends with an
                end-of-turn id) one of which the action must be. Without, free text
                up to an end-of-turn id.
        """

    def keep(self, rows: Sequence[int]) -> None:
        """Drop all other rows; ``rows[i]`` becomes row ``i``."""


class LanguageModel(Protocol):
    """A causal language model that samples, scores and trains on token ids.

    Attributes:
        weights_version: Rises whenever the weights change, within one process. Raise
            it after changing them; a session whose cache is older reads its rows again.
    """

    weights_version: int

    @property
    def chat(self) -> ChatFormat:
        """How messages become ids."""

    @property
    def context_length(self) -> int:
        """The most ids one sequence may hold."""

    @property
    def sees(self) -> bool:
        """Whether messages may have pictures."""

    def open(self, prompts: Sequence[Sequence[int]], pictures: Sequence[Sequence[Picture]] = ()) -> Session:
        """Start one sequence per prompt; ``pictures`` has those of each prompt, if there are any."""

    def score(self, items: Sequence[TrainItem], temperature: float = 1.0) -> list[list[float]]:
        """Return each item's log-probabilities at its positions, without gradient."""

    def logprobs(self, items: Sequence[TrainItem], temperature: float = 1.0) -> torch.Tensor:
        """Return the log-probabilities at all positions of all items, flat, with gradient."""

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Yield the weights to train."""

    def train(self) -> None:
        """Switch to training mode."""

    def eval(self) -> None:
        """Switch to evaluation mode (the one a model is loaded in): no dropout, so that ratios start at 1."""

    def save(self, folder: str | Path) -> None:
        """Write weights, configuration and tokenizer into a folder."""

    def load(self, folder: str | Path) -> None:
        """Replace the weights by those that were saved, in place."""
