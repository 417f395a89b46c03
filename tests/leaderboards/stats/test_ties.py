"""Who is best, who is tied, and when that cannot be told."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from leaderboards.stats.ties import holm, paired_tests, standings


def table_of(metric: str = "nmll", **methods) -> pd.DataFrame:
    """Standings from values per split by method; None for a split that did not finish, ... for one not run."""
    board = {"suite": "uci", "dataset": "d", "preset": "paper"}
    rows = [
        board | {"method": m, "metric": metric, "split": s, "value": v}
        for m, values in methods.items()
        for s, v in enumerate(values)
        if v is not ...
    ]
    cells = pd.DataFrame(rows)
    return standings(cells[cells["value"].notna()], cells).set_index("method")


def told(metric: str = "nmll", **methods) -> dict[str, str]:
    return table_of(metric, **methods)["standing"].to_dict()


RNG = np.random.default_rng(0)
BASE = RNG.normal(size=20)
NOISE = 0.01 * RNG.normal(size=20)


def test_a_consistent_gap_is_worse_and_noise_is_a_tie():
    assert told(a=BASE, b=BASE + 0.001 + NOISE, c=BASE + 1) == {"a": "best", "b": "tied", "c": "worse"}


def test_the_p_value_is_scipys_after_holm():
    b, c = BASE + 0.1 + 10 * NOISE, BASE + 0.2 + 10 * NOISE[::-1]
    table = table_of(a=BASE, b=b, c=c)
    raw = [stats.wilcoxon(b, BASE).pvalue, stats.wilcoxon(c, BASE).pvalue]
    assert table.loc[["b", "c"], "p_value"].tolist() == pytest.approx(holm(np.array(raw)))
    assert table.loc["b", "test"] == "wilcoxon"


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


def test_five_splits_are_told_by_a_paired_t_test():
    a, b = BASE[:5], BASE[:5] + 1 + NOISE[:5]
    table = table_of(a=a, b=b)
    assert table.loc["b", ["standing", "test", "n_pairs"]].tolist() == ["worse", "t", 5]
    assert table.loc["b", "p_value"] == pytest.approx(stats.ttest_rel(b, a).pvalue)


def test_two_splits_tell_nothing():
    assert told(a=[1.0, 1.0], b=[9.0, 9.0]) == {"a": "best", "b": "undecided"}


def test_a_single_method_is_not_called_best():
    assert told(a=[1.0, 2.0, 3.0]) == {"a": "alone"}


def test_equal_methods_are_tied_with_the_first_by_name():
    assert told(b=BASE, a=BASE) == {"a": "best", "b": "tied"}
    assert told(b=BASE[:4], a=BASE[:4]) == {"a": "best", "b": "tied"}


def test_a_constant_gap_over_few_splits_is_worse():
    assert told(a=[1.0, 2.0, 4.0], b=[2.0, 3.0, 5.0]) == {"a": "best", "b": "worse"}


def test_only_splits_that_both_finished_are_paired():
    b = [None, *(BASE[1:] + 1)]
    table = table_of(a=BASE, b=b)
    assert table.loc["b", "n_pairs"] == 19


def test_an_infinite_method_is_never_best():
    assert told(a=[np.inf, *BASE[1:] - 5], b=BASE)["b"] == "best"
    assert told(a=[np.inf] * 4, b=[np.inf] * 4) == {"a": "undecided", "b": "undecided"}


def test_infinite_splits_rank_last_for_wilcoxon_and_cannot_be_t_tested():
    assert told(a=BASE, b=[np.inf, np.inf, *BASE[2:] + 1])["b"] == "worse"
    assert told(a=[1.0, 2.0, 3.0], b=[np.inf, 2.0, 3.0])["b"] == "undecided"


def test_one_ruined_split_does_not_make_a_better_method_worse():
    # b is lower on 19 of 20 splits, so the test rejects, but against the order of the means.
    assert told(a=BASE, b=[BASE[0] + 1000, *BASE[1:] - 1]) == {"a": "best", "b": "tied"}


def test_accuracy_is_better_when_high():
    assert told("accuracy", a=BASE, b=BASE + 1) == {"a": "worse", "b": "best"}


def test_coverage_is_best_when_its_mean_is_nearest_to_nominal():
    near, over, under = 0.90 + 0.1 * NOISE, 0.97 + 0.1 * NOISE, 0.80 + 0.1 * NOISE[::-1]
    assert told("coverage_90", a=over, b=near, c=under) == {"a": "worse", "b": "best", "c": "worse"}


def test_counts_of_weights_have_no_best():
    assert table_of("n_weights", a=[1.0] * 3, b=[2.0] * 3).empty


def test_no_splits_no_standings():
    nothing = pd.DataFrame(columns=["suite", "dataset", "preset", "method", "metric", "split", "value"])
    assert standings(nothing, nothing).empty


def test_a_method_that_fails_on_the_hard_split_is_not_best():
    # without its failure b's mean is the lower one
    hard = [*BASE[:19], BASE[:19].mean() + 50]
    assert told(a=hard, b=[*BASE[:19] - NOISE[:19] - 0.001, None]) == {"a": "best", "b": "lacking"}
    assert told(a=hard, b=[*BASE[:19] + 1, None])["b"] == "worse"


def test_a_split_where_nobody_finished_is_nobodys_fault():
    assert told(a=[*BASE, None], b=[*BASE + 1, None]) == {"a": "best", "b": "worse"}


def test_where_everybody_lacks_something_nobody_is_best():
    assert told(a=[None, 1, 2, 3], b=[1, 2, 3, None]) == {"a": "undecided", "b": "undecided"}


def test_a_method_that_was_run_on_fewer_splits_is_compared_on_those():
    # b's one split is an easy one, where a is better still
    assert told(a=[1.0, 9.0, 9.0], b=[2.0, ..., ...]) == {"a": "best", "b": "undecided"}


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
