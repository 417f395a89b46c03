"""Random orders of rows equal NumPy's, with and without a compiler."""

import numpy as np
import pytest

from lockstep_bench.bench.native import row_orders
from lockstep_bench.bench.native.row_orders import RowOrders


@pytest.mark.parametrize("n_rows", [1, 2, 3, 64, 65, 1000])
def test_row_permutations_equal_numpy(n_rows):
    rows = np.random.default_rng(1).integers(0, 10**12, n_rows)
    orders, generator = RowOrders(5), np.random.Generator(np.random.PCG64(5))
    for count in (1, 3, 0, 2):  # an odd number of 32-bit numbers may be left over from call to call
        expected = generator.permuted(np.broadcast_to(rows, (count, n_rows)), axis=1)
        np.testing.assert_array_equal(orders.draw(rows, count), expected)


def test_row_permutations_are_equal_without_a_compiler(monkeypatch):
    rows = np.arange(50)
    expected = RowOrders(7).draw(rows, 4)
    monkeypatch.setattr(row_orders, "_library", lambda: None)
    np.testing.assert_array_equal(RowOrders(7).draw(rows, 4), expected)
