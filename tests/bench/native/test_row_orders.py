"""Random orders of rows equal NumPy's, with and without a compiler."""

import numpy as np
import pytest

from lockstep_bench.bench.native import row_orders
from lockstep_bench.bench.native.row_orders import RowOrders

TAKEN = [(1, 3), (2, 40), (0, 5), (3, 1), (4, 700)]  # updates, rows per update


def expected(rows: np.ndarray, seed: int) -> np.ndarray:
    """Return the first 3,000 rows or more of the sequence that NumPy draws."""
    generator, count = np.random.Generator(np.random.PCG64(seed)), -(-3000 // len(rows))
    return generator.permuted(np.broadcast_to(rows, (count, len(rows))), axis=1).ravel()


@pytest.mark.parametrize("compiler", [True, False])
def test_row_permutations_equal_numpy(compiler, monkeypatch):
    if not compiler:
        monkeypatch.setattr(row_orders, "_library", lambda: None)
    sizes = [1, 2, 3, 64, 65, 1000]  # an odd number of 32-bit numbers may be left over from order to order
    rows = [np.random.default_rng(1).integers(0, 10**12, size) for size in sizes]
    orders = RowOrders(rows, range(len(sizes)))
    parts = [orders.take(*taken) for taken in TAKEN]
    assert [part.shape for part in parts] == [(updates, len(sizes), length) for updates, length in TAKEN]
    for number, each in enumerate(rows):
        sequence = np.concatenate([part[:, number].ravel() for part in parts])
        np.testing.assert_array_equal(sequence, expected(each, number)[: len(sequence)])
