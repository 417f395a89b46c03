"""Runs of one suite and preset, and their tables of splits x methods."""

import numpy as np
import pytest

from lockstep_bench.leaderboards.stats.dependence import ratios
from lockstep_bench.leaderboards.stats.runs import Runs, paired


def test_values_average_over_seeds_and_show_failures(cells):
    rows = cells(
        {"method": "a", "seed": 0, "nmll": 1.0},
        {"method": "a", "seed": 1, "nmll": 2.0},
        {"method": "b", "status": "failed"},
        {"method": "a", "split": 1, "nmll": 4.0},
        {"method": "c", "preset": "quick", "nmll": 9.0},
    )
    table = paired(rows, "uci", "paper", "nmll")
    assert table.observed.to_numpy() == pytest.approx(np.array([[1.5, np.nan], [4.0, np.nan]]), nan_ok=True)
    assert table.tried.to_numpy().tolist() == [[True, True], [True, False]]
    assert (table.methods, table.datasets) == (["a", "b"], ["energy"])


def test_data_sets_without_the_metric_are_dropped(cells):
    rows = cells(
        {"dataset": "digits", "accuracy": 0.9},
        {"dataset": "energy", "rmse": 3.0},
        {"dataset": "wdbc", "status": "failed"},
    )
    assert paired(rows, "uci", "paper", "accuracy").datasets == ["digits", "wdbc"]


def test_no_rows_give_an_empty_table(cells):
    table = paired(cells({"nmll": 1.0}), "uci", "quick", "nmll")
    assert (table.methods, table.datasets) == ([], [])


def test_metric_without_direction_is_refused(cells):
    with pytest.raises(ValueError, match="n_weights"):
        paired(cells({"nmll": 1.0}), "uci", "paper", "n_weights")


def test_rows_predating_a_metric_are_not_failures(cells):
    rows = cells(
        {"method": "a", "nmll": 1.0, "aurc": 0.1},
        {"method": "b", "nmll": 2.0},
    )
    assert paired(rows, "uci", "paper", "aurc").methods == ["a"]
    assert paired(rows, "uci", "paper", "nmll").methods == ["a", "b"]


@pytest.mark.parametrize("metric", ["fit_seconds", "total_seconds"])
def test_untimed_methods_are_left_out_and_not_failed(cells, metric):
    rows = cells({"method": "a"}, {"method": "b"}, {"method": "c", "status": "failed"})
    rows = rows.assign(**{metric: [3.0, np.nan, np.nan]})
    table = paired(rows, "uci", "paper", metric)
    assert table.methods == ["a", "c"]
    assert table.failures("c") == {"energy": [0]}


def test_ratios_of_runs_equal_those_of_their_rows(cells):
    rows = cells(
        {"dataset": "yacht", "split": 0, "n_train": 277, "n_test": 31},
        {"dataset": "yacht", "split": 1, "n_train": 278, "n_test": 30},
        {"dataset": "energy", "split": 0, "n_train": 691, "n_test": 77},
        {"dataset": "energy", "preset": "quick", "n_train": 1, "n_test": 700},
    )
    runs = Runs.of(rows, "uci", "paper")
    assert runs.ratios == ratios(rows[rows["preset"] == "paper"])
    assert runs.chosen(datasets=["yacht"]).ratios["yacht"] == 61 / 555


def test_chosen_runs_keep_the_order_of_their_rows(cells):
    rows = cells(*({"dataset": d, "method": m, "nmll": 1.0} for d in "zx" for m in "cab"))
    chosen = Runs.of(rows, "uci", "paper").chosen(methods=["a", "c"])
    assert chosen.frame(["dataset", "method"]).to_numpy().tolist() == [["z", "c"], ["z", "a"], ["x", "c"], ["x", "a"]]
    assert chosen.table("nmll").methods == ["a", "c"]


def test_runs_are_chosen_once(cells):
    runs = Runs.of(cells(*({"method": m, "nmll": 1.0} for m in "abc")), "uci", "paper")
    assert runs.chosen(methods=["a", "b"]) is runs.chosen(methods=["b", "a"])
    assert runs.chosen(methods=["a", "c"]).table("nmll").methods == ["a", "c"]
