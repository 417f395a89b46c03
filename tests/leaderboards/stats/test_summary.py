"""Means, standard errors, and what must not be averaged together."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lockstep_bench.leaderboards.stats.summary import per_split, summarise, with_labelled_presets


def line(summary: pd.DataFrame, metric: str = "nmll", **where):
    for column, value in where.items():
        summary = summary[summary[column] == value]
    (found,) = summary[summary["metric"] == metric].itertuples()
    return found


def test_summary_has_mean_standard_error_and_median(cells):
    values = [1.0, 2.0, 6.0]
    found = line(summarise(cells(*({"split": s, "nmll": v} for s, v in enumerate(values)))))
    assert (found.mean, found.median, found.n, found.n_failed) == (3.0, 2.0, 3, 0)
    assert found.sem == pytest.approx(np.sqrt(7 / 3))  # deviations -2, -1, 3: variance 14 / 2
    assert found.sem == pytest.approx(stats.sem(values))


def test_standard_error_allows_for_overlapping_splits(cells):
    """Resampled 90/10 splits have r = 1/9; images share one test part, and their r is unknown."""
    rows = [{"dataset": d, "split": s, "nmll": v} for d in ("energy", "mnist") for s, v in enumerate([1.0, 2.0, 6.0])]
    summary = summarise(cells(*rows))
    assert line(summary, dataset="energy").stderr == pytest.approx(np.sqrt(7 * (1 / 3 + 1 / 9)))
    assert line(summary, dataset="mnist").stderr == pytest.approx(np.sqrt(7 / 3))


def test_one_split_has_no_standard_error(cells):
    found = line(summarise(cells({"nmll": 1.5})))
    assert (found.mean, found.n) == (1.5, 1)
    assert np.isnan(found.stderr)


def test_infinite_split_affects_the_mean_not_the_median(cells):
    found = line(summarise(cells(*({"split": s, "nmll": v} for s, v in enumerate([1.0, 2.0, np.inf])))))
    assert (found.mean, found.median, found.n) == (np.inf, 2.0, 3)
    assert np.isnan(found.stderr)


@pytest.mark.parametrize(
    ("values", "ruined", "farthest"),
    [
        ([2.2, 2.3, 2.31, 2.4, 13.8], True, 13.8),
        ([2.2, 2.3, 2.31, 2.4, 2.5], False, 2.5),
        ([1.0, 1.1, 9.0], False, 9.0),  # too few splits to know
        ([0.97, 0.97, 0.97, 0.97, 0.96], False, 0.96),
        ([1.0, 2.0, 1.5, 1.2, np.inf], True, np.inf),
    ],
)
def test_splits_that_ruin_the_mean_are_detected(cells, values, ruined, farthest):
    found = line(summarise(cells(*({"split": s, "nmll": v} for s, v in enumerate(values)))))
    assert (found.ruined, found.farthest) == (ruined, farthest)


def test_failures_are_counted_but_not_averaged(cells):
    table = cells(
        {"split": 0, "nmll": 1.0, "fit_seconds": 2.0},
        {"split": 1, "status": "failed", "error": "out of memory", "fit_seconds": 900.0},
        {"split": 2, "status": "diverged"},
    )
    summary = summarise(table)
    assert (line(summary).n, line(summary).n_failed) == (1, 2)
    assert line(summary, "fit_seconds").mean == 2.0


def test_method_without_finished_cells_is_listed(cells):
    summary = summarise(cells({"nmll": 1.0, "rmse": 2.0}, {"method": "map", "status": "failed"}))
    for metric in ("nmll", "rmse"):
        found = line(summary, metric, method="map")
        assert (found.n, found.n_failed) == (0, 1)
        assert np.isnan(found.mean)


def test_run_without_finished_cells_is_listed_under_nmll(cells):
    summary = summarise(cells({"status": "failed"}))
    assert summary[["metric", "n", "n_failed"]].to_numpy().tolist() == [["nmll", 0, 1]]


def test_empty_results_give_an_empty_summary(cells):
    assert summarise(cells()).empty
    assert per_split(cells()).empty


def test_seeds_of_one_split_count_as_one_observation(cells):
    table = cells(
        {"split": 0, "seed": 0, "nmll": 1.0}, {"split": 0, "seed": 1, "nmll": 3.0}, {"split": 1, "seed": 0, "nmll": 4.0}
    )
    found = line(summarise(table))
    assert (found.mean, found.n) == (3.0, 2)


def test_presets_are_summarised_separately(cells):
    summary = summarise(cells({"nmll": 1.0}, {"preset": "quick", "nmll": 2.0}))
    assert line(summary, preset="paper").mean == 1.0
    assert line(summary, preset="quick").mean == 2.0


def test_protocols_of_a_preset_are_summarised_separately(cells):
    table = cells(
        {"nmll": 1.0}, {"split": 1, "nmll": 2.0, "protocol_hash": "bbbbbbbb"}, {"preset": "quick", "nmll": 3.0}
    )
    assert sorted(set(with_labelled_presets(table)["preset"])) == ["paper@aaaaaaaa", "paper@bbbbbbbb", "quick"]


def test_rows_predating_a_metric_have_no_entry(cells):
    summary = summarise(cells({"nmll": 1.0, "aurc": 0.1}, {"method": "old", "nmll": 2.0}))
    assert sorted(summary.loc[summary["metric"] == "aurc", "method"]) == ["vifa"]
    assert sorted(summary.loc[summary["metric"] == "nmll", "method"]) == ["old", "vifa"]


def test_categorical_and_text_columns_give_equal_summaries(cells):
    """Sites keep keys as categories; some occur in no row, as after a choice of rows."""
    rows = [{"method": m, "split": s, "nmll": v + s} for m, v in (("map", 1.0), ("vifa", 2.0)) for s in range(4)]
    table = cells(*rows, {"method": "swag", "dataset": "energy", "status": "failed"})
    keys = ["suite", "dataset", "method", "preset", "status"]
    coded = table.astype(dict.fromkeys(keys, "category"))
    for chosen in (table.index, table.index[table["method"] != "map"]):
        as_text = summarise(coded.loc[chosen]).astype(dict.fromkeys(keys[:4], "str"))
        pd.testing.assert_frame_equal(as_text, summarise(table.loc[chosen]))


@pytest.mark.parametrize(("values", "worst"), [([1.0, 3.0, 3.0, 2.0], 2), ([np.inf, 1.0, np.inf, 0.0], 2)])
def test_last_of_tied_worst_splits_is_reported(cells, values, worst):
    assert line(summarise(cells(*({"split": s, "nmll": v} for s, v in enumerate(values))))).worst_split == worst
