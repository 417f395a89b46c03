"""Tables without missing cells: what was not asked for is left out, and said."""

import pytest

from lockstep_bench.leaderboards.stats.balanced import balanced


def test_method_missing_on_most_data_sets_is_dropped(table):
    everywhere = {name: {"a": [1], "b": [2], "c": [1], "d": [2]} for name in "wxyz"}
    everywhere["w"]["e"] = [3]
    part = balanced(table(everywhere))
    assert part.table.methods == ["a", "b", "c", "d"]
    assert part.left_out == ["Left out, because not run everywhere: e (1 of 4 splits, 1 of 4 data sets)."]


def test_two_methods_are_compared_on_their_shared_splits(table):
    part = balanced(table({"x": {"a": [1] * 20, "b": [2] * 5}}))
    assert part.table.methods == ["a", "b"]
    assert len(part.table.observed) == 5


def test_requested_methods_are_kept_by_dropping_data_sets(table):
    part = balanced(table({"x": {"a": [1], "b": [2], "c": [3]}, "y": {"a": [1], "b": [2]}}), keep=["a", "b", "c"])
    assert part.table.methods == ["a", "b", "c"]
    assert part.table.datasets == ["x"]
    assert part.left_out == ["Data sets left out: y (not run: c)."]


def test_extra_splits_of_one_method_are_dropped(table):
    part = balanced(table({"x": {"a": [1, 1, 1, 1], "b": [2], "c": [3]}}))
    assert part.table.methods == ["a", "b", "c"]
    assert len(part.table.observed) == 1
    assert part.left_out == ["Of the other data sets, 3 splits that not all methods finished or ran."]


def test_method_with_very_few_splits_is_dropped(table):
    part = balanced(table({"x": {"a": [1, 1, 1, 1], "b": [2, 2, 2, 2], "c": [3]}}))
    assert part.table.methods == ["a", "b"]
    assert len(part.table.observed) == 4


def test_failed_splits_are_not_dropped(table):
    part = balanced(table({"x": {"a": [1, None], "b": [2, 2]}}))
    assert part.left_out == []
    assert part.table.observed["a"].isna().tolist() == [False, True]


def test_splits_without_any_finished_method_are_dropped(table):
    part = balanced(table({"x": {"a": [1, None], "b": [2, None]}, "y": {"a": [None], "b": [None]}}))
    assert part.table.datasets == ["x"]
    assert part.left_out == [
        "Data sets left out: y (no value).",
        "Of the other data sets, 1 split that not all methods finished or ran.",
    ]


@pytest.mark.parametrize("datasets", [{"x": {"a": [1], "b": [2]}}, {"x": {"a": [1, 2]}, "y": {"a": [3]}}])
def test_complete_tables_are_unchanged(table, datasets):
    whole = table(datasets)
    assert balanced(whole).table.observed.equals(whole.observed)
