"""The Gaussian process finds the boundary of even success, follows it, and says what it lacks."""

import sys

import numpy as np
import pytest
from gymnasium import spaces

from rla_envs.errors import InputError, MissingExtraError, UnknownNameError
from tests.wrappers.curricula.learners import PLANE, hardness, practise, skilled
from wrappers.curricula import BayesOpt, make
from wrappers.curricula.registry import _BUILT_IN


def test_it_finds_the_boundary_in_a_mixed_space_with_a_category():
    space = spaces.Dict(
        {"x": spaces.Box(0.0, 1.0, (), np.float32), "y": spaces.Discrete(11), "kind": spaces.Discrete(2)}
    )

    def rate(d):  # the two kinds are even at different places
        return 1 / (1 + np.exp(20 * (hardness(d) - (0.3 if d["kind"] else 0.7))))

    curriculum, rng = BayesOpt(space, categorical=["kind"], memory=96), np.random.default_rng(0)
    practise(curriculum, rate, 40, rng, rollouts=4)
    proposals = [curriculum.propose(rng) for _ in range(60)]
    for kind, boundary in [(0, 0.7), (1, 0.3)]:
        found = [hardness(d) for d in proposals if d["kind"] == kind]
        assert len(found) > 2
        assert np.median(found) == pytest.approx(boundary, abs=0.15)
    success = np.array([rate(d) for d in proposals])
    assert np.mean(success * (1 - success)) > 0.12  # 0.25 is the most, uniform draws give 0.07


def test_it_follows_a_learner_whose_skill_jumps():
    curriculum, rng = BayesOpt(PLANE, memory=64, horizon=100), np.random.default_rng(0)
    for skill in (0.3, 0.7):
        practise(curriculum, skilled(skill, 20.0), 40, rng, rollouts=4)
        assert np.median([hardness(curriculum.propose(rng)) for _ in range(40)]) == pytest.approx(
            skill, abs=0.15
        )


def test_its_expectation_is_near_the_true_rate():
    curriculum, rng = BayesOpt(PLANE, memory=128), np.random.default_rng(0)
    rate = skilled(0.5, 10.0)
    practise(curriculum, rate, 30, rng)
    errors = []
    for _ in range(30):
        proposal = curriculum.next_proposal(rng)
        errors.append(float(proposal.reason.split()[2].rstrip(",")) - rate(proposal.difficulty))
    assert np.mean(np.abs(errors)) < 0.2


def test_shares_are_rounded_so_that_their_sum_stays():
    curriculum = BayesOpt(PLANE)
    for _ in range(100):
        curriculum.observe({"x": 0.5, "y": 5}, 0.4)
    won = [row[1] for row in curriculum.state_dict()["rows"]]
    assert sum(won) == pytest.approx(40, abs=1)


def test_memory_is_bounded():
    curriculum = BayesOpt(PLANE, memory=16)
    for i in range(100):
        curriculum.observe({"x": 0.5, "y": 5}, i % 2 == 0)
    assert len(curriculum.state_dict()["rows"]) <= 24


def test_without_its_library_it_says_what_to_install(monkeypatch):
    from wrappers.curricula import bayesopt

    bayesopt._sklearn.cache_clear()
    monkeypatch.setitem(sys.modules, "sklearn.gaussian_process", None)
    with pytest.raises(
        MissingExtraError, match=r"needs the 'bayes' extra .* pip install 'rlanything\[bayes\]'"
    ):
        make("bayesopt", PLANE)
    for name in set(_BUILT_IN) - {"bayesopt"}:
        make(name, PLANE)
    monkeypatch.undo()
    bayesopt._sklearn.cache_clear()
    make("bayesopt", PLANE)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"memory": 4}, "memory: expected an integer of 8 or more, got 4"),
        ({"horizon": 0}, "horizon: expected an integer of 1 or more"),
        ({"candidates": 1}, "candidates: expected an integer of 2 or more"),
        ({"categorical": "y"}, "categorical: expected a list of names, got 'y'"),
        ({"categorical": ["x"]}, "categorical: expected a parameter with separate values, got 'x'"),
    ],
)
def test_arguments_out_of_range_are_refused(kwargs, message):
    with pytest.raises(InputError, match=message):
        BayesOpt(PLANE, **kwargs)


def test_an_unknown_category_is_refused_with_a_suggestion():
    with pytest.raises(UnknownNameError, match="unknown difficulty parameter 'z'"):
        BayesOpt(PLANE, categorical=["z"])
