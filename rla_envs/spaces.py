"""A text space that holds any Unicode string."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gymnasium as gym
import numpy as np


class Unicode(gym.Space[str]):
    """All strings of at most ``max_length`` characters, empty one included.

    Gymnasium's ``Text`` space enumerates its characters; over all of Unicode
    that takes seconds to build and tens of megabytes to pickle.

    Args:
        max_length: Longest string in the space, in code points.
        seed: Seed of :meth:`sample`.

    Raises:
        ValueError: If ``max_length`` is not positive.

    Example:
        >>> Unicode(10).contains("δ→é")
        True
    """

    def __init__(self, max_length: int = 65536, seed: int | np.random.Generator | None = None) -> None:
        """Make the space; see the class for the arguments."""
        if max_length < 1:
            raise ValueError(f"max_length must be 1 or more, got {max_length}")
        self.max_length = max_length
        super().__init__(shape=None, dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False: a string has no fixed-size numeric form."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """Return a random string of up to 32 characters from several scripts."""
        if mask is not None or probability is not None:
            raise ValueError("Unicode.sample takes neither a mask nor probabilities")
        alphabet = "abcdefghijklmnopqrstuvwxyz ABC 0123456789 .,:?!éßØ αβγ Дя 中文 🙂"
        length = int(self.np_random.integers(0, min(32, self.max_length) + 1))
        return "".join(alphabet[int(i)] for i in self.np_random.integers(0, len(alphabet), length))

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is a string of at most ``max_length`` characters."""
        return isinstance(x, str) and len(x) <= self.max_length

    def to_jsonable(self, sample_n: Iterable[str]) -> list[str]:
        """Return the strings as a list; they are JSON already."""
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        """Return the strings read back from :meth:`to_jsonable`."""
        return [str(sample) for sample in sample_n]

    def __repr__(self) -> str:
        """Return the constructor call."""
        return f"Unicode({self.max_length})"

    def __eq__(self, other: object) -> bool:
        """Equal spaces accept the same strings."""
        return isinstance(other, Unicode) and other.max_length == self.max_length

    def __hash__(self) -> int:
        """Hash consistently with equality."""
        return hash((Unicode, self.max_length))
