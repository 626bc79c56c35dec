"""What a run was made with: versions, commit, machine. Stated in ``config.toml``, never in the results."""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

_PACKAGES = ("rlanything", "gymnasium", "numpy", "alfworld", "textworld", "torch", "transformers")


def stamps(jobs: int) -> dict[str, str]:
    """Return the stamps of a run that starts now on this machine.

    Args:
        jobs: How many episodes are played at once.
    """
    found = {
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "jobs": str(jobs),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory_gib": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f}",
        "git": _commit(),
    }
    for name in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _commit() -> str:
    """Return the commit this code is from, with ``+`` if files differ from it; "" outside a repository."""
    folder = Path(__file__).parents[2]
    if not (folder / ".git").exists():
        return ""
    try:
        commit = _git(folder, "rev-parse", "HEAD").strip()
        return commit + ("+" if _git(folder, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", folder, *words], capture_output=True, text=True, timeout=20, check=True
    )
    return done.stdout
