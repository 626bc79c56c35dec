"""The live view of a training run."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

from rla_agents.live.tail import Tail
from rla_agents.live.view import Page, Polled, Votes, unreadable_notes
from rla_agents.report import sections
from rla_agents.report.alarms import training_alarms
from rla_agents.report.charts import Series, line_chart
from rla_agents.report.difficulty import Outcome, difficulty_map, training_outcome
from rla_agents.report.page import run_facts, value_names
from rla_agents.report.run import Row, Run, parse_row
from rla_agents.report.sections import Card, Chart
from rla_agents.report.trajectories import LIMIT, viewer_episode

_FILES = ("metrics.jsonl", "events.jsonl", "timings.jsonl", "traces.jsonl")
_WHOLE = ("evaluation.json", "versions.json")


class TrainingView:
    """A training run's folder, read as it grows.

    Args:
        folder: The run folder, with its config.toml.
    """

    def __init__(self, folder: Path) -> None:
        """Read the settings; see the class for the arguments."""
        self._run = Run(folder)
        self._run.config_text = (folder / "config.toml").read_text(encoding="utf-8")
        self._run.config = tomllib.loads(self._run.config_text)
        self._names = value_names(str(self._run.setting("env", "id", "")))
        self._tails = {name: Tail(folder / name) for name in _FILES}
        self._whole: dict[str, tuple[int, int, int] | None] = {}
        self._timings: dict[int, float] = {}
        self._episodes: Counter[int] = Counter()
        self._played: list[Outcome] = []
        self._votes = Votes()

    def poll(self) -> Polled:
        """Read what is new."""
        news = {name: tail.read() for name, tail in self._tails.items()}
        if any(found.replaced for found in news.values()):
            return Polled(True, replaced=True)
        self._run.metrics += [r for r in news["metrics.jsonl"].rows if isinstance(r.get("iteration"), int)]
        self._run.events += news["events.jsonl"].rows
        for row in news["timings.jsonl"].rows:
            iteration, seconds = row.get("iteration"), row.get("seconds")
            if isinstance(iteration, int) and isinstance(seconds, int | float) and seconds > 0:
                self._timings[iteration] = seconds
        for row in news["traces.jsonl"].rows:
            self._count(row)
        changed = self._read_whole() or any(found.rows for found in news.values())
        latest = news["traces.jsonl"].rows[-LIMIT:]
        episodes = [viewer_episode(row, self._names) for row in latest]
        return Polled(changed, episodes, more=any(found.more for found in news.values()))

    def page(self) -> Page:
        """Return what the page shows now."""
        run = self._run
        comparisons = sections.comparisons(run)
        named = {
            "Training success per iteration": sections.training_chart(run),
            "Held-out success before and after": sections.overall_chart(comparisons),
            "Held-out success over time": sections.over_time_chart(run),
        }
        unreadable = {name: tail.unreadable for name, tail in self._tails.items()}
        critic = Chart("Critic accuracy per iteration", sections.critic_chart(run))
        return Page(
            facts=run_facts(run),
            notes=[*dict.fromkeys(run.notes), *unreadable_notes(unreadable)],
            cards=[*sections.cards(run, comparisons), *self._throughput_card()],
            alarms=training_alarms(run),
            charts={
                "success": [Chart(title, picture) for title, picture in named.items() if picture],
                "difficulty": [
                    *difficulty_map(self._played, self._names),
                    *(
                        Chart(f"{c.title}, mean", c.picture)
                        for c in sections.difficulty_charts(run, self._names)
                    ),
                ],
                "votes": [*self._votes.charts(), *([critic] if critic.picture else [])],
                "throughput": self._throughput(),
                "health": sections.health_charts(run),
            },
        )

    def _count(self, row: Row) -> None:
        if row.get("phase") != "train":
            return
        if isinstance(row.get("iteration"), int):
            self._episodes[row["iteration"]] += 1
        outcome = training_outcome(row)
        if outcome is None:
            return
        self._played.append(outcome)
        steps = row.get("steps")
        for step in steps if isinstance(steps, list) else []:
            votes = step.get("votes") if isinstance(step, dict) else None
            self._votes.add(bool(row.get("success")), votes if isinstance(votes, list) else [])

    def _rates(self) -> list[tuple[int, float, float | None]]:
        """Return iteration, episodes a second and tokens a second of each iteration."""
        rates, before = [], 0
        for row in self._run.metrics:
            iteration, tokens = row["iteration"], row.get("tokens")
            seconds = self._timings.get(iteration)
            made = tokens - before if isinstance(tokens, int) else None
            before = tokens if isinstance(tokens, int) else before
            if seconds is not None:
                speed = None if made is None else made / seconds
                rates.append((iteration, self._episodes[iteration] / seconds, speed))
        return rates

    def _throughput(self) -> list[Chart]:
        rates = self._rates()
        if not rates:
            return []
        xs = [float(iteration) for iteration, _, _ in rates]
        columns: dict[str, list[float | None]] = {
            "Episodes per second": [episodes for _, episodes, _ in rates],
            "Tokens written per second": [tokens for _, _, tokens in rates],
        }
        pictures = {
            title: line_chart(title, xs, [Series(title, values)], size=(480, 200))
            for title, values in columns.items()
        }
        return [Chart(title, picture) for title, picture in pictures.items() if picture]

    def _throughput_card(self) -> list[Card]:
        rates = self._rates()
        if not rates:
            return []
        iteration, episodes, tokens = rates[-1]
        written = "" if tokens is None else f"{tokens:,.0f} tokens a second; "
        return [Card("Episodes a second", f"{episodes:.3g}", f"{written}iteration {iteration}")]

    def _read_whole(self) -> bool:
        """Read the files that are written as a whole; return whether one of them is another now."""
        changed = False
        for name in _WHOLE:
            path = self._run.folder / name
            try:
                status = path.stat()
                identity = (status.st_ino, status.st_mtime_ns, status.st_size)
            except FileNotFoundError:
                identity = None
            if identity != self._whole.get(name):
                content = (parse_row(path.read_bytes()) or {}) if identity else {}
                setattr(self._run, name.removesuffix(".json"), content)
                self._whole[name], changed = identity, True
        return changed
