"""The ``rla`` command.

Each subcommand imports what it needs when it runs, so that ``rla --help`` and
``rla envs`` start without torch. Every error made on purpose becomes one line
on stderr and exit code 2; an interrupt becomes one line and 130.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rla_envs.errors import InputError, RLAError, missing_extra, unknown_name

if TYPE_CHECKING:
    from rla_agents.launch import Launch


_OURS = ("benchmarks", "rla_agents", "rla_envs", "wrappers")


class Command(NamedTuple):
    """A subcommand of ``rla``.

    Attributes:
        run: Takes the words after the command's name, returns the exit code.
        words: What comes after the name, for the help.
        meaning: What it does, in a line.
    """

    run: Callable[[Sequence[str]], int]
    words: str
    meaning: str


def main(argv: Sequence[str] | None = None) -> int:
    """Run the ``rla`` command.

    Args:
        argv: Words after the program's name; those of this process if None.

    Returns:
        0 for success, 1 if ``doctor`` found something missing or
        ``bench run`` left broken episodes, 2 for bad input or a failure with a
        known cause, 130 after an interrupt.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(words)
    except RLAError as error:
        return _fail(str(error))
    except ImportError as error:
        # A package that an extra brings; our own modules are always there.
        if error.name is None or error.name.split(".")[0] in _OURS:
            raise
        return _fail(str(missing_extra(f"rla {words[0]}", "train", error)))
    except BrokenPipeError:
        # The reader of a pipe (`rla envs | head`) has what it wants.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _fail(_storage_failure(error))
    except KeyboardInterrupt:
        print("\nrla: interrupted", file=sys.stderr)
        return 130


def _dispatch(words: Sequence[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_help())
        return 0 if words else 2
    if words[0] in ("-V", "--version"):
        from importlib.metadata import version

        print(f"rla {version('rlanything')}")
        return 0
    command = _COMMANDS.get(words[0])
    if command is None:
        raise unknown_name("command", words[0], _COMMANDS)
    try:
        return command.run(words[1:])
    except SystemExit as stop:  # tyro, after it printed a command's help
        return stop.code if isinstance(stop.code, int) else 0


def _fail(message: str) -> int:
    print(f"rla: error: {' '.join(message.split())}", file=sys.stderr)
    return 2


def _storage_failure(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return f"disk full{f' while writing {error.filename}' if error.filename else ''}; free some space"
    return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"


def _help() -> str:
    rows = [(f"{name} {command.words}".strip(), command.meaning) for name, command in _COMMANDS.items()]
    width = max(len(usage) for usage, _ in rows)
    listed = "\n".join(f"  {usage:<{width}}  {meaning}" for usage, meaning in rows)
    return (
        "usage: rla COMMAND ...\n\n"
        "Environment, policy and reward model learn together (arXiv 2602.02488).\n\n"
        f"commands:\n{listed}\n\n"
        "`rla COMMAND --help` lists a command's options."
    )


def _train(words: Sequence[str]) -> int:
    from rla_agents.launch import read_launch

    return _launch(read_launch(words, prog="rla train"))


def _demo(words: Sequence[str]) -> int:
    from rla_agents.launch import read_launch

    launch = read_launch(words, prog="rla demo", preset="demo")
    code = _launch(launch)
    if code == 0:
        print(Path(str(launch.config.run_dir), "report.html").resolve())
    return code


def _launch(launch: Launch) -> int:
    from rla_agents.loop import train

    try:
        train(launch.config, launch.resume, launch.quiet)
    except KeyboardInterrupt:
        print(
            f"\nrla: interrupted; to go on: rla train --resume --run-dir {launch.config.run_dir}",
            file=sys.stderr,
        )
        return 130
    return 0


def _envs(words: Sequence[str]) -> int:
    from rla_agents.listing import print_envs

    print_envs(words)
    return 0


def _play(words: Sequence[str]) -> int:
    from rla_agents.play import play

    return play(words)


def _report(words: Sequence[str]) -> int:
    from rla_agents.report import write_report

    if len(words) != 1 or words[0].startswith("-"):
        usage = "usage: rla report RUN\n\nMake RUN/report.html again from the files of a run folder."
        if words and words[0] in ("-h", "--help"):
            print(usage)
            return 0
        got = " ".join(words) or "nothing"
        raise InputError(f"expected the folder of one run, got {got}; see rla report --help")
    print(write_report(words[0]))
    return 0


def _serve(words: Sequence[str]) -> int:
    from rla_agents.live import serve

    return serve(words)


def _export(words: Sequence[str]) -> int:
    from rla_agents.export import export

    return export(words)


def _import(words: Sequence[str]) -> int:
    from rla_agents.dataset import import_

    return import_(words)


def _doctor(words: Sequence[str]) -> int:
    from rla_agents.doctor import doctor

    return doctor(words)


def _bench(words: Sequence[str]) -> int:
    # By name: benchmarks stand above this package, which knows nothing of them but this command.
    command: Callable[[Sequence[str]], int] = import_module("benchmarks.bench.command").bench
    return command(words)


_COMMANDS = {
    "demo": Command(_demo, "[OPTIONS]", "the closed loop on the embedded models; prints the report's path"),
    "train": Command(_train, "[CONFIG.toml] [OPTIONS]", "train policy and reward model while tasks adapt"),
    "envs": Command(_envs, "[ENV ...]", "list environments and their difficulty parameters"),
    "play": Command(_play, "ENV [OPTIONS]", "play a task yourself, in the terminal"),
    "report": Command(_report, "RUN", "make the report of a run folder again"),
    "serve": Command(_serve, "RUN [OPTIONS]", "follow a run in the browser while it goes on"),
    "export": Command(
        _export, "RUN [OPTIONS]", "write a run's episodes as training data (sft, dpo, messages)"
    ),
    "import": Command(_import, "DATASET [OPTIONS]", "teach a model the solved episodes of an export"),
    "bench": Command(_bench, "COMMAND ...", "benchmarks: run a suite, compare runs"),
    "doctor": Command(_doctor, "", "what is installed, what is missing, what to type"),
}
