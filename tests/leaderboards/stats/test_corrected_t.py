"""The corrected resampled t, against baycomp, SciPy and statsmodels."""

from math import inf, isnan, nan

import baycomp
import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from lockstep_bench.leaderboards.stats.corrected_t import Mean, corrected_mean, detectable_errors, needed


def test_interval_equals_baycomp_for_ten_folds(rng):
    """baycomp takes 1 / 10 as the correlation of ten folds, which is the ratio 1 / 9."""
    differences = rng.normal(0.3, 1.0, 10)
    ours = corrected_mean(differences, 1 / 9)
    posterior = baycomp.CorrelatedTTest(np.zeros(10), differences)  # the second less the first
    low, high = stats.t.interval(0.95, posterior.df, posterior.mean, np.sqrt(posterior.var))
    assert (ours.low, ours.high) == pytest.approx((low, high))
    p_below = stats.t.cdf(-ours.mean / ours.stderr, 9)
    assert p_below == pytest.approx(posterior.probs()[0])


def test_interval_of_independent_differences_equals_scipy(rng):
    differences = rng.normal(size=7)
    expected = stats.ttest_1samp(differences, 0.0).confidence_interval(0.95)
    ours = corrected_mean(differences)
    assert (ours.low, ours.high) == pytest.approx(tuple(expected))


@pytest.mark.parametrize("n", [2, 4, 20])
def test_detectable_difference_equals_statsmodels(n, rng):
    differences = rng.normal(size=n)
    effect = TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8)
    assert corrected_mean(differences).detectable() == pytest.approx(effect * differences.std(ddof=1), rel=1e-4)


@pytest.mark.parametrize(("df", "alpha"), [(1, 0.05), (4, 0.05), (300, 0.05), (9, 0.01), (19, 0.001), (300, 0.001)])
def test_power_equals_statsmodels(df, alpha):
    size = detectable_errors(df, alpha / 2)
    power = TTestPower().power(size / np.sqrt(df + 1), df + 1, alpha / 2, alternative="larger")  # one-sided, as ours
    assert power == pytest.approx(0.8, abs=0.001)


def test_detectable_difference_is_finite_at_tiny_levels():
    assert detectable_errors(1, 1e-7) > detectable_errors(4, 1e-7) > detectable_errors(inf, 1e-7) > 6


def test_detectable_floor_is_the_limit_of_many_splits(rng):
    few = corrected_mean(rng.normal(size=5), 1 / 9)
    spread = few.stderr / np.sqrt(1 / 5 + 1 / 9)
    many = Mean(0.0, spread * np.sqrt(1e-8 + 1 / 9), nan, nan, 10**8, 1 / 9)
    assert many.detectable() == pytest.approx(few.floor(), rel=1e-5)
    assert corrected_mean(rng.normal(size=5)).floor() == 0


def test_p_value_equals_scipy(rng):
    differences = rng.normal(0.5, 1.0, 6)
    assert corrected_mean(differences).p_value == pytest.approx(stats.ttest_1samp(differences, 0.0).pvalue)


def test_needed_number_of_differences_equals_statsmodels():
    differences = np.array([0.1, 0.5, -0.2, 0.9, 0.3])
    effect = differences.mean() / differences.std(ddof=1)
    expected = TTestPower().solve_power(effect_size=effect, alpha=0.05, power=0.8)
    assert corrected_mean(differences).needed() == np.ceil(expected)


def test_shared_rows_can_make_no_number_enough():
    """With the ratio r no standard error falls below s sqrt(r), whatever the number of splits."""
    differences = np.array([0.1, 0.5, -0.2, 0.9, 0.3])  # 0.75 standard deviations
    assert corrected_mean(differences, 1 / 9).needed() == inf
    assert corrected_mean(differences, 1 / 99).needed() < inf


def test_constant_differences_need_no_further_splits():
    assert corrected_mean(np.full(3, 2.0)).needed() == 3
    assert corrected_mean(np.zeros(3)).needed() == inf
    assert corrected_mean(np.zeros(3)).detectable() == 0


@pytest.mark.parametrize(
    ("differences", "ratio", "mean"),
    [([2.0], 0.0, 2.0), ([1.0, 3.0], nan, 2.0), ([1.0, inf], 0.0, inf), ([1.0, nan], 0.0, nan), ([], 0.0, nan)],
)
def test_single_or_infinite_differences_give_no_interval(differences, ratio, mean):
    ours = corrected_mean(np.array(differences), ratio)
    assert ours.mean == pytest.approx(mean, nan_ok=True)
    assert all(map(isnan, (ours.low, ours.high, ours.detectable(), ours.needed())))


def test_differences_equal_up_to_rounding_have_zero_error():
    differences = np.array([30, 41, 52]) / 57 - np.array([29, 40, 51]) / 57
    assert np.ptp(differences) > 0
    found = corrected_mean(differences, 1 / 9)
    assert found.stderr == 0
    assert np.isnan(found.p_value)


def plain(n):
    return n - 1


def limited(n):
    """Degrees of freedom that grow up to a limit, as those of splits of the same rows do (`corrected_pairs`)."""
    return max(1 / (1 / n + 1 / 9) - 1, 1.0)


@pytest.mark.parametrize("df", [plain, limited])
@pytest.mark.parametrize("alpha", [0.025, 1e-5])
@pytest.mark.parametrize("ratio", [0.0, 1 / 9])
@pytest.mark.parametrize("effect", [0.04, 0.6, 1.1, 3.0, 12.0])
def test_needed_splits_are_the_smallest_sufficient_number(effect, ratio, alpha, df):
    def power(n):
        return effect / np.sqrt(1 / n + ratio) - detectable_errors(df(n), alpha)

    n = needed(effect, ratio, alpha, df)
    if n == inf:
        assert power(10_000) < 0
    else:
        assert power(n) >= 0
        assert n == 2 or power(n - 1) < 0
