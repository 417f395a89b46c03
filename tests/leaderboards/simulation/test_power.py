"""Detectable differences and needed numbers of splits and data sets, on leaderboards of known truth."""

from math import inf, sqrt

import numpy as np
import pytest

from lockstep_bench.leaderboards.simulation.drawing import BoardSize, Scenario, draw
from lockstep_bench.leaderboards.stats.corrected_pairs import all_pairs, effective
from lockstep_bench.leaderboards.stats.corrected_t import corrected_mean, detectable_errors, needed
from lockstep_bench.leaderboards.stats.sign_flips import compare

RATIO = BoardSize().ratio


def equal_methods(n_methods: int, n_datasets: int, n_splits: int) -> tuple[np.ndarray, float]:
    """Losses (D, S, M) of equally good methods, and the standard deviation over splits of a difference."""
    losses = draw(Scenario("equal"), BoardSize(n_methods, n_datasets, n_splits), np.random.default_rng(1)).losses
    return losses, float(np.sqrt((losses[..., 0] - losses[..., 1]).var(axis=1, ddof=1).mean()))


def found(losses: np.ndarray, difference: float) -> float:
    """Share of the data sets where the interval shows that the first method is worse by some true difference."""
    differences = losses[..., 0] - losses[..., 1] + difference
    return float(np.mean([corrected_mean(of_set, RATIO).low > 0 for of_set in differences]))


@pytest.mark.parametrize("n_splits", [5, 20])
def test_detectable_differences_have_80_percent_power(n_splits):
    losses, sd = equal_methods(2, 1000, n_splits)
    detectable = sd * sqrt(1 / n_splits + RATIO) * detectable_errors(n_splits - 1, 0.025)
    assert found(losses, detectable) == pytest.approx(0.8, abs=0.05)


def test_needed_splits_give_80_percent_power():
    n_splits = int(needed(1.2, RATIO, 0.025))
    for n, low, high in ((n_splits, 0.75, 0.87), (n_splits // 2, 0.0, 0.75)):
        losses, sd = equal_methods(2, 500, n)
        assert low <= found(losses, 1.2 * sd) <= high


def test_differences_below_the_floor_are_never_detected():
    """With 200 splits, a difference of 0.8 times the floor is found in fewer than four of five data sets."""
    effect = 0.8 * sqrt(RATIO) * detectable_errors(inf, 0.025)
    assert needed(effect, RATIO, 0.025) == inf
    losses, sd = equal_methods(2, 200, 200)
    assert found(losses, effect * sd) < 0.75


def test_verdicts_on_one_data_set_have_stated_power():
    """Among 8 methods and 20 splits, of pairs whose standard deviation is known."""
    losses, sd = equal_methods(8, 200, 20)
    told = []
    for of_set in losses:
        pairs = all_pairs(of_set, RATIO)
        n = effective(20, RATIO)
        shifted = of_set + sd / sqrt(n) * detectable_errors(n - 1, pairs.level) * np.eye(8)[0]
        told.append(all_pairs(shifted, RATIO).worse[0, 1])
    assert np.mean(told) == pytest.approx(0.8, abs=0.1)


def told_over_sets(gap: float, n_datasets: int) -> float:
    """Share of leaderboards that tell the last of six methods, worse by a gap, from another one."""
    rng = np.random.default_rng(3)
    losses = rng.normal(size=(200, n_datasets, 6)) + gap * np.eye(6)[5]
    return float(np.mean([compare(of_board).worse[5, 0] for of_board in losses]))


def test_verdicts_over_data_sets_have_stated_power():
    """On average over leaderboards, of which each estimates it from twelve data sets."""
    rng = np.random.default_rng(4)
    detectable = np.mean([np.median(compare(rng.normal(size=(12, 6))).detectable()) for _ in range(20)])
    assert 0.7 <= told_over_sets(float(detectable), 12) <= 0.95
    assert told_over_sets(float(detectable) / 2, 12) < 0.5


def test_needed_number_of_data_sets_gives_stated_power():
    gap = 1.5
    rng = np.random.default_rng(4)
    seen = compare(rng.normal(size=(200, 6)) + gap * np.eye(6)[5])
    n_datasets = int(seen.needed(5, 0))
    assert 0.7 <= told_over_sets(gap, n_datasets) <= 0.95
    assert told_over_sets(gap, n_datasets // 2) < 0.7
