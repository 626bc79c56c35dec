"""Suites: fixed sets of tasks, written in TOML, with a version and a hash."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from rla_agents.toml_config import read_toml, update
from rla_envs.errors import InputError, unknown_name
from rla_envs.task import canonical_json


@dataclass(frozen=True)
class Cell:
    """A group of tasks of one kind and difficulty.

    Attributes:
        name: The group's name, unique in its suite.
        env_id: Registered id of the environment, or ``"module:ID"``.
        tasks: How many tasks are drawn; 0 takes every task of a data set
            (the environment's ``all_tasks()``), in its order.
        env: Keywords of the environment. A text ``"${NAME}"`` stands for the environment variable NAME:
            where data lies on a machine is no part of a suite.
        difficulty: Parameters of the drawn tasks; those not named take their defaults or are drawn.
        only: With ``tasks = 0``: keep the tasks whose difficulty has these values.
    """

    name: str = ""
    env_id: str = ""
    tasks: int = 0
    env: Mapping[str, Any] = field(default_factory=dict)
    difficulty: Mapping[str, Any] = field(default_factory=dict)
    only: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """A fixed set of tasks and the limits they are played under.

    Attributes:
        name: Name on the command line.
        version: Raised with every change of what is played.
        title: What it measures, in a sentence.
        seed: Seed of the drawn tasks. It is the suite's, not the run's: all runs play the same tasks.
        attempts: How often each task is played.
        protocol: ``"static"``: every task. ``"adaptive"``: the cells are a ladder from easy to hard, and
            tasks are chosen until it is known where an agent succeeds half the time.
        precision: Adaptive: stop when the 95% interval is no wider than this many cells.
        batch: Adaptive: how many episodes are chosen at once.
        step_seconds: Longest an agent may take over one action.
        episode_seconds: Longest an agent may take over one episode's actions together.
        env_seconds: Longest an environment may take over one step before it counts as broken.
        retries: How often an episode that the machinery broke is started again.
        cells: The groups of tasks.
    """

    name: str = ""
    version: int = 1
    title: str = ""
    seed: int = 0
    attempts: int = 1
    protocol: Literal["static", "adaptive"] = "static"
    precision: float = 1.0
    batch: int = 4
    step_seconds: float = 60.0
    episode_seconds: float = 600.0
    env_seconds: float = 300.0
    retries: int = 2
    cells: tuple[Cell, ...] = ()

    @property
    def hash(self) -> str:
        """SHA-256 (64 hex digits) of everything but the title."""
        plain = dataclasses.asdict(self)
        del plain["title"]
        return hashlib.sha256(canonical_json(plain).encode()).hexdigest()


def suite_names() -> list[str]:
    """Return the names of the suites that come with the package."""
    return sorted(
        file.name.removesuffix(".toml") for file in _folder().iterdir() if file.name.endswith(".toml")
    )


def load_suite(name: str) -> Suite:
    """Return a suite.

    Args:
        name: One of :func:`suite_names`, or the path of a TOML file.

    Raises:
        UnknownNameError: If there is none of that name.
        InputError: If the file is not a suite; names the key.
    """
    if name in suite_names():
        return _read(_folder() / f"{name}.toml")
    path = Path(name)
    if path.suffix == ".toml" and path.is_file():
        return _read(path)
    raise unknown_name("suite", name, suite_names())


def _folder() -> Traversable:
    return importlib.resources.files("benchmarks") / "suites"


def _read(path: Path | Traversable) -> Suite:
    table = read_toml(path)
    where = f"suite {path}"
    rows = table.pop("cells", [])
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{where}: expected one [[cells]] table or more")
    cells = tuple(update(Cell(), row, where, f"cells[{i}].") for i, row in enumerate(rows))
    suite = dataclasses.replace(update(Suite(), table, where), cells=cells)
    names = [cell.name for cell in cells]
    for i, cell in enumerate(cells):
        if not cell.name or not cell.env_id or names.count(cell.name) > 1:
            raise InputError(
                f"{where}: cells[{i}]: expected an env_id and a name of its own, got {cell.name!r}"
            )
        if cell.tasks < 0 or (cell.tasks and cell.only) or (not cell.tasks and cell.difficulty):
            raise InputError(
                f"{where}: cell {cell.name!r}: expected tasks=N with 'difficulty', or tasks=0 with 'only'"
            )
    if not suite.name or min(suite.attempts, suite.batch, suite.step_seconds, suite.episode_seconds) <= 0:
        raise InputError(f"{where}: expected a name, and attempts, batch and limits above 0")
    return suite
