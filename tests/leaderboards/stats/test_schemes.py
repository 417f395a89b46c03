"""Statistics of splits along features: medians, the worst split, and flagged ones."""

import numpy as np
import pytest

from lockstep_bench.leaderboards.stats.ranking import rank
from lockstep_bench.leaderboards.stats.schemes import flagged_in_words, splits_of, without_flagged
from lockstep_bench.leaderboards.stats.summary import summarise

# A heavy tail: swag is better on four of five gaps, and terrible on one.
MAP, SWAG = [2.0, 2.0, 2.0, 2.0, 3.0], [1.0, 1.1, 1.2, 1.3, 90.0]
UNFLAGGED = (0, 1, 2, 3, 5)  # of yacht-gap


def rows_of(dataset: str, splits=UNFLAGGED, metric="nmll", scale=1.0) -> list[dict]:
    return [
        {"suite": "uci-gap", "dataset": dataset, "method": method, "split": split, "n_train": 206, "n_test": 102}
        | {metric: scale * value}
        for method, values in {"map": MAP, "swag": SWAG}.items()
        for split, value in zip(splits, values, strict=True)
    ]


def test_gap_and_tail_splits_are_ranked_by_medians(cells):
    along = cells(*rows_of("yacht-gap"), *rows_of("kin8nm-gap"))
    first, second = rank(along, "uci-gap", "paper", "nmll").rows
    assert [(row.method, row.mean_rank) for row in (first, second)] == [("swag", 1), ("map", 2)]
    assert first.difference == pytest.approx(np.median(np.subtract(SWAG, MAP)))
    random = cells(*rows_of("yacht"), *rows_of("kin8nm"))
    assert [row.method for row in rank(random, "uci-gap", "paper", "nmll").rows] == ["map", "swag"]


def test_gap_and_tail_splits_use_median_ratios(cells):
    rows = cells(*rows_of("yacht-gap", metric="crps"), *rows_of("kin8nm-gap", metric="crps", scale=100))
    (swag, _) = rank(rows, "uci-gap", "paper", "crps").rows
    assert swag.difference == pytest.approx(np.median(np.divide(SWAG, MAP)) - 1)


def test_splits_without_a_real_gap_are_not_ranked(cells):
    rows = cells(*rows_of("yacht-gap", splits=(0, 1, 2, 3, 4)))
    assert sorted(without_flagged(rows)["split"].unique()) == [0, 1, 2, 3]
    ranking = rank(rows, "uci-gap", "paper", "nmll")
    assert {row.n_splits for row in ranking.rows} == {4}
    assert ranking.notes[0] == "Splits not ranked: yacht-gap (4), with no real gap."
    assert set(summarise(rows)["n"]) == {4}
    assert flagged_in_words(without_flagged(rows)) == ""


def test_each_reason_for_a_flag_is_said_once(cells):
    score = {"suite": "uci-gp", "method": "map", "nmll": 1.0}
    rows = cells(*(score | {"dataset": f"gp-{name}", "split": 3} for name in ("challenger", "solar", "wine", "yacht")))
    copied, few = flagged_in_words(rows).split("; ")
    assert copied.startswith("Splits not ranked: gp-solar (3), gp-wine (3), with copies of training rows in more than")
    assert few == "gp-challenger (3), with fewer than 100 rows in the set."


def test_summary_reports_the_worst_split(cells):
    table = summarise(cells(*rows_of("yacht-gap"))).set_index(["method", "metric"])
    row = table.loc["swag", "nmll"]
    assert (row["worst"], row["worst_split"], row["median"], row["by_median"]) == (90.0, 5, 1.2, True)
    accuracy = [{"dataset": "wdbc", "split": split, "accuracy": value} for split, value in enumerate([0.9, 0.5, 0.8])]
    (other,) = summarise(cells(*accuracy)).itertuples()
    assert (other.worst, other.worst_split, other.by_median) == (0.5, 1, False)


def test_constant_baseline_is_compared_by_medians(cells):
    rows = rows_of("yacht-gap")
    rows += [row | {"method": "constant", "nmll": 4.0} for row in rows if row["method"] == "map"]
    said = summarise(cells(*rows)).set_index("method")["remark"]
    assert said["swag"] == ""  # its mean is 18.9
    random = [row | {"suite": "uci", "dataset": "yacht"} for row in rows]
    assert "no better" in summarise(cells(*random)).set_index("method")["remark"]["swag"]


def test_unregistered_data_sets_count_as_resampled_splits():
    assert splits_of("somebodys-own") == ("resampled", False, {}, "")
    assert splits_of("yacht-tail").along_features
    assert splits_of("yacht-tail").rows_of == "yacht"
