"""Acceptance rules decide as stated, come to an end, and refuse what they cannot read."""

import numpy as np
import pytest
from scipy import integrate, stats

from rla_envs.errors import InputError, UnknownNameError
from wrappers.acceptance import PosteriorRule, acceptance_names, make


@pytest.mark.parametrize(
    ("direction", "before", "after"),
    [
        ("harder", (7, 8), (4, 8)),
        ("harder", (30, 32), (16, 32)),
        ("harder", (0, 0), (2, 8)),
        ("easier", (0, 8), (3, 16)),
        ("easier", (1, 32), (31, 32)),
        ("harder", (6.5, 8), (3.25, 8)),
    ],
)
def test_the_probability_is_the_integral_over_both_posteriors(direction, before, after):
    b, a = (stats.beta(won + 1, n - won + 1) for won, n in (before, after))

    def density(x):
        return a.pdf(x) * (b.sf(x) if direction == "harder" else b.cdf(x))

    expected, _ = integrate.quad(density, 0.2, 0.8)
    assert PosteriorRule().probability(direction, before, after) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("before", "after", "decision"),
    [
        ((8, 8), (8, 8), "more"),
        ((7, 8), (4, 8), "more"),
        ((30, 32), (16, 32), "accept"),
        ((30, 32), (30, 32), "reject"),
        ((30, 32), (2, 32), "reject"),
        ((15, 16), (0, 16), "reject"),  # never solved: not even its budget is spent
        ((90, 100), (50, 100), "accept"),
        ((90, 100), (89, 100), "reject"),
    ],
)
def test_harder_edits_are_decided_by_the_evidence(before, after, decision):
    assert PosteriorRule().decide("harder", before, after) == decision
    flipped = [(n - won, n) for won, n in (before, after)]
    assert PosteriorRule().decide("easier", *flipped) == decision


def test_nothing_is_accepted_before_the_minimum_however_clear():
    rule = PosteriorRule(minimum=24)
    assert rule.decide("harder", (64, 64), (11, 23)) == "more"
    assert rule.decide("harder", (64, 64), (12, 24)) == "accept"


@pytest.mark.parametrize("name", acceptance_names())
@pytest.mark.parametrize("direction", ["harder", "easier"])
def test_every_rule_comes_to_a_decision(name, direction):
    rule, rng = make(name), np.random.default_rng(0)
    for _ in range(200):
        p, q = rng.random(2)
        before, after, looks = (int(rng.binomial(8, p)), 8), (0, 0), 0
        while looks == 0 or rule.decide(direction, before, after) == "more":
            after = (after[0] + int(rng.random() < q), after[1] + 1)
            looks += 1
        assert looks <= 32


@pytest.mark.parametrize("name", acceptance_names())
def test_an_edit_that_is_never_solved_is_rejected(name):
    assert make(name).decide("harder", (8, 8), (0, 32)) == "reject"
    assert make(name).decide("easier", (0, 8), (0, 32)) == "reject"


@pytest.mark.parametrize("name", acceptance_names())
@pytest.mark.parametrize(
    "results",
    [(9, 8), (-1, 8), (float("nan"), 8), (1, float("inf")), (1,), None, "12", ("a", 2), (1, 10**400)],
)
def test_results_that_are_no_counts_are_refused(name, results):
    for arguments in [(results, (1, 8)), ((1, 8), results)]:
        with pytest.raises(InputError, match=r"(before|after): expected \(successes, rollouts\)"):
            make(name).decide("harder", *arguments)


@pytest.mark.parametrize(
    ("name", "kwargs", "message"),
    [
        ("posteriour", {}, "unknown acceptance rule 'posteriour'. Did you mean 'posterior'"),
        (3, {}, "unknown acceptance rule 3"),
        ("posterior", {"levl": 0.9}, "Did you mean 'level'"),
        ("posterior", {"level": 1.0}, "level: expected a number of 0 or more and below 1, got 1.0"),
        ("posterior", {"level": float("nan")}, "level: expected a number"),
        ("posterior", {"budget": 0}, "budget: expected an integer of 1 or more, got 0"),
        ("posterior", {"minimum": 40}, "minimum: expected at most the budget, got 40 and 32"),
        ("posterior", {"futility": 0.99}, "futility: expected less than level"),
        ("posterior", {"low": 0.9}, "expected 0 <= low < high <= 1, got 0.9 and 0.8"),
        ("threshold", {"high": None}, "expected 0 <= low < high <= 1"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(name, kwargs, message):
    with pytest.raises(InputError, match=message):
        make(name, **kwargs)


@pytest.mark.parametrize("name", acceptance_names())
def test_an_unknown_direction_is_refused(name):
    with pytest.raises(UnknownNameError, match="unknown direction 'hard'. Did you mean 'harder'"):
        make(name).decide("hard", (7, 8), (4, 8))
