"""Remarks on numbers: methods that are no better than the mean, and fits that had not converged."""

import json
from datetime import UTC, datetime

import pandas as pd
import pytest

from lockstep_bench.leaderboards.stats.remarks import EARLIER, IMPROVING, NO_BETTER, legend, over_datasets, signs
from lockstep_bench.leaderboards.stats.summary import summarise


def said(cells: pd.DataFrame, metric: str = "nmll") -> dict[str, str]:
    table = summarise(cells)
    return dict(table[table["metric"] == metric][["method", "remark"]].itertuples(index=False, name=None))


def cell(**columns) -> dict:
    return columns


@pytest.mark.parametrize(("ours", "remark"), [(2.9, ""), (3.0, NO_BETTER), (3.1, NO_BETTER)])
def test_remark_marks_means_no_better_than_constant(cells, ours, remark):
    values = {"constant": [3.5, 2.5], "map": [ours - 1, ours + 1]}
    table = cells(*(cell(method=name, split=s, nmll=v) for name, each in values.items() for s, v in enumerate(each)))
    assert said(table) == {"constant": "", "map": remark}


def test_constant_baseline_is_compared_on_common_splits(cells):
    common = [cell(method="constant", split=0, nmll=2.0), cell(method="map", split=0, nmll=1.0)]
    assert said(cells(*common, cell(method="map", split=1, nmll=9.0)))["map"] == ""
    assert said(cells(cell(method="constant", split=0, nmll=2.0), cell(method="map", split=1, nmll=9.0)))["map"] == ""


def test_comparison_with_constant_respects_metric_direction(cells):
    table = cells(cell(method="constant", nmll=1.0, accuracy=0.6), cell(method="map", nmll=0.5, accuracy=0.5))
    assert (said(table)["map"], said(table, "accuracy")["map"]) == ("", NO_BETTER)


def test_calibration_and_costs_are_not_compared_with_constant(cells):
    values = {"nmll": 0.5, "ece": 0.3, "fit_seconds": 9.0}
    table = cells(cell(method="constant", nmll=1.0, ece=0.0, fit_seconds=0.1), cell(method="map", **values))
    assert {said(table, name)["map"] for name in values} == {""}


@pytest.mark.parametrize(
    ("improving", "remark"),
    [([1.0, 1.0], IMPROVING), ([1.0, 0.0], ""), ([1.0, None], IMPROVING), ([None, None], ""), ([0.0, 0.0], "")],
)
def test_majority_of_splits_decides_still_improving(cells, improving, remark):
    texts = [json.dumps({} if each is None else {"still_improving": each}) for each in improving]
    table = cells(
        *(cell(method="map", split=s, diagnostics=text, nmll=1.0, fit_seconds=1.0) for s, text in enumerate(texts))
    )
    assert said(table)["map"] == remark
    assert said(table, "fit_seconds")["map"] == ""  # a cost is what it is


def test_each_remark_has_a_sign_and_legend():
    assert signs("") == ""
    assert signs(f"{NO_BETTER}; {IMPROVING}") == "†‡"
    (phrase,) = legend(["", IMPROVING, IMPROVING])
    assert phrase.startswith(f"‡ {IMPROVING}")


def test_remarks_are_counted_over_data_sets(cells):
    improving = json.dumps({"still_improving": 1.0})
    rows = [cell(dataset=name, method="map", nmll=3.0, diagnostics=improving) for name in ("a", "b")]
    summary = summarise(cells(*rows, cell(dataset="b", method="constant", nmll=2.0)))
    expected = f"{NO_BETTER} on 1 of 2 data sets; {IMPROVING} on 2 of 2 data sets"
    assert over_datasets(summary, "nmll", ["a", "b"]) == {"map": expected}
    assert over_datasets(summary, "nmll", ["a"]) == {"map": IMPROVING}


def test_results_older_than_compiled_loops_are_marked(cells):
    table = cells(cell(method="map", split=0, nmll=1.0, execution=None), cell(method="map", split=1, nmll=1.0))
    assert said(table) == {"map": EARLIER}
    assert said(cells(cell(status="failed", execution=None), cell(split=1, nmll=1.0)))["vifa"] == ""


@pytest.mark.parametrize(
    ("identities", "marked"),
    [
        ({"map": "a-1", "vifa": "a-2"}, set()),
        ({"map": "a-1", "vifa": "b-2"}, {"map"}),  # what all methods share has changed
        ({"map": None, "vifa": "b-2"}, set()),  # nobody knows
    ],
)
def test_rows_of_outdated_code_are_marked(cells, identities, marked):
    rows = [
        cell(method=name, nmll=1.0, code_identity=identity, finished_at=datetime(2026, 1, day, tzinfo=UTC))
        for day, (name, identity) in enumerate(identities.items(), start=1)
    ]
    table = cells(*rows)
    assert {name for name, words in said(table).items() if words} == marked
    assert not any(said(table.assign(rechecked="2026-01-03 by code 0123456789")).values())


def test_code_is_compared_only_within_a_method(cells):
    rows = [
        cell(method=name, split=split, nmll=1.0, code_identity=identity, finished_at=datetime(2026, 1, day, tzinfo=UTC))
        for name, split, identity, day in (("map", 0, "a-1", 1), ("map", 1, "a-2", 2), ("vifa", 0, "a-3", 3))
    ]
    assert said(cells(*rows)) == {"map": EARLIER, "vifa": ""}
    elsewhere = cell(dataset="yacht", nmll=1.0, code_identity="b-9", finished_at=datetime(2026, 1, 9, tzinfo=UTC))
    assert said(cells(*rows, elsewhere))["vifa"] == ""


def test_parameter_counts_get_no_earlier_engine_mark(cells):
    assert said(cells(cell(nmll=1.0, n_parameters=5.0, execution=None)), "n_parameters") == {"vifa": ""}
