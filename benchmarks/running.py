"""What every measurement does around what it measures."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from typing import Any

from rla_envs.errors import RLAError


def exit_code(run: Callable[[], int]) -> int:
    """Run a command and return its exit code; an error of ours is one line on standard error, and 2."""
    try:
        return run()
    except RLAError as error:
        sys.stderr.write(f"{error}\n")
        return 2


def machine() -> dict[str, Any]:
    """Return what figures in seconds depend on, as JSON values."""
    return {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
