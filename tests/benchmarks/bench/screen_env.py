"""The toy game with a screen: doors that are open are drawn white."""

import gymnasium as gym
import numpy as np

from rla_envs import Unicode
from tests.rla_envs.toy_env import ToyEnv


class ScreenEnv(ToyEnv):
    """Its observation is a Dict of the notice and a picture of 60 x 90."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        picture = gym.spaces.Box(0, 255, (60, 90, 3), np.uint8)
        self.observation_space = gym.spaces.Dict({"instruction": Unicode(400), "screenshot": picture})

    def _turn(self, text, error=""):
        turn = super()._turn(text, error)
        pixels = np.full((60, 90, 3), (20, 40, 160), np.uint8)
        pixels[:, : 10 * self.opened] = 255
        return turn._replace(observation={"instruction": text, "screenshot": pixels})


if "RLATest/Picture-v0" not in gym.registry:
    gym.register("RLATest/Picture-v0", entry_point="tests.benchmarks.bench.screen_env:ScreenEnv")
