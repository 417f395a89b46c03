"""Splits of a user's own table from a file: one line for each row of the table, and a column for each split.

A cell says what the row is in the split: `train`, `test`, or nothing if it is left out.
"""

from pathlib import Path

import numpy as np

from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.own.files import read_frame
from lockstep_bench.datasets.records import Split

LEAST_TRAIN = 10  # rows, so that five folds have two each
PARTS = ("train", "test")


def read_splits(path: Path, n_rows: int) -> tuple[Split, ...]:
    """Return the splits that a file gives, in the order of its columns; rows keep their order.

    Args:
        path: a file that `datasets.own.files.read_frame` reads.
        n_rows: rows of the table.

    Raises:
        InvalidTable: the file does not fit the table, or a split has too few rows.
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
    """Return what splits share, one of `datasets.records.SPLIT_SCHEMES`."""
    tests = {tuple(np.sort(split.test)) for split in splits}
    if len(splits) > 1 and len(tests) == 1:
        return "one test part"
    used = np.concatenate([np.concatenate([split.train, split.test]) for split in splits])
    return "resampled" if len(splits) == 1 or len(np.unique(used)) < len(used) else "drawn"
