"""The two memory layouts: the lanes of a SIMD value hold different replicas, or neighbouring numbers of one replica."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch

from lockstep_bench.bench.native.operators import BYTES, C_TYPES, LANES
from lockstep_bench.bench.native.values import Shape, Value, View

SLACK = 32  # numbers after an array of one replica, see `include/within.hpp`
ALIGNMENT = 128  # bytes, of the longest SIMD value


@dataclass(frozen=True)
class Layout:
    """Memory layout of the replicas' numbers.

    Attributes:
        across: True if the lanes hold the same number of different replicas, False if they hold neighbouring numbers
            of one replica.
        lanes: number of lanes in a single-precision SIMD value, W in C++.
    """

    across: bool
    lanes: int

    @property
    def slack(self) -> int:
        """Number of unused elements after each array of a block, which loops may read or write."""
        return 0 if self.across else SLACK

    @property
    def scale(self) -> str:
        """C++ expression of the number of replicas in a block, `W` or `1`. Sizes in memory count for one replica."""
        return "W" if self.across else "1"

    def type_of(self, dtype: torch.dtype) -> str:
        """Return the C++ type of an array element in memory."""
        return LANES[dtype] if self.across else C_TYPES[dtype]

    def bytes_of(self, value: Value) -> int:
        """Return the size of a value in bytes, divided by `scale`."""
        size = (value.size + self.slack) * BYTES[LANES[value.dtype]]
        return size if self.across else -(-size // ALIGNMENT) * ALIGNMENT

    def axis(self, domain: Shape, views: Sequence[View], sums: Sequence[tuple[int, ...]]) -> int | None:
        """Return the loop axis along which the lanes lie in the layout of one replica: the fastest one.

        An axis over which the nest reduces is chosen only if every reduction is over all axes. The lanes are then added
        one after the other, in the order of the loop.

        The result is None in the other layout, and where the nest reduces over all axes and has neighbours apart.

        Args:
            domain: lengths of the loops of the nest.
            views: windows that the nest reads and writes, expanded to the shape `domain`.
            sums: axes of each reduction of the nest.
        """
        if self.across:
            return None
        summed = {axis for axes in sums for axis in axes}
        if domain and all(len(axes) == len(domain) for axes in sums) and sums:
            last = len(domain) - 1
            return last if all(view.strides[last] in (0, 1) for view in views) else None
        costs = {}
        for axis, size in enumerate(domain):
            if axis not in summed:
                lane_by_lane = sum(view.strides[axis] not in (0, 1) for view in views)
                steps = -(-size // self.lanes) * len(views) + size * lane_by_lane
                costs[axis] = steps * prod(domain[:axis] + domain[axis + 1 :])
        return min(costs, key=lambda axis: (costs[axis], -axis)) if costs else None
