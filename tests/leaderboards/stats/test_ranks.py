"""Ranks, their means, and what a failure costs."""

import numpy as np
import pytest
from scipy import stats

from leaderboards.stats import mean_ranks, ranks

INF = float("inf")
RNG = np.random.default_rng(0)


def column(frame, name: str) -> dict:
    return frame.set_index("method")[name].to_dict()


def test_ranks_are_scipys_of_the_means(table):
    values = RNG.normal(size=(4, 5))
    ranked = ranks(table({"d": dict(zip("abcde", values.T, strict=True))}))
    assert list(column(ranked, "rank").values()) == stats.rankdata(values.mean(axis=0)).tolist()


def test_equal_means_share_their_places(table):
    ranked = ranks(table({"d": {"a": [1, 2], "b": [2, 1], "c": [5, 5]}}))
    assert column(ranked, "rank") == {"a": 1.5, "b": 1.5, "c": 3}


def test_failures_and_absences_share_the_last_places_below_infinity(table):
    there = {"a": [2, 2], "b": [INF, 1], "c": [0, None]}
    ranked = ranks(table({"x": there, "y": {"d": [1, 1]}}))
    first = ranked[ranked["dataset"] == "x"]
    assert column(first, "rank") == {"a": 1, "b": 2, "c": 3.5, "d": 3.5}
    assert column(first, "failed") == {"a": False, "b": False, "c": True, "d": False}
    assert column(first, "not_run") == {"a": False, "b": False, "c": False, "d": True}


def test_a_method_that_skips_its_bad_data_set_does_not_gain(table):
    whole = {"good": {"a": [1, 1], "b": [2, 2]}, "bad": {"a": [2, 2], "b": [1, 1]}}
    skipped = {"good": whole["good"], "bad": {"b": [1, 1]}}
    honest, sly = (column(mean_ranks(table(tables)), "mean_rank")["a"] for tables in (whole, skipped))
    assert sly >= honest
    assert column(mean_ranks(table(skipped)), "n_not_run") == {"a": 1, "b": 0}


def test_the_higher_accuracy_and_the_coverage_nearer_to_nominal_rank_first(table):
    assert column(ranks(table({"d": {"a": [0.8], "b": [0.9]}}, "accuracy")), "rank") == {"a": 2, "b": 1}
    # a is 0.05 off on each split but right on average, which is what the mean shows
    coverage = table({"d": {"a": [0.85, 0.95], "b": [0.92, 0.92]}}, "coverage_90")
    assert column(ranks(coverage), "rank") == {"a": 1, "b": 2}


def test_mean_rank_is_that_over_data_sets(table):
    x, y = {"a": [1, 1, 1], "b": [2, 2, 2], "c": [3, 3, 3]}, {"a": [2, 2, 2], "b": [1, 1, 1], "c": [3, 3, 3]}
    found = mean_ranks(table({"x": x, "y": y}))
    assert column(found, "mean_rank") == {"a": 1.5, "b": 1.5, "c": 3}
    # of two data sets drawn with replacement a is first on both or neither a quarter of the time each
    assert (column(found, "low"), column(found, "high")) == ({"a": 1, "b": 1, "c": 3}, {"a": 2, "b": 2, "c": 3})
    assert column(found, "n_datasets") == {"a": 2, "b": 2, "c": 2}


def test_the_interval_of_one_data_set_comes_from_its_splits(table):
    # b beats a only where split 0 is not drawn: (4/5)^5 = 0.33 of resamples
    found = mean_ranks(table({"d": {"a": [0, 1, 1, 1, 1], "b": [9, 0, 0, 0, 0]}}))
    assert (column(found, "low")["a"], column(found, "high")["a"]) == (1, 2)


@pytest.mark.parametrize(("n_datasets", "n_splits"), [(1, 1), (1, 4), (2, 2), (4, 1)])
def test_fewer_than_five_splits_in_all_tell_nothing(table, n_datasets, n_splits):
    found = mean_ranks(table({str(d): {"a": [0] * n_splits, "b": [1] * n_splits} for d in range(n_datasets)}))
    assert column(found, "mean_rank") == {"a": 1, "b": 2}
    assert found[["low", "high"]].isna().all(axis=None)
    assert not found["behind"].any()


def test_five_that_agree_tell(table):
    found = mean_ranks(table({"d": {"a": [0] * 5, "b": [1] * 5}}))
    assert column(found, "behind") == {"a": False, "b": True}


def test_resamples_have_the_frequencies_of_the_bootstrap():
    from leaderboards.stats.bootstrap import resampled_means

    draws = resampled_means(np.array([[9.0], [0.0], [0.0]]), np.random.default_rng(0), 20_000)
    assert (draws == 0).mean() == pytest.approx((2 / 3) ** 3, abs=0.01)
    assert draws.mean() == pytest.approx(3.0, abs=0.05)
    infinite = resampled_means(np.array([[INF], [0.0], [0.0]]), np.random.default_rng(0), 20_000)
    assert np.isfinite(infinite).mean() == pytest.approx((2 / 3) ** 3, abs=0.01)


def test_one_method_is_first_and_nothing_gives_nothing(table):
    one = table({"d": {"a": [1, 2]}})
    assert column(mean_ranks(one), "mean_rank") == {"a": 1}
    assert ranks(one.part([False, False])).empty
    assert mean_ranks(one.part([False, False])).empty


def test_infinite_losses_share_their_ranks(table):
    ranked = ranks(table({"d": {"a": [INF] * 4, "b": [INF] * 4}}))
    assert column(ranked, "rank") == {"a": 1.5, "b": 1.5}
