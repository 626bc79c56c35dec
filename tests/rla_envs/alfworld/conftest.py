"""One environment a module: making one costs more than most tests."""

import pytest


@pytest.fixture(scope="module")
def env():
    pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")
    from rla_envs.alfworld.env import AlfWorldEnv

    environment = AlfWorldEnv()
    yield environment
    environment.close()
