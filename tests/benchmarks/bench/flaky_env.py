"""The toy game on machinery that fails until a file is there."""

from pathlib import Path

import gymnasium as gym

from rla_envs.errors import InfrastructureError
from tests.rla_envs.toy_env import ToyEnv


class FlakyEnv(ToyEnv):
    """Its second step fails while ``mended`` does not exist."""

    def __init__(self, mended, **kwargs):
        super().__init__(**kwargs)
        self.mended = Path(mended)

    def _act(self, action):
        if self.steps == 1 and not self.mended.exists():
            raise InfrastructureError("the sandbox\ndied")
        return super()._act(action)


if "RLATest/Flaky-v0" not in gym.registry:
    gym.register("RLATest/Flaky-v0", entry_point="tests.benchmarks.bench.flaky_env:FlakyEnv")
