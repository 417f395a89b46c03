"""The win-rate matrix, by hand."""

import tracemalloc

import numpy as np

from lockstep_bench.leaderboards.stats import win_rates

INF = float("inf")


def test_win_rates_weigh_data_sets_equally_draws_half(table):
    found = win_rates(table({"x": {"a": [1, 1, 1, 1], "b": [2, 2, 2, 1]}, "y": {"a": [5], "b": [4]}}))
    assert found.rates.at["a", "b"] == (3.5 / 4 + 0) / 2
    assert found.rates.at["b", "a"] == 1 - found.rates.at["a", "b"]
    assert np.isnan(found.rates.at["a", "a"])
    assert found.n_datasets.at["a", "b"] == 2


def test_failure_loses_even_against_infinite_loss(table):
    rates = win_rates(table({"d": {"a": [INF], "b": [None], "c": [None]}})).rates
    assert rates.loc["a", ["b", "c"]].tolist() == [1, 1]
    assert rates.loc["b", ["a", "c"]].tolist() == [0, 0.5]


def test_equal_infinite_losses_draw(table):
    assert win_rates(table({"d": {"a": [INF], "b": [INF]}})).rates.at["a", "b"] == 0.5


def test_win_rates_use_only_shared_data_sets(table):
    found = win_rates(table({"x": {"a": [1, 1], "b": [2, ...]}, "y": {"b": [1], "c": [2]}}))
    assert found.rates.at["a", "b"] == 1
    assert np.isnan(found.rates.at["a", "c"])
    assert found.n_datasets.at["a", "c"] == 0


def test_overall_win_rate_averages_over_rivals(table):
    found = win_rates(table({"d": {"a": [1], "b": [2], "c": [3]}}))
    assert found.overall.to_dict() == {"a": 1.0, "b": 0.5, "c": 0.0}


def test_higher_accuracy_and_nearly_nominal_coverage_win(table):
    assert win_rates(table({"d": {"a": [0.8], "b": [0.9]}}, "accuracy")).rates.at["b", "a"] == 1
    assert win_rates(table({"d": {"a": [0.89], "b": [0.95]}}, "coverage_90")).rates.at["a", "b"] == 1


def test_single_method_has_no_win_rate(table):
    found = win_rates(table({"d": {"a": [1.0]}}))
    assert found.rates.shape == (1, 1)
    assert found.overall.isna().all()


def test_memory_does_not_grow_with_data_sets(table):
    """Comparisons of all pairs take 40 kB a split; eight data sets take no more than one."""
    rng = np.random.default_rng(0)
    one = {f"m{number}": rng.random(20).tolist() for number in range(70)}
    peaks = []
    for datasets in ({"d": one}, {f"d{number}": one for number in range(8)}):
        made = table(datasets)
        tracemalloc.start()
        win_rates(made)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
