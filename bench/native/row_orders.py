"""Random permutations of rows, equal to those of NumPy's `Generator.permuted`, in a fifth of its time."""

import ctypes
from functools import cache

import numpy as np

from lockstep_bench.bench.native.compiler import NoCompiler
from lockstep_bench.bench.native.lanes import address
from lockstep_bench.bench.native.libraries import compiled

SOURCE = """\
#include "orders.hpp"

extern "C" void shuffle_each(int64_t *rows, int64_t count, int64_t length, uint64_t *numbers) {
    Pcg64 generator;
    generator.state = (unsigned __int128)numbers[0] << 64 | numbers[1];
    generator.increment = (unsigned __int128)numbers[2] << 64 | numbers[3];
    generator.has_kept = numbers[4];
    generator.kept = uint32_t(numbers[5]);
    for (int64_t order = 0; order < count; order++) shuffle(generator, rows + order * length, length);
    numbers[0] = uint64_t(generator.state >> 64);
    numbers[1] = uint64_t(generator.state);
    numbers[4] = generator.has_kept;
    numbers[5] = generator.kept;
}
"""
MOST_ROWS = 1 << 32  # of an order; the numbers that are drawn have 32 bits


class RowOrders:
    """Draws random permutations of rows.

    Args:
        seed: seed of NumPy's generator PCG64.
    """

    def __init__(self, seed: int):
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def draw(self, rows: np.ndarray, count: int) -> np.ndarray:
        """Return `count` random permutations of the rows (N,): (count, N)."""
        library = _library()
        if library is None or len(rows) >= MOST_ROWS:
            return self._generator.permuted(np.broadcast_to(rows, (count, len(rows))), axis=1)
        orders = np.tile(np.asarray(rows, dtype=np.int64), (count, 1))
        bits = self._generator.bit_generator
        before = bits.state
        state, increment = before["state"]["state"], before["state"]["inc"]
        numbers = np.array([*_halves(state), *_halves(increment), before["has_uint32"], before["uinteger"]], np.uint64)
        library.shuffle_each(address(orders), *map(ctypes.c_int64, orders.shape), address(numbers))
        high, low, _, _, kept, number = numbers.tolist()
        now = {"state": high << 64 | low, "inc": increment}
        bits.state = {**before, "state": now, "has_uint32": kept, "uinteger": number}
        return orders


def _halves(number: int) -> tuple[int, int]:
    return number >> 64, number & (1 << 64) - 1


@cache
def _library() -> ctypes.CDLL | None:
    try:
        return compiled(SOURCE)
    except NoCompiler:
        return None
