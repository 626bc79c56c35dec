"""A lost step counts by the critic's votes against it, and is looked for only when somebody asks."""

import pickle

import numpy as np
import pytest

from tests.rla_envs.toy_env import ToyEnv
from wrappers import CriticFeedback, Episode, LostSteps, Step
from wrappers.curricula import Threshold


class DiagnosingToy(ToyEnv):
    """Calls every step without effect wrong, and every wait a delay."""

    asked = 0

    def lost_step_kinds(self, task, actions, effective):
        type(self).asked += 1
        kinds = []
        for action, worked in zip(actions, effective, strict=True):
            kinds.append("delay" if action == "wait" else "" if worked else "wrong door")
        return kinds


@pytest.fixture
def env():
    return DiagnosingToy()


def episode(env, *actions):
    task = env.sample_task(None, np.random.default_rng(0))
    steps = tuple(Step("", action, "", 0.0, "no" if action.endswith("?") else "") for action in actions)
    return Episode(task, steps, success=False, truncated=True)


@pytest.mark.parametrize(
    ("votes", "lost"),
    [
        ((), {"delay": 2.0, "wrong door": 1.0}),
        (((-1, -1), (-1, -1), (-1, -1), (1, 1)), {"delay": 2.0, "wrong door": 1.0}),
        (((1, 1), (-1, -1), (1, 1), (-1, -1)), {"wrong door": 1.0}),
        (((-1, 1), (0, 0), (1, 1), (1, 1)), {"delay": 0.5, "wrong door": 0.5}),
        (((-1, -1, 1),), {"delay": 2 / 3 + 1, "wrong door": 1.0}),
    ],
)
def test_a_lost_step_weighs_the_share_of_votes_against_it(env, votes, lost):
    found = LostSteps(env, episode(env, "wait", "open grey?", "wait", "open red"), votes)
    assert dict(found) == pytest.approx(lost)


def test_an_environment_that_cannot_tell_lost_nothing():
    env = ToyEnv()
    assert dict(LostSteps(env, episode(env, "wait", "open grey?"), ())) == {}


def test_pickled_it_is_a_plain_dict(env):
    lost = LostSteps(env, episode(env, "wait"), ())
    copy = pickle.loads(pickle.dumps(lost))
    assert (type(copy), copy) == (dict, {"delay": 1.0})


@pytest.mark.parametrize("asks", [False, True])
def test_an_episode_is_looked_into_only_for_an_editor(asks):
    class Editor:
        def __init__(self):
            self.told = []

        def propose(self, task, direction, feedback):
            self.told.append(feedback.lost_steps)
            return []

    DiagnosingToy.asked = 0
    env, editor = DiagnosingToy(step_budget=6), Editor()
    curriculum = Threshold(
        env.difficulty_space, slots=1, n=2, tasks=env, patience=None, editor=editor if asks else None
    )
    wrapped = CriticFeedback(env, curriculum=curriculum)
    wrapped.reset(seed=0)
    for _ in range(3):
        while not wrapped.step("wait")[3]:
            pass
        wrapped.reset()
    assert DiagnosingToy.asked == (3 if asks else 0)
    assert editor.told == ([{"delay": 12.0}] if asks else [])
