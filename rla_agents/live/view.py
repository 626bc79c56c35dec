"""What the live page shows of a run, and the counts that views of all kinds of run share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from rla_agents.report.alarms import Alarm
from rla_agents.report.charts import Bar, rate_chart
from rla_agents.report.page import render
from rla_agents.report.run import Row
from rla_agents.report.sections import Card, Chart
from rla_agents.report.stats import wilson

_LAYOUTS = {
    "success": "stacked",
    "difficulty": "grid-of-charts wide",
    "votes": "stacked",
    "throughput": "grid-of-charts wide",
    "health": "grid-of-charts",
}
"""How the charts of each section lie on the page."""


class Polled(NamedTuple):
    """What a view found new in the run folder.

    Attributes:
        changed: Whether the page looks different now.
        episodes: Episodes that ended, as the report's viewer reads them; of very many the latest.
        replaced: Whether a file was cut or replaced: the view is of no more use, and a new one must be made.
        more: Whether there is more to read at once.
    """

    changed: bool
    episodes: Sequence[Row] = ()
    replaced: bool = False
    more: bool = False


@dataclass
class Page:
    """What the page shows, without the trajectories.

    Attributes:
        facts: What runs, as names and values.
        notes: What the reader must know, in sentences.
        cards: Headline figures.
        alarms: What is or was wrong.
        charts: By section (success, difficulty, votes, throughput, health), its charts.
    """

    facts: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()
    cards: Sequence[Card] = ()
    alarms: Sequence[Alarm] = ()
    charts: Mapping[str, Sequence[Chart]] = field(default_factory=dict)

    def parts(self) -> dict[str, str]:
        """Return the parts as HTML, in which everything that the run says is escaped."""
        shown = {
            "facts": render("facts.html", facts=self.facts),
            "notes": render("notes.html", notes=self.notes),
            "cards": render("cards.html", cards=self.cards),
            "alarms": render("alarms.html", alarms=self.alarms),
        }
        for name, layout in _LAYOUTS.items():
            shown[name] = render("charts.html", charts=self.charts.get(name, ()), layout=layout)
        return shown


class View(Protocol):
    """A run folder, read as it grows."""

    def poll(self) -> Polled:
        """Read what is new.

        Raises:
            OSError: If a file cannot be read.
            InputError: If a file that is read as a whole is not what it should be.
        """

    def page(self) -> Page:
        """Return what the page shows now."""


class Votes:
    """Counts a critic's votes by how the episode ended."""

    def __init__(self) -> None:
        """Count nothing yet."""
        self._counts: Counter[tuple[bool, int]] = Counter()

    def add(self, success: bool, votes: Iterable[object]) -> None:
        """Count the votes on the steps of an episode."""
        self._counts.update((success, vote) for vote in votes if isinstance(vote, int) and vote in (-1, 0, 1))

    def charts(self) -> list[Chart]:
        """Return the share of good votes in won and lost episodes, and of those that could not be read."""
        counts = self._counts
        if not counts:
            return []
        bars = []
        for won, label in ((True, "good, in won episodes"), (False, "good, in lost episodes")):
            good, bad = counts[won, 1], counts[won, -1]
            if good + bad:
                bars.append(rate_bar(label, good, good + bad, "s0" if won else "s1"))
        malformed = counts[True, 0] + counts[False, 0]
        bars.append(rate_bar("malformed", malformed, sum(counts.values()), "s2"))
        title = "Votes of the critic on steps"
        return [Chart(title, rate_chart(title, bars, label_width=180))]


def rate_bar(label: str, wins: int, n: int, style: str = "s0") -> Bar:
    """Return the bar of a rate with its counts and 95% Wilson interval."""
    rate = wilson(wins, n)
    return Bar(label, rate.rate, rate.low, rate.high, f"{100 * rate.rate:.1f}%  ({wins}/{n})", style)


def unreadable_notes(unreadable: Mapping[str, int]) -> list[str]:
    """Return a sentence for each file that had unreadable lines."""
    return [f"{n} unreadable line(s) of {name} were left out." for name, n in unreadable.items() if n]
