"""The two memory layouts: the lanes of a SIMD value hold different replicas, or neighbouring numbers of one replica."""

from collections.abc import Collection, Sequence
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

    def axis(self, domain: Shape, views: Sequence[View], summed: Collection[int]) -> int | None:
        """Return the loop axis along which the lanes lie in the layout of one replica: the fastest one.

        The result is None in the other layout, and if the nest reduces over all axes.

        Args:
            domain: lengths of the loops of the nest.
            views: windows that the nest reads and writes, expanded to the shape `domain`.
            summed: axes over which the nest reduces. They are not chosen, because sums over lanes would add the terms
                in another order.
        """
        if self.across:
            return None
        costs = {}
        for axis, size in enumerate(domain):
            if axis not in summed:
                lane_by_lane = sum(view.strides[axis] not in (0, 1) for view in views)
                steps = -(-size // self.lanes) * len(views) + size * lane_by_lane
                costs[axis] = steps * prod(domain[:axis] + domain[axis + 1 :])
        return min(costs, key=lambda axis: (costs[axis], -axis)) if costs else None
