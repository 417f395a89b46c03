"""What all methods finished, and what that leaves out."""

from leaderboards.stats import complete_blocks


def test_data_sets_that_somebody_lacks_are_left_out_with_the_reason(table):
    complete = complete_blocks(
        table(
            {
                "absent": {"a": [1, 2], "b": [1, 2]},
                "failed": {"a": [1, None], "b": [1, 2], "c": [1, 2]},
                "whole": {"a": [1, 2], "b": [1, 2], "c": [1, 2]},
            }
        )
    )
    assert complete.table.datasets == ["whole"]
    assert complete.left_out == {"absent": "c not run", "failed": "a failed on some split"}
    assert complete.table.observed.notna().all(axis=None)


def test_splits_that_one_method_has_not_run_yet_are_not_considered(table):
    complete = complete_blocks(table({"d": {"a": [1, 2, 3], "b": [1, 2]}}))
    assert complete.table.observed.index.tolist() == [("d", 0), ("d", 1)]
    assert complete.left_out == {}


def test_methods_without_a_common_split_share_no_complete(table):
    complete = complete_blocks(table({"d": {"a": [1, ...], "b": [..., 1]}}))
    assert complete.left_out == {"d": "no split that all its methods were run on"}
    assert complete.table.datasets == []


def test_many_methods_are_not_all_named(table):
    methods = {name: [None] for name in "abcdef"} | {"g": [1.0]}
    complete = complete_blocks(table({"d": methods}))
    assert complete.left_out == {"d": "a, b and 4 others failed on some split"}


def test_an_infinite_value_is_a_value(table):
    assert complete_blocks(table({"d": {"a": [float("inf")], "b": [1.0]}})).left_out == {}


def test_an_empty_table_has_no_complete(table):
    empty = table({"d": {"a": [1.0]}}).part([False])
    assert complete_blocks(empty).table.datasets == []
