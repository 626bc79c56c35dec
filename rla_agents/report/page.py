"""Put the report's page together and write it into the run folder."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import gymnasium

from rla_agents.environments import difficulty_parameters
from rla_agents.files import write_atomic
from rla_agents.report import sections
from rla_agents.report.alarms import training_alarms
from rla_agents.report.difficulty import named_map
from rla_agents.report.run import Run, read_run
from rla_agents.report.trajectories import ValueNames, select
from rla_envs.errors import RLAError, missing_extra

try:
    import jinja2
except ImportError as error:
    raise missing_extra("the report", "train", error) from error


def write_report(run_dir: str | Path) -> Path:
    """Make ``report.html`` of a run folder and return its path.

    The page is one file: no request leaves it, it works from ``file://``, and
    what models and environments said stays text. Whatever the run lacks so far
    (an evaluation, iterations, traces) the page says.

    Args:
        run_dir: Folder of a run, finished, running or killed.

    Raises:
        InputError: If it is not the folder of a run.
        StorageError: If the page cannot be written.
    """
    run = read_run(run_dir)
    page = run.folder / "report.html"
    # Text from a model may hold lone surrogates, which no file can.
    write_atomic(page, _render(run).encode("utf-8", "replace"))
    return page


def _render(run: Run) -> str:
    found = sections.comparisons(run)
    names = value_names(str(run.setting("env", "id", "")))
    selection = select(run, names)
    return render(
        "page.html",
        run=run,
        facts=run_facts(run),
        cards=sections.cards(run, found),
        alarms=training_alarms(run),
        comparisons=found,
        grid=run.evaluation.get("grid"),
        errors=sections.evaluation_errors(run),
        over_time=sections.over_time_chart(run),
        overall=sections.overall_chart(found),
        type_charts=[(comparison.decoding, sections.type_chart(comparison)) for comparison in found],
        training=sections.training_chart(run),
        window=sections.smoothing_window(run),
        difficulty=sections.difficulty_charts(run, names),
        named=named_map(run, names),
        critic=sections.critic_chart(run),
        edits=sections.edits(run),
        health=sections.health_charts(run),
        selection=selection,
        notes=list(dict.fromkeys(run.notes)),
        in_words=sections.in_words,
    )


def render(template: str, package: str = "rla_agents.report", **values: object) -> str:
    """Return a page made from a template, with this report's look and viewer; values are escaped.

    Args:
        template: Its name among the package's assets.
        package: Where it lies. It may include the assets of this report.
        values: What the template shows.
    """
    return (
        _environment(package)
        .get_template(template)
        .render(style=asset("page.css"), script=asset("viewer.js"), **values)
    )


def asset(name: str) -> str:
    """Return the text of one of this report's assets."""
    return (resources.files("rla_agents.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def _environment(package: str) -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader(name, "assets") for name in dict.fromkeys((package, "rla_agents.report"))]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def run_facts(run: Run) -> list[tuple[str, str]]:
    """Return what ran, as names and values."""
    done, planned = len(run.metrics), run.config.get("iterations", "?")
    policy = run.setting("policy", "model", "?")
    critic = run.setting("critic", "model", "none")
    judge, votes = policy if critic == "none" else critic, run.setting("critic", "votes", "?")
    tasks, rollouts = run.setting("rollout", "tasks", "?"), run.setting("rollout", "rollouts", "?")
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    engine = run.setting("env", "engine", "none")
    facts: list[tuple[str, Any]] = [
        ("Environment", run.setting("env", "id", "?") + ("" if engine == "none" else f", engine {engine}")),
        ("Policy", policy),
        ("Critic", "none" if votes == 0 else f"{judge}, {votes} votes a step"),
        ("Curriculum", run.setting("curriculum", "name", "?")),
        ("Iteration", f"{tasks} tasks × {rollouts} episodes"),
        ("Iterations", f"{done} of {planned}"),
        ("Seed", run.config.get("seed", "?")),
        ("Versions", versions or "not recorded"),
    ]
    return [(name, str(value)) for name, value in facts]


def value_names(env_id: str) -> ValueNames:
    """Return the names of difficulty values, from the environment if it is installed here."""
    try:
        parameters = difficulty_parameters(env_id)
    except (gymnasium.error.Error, RLAError, ImportError):
        return {}
    return {p.name: dict(enumerate(p.names, start=int(p.low))) for p in parameters if p.names}
