"""Random permutations of the rows of all replicas, equal to those of NumPy's `Generator.permuted`."""

import ctypes
from collections.abc import Sequence
from functools import cache

import numpy as np

from lockstep_bench.bench.native.compiler import NoCompiler
from lockstep_bench.bench.native.lanes import address, addresses
from lockstep_bench.bench.native.libraries import compiled

SOURCE = """\
#include "orders.hpp"

extern "C" void take_rows(int64_t n_streams, int64_t n_updates, int64_t length, const int64_t *const *rows,
                          const int64_t *n_rows, int64_t *const *orders, int64_t *used, uint64_t *numbers,
                          int64_t *taken) {
    for (int64_t stream = 0; stream < n_streams; stream++) {
        Pcg64 generator = Pcg64::of(numbers + 6 * stream);
        for (int64_t update = 0; update < n_updates; update++)
            take(generator, rows[stream], n_rows[stream], orders[stream], used[stream],
                 taken + (update * n_streams + stream) * length, length);
        generator.store(numbers + 6 * stream);
    }
}
"""
MOST_ROWS = 1 << 32  # of an order; the numbers that are drawn have 32 bits


class RowOrders:
    """Endless sequences of rows, one for each replica: one random permutation of its rows after another.

    Args:
        rows: for each of R replicas its rows, (N,).
        seeds: for each replica the seed of NumPy's generator PCG64.
    """

    def __init__(self, rows: Sequence[np.ndarray], seeds: Sequence[int]):
        self._rows = [np.ascontiguousarray(each, dtype=np.int64) for each in rows]
        self._orders = [np.empty_like(each) for each in self._rows]  # the present permutation
        self._n_rows = np.array([len(each) for each in self._rows])
        self._used = self._n_rows.copy()  # rows of the present permutation
        self._generators = [np.random.Generator(np.random.PCG64(seed)) for seed in seeds]
        self._library = _library() if self._n_rows.max() < MOST_ROWS else None
        if self._library:
            self._numbers = np.array([_numbers(generator) for generator in self._generators], dtype=np.uint64)
            self._addresses = addresses(self._rows), addresses(self._orders)

    def take(self, n_updates: int, length: int) -> np.ndarray:
        """Return the next rows of each sequence, (`n_updates`, R, `length`).

        The sequences do not depend on how many rows each call takes.
        """
        taken = np.empty((n_updates, len(self._rows), length), dtype=np.int64)
        if self._library is None:
            for number in range(len(self._rows)):
                taken[:, number] = self._take_one(number, n_updates * length).reshape(n_updates, length)
            return taken
        rows, orders = self._addresses
        sizes = map(ctypes.c_int64, (len(self._rows), n_updates, length))
        arrays = (address(self._n_rows), orders, *map(address, (self._used, self._numbers, taken)))
        self._library.take_rows(*sizes, rows, *arrays)
        return taken

    def _take_one(self, number: int, count: int) -> np.ndarray:
        """Return the next `count` rows of one sequence, without a compiled library."""
        order, used = self._orders[number], self._used[number]
        n_new = max(0, -(-(count - len(order) + used) // len(order)))
        new = self._generators[number].permuted(np.broadcast_to(self._rows[number], (n_new, len(order))), axis=1)
        sequence = np.concatenate([order[used:], new.ravel()])
        if n_new:
            order[:] = new[-1]
        self._used[number] = len(order) - (len(sequence) - count)
        return sequence[:count]


def _numbers(generator: np.random.Generator) -> list[int]:
    """Return the state of a generator as 64-bit numbers, in the order that `Pcg64::of` reads."""
    bits = generator.bit_generator.state
    state, increment = bits["state"]["state"], bits["state"]["inc"]
    return [*_halves(state), *_halves(increment), bits["has_uint32"], bits["uinteger"]]


def _halves(number: int) -> tuple[int, int]:
    return number >> 64, number & (1 << 64) - 1


@cache
def _library() -> ctypes.CDLL | None:
    try:
        return compiled(SOURCE)
    except NoCompiler:
        return None
