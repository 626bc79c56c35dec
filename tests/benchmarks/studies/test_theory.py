"""The study of the two theorems agrees with counting, with simulation, and with itself."""

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy", reason="needs the 'bench' extra")
pytest.importorskip("matplotlib", reason="needs the 'bench' extra")

from benchmarks.studies import balance, precision, theory
from benchmarks.studies.output import panels, replace_part, write_figure
from rla_envs.errors import InputError

DOCS = Path(__file__).parents[3] / "docs"


def all_votes(m, p):
    """Return every sequence of m votes with its probability; ``p`` is that of +1."""
    for votes in itertools.product((1, -1), repeat=m):
        yield votes, math.prod(p if vote > 0 else 1 - p for vote in votes)


@pytest.mark.parametrize(("plus", "minus"), [("7/10", "3/5"), ("9/10", "3/10"), ("1/2", "2/5"), ("1", "0")])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_precision_is_what_counting_all_votes_gives(m, plus, minus):
    plus, minus = Fraction(plus), Fraction(minus)
    pairs = list(itertools.product(all_votes(m, plus), all_votes(m, 1 - minus)))
    strict = sum(p * q for (good, p), (bad, q) in pairs if sum(good) > sum(bad))
    ties = sum(p * q for (good, p), (bad, q) in pairs if sum(good) == sum(bad))
    exact = precision.exact(m, float(plus), float(minus))
    assert exact.strict == pytest.approx(float(strict))
    assert exact.half == pytest.approx(float(strict + ties / 2))


def test_simulated_precision_is_within_its_error_of_the_exact_one():
    drawn = precision.simulated(8, 0.7, 0.6, 20_000, np.random.default_rng(1))
    exact = precision.exact(8, 0.7, 0.6)
    assert drawn.strict == pytest.approx(exact.strict, abs=4 * 0.5 / math.sqrt(20_000))
    assert drawn.half == pytest.approx(exact.half, abs=4 * 0.5 / math.sqrt(20_000))


def test_precision_goes_to_one_above_mu_one_to_zero_below_and_to_a_half_at_it():
    assert precision.exact(4000, 0.6, 0.5).strict > 0.9999
    assert precision.exact(4000, 0.5, 0.4).half < 0.0001
    assert precision.exact(4000, 0.6, 0.4).half == pytest.approx(0.5)
    assert 0.49 < precision.exact(4000, 0.6, 0.4).strict < 0.5


def test_no_bound_exceeds_the_truth_and_each_is_tighter_than_the_one_before():
    lattice = theory._lattice()
    assert lattice["cases"] == len(theory.LATTICE_VOTES) * 210
    assert set(lattice["failures"].values()) == {0}
    published, hoeffding, chernoff = lattice["mean_gap"].values()
    assert published > hoeffding > chernoff > 0


def test_the_closed_form_of_chernoffs_bound_is_the_minimum_over_s():
    plus, minus, m = 0.8, 0.6, 5
    s = np.linspace(0.0, 5.0, 50_001)
    moment = (plus * np.exp(-s) + 1 - plus) * ((1 - minus) * np.exp(s) + minus)
    assert precision.chernoff_bound(m, plus, minus) == pytest.approx(1 - moment.min() ** m)


def test_correlated_votes_saturate_below_one_and_one_vote_knows_no_correlation():
    assert precision.exact(1, 0.7, 0.7, 0.3).strict == pytest.approx(precision.exact(1, 0.7, 0.7).strict)
    assert precision.exact(1024, 0.7, 0.7, 0.3).strict < 0.9


@pytest.mark.parametrize("weight", [0, 1, 2])
def test_reward_and_signal_are_what_counting_all_votes_gives(weight):
    q, plus, minus, m = Fraction(1, 4), Fraction(4, 5), Fraction(3, 5), 3
    reward, gradients = Fraction(0), []
    for chance, right, outcome in ((q, plus, 1), (1 - q, minus, -1)):
        gradient = Fraction(0)
        for agree, p in all_votes(m, right):
            votes = [outcome * a for a in agree]
            own = (outcome + Fraction(weight, m) * sum(votes)) * votes[0]
            score = 1 / right if agree[0] > 0 else -1 / (1 - right)
            reward += chance * p * own
            gradient += chance * p * own * score
        gradients.append(float(gradient))
    critic = balance.Critic(0.8, 0.6)
    assert balance.expected_reward(0.25, critic, m, weight) == pytest.approx(float(reward))
    assert balance.signal(0.25, critic, m, weight) == pytest.approx(gradients)
    drawn = balance.simulated_signal(0.25, critic, m, 100_000, np.random.default_rng(2), weight)
    assert drawn == pytest.approx(gradients, abs=0.06)


def test_the_paper_s_form_of_the_reward_holds_with_weights_that_are_not_negative():
    q, critic, m = 0.3, balance.Critic(0.8, 0.6), 3
    f_plus, f_minus = (
        chance * (1 / m + (1 - 1 / m) * p) for chance, p in zip((q, 1 - q), critic, strict=True)
    )
    constant = -2 * (q * critic.p_plus + (1 - q) * critic.p_minus)
    assert balance.expected_reward(q, critic, m) == pytest.approx(
        4 * (critic.p_plus * f_plus + critic.p_minus * f_minus) + constant
    )
    assert min(f_plus, f_minus) >= 0


def test_the_side_that_has_no_outcomes_is_not_trained():
    over_hard, over_easy = (balance.trained(q, theory.START, 3, 60, 0.3) for q in (0.001, 0.999))
    assert over_hard.p_plus < 0.61 < 0.9 < over_hard.p_minus
    assert over_easy.p_minus < 0.61 < 0.9 < over_easy.p_plus


def test_the_page_and_its_figures_are_what_the_study_writes(tmp_path):
    page = DOCS / theory.PAGE
    (tmp_path / theory.PAGE).write_text(page.read_text())
    assert theory.main(["--quiet", "--docs", str(tmp_path)]) == 0
    assert (tmp_path / theory.PAGE).read_text() == page.read_text()
    for name in ("theory_precision.svg", "theory_balance.svg"):
        drawn = (tmp_path / "figures" / name).read_bytes()
        assert drawn == (DOCS / "figures" / name).read_bytes()


def test_a_figure_has_the_same_bytes_every_time(tmp_path):
    for name in ("a.svg", "b.svg"):
        figure, axes = panels(1)
        axes[0].plot([0, 1], [1, 0])
        write_figure(figure, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_page_without_the_place_for_a_table_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("nothing\n")
    with pytest.raises(InputError, match="expected the lines <!-- rates --> and <!-- end of rates --> once"):
        replace_part(page, "rates", "text")


def test_fewer_than_one_pair_is_refused():
    with pytest.raises(InputError, match="--pairs: expected 1 or more, got 0"):
        theory.main(["--pairs", "0"])
