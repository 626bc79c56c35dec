"""Whatever results come, in whatever order: proposals stay in the space and state stays finite."""

import json

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from rla_envs.errors import InputError
from tests.rla_envs.toy_env import ToyEnv
from wrappers.curricula import curriculum_names, make, propose_task

SPACE = spaces.Dict(
    {
        "size": spaces.Discrete(8, start=3),
        "wind": spaces.Box(0.0, 0.7, (), np.float32),
        "kind": spaces.Discrete(3),
    }
)
RESULTS = st.one_of(st.booleans(), st.floats(0.0, 1.0))
VOTES = st.lists(st.lists(st.sampled_from([-1, 0, 1]), max_size=3), max_size=3)
# What a member of a vector does next: start an episode, end its oldest or newest one, die, or resume a run.
ACTS = st.lists(
    st.tuples(st.sampled_from(["start", "start", "oldest", "newest", "die", "resume"]), RESULTS, VOTES),
    max_size=60,
)
SLOW = {"bayesopt": 6}


def play(curriculum, again, acts, rng, propose, observe):
    """Act on the curriculum; some results are never reported, others late."""
    running = []
    for act, result, votes in acts:
        if act == "start":
            running.append(propose(curriculum, rng))
        elif act == "die":
            running[:1] = []
        elif act == "resume":
            state = json.loads(json.dumps(curriculum.state_dict(), allow_nan=False))
            curriculum = again()
            curriculum.load_state_dict(state)
            assert curriculum.state_dict() == state
        elif running:
            observe(curriculum, running.pop(0 if act == "oldest" else -1), result, votes)
    return curriculum


@pytest.mark.parametrize("name", curriculum_names())
def test_over_a_bare_space(name):
    def propose(curriculum, rng):
        difficulty = curriculum.propose(rng)
        assert difficulty in SPACE
        return difficulty

    def observe(curriculum, difficulty, result, votes):
        curriculum.observe(difficulty, result, votes=votes, summary="It fell.")

    @settings(max_examples=SLOW.get(name, 30), deadline=None, database=None, derandomize=True)
    @given(ACTS)
    def check(acts):
        again = lambda: make(name, SPACE)  # noqa: E731
        curriculum = play(again(), again, acts, np.random.default_rng(0), propose, observe)
        json.dumps([curriculum.state_dict(), curriculum.events()], allow_nan=False)
        assert curriculum.explain()
        assert curriculum.propose(np.random.default_rng(1)) in SPACE

    check()


@pytest.mark.parametrize("acceptance", ["threshold", "posterior"])
def test_over_tasks_in_slots(acceptance):
    env = ToyEnv()

    def propose(curriculum, rng):
        task, _ = propose_task(curriculum, env, rng)
        assert env.check_task(task).valid
        return task

    def observe(curriculum, task, result, votes):
        curriculum.observe(task.difficulty, result, task=task, votes=votes)

    @settings(max_examples=40, deadline=None, database=None, derandomize=True)
    @given(ACTS)
    def check(acts):
        again = lambda: make(  # noqa: E731
            "threshold", env.difficulty_space, tasks=env, slots=2, n=2, acceptance=acceptance
        )
        curriculum = play(again(), again, acts, np.random.default_rng(0), propose, observe)
        json.dumps([curriculum.state_dict(), curriculum.events()], allow_nan=False)

    check()


@pytest.mark.parametrize("name", curriculum_names())
@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("space", [["size", 3, 11, False, []]], "expected space"),
        ("version", 0, "expected version 1, got 0"),
        ("version", None, "expected version 1, got None"),
    ],
)
def test_state_of_another_space_or_version_is_refused_and_changes_nothing(name, field, value, message):
    curriculum = make(name, SPACE)
    curriculum.observe(curriculum.propose(np.random.default_rng(0)), True)
    state = curriculum.state_dict()
    with pytest.raises(InputError, match=message):
        curriculum.load_state_dict({**state, field: value})
    assert curriculum.state_dict() == state
    other = make(name, spaces.Dict({**SPACE, "kind": spaces.Discrete(4)}))
    with pytest.raises(InputError, match="curriculum state: expected space"):
        other.load_state_dict(state)


@pytest.mark.parametrize("name", curriculum_names())
@pytest.mark.parametrize(
    "damage",
    [{"events": "ab"}, {"groups": {"wasted": ["x"], "open": {}}}, {"groups": {"wasted": [], "open": 3}}],
)
def test_state_that_would_not_read_back_as_itself_is_refused(name, damage):
    curriculum = make(name, SPACE)
    state = curriculum.state_dict()
    with pytest.raises(InputError, match="is damaged"):
        curriculum.load_state_dict({**state, **damage})
    assert curriculum.state_dict() == state


@pytest.mark.parametrize("name", curriculum_names())
def test_damage_anywhere_in_the_state_is_refused_or_harmless(name):
    curriculum, rng = make(name, SPACE), np.random.default_rng(0)
    for _ in range(12):
        curriculum.observe(curriculum.propose(rng), bool(rng.random() < 0.5))
    state = curriculum.state_dict()
    for field in set(state) - {"curriculum", "version", "space"}:
        for damage in (None, "x", -1, {"a": 1}, [float("nan")]):
            try:
                curriculum.load_state_dict({**state, field: damage})
            except InputError:
                assert curriculum.state_dict() == state
            else:
                assert all(curriculum.propose(rng) in SPACE for _ in range(5))
                curriculum.load_state_dict(state)
