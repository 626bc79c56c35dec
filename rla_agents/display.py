"""What a person sees while a run goes on."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rla_agents.config import TrainConfig


class Display:
    """Progress bars and one line of numbers an iteration, on stderr; nothing if quiet.

    Args:
        config: The run's settings.
        quiet: Show nothing.
    """

    def __init__(self, config: TrainConfig, quiet: bool) -> None:
        """Set up; see the class for the arguments."""
        self._console = Console(stderr=True, quiet=quiet)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            disable=quiet,
        )
        self._iterations = self._progress.add_task("iterations", total=config.iterations)
        self._phase = self._progress.add_task("starting", total=None)

    def __enter__(self) -> Display:
        """Start the bars."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the bars."""
        self._progress.stop()

    def phase(self, name: str, total: int | None = None) -> None:
        """Say what is done now, and how many things of it there are."""
        # A new bar each time: rich takes a total of None for "as it was", not for "unknown".
        self._progress.remove_task(self._phase)
        self._phase = self._progress.add_task(name, total=total)

    def advance(self, count: int) -> None:
        """Count things of this phase that are done."""
        self._progress.advance(self._phase, count)

    def note(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, markup=False, highlight=False)

    def iteration(self, row: Mapping[str, Any]) -> None:
        """Count a finished iteration and print its numbers."""
        parts = [f"iteration {row['iteration']:>3}"]
        for label, name in (
            ("success", "policy/success"),
            ("reward", "policy/reward"),
            ("critic vs plan", "critic/oracle_accuracy"),
            ("kl", "policy/kl"),
        ):
            value = row.get(name)
            parts.append(f"{label} {value:.3f}" if isinstance(value, float) else f"{label} -")
        parts.append(f"groups {row.get('policy/groups_used')}/{row.get('policy/groups')}")
        parts.append(f"edits +{row.get('curriculum/accepted')} -{row.get('curriculum/rejected')}")
        self._console.print("  ".join(parts), markup=False, highlight=False)
        self._progress.update(self._iterations, completed=row["iteration"] + 1)
