"""Remarks on numbers: methods that are no better than the mean, and fits that had not settled."""

import json

import pandas as pd
import pytest

from leaderboards.stats.remarks import IMPROVING, NO_BETTER, legend, over_datasets, signs
from leaderboards.stats.summary import summarise


def said(cells: pd.DataFrame, metric: str = "nmll") -> dict[str, str]:
    table = summarise(cells)
    return dict(table[table["metric"] == metric][["method", "remark"]].itertuples(index=False, name=None))


def cell(**columns) -> dict:
    return columns


@pytest.mark.parametrize(("ours", "remark"), [(2.9, ""), (3.0, NO_BETTER), (3.1, NO_BETTER)])
def test_means_are_compared_with_the_constant_predictor(cells, ours, remark):
    values = {"constant": [3.5, 2.5], "map": [ours - 1, ours + 1]}
    table = cells(*(cell(method=name, split=s, nmll=v) for name, each in values.items() for s, v in enumerate(each)))
    assert said(table) == {"constant": "", "map": remark}


def test_only_common_splits_are_compared(cells):
    common = [cell(method="constant", split=0, nmll=2.0), cell(method="map", split=0, nmll=1.0)]
    assert said(cells(*common, cell(method="map", split=1, nmll=9.0)))["map"] == ""
    assert said(cells(cell(method="constant", split=0, nmll=2.0), cell(method="map", split=1, nmll=9.0)))["map"] == ""


def test_direction_of_the_metric_decides(cells):
    table = cells(cell(method="constant", nmll=1.0, accuracy=0.6), cell(method="map", nmll=0.5, accuracy=0.5))
    assert (said(table)["map"], said(table, "accuracy")["map"]) == ("", NO_BETTER)


def test_calibration_and_costs_are_not_compared_with_the_mean(cells):
    values = {"nmll": 0.5, "ece": 0.3, "fit_seconds": 9.0}
    table = cells(cell(method="constant", nmll=1.0, ece=0.0, fit_seconds=0.1), cell(method="map", **values))
    assert {said(table, name)["map"] for name in values} == {""}


@pytest.mark.parametrize(
    ("improving", "remark"),
    [([1.0, 1.0], IMPROVING), ([1.0, 0.0], ""), ([1.0, None], IMPROVING), ([None, None], ""), ([0.0, 0.0], "")],
)
def test_most_splits_decide_whether_a_method_is_improving(cells, improving, remark):
    texts = [json.dumps({} if each is None else {"still_improving": each}) for each in improving]
    table = cells(
        *(cell(method="map", split=s, diagnostics=text, nmll=1.0, fit_seconds=1.0) for s, text in enumerate(texts))
    )
    assert said(table)["map"] == remark
    assert said(table, "fit_seconds")["map"] == ""  # a cost is what it is


def test_signs_and_legend_have_what_is_said():
    assert signs("") == ""
    assert signs(f"{NO_BETTER}; {IMPROVING}") == "†‡"
    (phrase,) = legend(["", IMPROVING, IMPROVING])
    assert phrase.startswith(f"‡ {IMPROVING}")


def test_remarks_over_data_sets_are_counted(cells):
    improving = json.dumps({"still_improving": 1.0})
    rows = [cell(dataset=name, method="map", nmll=3.0, diagnostics=improving) for name in ("a", "b")]
    summary = summarise(cells(*rows, cell(dataset="b", method="constant", nmll=2.0)))
    expected = f"{NO_BETTER} on 1 of 2 data sets; {IMPROVING} on 2 of 2 data sets"
    assert over_datasets(summary, "nmll", ["a", "b"]) == {"map": expected}
    assert over_datasets(summary, "nmll", ["a"]) == {"map": IMPROVING}
