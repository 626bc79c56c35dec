"""Command lines of console blocks: run in this process, or read by the real parsers and not run."""

import argparse
import contextlib
import re
import runpy
import shlex
import sys
import tomllib
import warnings
from pathlib import Path
from unittest import mock

import tyro

from rla_agents import cli

ROOT = Path(__file__).parents[1]


class ReadError(Exception):
    """Stops a program as soon as its command line has been read."""


def commands(block):
    """Return the words of every command of a block: of the lines that start with "$ "."""
    joined = block.replace("\\\n", " ")
    return [shlex.split(line[2:], comments=True) for line in joined.splitlines() if line.startswith("$ ")]


def run(words):
    """Run a command in this process; it must succeed."""
    program, arguments = _program(words)
    assert program is not None, f"cannot be run here: {shlex.join(words)}; say why with a skip comment"
    code = program(arguments)
    assert code == 0, f"exit code {code}: {shlex.join(words)}"


def read(words):
    """Check a command that is not run as far as it goes without running it."""
    program, arguments = _program(words)
    if program is not None:
        _read_arguments(program, arguments)
    elif words[0] == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert set(words[1:]) <= set(targets)
    elif Path(words[0]).name == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        named = re.findall(r"\[([\w,]+)\]", " ".join(words))
        assert set(",".join(named).split(",")) - {""} <= set(extras)


def _program(words):
    """Return the main function that a command names, and its arguments; None if it is no program of ours."""
    name = Path(words[0]).name
    if name == "rla":
        return cli.main, words[1:]
    if name == "python" and words[1] == "-m":
        return lambda arguments: _run_module(words[2], arguments), words[3:]
    return None, words[1:]


def _run_module(name, arguments):
    """Run a module as ``python -m`` does, and return its exit code."""
    with mock.patch.object(sys, "argv", [name, *arguments]), warnings.catch_warnings():
        # That it was imported before, by another test.
        warnings.filterwarnings("ignore", message=".*found in sys.modules", category=RuntimeWarning)
        try:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        except SystemExit as stop:
            return stop.code or 0
        return 0


def _read_arguments(program, arguments):
    """Let a program read its command line by whatever parser it has, and stop it there."""
    parse_args, read_with_tyro = argparse.ArgumentParser.parse_args, tyro.cli

    def argparse_only(parser, *given):
        parse_args(parser, *given)
        raise ReadError

    def tyro_only(*given, **options):
        read_with_tyro(*given, **options)
        raise ReadError

    with (
        mock.patch.object(argparse.ArgumentParser, "parse_args", argparse_only),
        mock.patch.object(tyro, "cli", tyro_only),
        contextlib.suppress(ReadError),
    ):
        code = program(arguments)
        assert code == 0, f"refused with exit code {code}: {arguments}"
