"""Which numbers share a SIMD value: those of different replicas, or neighbours of one replica."""

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
    """Arrangement of the numbers of replicas in memory.

    Attributes:
        across: whether each lane holds another replica. Otherwise each lane holds another number of one replica.
        lanes: number of lanes of a single-precision SIMD value, W in C++.
    """

    across: bool
    lanes: int

    @property
    def slack(self) -> int:
        """Numbers after the array of a block that are read, or written, but not used."""
        return 0 if self.across else SLACK

    @property
    def scale(self) -> str:
        """C++ factor of all sizes in memory."""
        return "W" if self.across else "1"

    def type_of(self, dtype: torch.dtype) -> str:
        """Return the C++ type of a number in memory."""
        return LANES[dtype] if self.across else C_TYPES[dtype]

    def bytes_of(self, value: Value) -> int:
        """Return the bytes of a value, divided by `scale`."""
        size = (value.size + self.slack) * BYTES[LANES[value.dtype]]
        return size if self.across else -(-size // ALIGNMENT) * ALIGNMENT

    def axis(self, domain: Shape, views: Sequence[View], summed: Collection[int]) -> int | None:
        """Return the axis of a nest along which the lanes of one replica lie: that which takes the fewest steps.

        Args:
            domain: lengths of the loops.
            views: windows that the nest reads and writes, of the domain's shape.
            summed: axes over which the nest reduces. A sum over lanes would have another order, so it is none of them.
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
