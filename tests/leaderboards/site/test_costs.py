"""Costs of a method: seconds of tuning and final fit, of a split and of all splits."""

import pytest

from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.site.costs import cost

SHARED = {"exclusive": False, "nmll": 1.0}


@pytest.fixture
def site(folder):
    return lambda *rows: Site(read_results(folder(*rows)))


def seconds(found):
    return [(line.tuning, line.fit, line.total) for line in found.lines]


def test_total_cost_sums_tuning_and_final_fit_over_all_splits(site):
    rows = [SHARED | {"split": split, "tune_seconds": 90.0 + split, "fit_seconds": 4.0} for split in range(3)]
    other = SHARED | {"method": "map", "tune_seconds": 1000.0, "fit_seconds": 1000.0}
    found = cost(site(*rows, other), "uci", "paper", "vifa")
    assert seconds(found) == [("91.0", "4.00", "95.0"), ("273", "12.0", "285")]
    assert [line.longer for line in found.lines] == ["", "5 min"]
    assert found.lines[1].over == "sum over 3 cells of 1 data set"
    assert (found.shared, found.alone, found.untimed) == (True, False, "")


def test_cost_alone_on_a_device_weighs_data_sets_equally(site):
    alone = {"exclusive": True, "nmll": 1.0}
    energy = [alone | {"split": split, "tune_seconds": 2.0, "fit_seconds": 1.0} for split in range(2)]
    wine = alone | {"dataset": "wine", "tune_seconds": 4.0, "fit_seconds": 3.0}
    beside = SHARED | {"dataset": "yacht", "tune_seconds": 60.0, "fit_seconds": 60.0}
    found = cost(site(*energy, wine, beside), "uci", "paper", "vifa")
    assert seconds(found)[0] == ("3.00", "2.00", "5.00")
    assert found.lines[0].over == "mean over energy, wine"
    assert found.alone


def test_cost_counts_cells_that_did_not_finish_apart(site):
    failed = {"split": 1, "status": "failed", "nmll": None, "tune_seconds": None, "fit_seconds": None}
    found = cost(site(SHARED | {"tune_seconds": None, "fit_seconds": 4.0}, failed), "uci", "paper", "vifa")
    assert seconds(found)[-1] == ("0", "4.00", "4.00")
    assert found.untimed == "1 cell"


def test_cost_of_a_single_cell_is_stated_once(site):
    found = cost(site(SHARED | {"tune_seconds": 2.0, "fit_seconds": 4.0}), "uci", "paper", "vifa")
    assert [(line.what, line.over) for line in found.lines] == [("One split as run", "the only cell")]


def test_method_without_a_finished_cell_has_no_cost(site):
    failed = {"status": "failed", "nmll": None, "fit_seconds": None}
    assert cost(site(failed), "uci", "paper", "vifa") is None
