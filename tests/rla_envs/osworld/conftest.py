"""Real desktops for the tests, where the Debian packages are installed."""

import pytest

from rla_envs.osworld.desktop import packages
from rla_envs.osworld.desktop.opening import open_desktop


@pytest.fixture(scope="session")
def local_desktops():
    """Skip where no desktop can run."""
    missing = packages.missing()
    if missing:
        pytest.skip(f"a real desktop needs Debian packages: {' '.join(missing)}")


@pytest.fixture
def desktop(local_desktops):
    """A fresh desktop in a box of its own."""
    with open_desktop("local") as desktop:
        yield desktop


@pytest.fixture(scope="module")
def shared_desktop(local_desktops):
    """A desktop that the tests of a module share: for those that leave it as it was."""
    with open_desktop("local") as desktop:
        yield desktop
