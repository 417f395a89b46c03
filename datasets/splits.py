"""Random splits and folds of sets whose publishers fixed none.

Every rule starts from one permutation of range(N): the order that sorts N raw 64-bit draws of PCG64. numpy guarantees
that stream for a given seed; `Generator.permutation` may change between versions.
"""

import operator
from collections.abc import Sequence

import numpy as np

from datasets.records import Split


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
        test_fraction: share of the rows in the test part.
        validation_fraction: share of the rows in the validation part.
    """
    n_known = n_rows - round(n_rows * test_fraction)
    n_train = n_known - round(n_rows * validation_fraction)
    orders = (permutation(n_rows, [seed, split]) for split in range(n_splits))
    return tuple(Split(order[:n_train], order[n_known:], order[n_train:n_known]) for order in orders)


def held_out_splits(n_known: int, n_test: int, n_splits: int, seed: int, fraction: float = 0.1) -> tuple[Split, ...]:
    """Return splits of a set with a published test part: all share that test part and differ in the validation rows.

    Split k validates on the last round(n_known * fraction) rows of the permutation of range(n_known) seeded by
    [seed, k], and trains on the others.

    Args:
        n_known: number of rows outside the test part, which come first.
        n_test: number of test rows, which follow them.
        n_splits: number of splits.
        seed: non-negative integer.
        fraction: share of the n_known rows in the validation part.
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
    n_rows, n_folds, seed = operator.index(n_rows), operator.index(n_folds), operator.index(seed)
    if n_folds < 2:
        raise ValueError(f"cross-validation needs at least 2 folds, got n_folds={n_folds}")
    if n_rows < n_folds:
        raise ValueError(f"every fold needs a row, got n_rows={n_rows} for n_folds={n_folds}")
    if seed < 0:
        raise ValueError(f"the seed must not be negative, got seed={seed}")
    return np.array_split(permutation(n_rows, seed), n_folds)
