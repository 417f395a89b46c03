"""Columns of zeros and ones for texts, of which a split uses those whose texts occur in its training rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.records import Split


def with_inputs(splits: Sequence[Split], x: np.ndarray, dummies: Sequence[Sequence[int]]) -> tuple[Split, ...]:
    """Return splits with the inputs that the table would have if it held only their training rows.

    A column of texts has one input for each text, one in all for two texts, and none for one. A row with a text that
    no training row has gets zeros.

    Args:
        splits: splits of the N rows.
        x: (N, P), features of all rows.
        dummies: columns of x for each column of texts.

    Raises:
        InvalidTable: a split has no input.
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
