"""`rla envs`: the registered environments and what makes each of them hard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import gymnasium as gym
import tyro
from rich.console import Console
from rich.table import Table

import rla_envs
from rla_agents.command_line import parse
from rla_agents.environments import difficulty_parameters
from rla_envs.difficulty import DifficultyParameter
from rla_envs.errors import RLAError
from rla_envs.registry import find_env


@dataclass(frozen=True)
class EnvsArguments:
    """List environments with their difficulty parameters."""

    env: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[ENV ...]")] = ()
    """Ids to list; all of them if none is given."""


def print_envs(words: Sequence[str]) -> None:
    """Print the environments that a command line names, or all.

    Raises:
        UnknownNameError: On an id that is not registered.
    """
    known = rla_envs.env_ids()
    chosen = [find_env(env_id) for env_id in parse(EnvsArguments, words, prog="rla envs").env or known]
    console = Console()
    for base in dict.fromkeys(map(_base, chosen)):
        _print_env(console, base, [env_id for env_id in gym.registry if _base(env_id) == base])


def _base(env_id: str) -> str:
    return env_id.replace("-Adaptive-", "-")


def _print_env(console: Console, base: str, ids: Sequence[str]) -> None:
    console.print(f"[bold]{'  '.join(ids)}[/bold]", highlight=False)
    try:
        parameters = difficulty_parameters(base)
    except (RLAError, ImportError) as error:
        console.print(f"  {error}\n", markup=False, highlight=False)
        return
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    # Names are what one types: a narrow terminal must not cut them.
    table.add_column(no_wrap=True)
    table.add_column()
    for parameter in parameters:
        default = "drawn unless given"
        if parameter.default is not None:
            default = f"default {_value(parameter, parameter.default)}"
        harder = "larger" if parameter.direction > 0 else "smaller"
        values = f"{_range(parameter)}; {default}; {harder} is harder"
        table.add_row(parameter.name, f"{values}\n{parameter.meaning}")
    console.print(table, highlight=False)
    console.print()


def _range(parameter: DifficultyParameter) -> str:
    if parameter.names:
        return ", ".join(parameter.names)
    return f"{parameter.low:g} to {parameter.high:g}"


def _value(parameter: DifficultyParameter, value: float) -> str:
    return parameter.names[int(value - parameter.low)] if parameter.names else f"{value:g}"
