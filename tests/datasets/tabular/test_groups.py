"""Groups of equal rows, and splits that keep them on one side."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep_bench.datasets.records import Split
from lockstep_bench.datasets.tabular.groups import group_numbers, grouped_splits


def partition(n_rows: int, n_splits: int) -> list[Split]:
    part = np.arange(n_rows) % n_splits
    return [Split(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(n_splits)]


def test_equal_rows_form_one_group():
    rows = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0], [2.0, 1e-300]])
    assert group_numbers(rows).tolist() == [0, 1, 0, 2]


def test_each_group_joins_the_least_filled_test_part():
    groups = np.array([0, 0, 0, 1, 1, 2, 3, 4, 5])
    splits = grouped_splits(groups, partition(9, 3))
    # The group of three fills the first part and that of two goes to the second. The rows 5 and 8 stay in the third
    # part and the row 7 in the second; row 6 was in the first, which is full.
    assert [split.test.tolist() for split in splits] == [[0, 1, 2], [3, 4, 7], [5, 6, 8]]


def test_distinct_rows_stay_in_their_published_test_part():
    published = partition(20, 4)
    splits = grouped_splits(np.arange(20), published)
    assert [split.sha256 for split in splits] == [split.sha256 for split in published]


@settings(deadline=None)
@given(st.lists(st.integers(0, 30), min_size=12, max_size=60), st.integers(2, 5))
def test_groups_are_not_divided_and_each_row_tests_once(groups, n_splits):
    groups = np.array(groups)
    splits = grouped_splits(np.unique(groups, return_inverse=True)[1], partition(len(groups), n_splits))
    assert sorted(np.concatenate([split.test for split in splits])) == list(range(len(groups)))
    for split in splits:
        assert not np.isin(groups[split.test], groups[split.train]).any()
        assert len(split.train) + len(split.test) == len(groups)
