"""The rank correlation of two metrics: tables with known answers, and the coverage of its interval."""

import numpy as np
import pandas as pd
import pytest

from lockstep_bench.leaderboards.stats.rank_correlation import (
    interval_over_methods,
    over_suites,
    rank_correlation,
    sentence,
)

METRICS = ("rel_cov", "nmll")


def cells(distances, scores, **columns) -> pd.DataFrame:
    """Rows of methods on data sets; arguments (data sets, methods)."""
    rows = [
        {"dataset": f"set{d}", "method": f"method{m}", "rel_cov": distance, "nmll": score}
        for d, pairs in enumerate(zip(distances, scores, strict=True))
        for m, (distance, score) in enumerate(zip(*pairs, strict=True))
    ]
    return pd.DataFrame(rows).assign(suite="posterior", preset="quick", split=0, status="ok", **columns)


def test_tau_counts_concordant_pairs_of_methods():
    found = rank_correlation(cells([[1, 2, 3, 4]], [[1, 3, 2, 4]]), "posterior", "quick", METRICS)
    assert found.by_dataset["set0"] == (pytest.approx((5 - 1) / 6), 4)
    assert found.mean == pytest.approx(2 / 3)
    assert np.isnan(found.low)


def test_tau_is_positive_if_metrics_prefer_the_same_methods():
    high = cells([[1, 2, 3, 4]], [[0, 0, 0, 0]], accuracy=[0.9, 0.8, 0.7, 0.6])
    assert rank_correlation(high, "posterior", "quick", ("rel_cov", "accuracy")).mean == pytest.approx(1)
    low = cells([[1, 2, 3, 4]], [[9, 8, 7, 6]])
    assert rank_correlation(low, "posterior", "quick", METRICS).mean == pytest.approx(-1)


def test_failed_methods_are_left_out_where_they_failed():
    table = cells([[1, 2, 3, 4, 9]] * 2, [[1, 2, 3, 4, 0]] * 2)
    table.loc[(table["method"] == "method4") & (table["dataset"] == "set0"), ["status", "nmll"]] = ["failed", np.nan]
    found = rank_correlation(table, "posterior", "quick", METRICS)
    assert found.by_dataset["set0"] == (pytest.approx(1), 4)
    assert found.by_dataset["set1"] == (pytest.approx((6 - 4) / 10), 5)


def test_data_sets_with_few_methods_are_named_and_left_out():
    found = rank_correlation(cells([[1, 2, 3]], [[1, 2, 3]]), "posterior", "quick", METRICS)
    assert found.by_dataset == {}
    assert found.notes == ["Left out: set0, with fewer than 4 methods by both metrics."]


def test_data_sets_whose_reference_posterior_is_not_known_are_left_out_of_distances_alone():
    table = cells([[1, 2, 3, 4]] * 2, [[1, 2, 3, 4], [4, 3, 2, 1]], accuracy=[0.9, 0.8, 0.7, 0.6] * 2)
    table["reference"] = table["dataset"].map(
        {"set0": '{"samplers": "agree"}', "set1": '{"samplers": "unresolved", "kind": "hmc"}'}
    )
    found = rank_correlation(table, "posterior", "quick", METRICS)
    assert found.by_dataset.keys() == {"set0"}
    assert found.mean == pytest.approx(1)
    assert found.notes == [
        "Left out: set1. The two samplers of their reference posterior do not agree, so it is not known."
    ]
    assert rank_correlation(table, "posterior", "quick", ("accuracy", "nmll")).by_dataset.keys() == {"set0", "set1"}


def test_data_sets_made_from_the_same_rows_count_as_one():
    """Two networks on the rows of `gap` have the taus 1 and -1, so their mean of 0 is one of two numbers."""
    table = cells([[1, 2, 3, 4]] * 3, [[1, 2, 3, 4], [4, 3, 2, 1], [1, 2, 3, 4]])
    table["dataset"] = table["dataset"].map({"set0": "ref-gap-17", "set1": "ref-gap-50", "set2": "ref-power-50"})
    found = rank_correlation(table, "posterior", "quick", METRICS)
    assert found.mean == pytest.approx(1 / 2)
    half = 12.706 * np.std([0, 1], ddof=1) / np.sqrt(2)  # Student's t with one degree of freedom, cut at 1
    assert (found.low, found.high) == (max(1 / 2 - half, -1), 1)
    assert found.notes == ["Data sets made from the same rows count as one: 2 tables of rows."]


def test_interval_covers_the_expected_tau_of_drawn_data_sets():
    """Data sets draw both metrics anew around common ones, so the expected tau is that of many data sets."""
    rng = np.random.default_rng(0)

    def drawn(n_datasets: int) -> pd.DataFrame:
        quality = np.linspace(0, 2, 10)
        return cells(*(quality + rng.normal(size=(n_datasets, 10)) for _ in METRICS))

    truth = rank_correlation(drawn(400), "posterior", "quick", METRICS).mean
    covered = [
        one.low <= truth <= one.high
        for one in (rank_correlation(drawn(8), "posterior", "quick", METRICS) for _ in range(60))
    ]
    assert 0.85 < np.mean(covered) <= 1


def test_interval_over_methods_covers_the_tau_of_further_methods():
    """Methods draw two qualities of correlation r, data sets add noise: by Greiner's relation tau is 2/pi asin(r').

    With noise of the qualities' variance, r' is r / 2. The interval for given methods misses this tau more often.
    """
    rng, r = np.random.default_rng(1), 0.9
    truth = 2 / np.pi * np.arcsin(r / 2)
    covered, given = [], []
    for _ in range(25):
        qualities = rng.multivariate_normal([0, 0], [[1, r], [r, 1]], size=8)
        first, second = (quality + rng.normal(size=(5, 8)) for quality in qualities.T)
        found = rank_correlation(cells(first, second), "posterior", "quick", METRICS)
        low, high = interval_over_methods(found)
        covered.append(low <= truth <= high)
        given.append(found.low <= truth <= found.high)
    assert np.mean(covered) > 0.9
    assert np.mean(given) < np.mean(covered)


def test_interval_over_methods_needs_five_methods():
    few = rank_correlation(cells([[1, 2, 3, 4]] * 2, [[1, 2, 4, 3]] * 2), "posterior", "quick", METRICS)
    assert np.isnan(interval_over_methods(few)).all()


def test_suites_together_have_the_mean_over_their_data_sets():
    table = cells([[1, 2, 3, 4]] * 3, [[1, 2, 3, 4], [4, 3, 2, 1], [1, 3, 2, 4]])
    table.loc[table["dataset"] == "set0", "suite"] = "toy"
    found = {suite: rank_correlation(table, suite, "quick", METRICS) for suite in ("toy", "posterior")}
    together = over_suites(found)
    assert {name: one.tau for name, one in together.by_dataset.items()} == pytest.approx(
        {"toy/set0": 1, "posterior/set1": -1, "posterior/set2": 2 / 3}
    )
    assert together.mean == pytest.approx((1 - 1 + 2 / 3) / 3)


def test_sentence_names_metrics_and_interval():
    found = rank_correlation(cells([[1, 2, 3, 4]] * 3, [[1, 2, 3, 4]] * 3), "posterior", "quick", METRICS)
    assert sentence(found, METRICS) == (
        "Covariance, relative distance and NMLL: mean tau 1.00, 95 % interval 1.00 to 1.00, over 3 data sets."
    )
