"""One sandbox for all tests of a module, where bubblewrap can make one."""

import pytest

from rla_envs.coding.sandbox import open_sandbox, why_unavailable


@pytest.fixture(scope="session")
def bubblewrap():
    reason = why_unavailable("bubblewrap")
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="module")
def sandbox(bubblewrap):
    with open_sandbox() as opened:
        yield opened
