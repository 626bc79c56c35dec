"""A progress bar for whoever watches a long run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rla_envs.errors import missing_extra

T = TypeVar("T")


def tracked(items: Iterable[T], what: str, total: int, quiet: bool) -> Iterator[T]:
    """Yield items one by one, showing on standard error how many of them are done.

    Args:
        items: What to go through.
        what: What is being done.
        total: How many items there are.
        quiet: Whether to show nothing.

    Raises:
        MissingExtraError: If rich is not installed and something is to be shown.
    """
    if quiet:
        yield from items
        return
    try:
        from rich.console import Console
        from rich.progress import track
    except ImportError as error:
        raise missing_extra("a progress bar", "train", error) from error
    yield from track(items, what, total, console=Console(stderr=True))
