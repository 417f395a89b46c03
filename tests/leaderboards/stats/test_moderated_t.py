"""Pairs on one data set: against SciPy's paired t test, known priors and statsmodels' Holm."""

from math import inf, nan

import numpy as np
import pytest
from scipy import special, stats
from statsmodels.stats.multitest import multipletests

from leaderboards.stats.moderated_t import _inverse_trigamma, all_pairs, moderated, significantly_worse

RNG = np.random.default_rng(0)


def test_few_methods_have_scipys_paired_t():
    losses = RNG.normal(size=(6, 3))
    ours = all_pairs(losses, 0.0).p_values
    for m, k in ((0, 1), (1, 0), (2, 0)):
        assert ours[m, k] == pytest.approx(stats.ttest_rel(losses[:, m], losses[:, k], alternative="greater").pvalue)
    assert np.isnan(np.diag(ours)).all()


def test_ratio_widens_the_standard_error():
    losses = RNG.normal(size=(5, 2))
    t = stats.ttest_rel(losses[:, 0], losses[:, 1]).statistic * np.sqrt((1 / 5) / (1 / 5 + 1 / 9))
    assert all_pairs(losses, 1 / 9).p_values[0, 1] == pytest.approx(stats.t.sf(t, 4))


def test_moderation_recovers_a_known_prior():
    """Variances of 4 degrees of freedom whose true values are 2 x 8 / chi-squared(8): d0 = 8, s0^2 = 2."""
    true = 2.0 * 8 / RNG.chisquare(8, 20_000)
    observed = true * RNG.chisquare(4, 20_000) / 4
    shrunk, df = moderated(observed, 4)
    assert df == pytest.approx(12, rel=0.1)
    assert shrunk == pytest.approx((8 * 2.0 + 4 * observed) / 12, rel=0.1)


def test_moderation_pools_equal_variances():
    observed = np.full(50, 3.0)  # less spread than chi-squared variances have
    shrunk, df = moderated(observed, 4)
    assert df == inf
    assert shrunk == pytest.approx(3.0 * np.exp(np.log(2) - special.digamma(2)))


@pytest.mark.parametrize("value", [1e-4, 0.1, 1.0, 50.0])
def test_inverse_of_trigamma_inverts(value):
    assert special.polygamma(1, _inverse_trigamma(value)) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("gap", [0.0, 0.3, 1.0, 3.0, 30.0])  # between neighbouring methods: from none to all differ
def test_all_data_sets_are_one_holm_family(gap):
    datasets = [
        (RNG.normal(size=(5, 6)) + gap * np.arange(6), 1 / 9),
        (RNG.normal(size=(8, 4)) + gap * np.arange(4), 0.5),
    ]
    p_values = [all_pairs(*dataset).p_values for dataset in datasets]
    known = np.concatenate([p[~np.isnan(p)] for p in p_values])
    expected = multipletests(known, 0.05, "holm")[0]
    ours, level = significantly_worse([all_pairs(*dataset) for dataset in datasets])
    assert np.concatenate([w[~np.isnan(p)] for w, p in zip(ours, p_values, strict=True)]).tolist() == expected.tolist()
    assert level == 0.05 / (~expected).sum()
    assert any(w.any() for w in ours) == (gap >= 1)


def test_p_values_between_are_exact_there_and_bounded_elsewhere():
    losses = np.column_stack([RNG.normal(size=(5, 8)) + 3 * np.arange(8), np.full(5, nan)])
    pairs = all_pairs(losses, 1 / 9)
    p_values, bounded = pairs.p_values, pairs.p_values_between(1e-4, 0.1)
    between = (p_values >= 1e-4) & (p_values <= 0.1)
    assert between.any()
    assert bounded[between].tolist() == p_values[between].tolist()
    assert set(bounded[p_values < 1e-4]) == {0.0}
    assert set(bounded[p_values > 0.1]) == {1.0}
    assert np.isnan(bounded).tolist() == np.isnan(p_values).tolist()


def test_failed_and_infinite_methods_are_not_tested():
    losses = RNG.normal(size=(5, 4))
    losses[0, 1], losses[0, 2] = nan, inf
    p_values = all_pairs(losses, 0.0).p_values
    assert np.isnan(p_values[1]).all()
    assert np.isnan(p_values[:, 2]).all()
    assert p_values[0, 3] == pytest.approx(1 - p_values[3, 0])


def test_huge_variance_is_never_significantly_worse():
    """A mean of 1110 +- 1109 is not worse than 2 +- 0.1, and takes nothing from the others."""
    losses = 2 + 0.1 * RNG.normal(size=(5, 5))
    losses[:, 3] += 1.0
    losses[2, 4] = 5546.0
    ((worse,), _) = significantly_worse([all_pairs(losses, 1 / 9)])
    assert worse[3, :3].all()
    assert not worse[4].any()
    assert not worse[:, 4].any()


@pytest.mark.parametrize(("n_splits", "ratio"), [(1, 0.1), (5, nan)])
def test_too_little_knowledge_tests_nothing(n_splits, ratio):
    losses = np.tile(np.arange(4.0), (n_splits, 1))
    assert np.isnan(all_pairs(losses, ratio).p_values).all()
    ((worse,), _) = significantly_worse([all_pairs(losses, ratio)])
    assert not worse.any()
    assert significantly_worse([])[0] == []


def test_constant_differences_count_from_five_splits():
    assert all_pairs(np.tile([1.0, 2.0, 2.0], (5, 1)), 0.1).p_values[1].tolist() == pytest.approx(
        [0, nan, 0.5], nan_ok=True
    )
    assert np.isnan(all_pairs(np.tile([1.0, 2.0], (2, 1)), 0.1).p_values).all()


def test_equal_differences_of_shares_are_constant():
    right = (
        np.array([[30, 29], [41, 40], [52, 51], [33, 32], [38, 37]]) / 57
    )  # their differences are 1 / 57 and rounding
    assert np.isnan(all_pairs(right[:3], 0.1).p_values[0, 1])
    assert all_pairs(right, 0.1).p_values[0, 1] == 0
