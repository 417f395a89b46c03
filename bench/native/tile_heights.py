"""Heights of row tiles (`bench.native.row_tiles`): how many rows of a minibatch are computed at a time.

The height changes no bit of a result, only where intermediate values lie: in the L1 cache, in the L2 cache or beyond.
"""

from collections.abc import Sequence
from itertools import product
from math import ceil

CACHED_BYTES = 1 << 15  # of the rows of a tile of one replica
# Where the lanes are replicas: of the rows of a tile in the L1 and in the L2 cache, where about a third of its values
# are in use at a time; and the most of all other numbers that its nests use, such as weights and their gradients.
NEAR_BYTES, FAR_BYTES, MOST_BYTES_AROUND = 1 << 17, 1 << 20, 1 << 20
PIECE = 32  # most terms of a sum that are added to the others together, as in `include/linalg.hpp`


def height_of_one(n_rows: int, bytes_of_row: int, sums: Sequence[tuple[int, int, int]], lanes: int) -> int:
    """Return the rows of a tile of one replica: a multiple of what a sum adds together, or as many as are cached.

    Args:
        n_rows: number of rows in the minibatch.
        bytes_of_row: bytes of a row of all values that only a tile uses.
        sums: sizes (rows, inner, columns) of the matrix products that sum over rows.
        lanes: number of single-precision numbers in a register.
    """
    most = max(1, CACHED_BYTES // bytes_of_row)
    registers = 32 if lanes == 16 else 16
    pieces = {depth_of(*sizes, registers) for sizes in sums}
    if pieces - {n_rows}:
        piece = min(pieces)
        return piece * max(1, most // piece)
    return _divisor(n_rows, most)


def height_across(n_rows: int, bytes_of_row: int, around: int) -> int:
    """Return the rows of a tile of replicas that fill the lanes.

    Args:
        n_rows: number of rows in the minibatch.
        bytes_of_row: bytes of a row of all values that only a tile uses, of all these replicas.
        around: bytes of the other numbers that every tile uses, such as weights and their gradients.
    """
    near, far = max(1, NEAR_BYTES // bytes_of_row), max(1, FAR_BYTES // bytes_of_row)
    # Every tile reads the other numbers from the L2 cache; a tall one its own, too.
    return _divisor(n_rows, near if around / near <= around / far + bytes_of_row else far)


def _divisor(n_rows: int, most: int) -> int:
    """Return the greatest divisor of `n_rows` from half of `most` to `most`; `most` if there is none."""
    return next((height for height in range(most, most // 2, -1) if n_rows % height == 0), most)


def depth_of(rows: int, inner: int, columns: int, registers: int) -> int:
    """Return how many terms of an inner product are summed before the sum is added to the result.

    The function equals `linalg::depth_of` in C++.
    """
    best, least = (rows, columns), 1 << 30
    for height, width in product(range(1, min(rows, registers - 1) + 1), range(1, min(columns, registers - 1) + 1)):
        if height * width + min(height, width) + 1 > registers:
            continue
        down, across = ceil(rows / height), ceil(columns / width)
        products = max(rows * columns, 8 * down * across)
        cost = 4 * products + down * columns + across * rows + 8 * down * across
        if cost < least:
            best, least = (down, across), cost
    return ceil(inner / ceil(inner / PIECE)) if min(best) > 1 else inner
