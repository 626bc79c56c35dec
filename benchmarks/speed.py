"""Measure how fast something here is, side by side with what it replaces.

Run it with ``python -m benchmarks.speed alfworld``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from benchmarks import alfworld_speed, coding_speed, gridnav_speed
from benchmarks.running import exit_code
from rla_envs.errors import unknown_name

SUBJECTS: dict[str, Callable[[Sequence[str]], int]] = {
    "alfworld": alfworld_speed.main,
    "coding": coding_speed.main,
    "gridnav": gridnav_speed.main,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one measurement; return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help"):
        sys.stdout.write(f"{(__doc__ or '').strip()}\n\nSubjects: {', '.join(SUBJECTS)}\n")
        return 0 if words else 2
    return exit_code(lambda: _run(words))


def _run(words: Sequence[str]) -> int:
    if words[0] not in SUBJECTS:
        raise unknown_name("subject", words[0], SUBJECTS)
    return SUBJECTS[words[0]](words[1:])


if __name__ == "__main__":
    sys.exit(main())
