"""Ranks and ranges, against SciPy's."""

import numpy as np
import pytest
import scipy.stats

from lockstep_bench.leaderboards.stats.ranks import range_quantile, ranks


def test_ranks_equal_scipys():
    rng = np.random.default_rng(0)
    losses = rng.integers(0, 6, (7, 9)).astype(float)
    losses[rng.random((7, 9)) < 0.2] = np.inf
    assert np.array_equal(ranks(losses), scipy.stats.rankdata(losses, axis=1))


def test_failures_share_the_last_ranks():
    assert ranks(np.array([[np.nan, 1.0, np.inf, 0.5]])).tolist() == [[3.5, 2.0, 3.5, 1.0]]


def test_no_data_sets_give_no_ranks():
    assert ranks(np.empty((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("n", [2, 3, 18, 200])
def test_range_quantile_equals_scipys_studentized_range(n):
    exact = scipy.stats.studentized_range.ppf(0.95, n, np.inf)
    assert range_quantile(0.95, n) == pytest.approx(exact, abs=1e-11)
