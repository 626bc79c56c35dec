"""OSWorld's own task files, for the tests that read them."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[4].parent / "shared" / "data" / "osworld" / "examples"


def task_files():
    """Return the 369 official task files; skip the test where they are not at hand."""
    if not FOLDER.is_dir():
        pytest.skip(f"OSWorld's task files are not at {FOLDER}")
    # The folder also has a variant of one task, which is not among OSWorld's.
    return sorted(path for path in FOLDER.glob("*/*.json") if path.name != "test.json")


def task_file(prefix):
    """Return the official task file whose identifier begins with ``prefix``."""
    return next(path for path in task_files() if path.name.startswith(prefix))
