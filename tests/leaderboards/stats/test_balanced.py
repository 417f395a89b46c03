"""Tables without missing cells: what was not asked for is left out, and said."""

import pytest

from lockstep_bench.leaderboards.stats.balanced import balanced


def test_method_not_run_on_most_sets_is_left_out(table):
    everywhere = {name: {"a": [1], "b": [2], "c": [1], "d": [2]} for name in "wxyz"}
    everywhere["w"]["e"] = [3]
    part = balanced(table(everywhere))
    assert part.table.methods == ["a", "b", "c", "d"]
    assert part.left_out == ["Left out, because not run everywhere: e (1 of 4 splits, 1 of 4 data sets)."]


def test_few_methods_are_compared_where_all_were_run(table):
    part = balanced(table({"x": {"a": [1] * 20, "b": [2] * 5}}))
    assert part.table.methods == ["a", "b"]
    assert len(part.table.observed) == 5


def test_named_methods_stay_and_sets_go(table):
    part = balanced(table({"x": {"a": [1], "b": [2], "c": [3]}, "y": {"a": [1], "b": [2]}}), keep=["a", "b", "c"])
    assert part.table.methods == ["a", "b", "c"]
    assert part.table.datasets == ["x"]
    assert part.left_out == ["Data sets left out: y (not run: c)."]


def test_extra_splits_of_one_method_are_left_out(table):
    part = balanced(table({"x": {"a": [1, 1, 1, 1], "b": [2], "c": [3]}}))
    assert part.table.methods == ["a", "b", "c"]
    assert len(part.table.observed) == 1
    assert part.left_out == ["Of the other data sets, 3 splits that not all methods finished or ran."]


def test_method_that_has_just_begun_is_left_out(table):
    part = balanced(table({"x": {"a": [1, 1, 1, 1], "b": [2, 2, 2, 2], "c": [3]}}))
    assert part.table.methods == ["a", "b"]
    assert len(part.table.observed) == 4


def test_failed_splits_are_kept(table):
    part = balanced(table({"x": {"a": [1, None], "b": [2, 2]}}))
    assert part.left_out == []
    assert part.table.observed["a"].isna().tolist() == [False, True]


def test_splits_without_any_finished_method_are_left_out(table):
    part = balanced(table({"x": {"a": [1, None], "b": [2, None]}, "y": {"a": [None], "b": [None]}}))
    assert part.table.datasets == ["x"]
    assert part.left_out == [
        "Data sets left out: y (no value).",
        "Of the other data sets, 1 split that not all methods finished or ran.",
    ]


@pytest.mark.parametrize("datasets", [{"x": {"a": [1], "b": [2]}}, {"x": {"a": [1, 2]}, "y": {"a": [3]}}])
def test_complete_tables_stay_whole(table, datasets):
    whole = table(datasets)
    assert balanced(whole).table.observed.equals(whole.observed)
