"""The toy environment as a training loop meets it: splits, a known shortest plan, and faults on demand."""

import gymnasium as gym

from rla_envs.errors import InfrastructureError, unknown_name
from tests.rla_envs.toy_env import ToyEnv

DOORS_ID = "RLATest/Doors-v0"
SPLITS = ("train", "valid_unseen")


class DoorsEnv(ToyEnv):
    """Open the doors in the order on the notice, within six steps."""

    task_env_id = DOORS_ID

    def __init__(self, split="train", difficulty=None, render_mode=None, step_budget=6):
        if split not in SPLITS:
            raise unknown_name("split", split, SPLITS)
        super().__init__(difficulty, render_mode, step_budget)

    def optimal_plan(self):
        return tuple(f"open {colour}" for colour in self.task.payload["order"][self.opened :])


class FragileDoorsEnv(DoorsEnv):
    """Fails where a test says so; environments count themselves as they start their first episode."""

    @staticmethod
    def fault(number, episode, step, won):
        """Say whether the machinery fails now; step 0 is the reset."""
        return False

    started = 0
    number = None

    def _begin(self, task):
        if self.number is None:
            self.number, self.episode = FragileDoorsEnv.started, 0
            FragileDoorsEnv.started += 1
        self.episode += 1
        self.taken = 0
        return self._unless_broken(super()._begin(task))

    def _act(self, action):
        self.taken += 1
        return self._unless_broken(super()._act(action))

    def _unless_broken(self, turn):
        if self.fault(self.number, self.episode, self.taken, turn.success):
            raise InfrastructureError(f"environment {self.number} lost its sandbox")
        return turn


class BuggyDoorsEnv(DoorsEnv):
    """Has a fault of its own, which is no failure of the machinery."""

    def _act(self, action):
        return {}["no such key"]


for name, cls in (("Doors", DoorsEnv), ("FragileDoors", FragileDoorsEnv), ("BuggyDoors", BuggyDoorsEnv)):
    if f"RLATest/{name}-v0" not in gym.registry:
        gym.register(f"RLATest/{name}-v0", entry_point=f"tests.rla_agents.doors:{cls.__name__}")
