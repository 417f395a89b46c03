"""Selection of 0/1 columns (dummy variables): a split uses only those whose value occurs in its training rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.records import Split


def with_inputs(splits: Sequence[Split], x: np.ndarray, dummies: Sequence[Sequence[int]]) -> tuple[Split, ...]:
    """Return the splits, each with the inputs that a table of only its training rows would give (`Split.inputs`).

    A text column gives one 0/1 input for each of its values in the training rows; for two values a single one, and for
    one value none. A row with a value that no training row has gets zeros.

    Args:
        splits: splits of the N rows.
        x: (N, P), features of all rows.
        dummies: for each text column, the indices of the 0/1 columns of x that encode it.

    Raises:
        InvalidTable: all features are constant in the training rows of a split.
    """
    return tuple(_with_inputs(number, split, x, dummies) for number, split in enumerate(splits))


def _with_inputs(number: int, split: Split, x: np.ndarray, dummies: Sequence[Sequence[int]]) -> Split:
    used = np.ones(x.shape[1], dtype=bool)
    for columns in dummies:
        ones = x[split.train][:, columns] > 0
        occur: np.ndarray = ones.any(axis=0)
        if len(columns) == 1:  # of two texts, or of one
            occur &= ~ones.all(axis=0)
        elif occur.sum() <= 2:
            occur[np.flatnonzero(occur)[0]] = False
        used[list(columns)] = occur
    if used.all():
        return split
    if not used.any():
        raise InvalidTable(f"every input is constant in the training rows of split {number}; leave this split out")
    return replace(split, inputs=np.flatnonzero(used))
