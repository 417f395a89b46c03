"""Parts of the cells, by what a person asks for."""

import pytest

from lockstep_bench.leaderboards.tables.selection import NoSuchResults, select, select_metrics


@pytest.fixture
def rows(cells):
    return cells(
        {"dataset": "yacht", "method": "vifa", "nmll": 1.0, "split": 0},
        {"dataset": "wine", "method": "map", "rmse": 1.0, "split": 1},
        {"dataset": "wine", "method": "vifa", "preset": "quick@aaaaaaaa", "split": 2},
    )


@pytest.mark.parametrize(
    ("asked", "splits"),
    [
        ({}, [0, 1, 2]),
        ({"suites": ["uci"]}, [0, 1, 2]),
        ({"datasets": ["wine"]}, [1, 2]),
        ({"datasets": ["wine", "yacht"], "methods": ["vifa"]}, [0, 2]),
        ({"presets": ["quick"]}, [2]),
        ({"presets": ["quick@aaaaaaaa", "paper"]}, [0, 1, 2]),
    ],
)
def test_selection_intersects_suites_presets_data_sets_and_methods(rows, asked, splits):
    assert select(rows, **asked)["split"].tolist() == splits


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            {"datasets": ["yatch"]},
            r"data set 'yatch' has no results here; did you mean 'yacht'\? Available: wine, yacht",
        ),
        ({"methods": ["zzz"]}, r"method 'zzz' has no results here\. Available: map, vifa"),
        ({"suites": ["images"]}, "suite 'images'"),
        ({"presets": ["paper@"]}, "preset 'paper@'"),
        ({"datasets": ["yacht"], "methods": ["map"]}, "no result has data set yacht and method map together"),
    ],
)
def test_error_on_missing_results_lists_available_ones(rows, asked, words):
    with pytest.raises(NoSuchResults, match=words):
        select(rows, **asked)


def test_metrics_without_any_value_are_refused(rows):
    assert select_metrics(rows, []) == ["nmll", "rmse"]
    assert select_metrics(rows, ["rmse"]) == ["rmse"]
    with pytest.raises(NoSuchResults, match=r"metric 'nml' .* did you mean 'nmll'"):
        select_metrics(rows, ["nml"])
    with pytest.raises(
        NoSuchResults, match=r"metric 'aurc' has no results here; rows that are older than the metric lack it"
    ):
        select_metrics(rows, ["aurc"])


def test_long_lists_of_names_are_shortened(cells):
    rows = cells(*({"method": f"m{i:02}"} for i in range(20)))
    with pytest.raises(NoSuchResults, match=r"m11 and 8 more$"):
        select(rows, methods=["x"])
