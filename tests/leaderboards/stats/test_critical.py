"""Critical differences, against scikit-posthocs, SciPy and Demsar's paper."""

import numpy as np
import pandas as pd
import pytest
import scikit_posthocs
from scipy import stats

from leaderboards.stats import critical_difference
from leaderboards.stats.critical import joined_runs

RNG = np.random.default_rng(0)


def several(table, losses: np.ndarray):
    """Data sets x methods, of one split each."""
    return table({f"d{i:02}": {chr(97 + j): [v] for j, v in enumerate(line)} for i, line in enumerate(losses)})


def test_numbers_are_those_of_scipy_and_scikit_posthocs(table):
    losses = RNG.normal(size=(12, 4)) + np.array([0, 0.5, 1, 3])
    found = critical_difference(several(table, losses))
    names = list(found.mean_ranks.index)
    assert found.mean_ranks.sort_index().tolist() == pytest.approx(stats.rankdata(losses, axis=1).mean(axis=0).tolist())
    assert found.friedman == pytest.approx(stats.friedmanchisquare(*losses.T).pvalue)
    theirs = scikit_posthocs.posthoc_nemenyi_friedman(pd.DataFrame(losses, columns=list("abcd")))
    assert found.p_values.to_numpy() == pytest.approx(theirs.loc[names, names].to_numpy())
    assert found.n_datasets == 12


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (4, 2.569), (10, 3.164)])  # table 5 (a) of Demsar 2006
def test_the_critical_difference_is_demsars(table, k, q):
    found = critical_difference(several(table, RNG.normal(size=(14, k))))
    assert found.difference == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * 14)), rel=5e-4)


def test_bars_join_what_is_closer_than_the_critical_difference(table):
    found = critical_difference(several(table, RNG.normal(size=(20, 6)) + 0.6 * np.arange(6)))
    ranks = found.mean_ranks
    assert len(found.groups) > 1
    for group in found.groups:
        assert ranks[group[-1]] - ranks[group[0]] < found.difference
        before, after = ranks.index.get_loc(group[0]) - 1, ranks.index.get_loc(group[-1]) + 1
        assert before < 0 or ranks[group[-1]] - ranks.iloc[before] > found.difference
        assert after == len(ranks) or ranks.iloc[after] - ranks[group[0]] > found.difference


def test_runs_by_hand():
    def alike(*pairs):
        names = list("abcd")
        matrix = pd.DataFrame(np.eye(4), names, names)
        for one, other in pairs:
            matrix.loc[one, other] = matrix.loc[other, one] = 1.0
        return matrix

    assert joined_runs(alike()) == ()
    assert joined_runs(alike("ab", "bc", "cd")) == (("a", "b"), ("b", "c"), ("c", "d"))
    assert joined_runs(alike("ab", "ac", "bc", "cd")) == (("a", "b", "c"), ("c", "d"))
    assert joined_runs(alike("bc")) == (("b", "c"),)


def test_where_friedman_does_not_reject_one_bar_joins_all(table):
    losses = np.array([[1, 2, 3], [3, 1, 2], [2, 3, 1]])
    found = critical_difference(several(table, losses))
    assert found.friedman == pytest.approx(1.0)
    assert found.groups == (("a", "b", "c"),)


def test_equal_methods_are_not_told_apart(table):
    found = critical_difference(several(table, np.ones((5, 3))))
    assert found.friedman == 1.0
    assert found.groups == (("a", "b", "c"),)


def test_two_methods_are_told_by_the_sign_test(table):
    losses = np.column_stack([np.zeros(9), np.r_[np.ones(8), -1]])
    found = critical_difference(several(table, losses))
    # Friedman's chi-square of two methods is n d^2 = 9 (7/9)^2 with one degree of freedom
    assert found.friedman == pytest.approx(stats.chi2.sf(9 * (7 / 9) ** 2, 1), rel=1e-4)
    assert found.groups == ()


@pytest.mark.parametrize("shape", [(2, 4), (5, 1), (0, 2)])
def test_too_little_is_said_and_not_tested(table, shape):
    small = several(table, RNG.normal(size=shape)) if shape[0] else several(table, np.ones((1, 2))).part([False])
    found = critical_difference(small)
    assert f"{shape[1]} method" in found.not_tested
    assert f"on {shape[0]} data set" in found.not_tested
    assert found.groups == ()
    assert np.isnan(found.difference)


def test_data_sets_that_a_method_lacks_do_not_count(table):
    whole = {"a": [1.0], "b": [2.0]}
    found = critical_difference(table({"x": whole, "y": whole, "z": {"a": [None], "b": [1.0]}, "w": {"b": [1.0]}}))
    assert found.n_datasets == 2
    assert found.not_tested


def test_infinite_losses_rank_last(table):
    losses = np.array([[1, 2, np.inf]] * 6)
    found = critical_difference(several(table, losses))
    assert found.mean_ranks.to_dict() == {"a": 1, "b": 2, "c": 3}
    assert found.friedman == pytest.approx(stats.friedmanchisquare(*losses.T).pvalue)
