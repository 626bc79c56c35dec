import dataclasses
import math

import numpy as np
import pytest

from benchmarks.bench.adaptive import AdaptivePlan, Posterior
from benchmarks.bench.suites import Cell, Suite
from rla_envs.errors import InputError
from tests.benchmarks.bench.made_run import made_trace

RUNGS, PRECISION = 20, 1.5
SUITE = Suite(
    name="ladder",
    protocol="adaptive",
    precision=PRECISION,
    cells=tuple(Cell(f"rung {i}", "RLATest/Toy-v0", 60) for i in range(RUNGS)),
)


def succeeds(rung, threshold, slope, rng):
    return rng.random() < 1 / (1 + math.exp(slope * (rung - threshold)))


def adaptive_test(threshold, slope, seed):
    """Play the test with an agent of known threshold; return what was found and what was played."""
    plan, rng, played = AdaptivePlan(SUITE, [60] * RUNGS), np.random.default_rng(seed), {}
    while batch := plan.batch(played):
        for episode in batch:
            won = succeeds(episode.cell, threshold, slope, rng)
            trace = made_trace(episode.position, "w" if won else "l")
            played[episode.position] = dataclasses.replace(trace, cell=SUITE.cells[episode.cell].name)
    return plan.threshold(played), played


def static_episodes(threshold, slope, seed):
    """Return how many episodes rung after rung give the same precision, judged by the same posterior."""
    posterior, rng, episodes = Posterior(RUNGS), np.random.default_rng(seed), 0
    while posterior.width > PRECISION:
        posterior.add(episodes % RUNGS, succeeds(episodes % RUNGS, threshold, slope, rng))
        episodes += 1
    return episodes


def test_it_takes_at_most_half_the_episodes_of_the_static_grid():
    adaptive, static = [], []
    for seed in range(12):
        rng = np.random.default_rng((seed, 1))
        threshold, slope = rng.uniform(1, RUNGS - 2), (1.0, 2.0)[seed % 2]
        adaptive.append(adaptive_test(threshold, slope, seed)[0].episodes)
        static.append(static_episodes(threshold, slope, seed))
    assert np.mean(adaptive) <= 0.5 * np.mean(static)


def test_the_interval_holds_the_true_threshold_as_often_as_it_says():
    found = []
    for seed in range(25):
        rng = np.random.default_rng((seed, 2))
        threshold = rng.uniform(0, RUNGS - 1)
        result, _ = adaptive_test(threshold, rng.choice([1.0, 2.0, 4.0]), seed)
        assert result.high - result.low <= PRECISION
        found.append(result.low <= threshold <= result.high)
    # 24 expected; below 21 the chance is one in a hundred.
    assert sum(found) >= 21


def test_what_is_played_next_follows_from_the_outcomes_alone():
    result, played = adaptive_test(6.3, 1.0, 5)
    plan = AdaptivePlan(SUITE, [60] * RUNGS)
    assert plan.batch(played) == []
    assert plan.threshold(dict(reversed(played.items()))) == result
    # Half of a batch was lost in a kill: the same episodes are asked for again.
    for missing in (4, 7):
        kept = {position: trace for position, trace in played.items() if position != missing}
        asked = plan.batch(kept)
        assert [episode.position for episode in asked] == [4, 5, 6, 7]
        assert SUITE.cells[asked[missing - 4].cell].name == played[missing].cell


def test_an_agent_that_always_wins_ends_at_the_top_and_tasks_never_repeat():
    plan, played, asked = AdaptivePlan(SUITE, [3] * RUNGS), {}, []
    while batch := plan.batch(played):
        asked += [(episode.cell, episode.number) for episode in batch]
        for episode in batch:
            name = SUITE.cells[episode.cell].name
            played[episode.position] = dataclasses.replace(made_trace(episode.position, "w"), cell=name)
    assert len(set(asked)) == len(asked)
    assert plan.threshold(played).high > RUNGS - 1


def test_broken_episodes_teach_nothing():
    plan = AdaptivePlan(SUITE, [60] * RUNGS)
    broken = {0: dataclasses.replace(made_trace(0, "i"), cell="rung 0")}
    assert plan.threshold(broken).value == pytest.approx(plan.threshold({}).value)


def test_a_ladder_has_three_rungs_or_more():
    with pytest.raises(InputError, match="three cells or more"):
        AdaptivePlan(SUITE, [5, 5])
