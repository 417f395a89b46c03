"""The rules by which this project itself divides rows; published splits are read from their files instead.

Every rule starts from one permutation of range(N): the order that sorts N raw 64-bit draws of PCG64. numpy
guarantees that stream for a given seed for ever, which it does not for `Generator.permutation`.
"""

import operator
from collections.abc import Sequence

import numpy as np

from datasets.records import Split


def permutation(n_rows: int, seed: int | Sequence[int]) -> np.ndarray:
    """The seeded permutation of range(n_rows): int64 (n_rows,)."""
    draws = np.random.PCG64(np.random.SeedSequence(seed)).random_raw(n_rows)
    return np.argsort(draws, kind="stable").astype(np.int64)


def fixed_splits(
    n_rows: int, n_splits: int, seed: int, test_fraction: float = 0.1, validation_fraction: float = 0.0
) -> tuple[Split, ...]:
    """Random splits: split k tests on the last round(N * test_fraction) rows of the permutation seeded by [seed, k].

    The round(N * validation_fraction) rows before them are its validation rows. Numbers of rows are rounded as Python
    does, a half to the even number.
    """
    n_known = n_rows - round(n_rows * test_fraction)
    n_train = n_known - round(n_rows * validation_fraction)
    orders = (permutation(n_rows, [seed, split]) for split in range(n_splits))
    return tuple(Split(order[:n_train], order[n_known:], order[n_train:n_known]) for order in orders)


def held_out_splits(n_known: int, n_test: int, n_splits: int, seed: int, fraction: float = 0.1) -> tuple[Split, ...]:
    """Splits of a set with a published test part, which every one of them has: the n_test rows after the first n_known.

    Split k validates on the last round(n_known * fraction) rows of the permutation of range(n_known) seeded by
    [seed, k], and trains on the others.
    """
    n_train = n_known - round(n_known * fraction)
    orders = (permutation(n_known, [seed, split]) for split in range(n_splits))
    test = np.arange(n_known, n_known + n_test)
    return tuple(Split(order[:n_train], test, order[n_train:]) for order in orders)


def folds(n_rows: int, n_folds: int, seed: int) -> list[np.ndarray]:
    """Partition range(n_rows) at random into folds for cross-validation.

    n_rows: number of rows, at least n_folds.
    n_folds: number of folds, at least 2.
    seed: non-negative integer.

    Returns n_folds int64 arrays; sizes differ by at most one, and the first n_rows % n_folds folds have the extra
    row. Raises ValueError for numbers out of range and TypeError for numbers that are not integers.
    """
    n_rows, n_folds, seed = operator.index(n_rows), operator.index(n_folds), operator.index(seed)
    if n_folds < 2:
        raise ValueError(f"cross-validation needs at least 2 folds, got n_folds={n_folds}")
    if n_rows < n_folds:
        raise ValueError(f"every fold needs a row, got n_rows={n_rows} for n_folds={n_folds}")
    if seed < 0:
        raise ValueError(f"the seed must not be negative, got seed={seed}")
    return np.array_split(permutation(n_rows, seed), n_folds)
