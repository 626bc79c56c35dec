"""What a person sees while a benchmark goes on: a bar, and wins and errors so far."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.bench.schema import Trace


class Display:
    """A progress bar on stderr; nothing if quiet.

    Args:
        total: How many episodes there are, at most.
        quiet: Show nothing.
    """

    def __init__(self, total: int, quiet: bool) -> None:
        """Set up; see the class for the arguments."""
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True, quiet=quiet),
            disable=quiet,
        )
        self._task = self._progress.add_task("starting", total=total)
        self._counts = {"won": 0, "lost": 0, "agent errors": 0, "infrastructure errors": 0}

    def __enter__(self) -> Display:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave it as it is."""
        self._progress.stop()

    def add(self, trace: Trace) -> None:
        """Count an episode."""
        kinds = {"solved": "won", "agent_error": "agent errors", "infrastructure": "infrastructure errors"}
        self._counts[kinds.get(trace.stop, "lost")] += 1
        said = ", ".join(f"{n} {name}" for name, n in self._counts.items() if n or name in ("won", "lost"))
        self._progress.update(self._task, description=said, advance=1)
