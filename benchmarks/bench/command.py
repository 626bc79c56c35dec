"""``rla bench``: run suites and read what came of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from rla_agents.command_line import parse
from rla_envs.errors import InputError, unknown_name

_USAGE = """usage: rla bench COMMAND ...

commands:
  run SUITE --agent SPEC --out DIR   play a suite; the same command again finishes an interrupted run
  compare A B                        two runs of one suite, task by task
  table RUN...                       a leaderboard
  report RUN                         make the page of a run again
  export RUN --format FORMAT         inspect_ai log, Hugging Face results, AgentLab journal, LiveBench files
  suites                             list the suites that come with the package, and the agents

`rla bench COMMAND --help` lists a command's options."""


@dataclass(frozen=True)
class RunArguments:
    """Play a suite with an agent. Exit code 1: some episodes broke; the same command plays them again."""

    suite: Annotated[str, tyro.conf.Positional]
    """Name of a suite (see rla bench suites), or a TOML file."""
    agent: str
    """random, first-admissible, alfworld-heuristic, oracle, policy:MODEL, RUN_FOLDER, react:MODEL,
    openai:MODEL@URL, openai-vision:MODEL@URL, module:Class, path/to/file.py:Class, or a name that an
    installed package registered."""
    out: str
    """The run's folder."""
    jobs: int = 1
    """Episodes played at once; results do not depend on it."""
    seed: int = 0
    """Seed of the agent; the tasks are the suite's."""
    limit: int = 0
    """At most so many tasks, taken from the suite's cells in turn; 0 plays all."""
    quiet: bool = False
    """Show no progress."""
    ray: Annotated[str, tyro.conf.arg(metavar="{local,ADDRESS}")] = ""
    """Play on Ray workers: local starts them here, on loopback; or the address of your cluster."""


def bench(words: Sequence[str]) -> int:
    """Run ``rla bench`` and return its exit code."""
    if not words or words[0] in ("-h", "--help"):
        print(_USAGE)
        return 0 if words else 2
    if words[0] not in _COMMANDS:
        raise unknown_name("bench command", words[0], _COMMANDS)
    return _COMMANDS[words[0]](words[1:])


def _run(words: Sequence[str]) -> int:
    from benchmarks.bench.agents import find_agent
    from benchmarks.bench.report import write_report
    from benchmarks.bench.runner import run_suite
    from benchmarks.bench.suites import load_suite

    given = parse(RunArguments, words, prog="rla bench run")
    # As with `python -m`: modules of the user's own folder; the processes of the run inherit the path.
    sys.path.insert(0, os.getcwd())
    suite, spec = load_suite(given.suite), find_agent(given.agent)
    summary = run_suite(suite, spec, given.out, given.seed, given.jobs, given.limit, given.quiet, given.ray)
    counted = summary.success
    rate = "no episode scored" if counted.rate is None else f"{counted.wins}/{counted.n} = {counted.rate:.3f}"
    interval = "" if counted.rate is None else f" (95% {counted.low:.3f} to {counted.high:.3f})"
    errors = f"{counted.agent_errors} agent errors, {counted.infrastructure_errors} infrastructure errors"
    print(f"{summary.suite}: {summary.agent}: {rate}{interval}; {errors}")
    print(write_report(given.out))
    if counted.infrastructure_errors:
        print(
            "rla: some episodes broke and are not scored; the same command plays them again", file=sys.stderr
        )
        return 1
    return 0


def _suites(words: Sequence[str]) -> int:
    from benchmarks.bench.agents import agent_names
    from benchmarks.bench.suites import load_suite, suite_names

    if words:
        raise InputError(f"expected nothing after rla bench suites, got {' '.join(words)}")
    for name in suite_names():
        suite = load_suite(name)
        drawn = sum(cell.tasks for cell in suite.cells) * suite.attempts
        size = f"{drawn} episodes" if all(cell.tasks for cell in suite.cells) else "all of a data set"
        print(
            f"{name}  version {suite.version}, {suite.hash[:12]}, {suite.protocol}, {size}\n    {suite.title}"
        )
    forms = (
        "policy:MODEL, react:MODEL, openai:MODEL@URL, openai-vision:MODEL@URL, module:Class, FILE.py:Class"
    )
    print(f"agents: {', '.join(agent_names())}, {forms}")
    return 0


def _compare(words: Sequence[str]) -> int:
    from benchmarks.bench.compare import compare

    return compare(words)


def _table(words: Sequence[str]) -> int:
    from benchmarks.bench.table import table

    return table(words)


def _report(words: Sequence[str]) -> int:
    from benchmarks.bench.report import report

    return report(words)


def _export(words: Sequence[str]) -> int:
    from benchmarks.bench.exporters import export

    return export(words)


_COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "run": _run,
    "compare": _compare,
    "table": _table,
    "report": _report,
    "export": _export,
    "suites": _suites,
}
