"""Splits from a file: a column for each split, a row for each row of the table."""

import numpy as np
import pandas as pd
import pytest

from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.own.splits_file import read_splits, scheme_of
from lockstep_bench.datasets.records import Split


def test_splits_file_columns_assign_training_and_test_rows(write):
    first, second = ["train"] * 30 + ["test"] * 10, ["test", "train", "train", ""] * 10
    one, two = read_splits(write(pd.DataFrame({"a": first, "b": second}), "splits.csv"), 40)
    assert (one.train.tolist(), one.test.tolist()) == ([*range(30)], [*range(30, 40)])
    assert two.test.tolist() == [*range(0, 40, 4)]
    assert len(two.train) == 20


@pytest.mark.parametrize(
    ("cells", "complaint"),
    [
        (["train"] * 39, "39 rows, and the table 40"),
        (["train"] * 39 + ["tets"], "'tets' is not train, test"),
        (["train"] * 40, "40 rows train and 0 test"),
        (["train"] * 9 + ["test"] * 31, "9 rows train and 31 test"),
    ],
)
def test_mismatching_splits_files_are_refused(write, cells, complaint):
    with pytest.raises(InvalidTable, match=complaint):
        read_splits(write(pd.DataFrame({"a": cells}), "splits.csv"), 40)


@pytest.mark.parametrize(
    ("rows", "scheme"),
    [
        ([([0, 1], [2])], "resampled"),
        ([([0, 1], [2]), ([1, 2], [0])], "resampled"),
        ([([0, 1], [4]), ([2, 3], [4])], "one test part"),
        ([([0, 1], [4]), ([2, 3], [5])], "drawn"),
    ],
)
def test_split_scheme_states_what_splits_share(rows, scheme):
    assert scheme_of(tuple(Split(np.array(train), np.array(test)) for train, test in rows)) == scheme
