"""Error rates of acceptance rules: exact, checked by simulation and by hand, and within what is promised."""

import re
from itertools import product
from math import comb
from pathlib import Path

import numpy as np
import pytest

from rla_envs.errors import InputError, UnknownNameError
from wrappers.acceptance import PosteriorRule, characteristics, make

RATES = np.linspace(0.05, 0.95, 19)
DOCS = Path(__file__).parents[3] / "docs" / "acceptance.md"


def binomial(wins, n, p):
    return comb(n, wins) * p**wins * (1 - p) ** (n - wins)


@pytest.mark.parametrize("direction", ["harder", "easier"])
def test_an_edit_without_effect_is_accepted_at_most_five_times_in_a_hundred_at_any_success_rate(direction):
    rule = make("posterior")
    results = [characteristics(rule, direction, p, p) for p in RATES]
    assert max(r.accepted for r in results) < 0.05
    assert max(r.asked * r.accepted for r in results) < 0.01


@pytest.mark.parametrize("group", [1, 4, 16])
def test_looking_more_or_less_often_keeps_the_promise(group):
    rule = make("posterior")
    assert max(characteristics(rule, "harder", p, p, group).accepted for p in (0.66, 0.7)) < 0.05


def test_the_papers_rule_accepts_most_edits_without_effect():
    rule = make("threshold")
    shares = [round(characteristics(rule, "harder", p, p).accepted, 2) for p in (0.5, 0.7, 0.8)]
    assert shares == [0.93, 0.79, 0.61]


def test_characteristics_of_the_papers_rule_are_the_double_sum_over_both_groups():
    rule, p, q = make("threshold"), 0.85, 0.55
    asked = accepted = 0.0
    for first, second in product(range(9), range(9)):
        if first / 8 >= 0.8:
            weight = binomial(first, 8, p) * binomial(second, 8, q)
            asked += weight
            accepted += weight * (rule.decide("harder", (first, 8), (second, 8)) == "accept")
    assert characteristics(rule, "harder", p, q) == pytest.approx((asked, accepted / asked, 8.0))


def simulate(rule, p, q, rng):
    """Follow the procedure as a trainer would; return the verdict and what it cost."""
    before, after = [0, 0], [0, 0]
    while True:
        version, rate = (before, p) if before[1] <= after[1] else (after, q)
        version[0] += int(rng.binomial(8, rate))
        version[1] += 8
        decision = rule.decide("harder", tuple(before), tuple(after))
        if decision != "more":
            return decision == "accept", before[1] + after[1]


@pytest.mark.parametrize(("p", "q"), [(0.65, 0.65), (0.9, 0.6)])
def test_characteristics_match_a_simulation(p, q):
    rule, rng = make("posterior"), np.random.default_rng(0)
    runs = np.array([simulate(rule, p, q, rng) for _ in range(3000)])
    expected = characteristics(rule, "harder", p, q)
    error = np.sqrt(expected.accepted * (1 - expected.accepted) / 3000)
    assert abs(runs[:, 0].mean() - expected.accepted) < 4 * error
    assert runs[:, 1].mean() == pytest.approx(expected.rollouts, rel=0.03)


def test_easier_edits_are_the_mirror_image_of_harder_ones():
    rule = make("posterior")
    easier = characteristics(rule, "easier", 0.1, 0.4)
    assert easier == pytest.approx(characteristics(rule, "harder", 0.9, 0.6))


def grown(rule, p, q, n, first, more):
    """Exact chance to accept where results of the edited task alone are added, unconditional on a trigger."""
    accepted = 0.0
    for won in range(n + 1):
        reach, m = {0: binomial(won, n, p)}, 0
        for size in [first] + [more] * 100:
            m += size
            following = {}
            for wins, weight in reach.items():
                for extra in range(size + 1):
                    at = wins + extra
                    following[at] = following.get(at, 0.0) + weight * binomial(extra, size, q)
            decisions = {wins: rule.decide("harder", (won, n), (wins, m)) for wins in following}
            accepted += sum(following[w] for w, d in decisions.items() if d == "accept")
            reach = {w: following[w] for w, d in decisions.items() if d == "more"}
            if not reach:
                break
        assert not reach, "the rule never came to a decision"
    return accepted


@pytest.mark.parametrize(("n", "first", "more"), [(8, 8, 8), (8, 8, 4), (16, 16, 8), (32, 32, 8)])
def test_adding_results_of_the_edited_task_alone_stays_below_five_percent_too(n, first, more):
    rule = make("posterior")
    assert max(grown(rule, p, p, n, first, more) for p in np.linspace(0.1, 0.95, 18)) < 0.05


def test_the_group_that_asked_for_an_edit_is_no_evidence():
    rule = make("posterior")
    # All of its weight on a group of 8 wins at a true rate of 0.5, which one group in 256 shows.
    given_eight_wins = grown(_Always(rule, 8), 0.5, 0.5, 8, 8, 8)
    assert given_eight_wins > 0.8
    assert characteristics(rule, "harder", 0.5, 0.5).accepted < 0.01


class _Always:
    """Shows a rule the same successes before, whatever they were."""

    def __init__(self, rule, successes):
        self.rule, self.successes = rule, successes

    def decide(self, direction, before, after):
        return self.rule.decide(direction, (self.successes, before[1]), after)


def test_clear_changes_are_found_with_fewer_rollouts_than_unclear_ones():
    rule = make("posterior")
    clear, unclear = (characteristics(rule, "harder", p, q) for p, q in [(0.95, 0.5), (0.85, 0.7)])
    assert clear.accepted > 0.9 > 0.3 > unclear.accepted
    assert clear.rollouts < 43 < unclear.rollouts < 64


def test_the_documented_table_is_what_is_computed():
    rules = [(make("threshold"), 8), (make("threshold"), 44), (make("posterior"), 8)]
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| (.*) \|$", DOCS.read_text(), re.MULTILINE)
    assert len(rows) == 17
    for before, after, shown in rows:
        found = [characteristics(rule, "harder", float(before), float(after), g) for rule, g in rules]
        shares = [f"{result.accepted:.3f}" for result in found]
        assert shown == " | ".join([*shares, f"{found[-1].rollouts:.1f}", f"{found[-1].asked:.4f}"])


def test_a_rule_that_never_decides_is_refused():
    class Undecided:
        def decide(self, direction, before, after):
            return "more"

    with pytest.raises(InputError, match="expected a decision within 1024 rollouts"):
        characteristics(Undecided(), "harder", 0.9, 0.5, group=128)


def test_an_unknown_direction_is_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'harder'"):
        characteristics(PosteriorRule(), "harde", 0.9, 0.5)
