"""The papers' numbers."""

import math

import pytest

from leaderboards.published import difference, read_published


def test_all_numbers_are_there_with_sources_to_cite():
    table = read_published()
    assert len(table) == 353
    assert table["source"].nunique() == 7
    assert not table["source"].str.contains(r"^\d{3}|_|\.txt$").any()
    assert not table.duplicated(["source", "table", "suite", "dataset", "method", "metric", "statistic"]).any()


def test_two_numbers_that_anyone_can_check_in_the_papers():
    table = read_published().set_index(["source", "dataset", "method", "metric", "statistic"])
    vifa = "Fast and Scalable Factor Analysis Algorithm for Bayesian Deep Learning"
    assert table.loc[(vifa, "energy", "vifa", "nmll", "mean"), "value"].item() == 2.53
    assert table.loc[(vifa, "energy", "slang", "nmll", "median"), "value"].item() == 1.19


def test_numbers_that_are_another_quantity_are_not_comparable():
    table = read_published()
    odd = table[~table["comparable"]]
    assert set(odd["note"]) == {
        "joint predictive / N, not per point",
        "AlexNet, batch 512; the spread is a standard deviation",
        "100,000 samples; by a root in single precision that drops eigenvalues below 1.2e-4 of the largest",
    }


def test_difference_in_joint_standard_errors():
    assert difference(2.6, 0.03, 2.5, 0.04) == pytest.approx(2.0)
    assert math.isnan(difference(2.6, math.nan, 2.5, 0.04))
    assert math.isnan(difference(2.6, 0.0, 2.5, 0.0))
