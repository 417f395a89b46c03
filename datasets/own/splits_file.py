"""Splits of a user's own table from a file: one line for each row of the table, and a column for each split.

A cell says to which part of the split the row belongs: `train`, `test`, or an empty cell for neither.
"""

from pathlib import Path

import numpy as np

from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.own.files import read_frame
from lockstep_bench.datasets.records import Split

LEAST_TRAIN = 10  # rows, so that five folds have two each
PARTS = ("train", "test")


def read_splits(path: Path, n_rows: int) -> tuple[Split, ...]:
    """Return the splits that a file defines, in the order of its columns; within a split, rows keep the table's order.

    Args:
        path: a file that `datasets.own.files.read_frame` reads.
        n_rows: number of rows of the table.

    Raises:
        InvalidTable: the file has another number of rows than the table, a wrong cell, or too few rows in a split.
    """
    frame = read_frame(path)
    if len(frame) != n_rows:
        raise InvalidTable(f"{path} has {len(frame)} rows, and the table {n_rows}; it needs one for each of its rows")
    splits = []
    for name in frame:
        cells = frame[name].astype(object).where(frame[name].notna(), "").astype(str).str.strip()
        if len(other := cells[~cells.isin([*PARTS, ""])]):
            raise InvalidTable(f"{path}, column {name!r}: {other.iloc[0]!r} is not train, test or an empty cell")
        train, test = (np.flatnonzero(cells == part) for part in PARTS)
        if len(train) < LEAST_TRAIN or not len(test):
            raise InvalidTable(
                f"{path}, column {name!r}: {len(train)} rows train and {len(test)} test; a split needs at least "
                f"{LEAST_TRAIN} and 1"
            )
        splits.append(Split(train, test))
    return tuple(splits)


def scheme_of(splits: tuple[Split, ...]) -> str:
    """Return how splits are related, for example by a common test part: a key of `datasets.records.SPLIT_SCHEMES`."""
    tests = {tuple(np.sort(split.test)) for split in splits}
    if len(splits) > 1 and len(tests) == 1:
        return "one test part"
    used = np.concatenate([np.concatenate([split.train, split.test]) for split in splits])
    return "resampled" if len(splits) == 1 or len(np.unique(used)) < len(used) else "drawn"
