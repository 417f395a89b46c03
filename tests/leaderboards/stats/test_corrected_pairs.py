"""Pairs on one data set: against SciPy's t and statsmodels' Holm."""

from math import inf, nan

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from lockstep_bench.leaderboards.stats.corrected_pairs import all_pairs, effective


def one_sided(losses: np.ndarray, ratio: float) -> np.ndarray:
    """SciPy's p-values (M, M) that the row's method is worse, with the variance and the degrees of freedom of n."""
    n_splits, n_methods = losses.shape
    n = 1 / (1 / n_splits + ratio)
    p_values = np.full((n_methods, n_methods), nan)
    for m in range(n_methods):
        for k in set(range(n_methods)) - {m}:
            statistic = stats.ttest_rel(losses[:, m], losses[:, k]).statistic * np.sqrt(n / n_splits)
            p_values[m, k] = stats.t.sf(statistic, n - 1)
    return p_values


@pytest.mark.parametrize(
    ("n_splits", "ratio", "worth"), [(20, 1 / 9, 6.21), (5, 1 / 9, 3.21), (10, 0.0, 10), (9, 1, 0.9)]
)
def test_overlapping_splits_have_few_effective_experiments(n_splits, ratio, worth):
    assert effective(n_splits, ratio) == pytest.approx(worth, abs=0.005)


@pytest.mark.parametrize("gap", [0.0, 0.5, 1.0, 3.0, 30.0])  # between neighbouring methods: from none to all differ
@pytest.mark.parametrize(("n_splits", "ratio"), [(20, 1 / 9), (12, 0.0)])
def test_significance_marks_equal_scipy_with_holm(gap, n_splits, ratio):
    losses = np.random.default_rng(0).normal(size=(n_splits, 6)) + gap * np.arange(6)
    p_values = one_sided(losses, ratio)
    known = ~np.isnan(p_values)
    expected = multipletests(p_values[known], 0.05, "holm")[0]
    pairs = all_pairs(losses, ratio)
    assert pairs.worse[known].tolist() == expected.tolist()
    assert pairs.level == 0.05 / (~expected).sum()
    assert pairs.worse.any() == (gap >= 0.5)


def test_methods_with_failures_or_infinities_are_untested():
    losses = np.random.default_rng(1).normal(size=(12, 4)) + np.array([0, 0, 0, 9])
    losses[0, 1], losses[0, 2] = nan, inf
    pairs = all_pairs(losses, 0.0)
    assert pairs.worse.tolist() == [[False] * 4] * 3 + [[True, False, False, False]]
    assert np.isnan(pairs.spread[1]).all()


def test_method_of_huge_variance_is_never_significant():
    """A mean of 1110 +- 1109 is not worse than 2 +- 0.1, and takes nothing from the others."""
    losses = 2 + 0.1 * np.random.default_rng(2).normal(size=(20, 5))
    losses[:, 3] += 1.0
    losses[2, 4] = 5546.0
    worse = all_pairs(losses, 1 / 9).worse
    assert worse[3, :3].all()
    assert not worse[4].any()
    assert not worse[:, 4].any()


@pytest.mark.parametrize(("n_splits", "ratio"), [(1, 0.1), (20, nan), (20, 1.0), (8, 0.5), (0, 0.1)])
def test_few_independent_splits_are_not_tested(n_splits, ratio):
    """Halves of the same rows, and eight gaps, are worth less than two experiments."""
    noise = np.random.default_rng(3).normal(size=(n_splits, 4))
    pairs = all_pairs(100 * np.arange(4.0) + noise, ratio)
    assert not pairs.worse.any()
    assert np.isinf(pairs.detectable()).all()


def test_half_half_splits_can_need_more_data_sets():
    losses = np.random.default_rng(4).normal(size=(20, 3)) + np.array([0, 1.5, 3])
    assert all_pairs(losses, 1.0).needed(0, 2) == inf
    assert 2 < all_pairs(losses, 1 / 9).needed(0, 2) < inf


def test_constant_differences_are_significant_from_five_splits():
    losses = np.array([[1.0, 2.0, 2.0]])
    assert all_pairs(np.tile(losses, (5, 1)), 0.1).worse[:, 0].tolist() == [False, True, True]
    assert not all_pairs(np.tile(losses, (4, 1)), 0.1).worse.any()


def test_differences_equal_up_to_rounding_count_as_constant():
    right = np.array([[30, 29], [41, 40], [52, 51], [33, 32], [38, 37]]) / 57  # differ by 1 / 57 and rounding
    assert not all_pairs(right[:4], 0.1).worse.any()
    assert all_pairs(right, 0.1).worse[0, 1]
