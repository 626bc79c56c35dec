"""The interpreter that boxes on this machine run."""

from __future__ import annotations

import os
import sys


def base_interpreter() -> str:
    """Return the interpreter itself, where a virtual environment only has a link to it."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))
