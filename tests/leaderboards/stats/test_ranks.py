"""Ranks on data sets, and what a failure costs."""

import numpy as np
from scipy import stats

from leaderboards.stats import ranks

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


def test_the_higher_accuracy_and_the_coverage_nearer_to_nominal_rank_first(table):
    assert column(ranks(table({"d": {"a": [0.8], "b": [0.9]}}, "accuracy")), "rank") == {"a": 2, "b": 1}
    # a is 0.05 off on each split but right on average, which is what the mean shows
    coverage = table({"d": {"a": [0.85, 0.95], "b": [0.92, 0.92]}}, "coverage_90")
    assert column(ranks(coverage), "rank") == {"a": 1, "b": 2}


def test_infinite_losses_share_their_ranks(table):
    ranked = ranks(table({"d": {"a": [INF] * 4, "b": [INF] * 4}}))
    assert column(ranked, "rank") == {"a": 1.5, "b": 1.5}


def test_nothing_has_no_ranks(table):
    assert ranks(table({"d": {"a": [1, 2]}}).part([False, False])).empty
