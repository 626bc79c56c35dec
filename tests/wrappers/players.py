"""Environments, critics and small helpers that the wrapper tests share."""

import re

import gymnasium as gym

from rla_envs.errors import InfrastructureError, InvalidTaskError
from tests.rla_envs.toy_env import TOY_ID, ToyEnv
from wrappers import Proposal, Verdict

ADAPTIVE_ID = "RLATest/Toy-Adaptive-v0"

if ADAPTIVE_ID not in gym.registry:
    gym.register(ADAPTIVE_ID, entry_point="wrappers.critic_feedback:make_adaptive", kwargs={"env_id": TOY_ID})


class FragileToy(ToyEnv):
    """Its machinery breaks on the action "break"."""

    def _act(self, action):
        if action == "break":
            raise InfrastructureError("the engine died")
        return super()._act(action)


class PickyToy(ToyEnv):
    """Has no valid task with more than three doors."""

    max_attempts = 1

    def _sample_task(self, difficulty, rng):
        if difficulty["doors"] > 3:
            raise InvalidTaskError("only three doors were delivered")
        return super()._sample_task(difficulty, rng)


class RuleCritic:
    """Three votes a step: against a step that had no effect, for every other."""

    def __init__(self):
        self.episodes = []

    def judge(self, episodes):
        self.episodes.extend(episodes)
        return [
            Verdict(
                tuple((-1, -1, 0) if step.error else (1, 1, -1) for step in episode.steps),
                "" if episode.success else "Opened no door.",
            )
            for episode in episodes
        ]


class BrokenCritic:
    """Its server is gone."""

    def judge(self, episodes):
        raise InfrastructureError("the critic's server is gone")


class Recorder:
    """A curriculum that always proposes the default, and keeps what it is told."""

    name = "recorder"

    def __init__(self):
        self.seen = []

    def propose(self, rng):
        return {}

    def next_proposal(self, rng):
        return Proposal(self.propose(rng), None, "because")

    def observe(self, difficulty, success, **feedback):
        self.seen.append((dict(difficulty), success, feedback))

    def state_dict(self):
        return {"seen": len(self.seen)}

    def load_state_dict(self, state):
        self.seen = self.seen[: state["seen"]]

    def explain(self):
        return "records"


def solve(env, observation):
    """Play the notice to the end; return the last step's result."""
    for colour in re.match(r"Notice: (.*)", observation).group(1).split(", "):
        result = env.step(f"open {colour}")
    return result


def fail(env):
    """Do nothing useful until the budget ends; return the last step's result."""
    while True:
        result = env.step("wait")
        if result[2] or result[3]:
            return result


def play(env, episodes, win_if=lambda doors: doors <= 3, **reset):
    """Play episodes, won where ``win_if`` says so; return every observation and info, in order."""
    log = []
    for number in range(episodes):
        observation, info = env.reset(**(reset if number == 0 else {}))
        log.append((observation, info))
        won = win_if(info["rla"]["difficulty"]["doors"])
        log.append(solve(env, observation) if won else fail(env))
    return log
