"""What all methods finished, and what that leaves out."""

from leaderboards.stats import common_ground


def test_data_sets_that_somebody_lacks_are_left_out_with_the_reason(table):
    ground = common_ground(
        table(
            {
                "absent": {"a": [1, 2], "b": [1, 2]},
                "failed": {"a": [1, None], "b": [1, 2], "c": [1, 2]},
                "whole": {"a": [1, 2], "b": [1, 2], "c": [1, 2]},
            }
        )
    )
    assert ground.table.datasets == ["whole"]
    assert ground.left_out == {"absent": "c not run", "failed": "a without a value on some split"}
    assert ground.narrowed == {"a": 1, "c": 1}
    assert ground.table.observed.notna().all(axis=None)


def test_splits_that_one_method_has_not_run_yet_are_not_considered(table):
    ground = common_ground(table({"d": {"a": [1, 2, 3], "b": [1, 2]}}))
    assert ground.table.observed.index.tolist() == [("d", 0), ("d", 1)]
    assert ground.left_out == {}


def test_methods_without_a_common_split_share_no_ground(table):
    ground = common_ground(table({"d": {"a": [1, ...], "b": [..., 1]}}))
    assert ground.left_out == {"d": "no split that all its methods were run on"}
    assert ground.table.datasets == []


def test_many_methods_are_not_all_named(table):
    methods = {name: [None] for name in "abcdef"} | {"g": [1.0]}
    ground = common_ground(table({"d": methods}))
    assert ground.left_out == {"d": "a, b and 4 others without a value on some split"}
    assert ground.narrowed == {}


def test_an_infinite_value_is_a_value(table):
    assert common_ground(table({"d": {"a": [float("inf")], "b": [1.0]}})).left_out == {}


def test_an_empty_table_has_no_ground(table):
    empty = table({"d": {"a": [1.0]}}).part([False])
    assert common_ground(empty).table.datasets == []
