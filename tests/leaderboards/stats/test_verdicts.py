"""The best method, ties with it, and cases that cannot be tested."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from leaderboards.stats.significance import holm
from leaderboards.stats.verdicts import verdicts


def table_of(metric: str = "nmll", **methods) -> pd.DataFrame:
    """Verdicts from values per split by method; None for a split that did not finish, ... for one not run."""
    board = {"suite": "uci", "dataset": "d", "preset": "paper"}
    rows = [
        board | {"method": m, "metric": metric, "split": s, "value": v}
        for m, values in methods.items()
        for s, v in enumerate(values)
        if v is not ...
    ]
    cells = pd.DataFrame(rows)
    return verdicts(cells[cells["value"].notna()], cells).set_index("method")


def verdict_of(metric: str = "nmll", **methods) -> dict[str, str]:
    return table_of(metric, **methods)["verdict"].to_dict()


RNG = np.random.default_rng(0)
BASE = RNG.normal(size=20)
NOISE = 0.01 * RNG.normal(size=20)


def test_a_consistent_gap_is_worse_and_noise_is_a_tie():
    assert verdict_of(a=BASE, b=BASE + 0.001 + NOISE, c=BASE + 1) == {"a": "best", "b": "tied", "c": "worse"}


def test_the_p_value_is_scipys_after_holm():
    b, c = BASE + 0.1 + 10 * NOISE, BASE + 0.2 + 10 * NOISE[::-1]
    table = table_of(a=BASE, b=b, c=c)
    raw = [stats.wilcoxon(b, BASE).pvalue, stats.wilcoxon(c, BASE).pvalue]
    assert table.loc[["b", "c"], "p_value"].tolist() == pytest.approx(holm(np.array(raw)))
    assert table.loc["b", "test"] == "wilcoxon"


def test_five_splits_are_told_by_a_paired_t_test():
    a, b = BASE[:5], BASE[:5] + 1 + NOISE[:5]
    table = table_of(a=a, b=b)
    assert table.loc["b", ["verdict", "test", "n_pairs"]].tolist() == ["worse", "t", 5]
    assert table.loc["b", "p_value"] == pytest.approx(stats.ttest_rel(b, a).pvalue)


def test_two_splits_tell_nothing():
    assert verdict_of(a=[1.0, 1.0], b=[9.0, 9.0]) == {"a": "best", "b": "untested"}


def test_a_single_method_is_not_called_best():
    assert verdict_of(a=[1.0, 2.0, 3.0]) == {"a": "alone"}


def test_equal_methods_are_tied_with_the_first_by_name():
    assert verdict_of(b=BASE, a=BASE) == {"a": "best", "b": "tied"}
    assert verdict_of(b=BASE[:4], a=BASE[:4]) == {"a": "best", "b": "tied"}


def test_a_constant_gap_over_few_splits_is_worse():
    assert verdict_of(a=[1.0, 2.0, 4.0], b=[2.0, 3.0, 5.0]) == {"a": "best", "b": "worse"}


def test_only_splits_that_both_finished_are_paired():
    b = [None, *(BASE[1:] + 1)]
    table = table_of(a=BASE, b=b)
    assert table.loc["b", "n_pairs"] == 19


def test_an_infinite_method_is_never_best():
    assert verdict_of(a=[np.inf, *BASE[1:] - 5], b=BASE)["b"] == "best"
    assert verdict_of(a=[np.inf] * 4, b=[np.inf] * 4) == {"a": "untested", "b": "untested"}


def test_infinite_splits_rank_last_for_wilcoxon_and_cannot_be_t_tested():
    assert verdict_of(a=BASE, b=[np.inf, np.inf, *BASE[2:] + 1])["b"] == "worse"
    assert verdict_of(a=[1.0, 2.0, 3.0], b=[np.inf, 2.0, 3.0])["b"] == "untested"


def test_one_ruined_split_does_not_make_a_better_method_worse():
    # b is lower on 19 of 20 splits, so the test rejects, but against the order of the means.
    assert verdict_of(a=BASE, b=[BASE[0] + 1000, *BASE[1:] - 1]) == {"a": "best", "b": "tied"}


def test_accuracy_is_better_when_high():
    assert verdict_of("accuracy", a=BASE, b=BASE + 1) == {"a": "worse", "b": "best"}


def test_coverage_is_best_when_its_mean_is_nearest_to_nominal():
    near, over, under = 0.90 + 0.1 * NOISE, 0.97 + 0.1 * NOISE, 0.80 + 0.1 * NOISE[::-1]
    assert verdict_of("coverage_90", a=over, b=near, c=under) == {"a": "worse", "b": "best", "c": "worse"}


def test_counts_of_weights_have_no_best():
    assert table_of("n_weights", a=[1.0] * 3, b=[2.0] * 3).empty


def test_no_splits_no_standings():
    nothing = pd.DataFrame(columns=["suite", "dataset", "preset", "method", "metric", "split", "value"])
    assert verdicts(nothing, nothing).empty


def test_a_method_that_fails_on_the_hard_split_is_not_best():
    # without its failure b's mean is the lower one
    hard = [*BASE[:19], BASE[:19].mean() + 50]
    assert verdict_of(a=hard, b=[*BASE[:19] - NOISE[:19] - 0.001, None]) == {"a": "best", "b": "failed"}
    assert verdict_of(a=hard, b=[*BASE[:19] + 1, None])["b"] == "worse"


def test_a_split_where_nobody_finished_is_nobodys_fault():
    assert verdict_of(a=[*BASE, None], b=[*BASE + 1, None]) == {"a": "best", "b": "worse"}


def test_where_everybody_lacks_something_nobody_is_best():
    assert verdict_of(a=[None, 1, 2, 3], b=[1, 2, 3, None]) == {"a": "untested", "b": "untested"}


def test_a_method_that_was_run_on_fewer_splits_is_compared_on_those():
    # b's one split is an easy one, where a is better still
    assert verdict_of(a=[1.0, 9.0, 9.0], b=[2.0, ..., ...]) == {"a": "best", "b": "untested"}
