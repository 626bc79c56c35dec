"""Every block of code in the README and on the site runs as it stands, or says why not.

A page is one session, in a folder of its own: its blocks share their names, and find the files that earlier
ones wrote. A block of Python or TOML whose first line is a comment with nothing but a file's name is also
written there. ``<!-- skip: next "reason" -->`` before a block keeps it from running.
"""

import re
import sys
import tomllib
from pathlib import Path
from unittest import SkipTest

import gymnasium as gym
import pytest
from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

from tests import console
from tests.rla_envs.toy_env import ToyEnv

ROOT = Path(__file__).parents[1]
# The programs of coding_grading.md run in the sandbox: tests/rla_envs/coding/test_grading_docs.py.
PAGES = [ROOT / "README.md", *sorted(set((ROOT / "docs").rglob("*.md")) - {ROOT / "docs/coding_grading.md"})]
LANGUAGES = ("python", "console", "toml")
FILE_NAME = re.compile(r"# ([\w.-]+\.(?:py|toml))\n")
# What such a block does before its other commands, those need.
NOT_RUN = {
    "make": "sets up the environment that these tests run in",
    "pip": "installs packages",
    "sudo": "changes the system",
}


class Maze(ToyEnv):
    """What the README's reader may have written."""

    def __init__(self, difficulty=None, render_mode=None, size=3):
        super().__init__({"doors": size, **(difficulty or {})}, render_mode)


def language(example):
    """Return a block's language; None for what is no block but a comment about blocks."""
    return (example.region.lexemes or {}).get("arguments")


def written(example):
    name = FILE_NAME.match(example.parsed)
    if name:
        Path(name[1]).write_text(example.parsed)


def parsed(example):
    words = console.commands(example.parsed)
    assert words, "expected a line that starts with '$ '"
    return words


def evaluate_console(example):
    for words in parsed(example):
        program = Path(words[0]).name
        if program in NOT_RUN:
            raise SkipTest(NOT_RUN[program])
    for words in parsed(example):
        console.run(words)


def evaluate_toml(example):
    tomllib.loads(example.parsed)


def check_only(example):
    """Check a block that is not to be run: Python compiles, commands have arguments that exist."""
    if language(example) == "python":
        compile(example.parsed, example.path, "exec")
    elif language(example) == "console":
        for words in parsed(example):
            console.read(words)


SYBIL = Sybil(
    [
        PythonCodeBlockParser(),
        CodeBlockParser("console", evaluate_console),
        CodeBlockParser("toml", evaluate_toml),
        SkipParser(),
    ]
)


@pytest.fixture(autouse=True)
def _session(tmp_path, monkeypatch):
    """A page's own folder, from which modules are imported too, as with ``python -m``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    if "Mine/Maze-v0" not in gym.registry:
        gym.register("Mine/Maze-v0", entry_point="tests.test_docs:Maze")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run(page, record_property):
    pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")
    ran, skipped = 0, []
    for example in SYBIL.parse(page).examples():
        if language(example):
            written(example)
        try:
            example.evaluate()
            ran += language(example) is not None
        except SkipTest as reason:
            check_only(example)
            skipped.append(f"line {example.line}: {reason}")
    record_property("ran", ran)
    record_property("not run", skipped)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_says_what_it_is(page):
    fences = re.findall(r"^[`:]{3,}(.*)\n(?:.*\n)*?[`:]{3,}$", page.read_text(), re.MULTILINE)
    for fence in fences:
        assert fence in (*LANGUAGES, "text", "json") or fence.startswith("{"), f"a block of kind {fence!r}"
