"""One curriculum serves several environments: the same object here, a proxy across processes."""

import gymnasium as gym
import numpy as np
import pytest

from rla_envs.errors import InfrastructureError, InputError
from tests.rla_envs.toy_env import TOY_ID, ToyEnv
from tests.wrappers.players import Recorder
from wrappers import CriticFeedback, shared_curriculum
from wrappers.curricula import make

GRID = {"doors": [1, 5]}
SPACE = ToyEnv().difficulty_space


def evidence(state):
    """Number of episodes in a thompson posterior that does not forget."""
    return np.array(state["posterior"]).sum() - 2 * len(state["posterior"])


def run_vector(envs, seed, steps=32):
    envs.reset(seed=seed)
    log = []
    for _ in range(steps):
        observations, _, terminated, truncated, info = envs.step(("wait",) * envs.num_envs)
        log.append((observations, terminated.tolist(), truncated.tolist(), str(info["rla"]["difficulty"])))
    return log


def test_members_of_a_sync_vector_learn_into_one_object_reproducibly():
    def run():
        curriculum = make("thompson", SPACE, grid=GRID, discount=1.0)
        envs = gym.vector.SyncVectorEnv([lambda: CriticFeedback(ToyEnv(), curriculum)] * 3)
        return run_vector(envs, seed=3), curriculum.state_dict()

    (log, state), (log_2, state_2) = run(), run()
    assert evidence(state) == 9  # three members, three episodes each of ten steps and an automatic reset
    assert (log, state) == (log_2, state_2)


def test_workers_of_an_async_vector_learn_into_one_curriculum():
    curriculum = make("thompson", SPACE, grid=GRID, discount=1.0)
    with shared_curriculum(curriculum) as shared:
        envs = gym.vector.AsyncVectorEnv(
            [lambda: CriticFeedback(gym.make(TOY_ID), shared)] * 3, shared_memory=False
        )
        try:
            log = run_vector(envs, seed=3)
        finally:
            envs.close()
        assert all(text for text in log[0][0])
        assert evidence(shared.state_dict()) == 9
        assert "2 cells" in shared.explain()
        assert shared.name == "thompson"


def test_workers_share_slots_and_their_edits():
    with shared_curriculum(make("threshold", SPACE, tasks=ToyEnv(), slots=1, n=2)) as shared:
        envs = gym.vector.AsyncVectorEnv(
            [lambda: CriticFeedback(gym.make(TOY_ID), shared)] * 2, shared_memory=False
        )
        try:
            run_vector(envs, seed=0, steps=40)
        finally:
            envs.close()
        events = shared.events()
    assert {event["direction"] for event in events} == {"easier"}


def test_the_proxy_follows_the_callers_generator_and_restores_state():
    with shared_curriculum(make("uniform", SPACE)) as shared:
        first, again = (np.random.default_rng(7) for _ in range(2))
        proposals = [shared.propose(first) for _ in range(10)]
        assert proposals == [shared.propose(again) for _ in range(10)]
        assert len({str(proposal) for proposal in proposals}) > 3
        state = shared.state_dict()
        shared.observe({"doors": 1, "colours": 2}, True)
        assert shared.state_dict() != state
        shared.load_state_dict(state)
        assert shared.state_dict() == state


def test_errors_cross_the_process_border():
    class OneParameter(ToyEnv):
        difficulty_parameters = ToyEnv.difficulty_parameters[:1]

    with shared_curriculum(make("uniform", SPACE)) as shared:
        with pytest.raises(InputError, match="success: expected a bool"):
            shared.observe({"doors": 1}, -1)
        with pytest.raises(InputError, match="expected one over the free parameters doors, got one over"):
            CriticFeedback(OneParameter(), shared)


def test_a_proxy_outlived_by_nobody_reports_infrastructure():
    with shared_curriculum(Recorder()) as shared:
        assert shared.name == "recorder"
    with pytest.raises(InfrastructureError, match="shared curriculum is gone"):
        shared.propose(np.random.default_rng(0))
