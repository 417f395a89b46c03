"""The probability of being the best, against the closed form of two methods."""

from math import nan

import numpy as np
import pytest
from scipy import stats

from lockstep_bench.leaderboards.stats.best_probability import SHARES, best_probabilities


@pytest.mark.parametrize("ratio", [0.0, 1 / 9])
def test_two_method_probability_equals_mixture_of_t_distributions(ratio):
    """Given the share B, the difference of two effects is a scaled t with n degrees of freedom."""
    losses = np.column_stack([np.zeros(12), np.where(np.arange(12) < 9, 1.0, -1.0)])
    score = stats.norm.ppf(0.75)
    scores = np.where(losses[:, 1:] > 0, [-score, score], [score, -score])
    means, h, n = scores.mean(axis=0), 1 / 12 + ratio, 12
    within, between = ((scores - means) ** 2).sum(), (means**2).sum() / h
    sums = within + SHARES * between
    weights = SHARES**0.5 * sums ** (-n / 2)
    scale = np.sqrt(2 * (1 - SHARES) * h * sums / n)
    first_is_lower = stats.t.cdf((1 - SHARES) * (means[1] - means[0]) / scale, n)
    expected = (weights * first_is_lower).sum() / weights.sum()
    assert best_probabilities(losses, ratio, 100_000)[0] == pytest.approx(expected, abs=0.006)


def test_probabilities_of_being_best_add_up_to_one(rng):
    assert best_probabilities(rng.normal(size=(5, 9))).sum() == pytest.approx(1)


def test_equal_methods_have_equal_probabilities(rng):
    probability = np.mean([best_probabilities(rng.normal(size=(6, 4))) for _ in range(150)], axis=0)
    assert probability == pytest.approx(np.full(4, 0.25), abs=0.06)


def test_method_first_on_every_set_is_certainly_best(rng):
    losses = rng.random((10, 5)) + np.array([0, 1, 1, 1, 1])
    assert best_probabilities(losses)[0] > 0.99


def test_failure_never_raises_the_probability_of_best(rng):
    losses = rng.normal(size=(6, 4))
    failed = losses.copy()
    failed[np.argmin(losses[:, 0]), 0] = nan
    assert best_probabilities(failed)[0] <= best_probabilities(losses)[0]


def test_probabilities_of_best_handle_edge_cases():
    assert best_probabilities(np.zeros((3, 1))).tolist() == [1]
    assert best_probabilities(np.zeros((3, 2))).tolist() == [0.5, 0.5]
    assert np.isnan(best_probabilities(np.zeros((1, 2)))).all()
    assert np.isnan(best_probabilities(np.zeros((3, 2)), nan)).all()
    assert best_probabilities(np.tile([1.0, 2.0, 3.0], (4, 1)))[0] > 0.99
