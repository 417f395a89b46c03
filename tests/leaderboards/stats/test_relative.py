"""Improvement over a reference, by hand."""

import numpy as np
import pytest
from scipy import stats

from leaderboards.stats import relative

INF = float("inf")


def overall(found, name="improvement") -> dict:
    return found.overall.set_index("method")[name].to_dict()


def test_nmll_is_a_difference_in_nats(table):
    found = relative(table({"x": {"map": [3, 4], "a": [2, 2]}, "y": {"map": [1], "a": [2]}}))
    assert found.unit == "nats"
    assert found.by_dataset["improvement"].tolist() == [1.5, -1.0]
    assert found.by_dataset["stderr"].iloc[0] == pytest.approx(stats.sem([1, 2]))
    assert overall(found) == {"a": 0.25}


def test_rmse_is_a_ratio_with_a_geometric_mean(table):
    found = relative(table({"x": {"map": [2, 2], "a": [1, 1]}, "y": {"map": [1], "a": [8]}}, "rmse"))
    assert found.unit == "times"
    assert found.by_dataset["improvement"].tolist() == [0.5, 8.0]
    assert overall(found)["a"] == pytest.approx(2.0)


def test_the_error_of_a_ratio_is_that_of_its_first_order_expansion(table):
    rng = np.random.default_rng(0)
    ours, theirs = 5 + 0.01 * rng.normal(size=400), 4 + 0.01 * rng.normal(size=400)
    stderr = relative(table({"d": {"map": theirs, "a": ours}}, "rmse")).by_dataset["stderr"].item()
    draws = rng.integers(400, size=(4000, 400))
    assert stderr == pytest.approx((ours[draws].mean(axis=1) / theirs[draws].mean(axis=1)).std(), rel=0.05)


def test_better_accuracy_and_coverage_are_above_zero(table):
    found = relative(table({"d": {"map": [0.8], "a": [0.9]}}, "accuracy"))
    assert (found.unit, overall(found)["a"]) == ("", pytest.approx(0.1))
    # 0.08 from nominal against 0.03
    assert overall(relative(table({"d": {"map": [0.98], "a": [0.87]}}, "coverage_90")))["a"] == pytest.approx(0.05)


def test_only_splits_that_all_were_tried_on_count(table):
    found = relative(table({"d": {"map": [3, 100], "a": [2]}}))
    assert found.by_dataset[["improvement", "n"]].to_numpy().tolist() == [[1.0, 1.0]]


def test_no_number_where_either_lacks_a_split(table):
    tables = {
        "x": {"map": [1, 2], "a": [0, None], "b": [0, 1]},
        "y": {"map": [None], "b": [0]},
        "z": {"map": [1], "b": [0]},
    }
    tables["y"]["c"] = [1]
    found = relative(table(tables)).overall.set_index("method")
    assert np.isnan(found.at["a", "improvement"])
    assert found.loc["a", ["n_datasets", "n_failed", "n_not_run"]].tolist() == [0, 1, 2]
    assert found.loc["b", ["improvement", "n_datasets"]].tolist() == [1.0, 2]


def test_infinite_values_stay_infinite(table):
    found = relative(table({"x": {"map": [1], "a": [INF]}, "y": {"map": [1], "a": [0]}}))
    assert overall(found) == {"a": -INF}


def test_the_interval_is_of_both_levels_and_the_same_every_time(table):
    rng = np.random.default_rng(1)
    tables = {f"d{i}": {"map": rng.normal(size=10) + 1, "a": rng.normal(size=10)} for i in range(8)}
    first, second = (relative(table(tables)).overall for _ in range(2))
    assert first.equals(second)
    low, middle, high = first.loc[0, ["low", "improvement", "high"]]
    assert low < middle < high
    # normal differences of variance 2: standard error sqrt(2 / 80) if data sets do not differ; two levels make it wider
    assert 2 * 1.96 * np.sqrt(2 / 80) < (high - low) * 1.3
    assert high - low < 3 * 2 * 1.96 * np.sqrt(2 / 80)


def test_four_splits_in_all_are_too_few_for_an_interval(table):
    x, y = {"map": [0.5, 0.4], "vifa": [0.1, 0.2]}, {"map": [0.5, 0.3], "vifa": [0.1, 0.2]}
    (one,) = relative(table({"x": x, "y": y})).overall.to_dict("records")
    assert one["improvement"] == pytest.approx((0.3 + 0.25) / 2)
    assert np.isnan([one["low"], one["high"]]).all()


def test_a_missing_reference_is_said(table):
    with pytest.raises(ValueError, match=r"reference 'map' has no results.*choose one of a"):
        relative(table({"d": {"a": [1]}}))


def test_no_data_sets_give_no_rows(table):
    found = relative(table({"d": {"map": [1], "a": [1]}}).part([False]))
    assert found.by_dataset.empty
    assert found.overall.empty
