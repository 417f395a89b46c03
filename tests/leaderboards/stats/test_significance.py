"""Paired tests and Holm's adjustment, against SciPy and statsmodels."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from leaderboards.stats.significance import holm, paired_tests

RNG = np.random.default_rng(0)


def test_holm_by_hand():
    # 0.01 x 3, 0.02 x 2, 0.04 x 1; in the second, 0.03 x 1 is lifted to its forerunner's 0.04.
    assert holm(np.array([0.04, 0.01, 0.02])) == pytest.approx([0.04, 0.03, 0.04])
    assert holm(np.array([0.03, 0.02])) == pytest.approx([0.04, 0.04])
    assert holm(np.array([0.9, 0.8])) == pytest.approx([1.0, 1.0])


def test_holm_is_that_of_statsmodels():
    p_values = RNG.uniform(size=30) ** 3
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


def test_holm_leaves_out_what_was_not_tested():
    assert holm(np.array([np.nan, 0.02])) == pytest.approx([np.nan, 0.02], nan_ok=True)


def test_wilcoxon_needs_six_pairs_for_one_rival_and_more_for_several():
    differences = np.array([[1.0, 1.1, 1.2, 1.3, 1.4, 1.5]]).T
    assert paired_tests(differences, n_rivals=1).name == "wilcoxon"
    assert paired_tests(differences[:5], n_rivals=1).name == "t"
    assert paired_tests(differences, n_rivals=2).name == "t"  # 2^-5 > 0.05 / 2


@pytest.mark.parametrize(("n", "method"), [(8, stats.PermutationMethod()), (20, "auto"), (60, "auto")])
def test_many_wilcoxon_tests_at_once_are_scipys_one_by_one(n, method):
    rng = np.random.default_rng(n)
    differences = rng.normal(size=(n, 4)) + 0.2
    differences[:, 1] = np.round(differences[:, 1])  # zeros and ties
    differences[0, 2] = np.nan
    differences[0, 3] = np.inf
    found = paired_tests(differences, n_rivals=1)
    wanted = [stats.wilcoxon(column[~np.isnan(column)], method=method).pvalue for column in differences.T]
    assert found.p_value == pytest.approx(np.array(wanted))
    assert set(found.name) == {"wilcoxon"}
    assert found.sign[0] == np.sign(np.sign(differences[:, 0]) @ stats.rankdata(abs(differences[:, 0])))


@pytest.mark.parametrize("n", [8, 20])
def test_no_difference_anywhere_is_a_p_value_of_one(n):
    assert paired_tests(np.zeros((n, 2)), n_rivals=2).p_value.tolist() == [1.0, 1.0]


def test_t_tests_at_once_are_scipys_one_by_one():
    differences = RNG.normal(size=(4, 3))
    found = paired_tests(differences, n_rivals=3)
    assert found.p_value == pytest.approx(stats.ttest_1samp(differences, 0.0).pvalue)
