"""Who ranks behind the best, against a maximum test whose resamples are all there."""

import itertools

import numpy as np
import pytest

from leaderboards.stats import mean_ranks
from leaderboards.stats.max_test import significantly_worse_than_best


def every_resample(ranks):
    """Means (D^D, M) over every way to draw D data sets of `ranks` (D, M) with replacement."""
    n = len(ranks)
    return np.array([ranks[list(drawn)].mean(axis=0) for drawn in itertools.product(range(n), repeat=n)])


def test_with_one_rival_it_is_the_bootstrap_test_of_one_mean():
    """Of five data sets the rival loses four: the distance 0.6 has the standard error 0.8 / sqrt(5)."""
    ranks = np.array([[1, 2], [1, 2], [1, 2], [1, 2], [2, 1]], float)
    draws = every_resample(ranks)
    distances = draws[:, 1] - draws[:, 0]
    assert distances.std() == pytest.approx(0.8 / np.sqrt(5))  # that of a mean of five draws of +1 or -1
    critical = np.quantile((distances - 0.6) / distances.std(), 0.95)
    assert list(significantly_worse_than_best(ranks.mean(axis=0), draws)) == [False, 0.6 / distances.std() > critical]


@pytest.mark.parametrize("n_rivals", [1, 20])
def test_rivals_that_are_as_good_are_seldom_called_behind_however_many_they_are(n_rivals):
    """Distances are independent standard normal, so that c is the normal quantile of 0.95^(1 / rivals)."""
    from scipy.stats import norm

    draws = np.random.default_rng(0).normal(size=(200_000, n_rivals + 1))
    draws[:, 0] = 0.0
    critical = norm.ppf(0.95 ** (1 / n_rivals))
    for distance, expected in ((critical - 0.05, False), (critical + 0.05, True)):
        means = np.array([0.0, distance, *[9.0] * (n_rivals - 1)])
        assert significantly_worse_than_best(means, draws)[1] == expected


def test_what_never_varies_is_behind_and_what_is_equal_is_not():
    means = np.array([2.0, 1.0, 1.0])
    assert list(significantly_worse_than_best(means, np.tile(means, (9, 1)))) == [True, False, False]


def test_mean_ranks_tell_it(table):
    values = {f"set {i}": {"a": [1.0], "b": [1.0 + (-1) ** i], "c": [9.0]} for i in range(8)}
    behind = mean_ranks(table(values)).set_index("method")["behind"]
    assert behind.to_dict() == {"a": False, "b": False, "c": True}
