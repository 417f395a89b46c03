"""Elimination over data sets, against enumerated permutations."""

import itertools
from math import inf, nan

import numpy as np
import pytest
from scipy import stats

from leaderboards.stats.elimination import critical_range, eliminate


@pytest.mark.parametrize(("n_datasets", "significant"), [(5, False), (6, True)])
def test_two_methods_have_the_sign_test(n_datasets, significant):
    """All of 5 sets agree by chance in 2 of 32 cases, all of 6 in 2 of 64."""
    worse = eliminate(np.tile([2.0, 1.0], (n_datasets, 1))).worse
    assert worse.tolist() == [[False, significant], [False, False]]


def test_critical_range_is_that_of_all_permutations():
    orders = np.array(list(itertools.permutations([1.0, 2.0, 3.0, 4.0])))
    ranges = np.array([np.ptp((a + b + c) / 3) for a, b, c in itertools.product(orders, repeat=3)])
    ours = critical_range(np.tile([1.0, 2.0, 3.0, 4.0], (3, 1)))
    values = np.unique(ranges)
    at = int(np.argmin(np.abs(values - ours)))
    assert values[at] == pytest.approx(ours)
    assert (ranges > ours + 1e-9).mean() <= 0.055  # that of 3999 random permutations
    assert (ranges > values[at - 1] + 1e-9).mean() > 0.045


def test_first_round_is_scipys_permutation_test():
    rng = np.random.default_rng(2)
    for shift in (0.0, 0.6, 1.2):
        ranks = stats.rankdata(rng.normal(size=(6, 5)) + shift * np.arange(5), axis=1)
        test = stats.permutation_test(
            tuple(ranks.T), lambda *columns: np.ptp(np.mean(columns, axis=1)), permutation_type="samples",
            n_resamples=3999, alternative="greater", rng=rng,
        )  # fmt: skip
        assert eliminate(ranks).worse.any() == (test.pvalue <= 0.05)
        assert abs(test.pvalue - 0.05) > 0.01, "a p-value that random permutations decide"


def test_order_of_data_sets_and_scale_do_not_count():
    losses = np.random.default_rng(0).normal(size=(8, 6)) + 2 * np.arange(6)
    worse = eliminate(losses).worse
    assert worse.any()
    assert (eliminate(np.exp(losses[::-1])).worse == worse).all()


def test_those_who_are_left_are_ranked_anew():
    """A crowd between the two best hides their difference until it is eliminated."""
    rng = np.random.default_rng(1)
    losses = np.column_stack([np.zeros(8), np.full(8, 0.1), 5 + rng.random((8, 10))])
    worse = eliminate(losses).worse
    assert worse[2:].any(axis=1).all()
    assert worse[1].tolist() == [True] + [False] * 11
    assert not worse[0].any()


def test_failures_share_the_last_ranks_with_infinities():
    losses = np.column_stack([np.zeros(8), np.full(8, nan), np.full(8, inf)])
    worse = eliminate(losses).worse
    assert worse[:, 0].tolist() == [False, True, True]
    assert not worse[1:, 1:].any()


@pytest.mark.parametrize("losses", [np.zeros((9, 5)), np.arange(3.0)[None], np.zeros((4, 1)), np.zeros((0, 3))])
def test_ties_and_single_data_sets_tell_nothing(losses):
    assert not eliminate(losses).worse.any()
