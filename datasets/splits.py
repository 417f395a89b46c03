"""Splits and folds for data sets without published ones: random splits, and splits along a feature.

All of them start from a permutation of range(N): the order that sorts N raw 64-bit draws of PCG64. numpy guarantees
that stream for a given seed; `Generator.permutation` may change between versions.
"""

import operator
from collections.abc import Sequence

import numpy as np

from lockstep_bench.datasets.records import Split


def permutation(n_rows: int, seed: int | Sequence[int]) -> np.ndarray:
    """Return the seeded permutation of range(n_rows), int64 (n_rows,)."""
    draws = np.random.PCG64(np.random.SeedSequence(seed)).random_raw(n_rows)
    return np.argsort(draws, kind="stable").astype(np.int64)


def fixed_splits(
    n_rows: int, n_splits: int, seed: int, test_fraction: float = 0.1, validation_fraction: float = 0.0
) -> tuple[Split, ...]:
    """Return random splits into train, validation and test rows.

    Split k orders the N rows by the permutation seeded by [seed, k]. Its test part is the last
    round(N * test_fraction) rows, its validation part the round(N * validation_fraction) rows before them. Python's
    `round` rounds a half to the even number.

    Args:
        n_rows: N.
        n_splits: number of splits.
        seed: non-negative integer.
        test_fraction: fraction of the rows in the test part.
        validation_fraction: fraction of the rows in the validation part.
    """
    n_known = n_rows - round(n_rows * test_fraction)
    n_train = n_known - round(n_rows * validation_fraction)
    orders = (permutation(n_rows, [seed, split]) for split in range(n_splits))
    return tuple(Split(order[:n_train], order[n_known:], order[n_train:n_known]) for order in orders)


def held_out_splits(n_known: int, n_test: int, n_splits: int, seed: int, fraction: float = 0.1) -> tuple[Split, ...]:
    """Return splits of a data set that share its published test part and differ in the validation rows.

    Split k validates on the last round(n_known * fraction) rows of the permutation of range(n_known) seeded by
    [seed, k], and trains on the others.

    Args:
        n_known: number of rows outside the test part; these are rows 0 to n_known - 1.
        n_test: number of test rows, which come after the others.
        n_splits: number of splits.
        seed: non-negative integer.
        fraction: fraction of the n_known rows in the validation part.
    """
    n_train = n_known - round(n_known * fraction)
    orders = (permutation(n_known, [seed, split]) for split in range(n_splits))
    test = np.arange(n_known, n_known + n_test)
    return tuple(Split(order[:n_train], test, order[n_train:]) for order in orders)


def folds(n_rows: int, n_folds: int, seed: int) -> list[np.ndarray]:
    """Partition range(n_rows) at random into folds for cross-validation.

    Args:
        n_rows: number of rows, at least n_folds.
        n_folds: number of folds, at least 2.
        seed: non-negative integer.

    Returns:
        n_folds int64 arrays; sizes differ by at most one, and the first n_rows % n_folds folds have the extra row.

    Raises:
        ValueError: a number is out of range.
        TypeError: a number is not an integer.
    """
    _check_folds(n_rows, n_folds, seed)
    return np.array_split(permutation(n_rows, seed), n_folds)


def block_folds(values: np.ndarray, n_folds: int, seed: int, outer: bool) -> list[np.ndarray]:
    """Return validation parts along a feature: blocks of rows with similar values, which may overlap.

    The rows are sorted by their value (`sorted_by`). A window moves over the sorted rows, one position for each fold.
    For gaps, the window covers a third of the rows, and these are held out. At its lowest and highest position a sixth
    of the rows remains outside, below or above it. For tails, the window covers two thirds of the rows and is trained
    on; the rows below and above it are held out. It moves from the lowest to the highest rows. With an odd number of
    folds, the middle fold divides the training rows in the same way as a gap or tail split divides all rows.

    Args:
        values: (N,), the feature's value in each row; N is at least 6 and at least n_folds.
        n_folds: number of folds, at least 2.
        seed: non-negative integer; decides the order of equal values.
        outer: True to hold out tails, False to hold out gaps.

    Returns:
        n_folds int64 arrays of N // 3 positions in `values`, in ascending order of the value.

    Raises:
        ValueError: a number is out of range.
        TypeError: a number is not an integer.
    """
    _check_folds(len(values), n_folds, seed)
    order, held_out = sorted_by(values, seed), len(values) // 3
    window = len(values) - held_out if outer else held_out
    margin = 0 if outer else held_out // 2
    most = len(values) - window - 2 * margin
    starts = [margin + most * fold // (n_folds - 1) for fold in range(n_folds)]
    if outer:
        return [np.concatenate([order[:start], order[start + window :]]) for start in starts]
    return [order[start : start + window] for start in starts]


def tail_split(values: np.ndarray, feature: int, seed: int | Sequence[int]) -> Split:
    """Return the split that tests on the lowest and the highest sixth of the rows, sorted by a feature (`sorted_by`).

    Args:
        values: (N,), the feature's value in each row. The ceil(N / 6) rows with the lowest values and the ceil(N / 6)
            with the highest are the test part; all others are for training.
        feature: column number of the feature.
        seed: seed that decides the order of equal values.
    """
    order, sixth = sorted_by(values, seed), -(-len(values) // 6)
    return Split(order[sixth:-sixth], np.concatenate([order[:sixth], order[-sixth:]]), feature=feature)


def sorted_by(values: np.ndarray, seed: int | Sequence[int]) -> np.ndarray:
    """Return the rows in ascending order of `values`, (N,); equal values are in the order of the seeded permutation."""
    order = permutation(len(values), seed)
    return order[np.argsort(values[order], kind="stable")]


def _check_folds(n_rows: int, n_folds: int, seed: int) -> None:
    n_rows, n_folds, seed = operator.index(n_rows), operator.index(n_folds), operator.index(seed)
    if n_folds < 2:
        raise ValueError(f"cross-validation needs at least 2 folds, got n_folds={n_folds}")
    if n_rows < n_folds:
        raise ValueError(f"every fold needs a row, got n_rows={n_rows} for n_folds={n_folds}")
    if seed < 0:
        raise ValueError(f"the seed must not be negative, got seed={seed}")
