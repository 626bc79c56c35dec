"""Thompson sampling: the posterior is the one computed by hand, and proposals follow it."""

import numpy as np
import pytest

from rla_envs.errors import InputError, UnknownNameError
from tests.rla_envs.toy_env import ToyEnv
from wrappers.curricula import Thompson


def bound(**kwargs):
    return Thompson(ToyEnv().difficulty_space, **kwargs)


def test_posterior_is_the_discounted_count_computed_by_hand():
    curriculum = bound(grid={"doors": [1, 3]}, discount=0.5, prior=(1.0, 2.0))
    curriculum.observe({"doors": 1, "colours": 4}, True)
    curriculum.observe({"doors": 3, "colours": 4}, 0.25)
    curriculum.observe({"doors": 1, "colours": 4}, False)
    # doors=1: (1,2) -> (2,2) -> (1.5,2) -> (1.25,2)+(0,1); doors=3: (1,2) -> (1.25,2.75) -> (1.125,2.375)
    assert curriculum.posterior == {(1,): (1.25, 3.0), (3,): (1.125, 2.375)}


def test_posterior_matches_the_closed_form_sum_over_a_long_stream():
    curriculum = bound(bins=3, discount=0.97)
    rng = np.random.default_rng(0)
    stream = [(int(rng.integers(1, 6)), int(rng.integers(2, 7)), float(rng.random())) for _ in range(200)]
    for doors, colours, value in stream:
        curriculum.observe({"doors": doors, "colours": colours}, value)
    for (doors, colours), (a, b) in curriculum.posterior.items():
        a_sum = b_sum = 0.0
        for age, (d, c, value) in enumerate(reversed(stream)):
            # Grid values are 1, 3, 5 and 2, 4, 6; a value between two belongs to the lower.
            if (d - (d % 2 == 0), c - c % 2) == (doors, colours):
                a_sum += 0.97**age * value
                b_sum += 0.97**age * (1 - value)
        assert (a, b) == pytest.approx((1 + a_sum, 1 + b_sum), rel=1e-12)


def test_bins_span_the_ranges_evenly():
    assert set(bound(bins=3).posterior) == {(d, c) for d in (1, 3, 5) for c in (2, 4, 6)}


def test_default_grid_takes_as_many_values_as_fit():
    assert set(bound().posterior) == {(d, c) for d in range(1, 6) for c in range(2, 7)}
    assert set(bound(max_cells=16).posterior) == {(d, c) for d in (1, 2, 4, 5) for c in (2, 3, 5, 6)}
    assert len(bound(parameters=["doors"]).posterior) == 5


def test_default_grid_leaves_out_parameters_that_do_not_fit():
    assert set(bound(max_cells=8).posterior) == {(1,), (3,), (5,)}


def test_proposals_prefer_the_uncertain_cell():
    curriculum = bound(grid={"doors": [1, 3, 5]}, discount=1.0)
    for _ in range(40):
        curriculum.observe({"doors": 1}, True)
        curriculum.observe({"doors": 5}, False)
    for result in (True, False) * 20:
        curriculum.observe({"doors": 3}, result)
    rng = np.random.default_rng(1)
    assert [curriculum.propose(rng)["doors"] for _ in range(50)] == [3] * 50


def test_proposal_frequencies_match_posterior_sampling():
    curriculum = bound(grid={"doors": [1, 5]}, discount=1.0)
    for result in (True, True, True, False):
        curriculum.observe({"doors": 1}, result)
    rng = np.random.default_rng(2)
    chosen = np.mean([curriculum.propose(rng)["doors"] == 1 for _ in range(4000)])
    other = np.random.default_rng(3)
    p, q = other.beta(4, 2, 200_000), other.beta(1, 1, 200_000)
    assert chosen == pytest.approx(np.mean(p * (1 - p) > q * (1 - q)), abs=0.03)


def test_parameters_outside_the_grid_keep_their_defaults():
    curriculum, rng = bound(parameters=["colours"]), np.random.default_rng(0)
    assert {curriculum.propose(rng)["doors"] for _ in range(20)} == {3}


def test_old_evidence_fades_to_the_prior_so_that_a_mastered_cell_is_tried_again():
    curriculum = bound(grid={"doors": [1, 5]}, discount=0.9)
    for _ in range(100):
        curriculum.observe({"doors": 1}, True)
    for _ in range(300):
        curriculum.observe({"doors": 5}, False)
    assert curriculum.posterior[(1,)] == pytest.approx((1.0, 1.0), abs=1e-9)
    rng = np.random.default_rng(0)
    assert 1 in {curriculum.propose(rng)["doors"] for _ in range(20)}


def test_explain_says_when_the_whole_grid_is_too_easy():
    curriculum = bound(grid={"doors": [1, 5]}, discount=1.0)
    for _ in range(20):
        curriculum.observe({"doors": 1}, True)
        curriculum.observe({"doors": 5}, True)
    assert "too easy: raise its values" in curriculum.explain()
    assert "100% of the last 4 groups were wasted" in curriculum.explain()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"discount": 1.1}, "discount: expected a number from 0.0 to 1.0, got 1.1"),
        ({"bins": 1}, "bins: expected an integer of 2 or more, got 1"),
        ({"bins": True}, "bins: expected an integer"),
        ({"prior": (0, 1)}, "prior: expected a number of 0.001 or more, got 0"),
        ({"prior": (1,)}, "prior: expected two numbers"),
        ({"prior": 3}, "prior: expected two numbers"),
        ({"parameters": 3}, "parameters: expected a list of different names"),
        ({"parameters": [["doors"]]}, "parameters: expected a list of different names"),
        ({"grid": {"doors": []}}, "grid of 'doors': expected a list of values"),
        ({"grid": {"doors": [3]}}, "expected a grid of 2 to 65536 cells, got 1 over doors"),
        ({"grid": {"doors": [1, 9]}}, "expected a value from 1 to 5, got 9"),
        ({"grid": {"doors": [1, 2]}, "parameters": ["doors"]}, "got both"),
        ({"parameters": "doors"}, "expected a list of different names"),
    ],
)
def test_arguments_out_of_range_are_refused(kwargs, message):
    with pytest.raises(InputError, match=message):
        bound(**kwargs)


def test_unknown_parameters_are_refused_with_a_suggestion():
    with pytest.raises(UnknownNameError, match="Did you mean 'doors'"):
        bound(grid={"door": [1, 2]})
    with pytest.raises(UnknownNameError, match="Did you mean 'colours'"):
        bound(parameters=["colors"])


def test_a_state_of_another_grid_is_refused():
    state = bound(grid={"doors": [1, 5]}).state_dict()
    with pytest.raises(InputError, match="use the same grid"):
        bound(grid={"doors": [1, 4]}).load_state_dict(state)


def test_a_grid_that_is_no_mapping_is_refused():
    with pytest.raises(InputError, match="expected a mapping"):
        bound(grid="receptacles")
