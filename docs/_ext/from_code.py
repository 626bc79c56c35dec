"""Tables that are read from the code when the site is built, so that they cannot rot."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import gymnasium as gym
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

import rla_envs
from benchmarks.bench.suites import load_suite, suite_names
from rla_agents.config import DEVIATIONS, TrainConfig


class Table(NamedTuple):
    """A kind of table.

    Attributes:
        head: Its first line.
        rows: Called with the directive's argument; gives the other lines.
        argument: Whether the directive takes one: the id of an environment.
    """

    head: tuple[str, ...]
    rows: Callable[[str], Iterable[tuple[str, ...]]]
    argument: bool = True


def _environment(env_id: str) -> rla_envs.AdaptiveEnv[Any, Any]:
    env = gym.make(env_id).unwrapped
    assert isinstance(env, rla_envs.AdaptiveEnv)
    return env


def _facts(env_id: str) -> Iterable[tuple[str, ...]]:
    env = _environment(env_id)
    keywords = inspect.signature(type(env)).parameters.values()
    yield "ids", f"`{env_id}`, `{env_id.replace('-v', '-Adaptive-v')}`"
    yield "observation space", f"`{env.observation_space}`"
    yield "action space", f"`{env.action_space}`"
    yield "keywords", ", ".join(f"`{keyword.name}={keyword.default!r}`" for keyword in keywords)
    yield "render modes", ", ".join(f"`{mode}`" for mode in env.metadata["render_modes"])
    batch = "`sync`, `async`" + (", `batch`" if gym.spec(env_id).vector_entry_point else "")
    yield "vector environments", batch


def _difficulty(env_id: str) -> Iterable[tuple[str, ...]]:
    for p in _environment(env_id).difficulty_parameters:
        named = [f"`{name}`" for name in p.names]
        default = "drawn" if p.default is None else named[int(p.default - p.low)] if named else str(p.default)
        values = f"{p.low} to {p.high}" + (f": {', '.join(named)}" if named else "")
        yield f"`{p.name}`", values, default, "larger" if p.direction > 0 else "smaller", p.meaning


def _edits(env_id: str) -> Iterable[tuple[str, ...]]:
    for operation in _environment(env_id).edit_operations:
        fields = "; ".join(f"`{field.name}`: {field.meaning}" for field in operation.fields)
        yield f"`{operation.op}`", fields, operation.effect


def _suites(_: str) -> Iterable[tuple[str, ...]]:
    for name in suite_names():
        suite = load_suite(name)
        tasks = sum(cell.tasks for cell in suite.cells) * suite.attempts
        yield f"`{name}`", suite.title, suite.protocol, str(tasks or "all of a data set")


def _deviations(_: str) -> Iterable[tuple[str, ...]]:
    for item in DEVIATIONS.partition("\n- ")[2].split("\n- "):
        yield (" ".join(item.split()),)


def _settings(_: str) -> Iterable[tuple[str, ...]]:
    yield from _settings_of(TrainConfig(), "")


def _settings_of(config: Any, prefix: str) -> Iterable[tuple[str, ...]]:
    """Return a row for every key; the docstrings below the fields are the meanings."""
    kind = type(config)
    meanings = ModuleAnalyzer.for_module(kind.__module__).find_attr_docs()
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            yield from _settings_of(value, f"{prefix}{field.name}.")
        else:
            text = " ".join(meanings[kind.__qualname__, field.name])
            yield f"`{prefix}{field.name}`", f"`{value!r}`", text


TABLES = {
    "environment-facts": Table(("", ""), _facts),
    "difficulty-parameters": Table(("Parameter", "Values", "Default", "Harder when", "Meaning"), _difficulty),
    "edit-language": Table(("Operation", "Fields", "What it does"), _edits),
    "suites": Table(("Suite", "What it measures", "Protocol", "Episodes"), _suites, argument=False),
    "settings": Table(("Key", "Default", "Meaning"), _settings, argument=False),
    "deviations": Table(("Where the defaults differ from the paper",), _deviations, argument=False),
}


class TableDirective(SphinxDirective):
    """One of :data:`TABLES`, by the directive's own name."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        table = TABLES[self.name]
        if table.argument != bool(self.arguments):
            raise self.error(
                f"{self.name}: expected {'the id of an environment' if table.argument else 'nothing'}"
            )
        rows = table.rows(self.arguments[0] if self.arguments else "")
        lines = [table.head, ("---",) * len(table.head), *rows]
        text = "\n".join(
            "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
        )
        return self.parse_text_to_nodes(text)


def keep_colons(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Keep Napoleon from taking what stands before a colon in an attribute's docstring for its type."""
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # a comment without text


def setup(app: Sphinx) -> Mapping[str, Any]:
    """Tell Sphinx about the directives."""
    for name in TABLES:
        app.add_directive(name, TableDirective)
    # Before Napoleon, whose priority is the default of 500.
    app.connect("autodoc-process-docstring", keep_colons, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
