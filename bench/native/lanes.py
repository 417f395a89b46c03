"""Arrays of replicas in blocks: for each block and each number, the numbers of all replicas of the block."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.bench.native.layouts import ALIGNMENT


@dataclass(frozen=True)
class Lanes:
    """The blocks of R replicas. Lanes of the last block that have no replica of their own repeat the last replica.

    Attributes:
        width: replicas in a block.
        n_replicas: R.
        slack: numbers after those of each block, of any value.
    """

    width: int
    n_replicas: int
    slack: int = 0

    @property
    def n_blocks(self) -> int:
        """Blocks that hold all replicas."""
        return -(-self.n_replicas // self.width)

    def spread(self, leaf: Tensor) -> np.ndarray:
        """Return a tensor (R, ...) in blocks, (blocks, numbers + slack, width); true is -1."""
        flat = leaf.detach().reshape(self.n_replicas, leaf[0].numel())
        if flat.dtype == torch.bool:
            flat = -flat.to(torch.int32)
        missing = self.n_blocks * self.width - self.n_replicas
        padded = torch.cat([flat, flat[-1:].expand(missing, -1)])
        blocks = padded.reshape(self.n_blocks, self.width, flat.shape[1]).transpose(1, 2).numpy()
        spread = aligned((self.n_blocks, flat.shape[1] + self.slack, self.width), blocks.dtype)
        spread[:, : flat.shape[1]] = blocks
        spread[:, flat.shape[1] :] = 0
        return spread

    def joined(self, spread: np.ndarray) -> np.ndarray:
        """Return an array in blocks as one of replicas, (R, numbers)."""
        numbers = spread[:, : spread.shape[1] - self.slack]
        flat = numbers.transpose(0, 2, 1).reshape(self.n_blocks * self.width, numbers.shape[1])
        return np.ascontiguousarray(flat[: self.n_replicas])


def aligned(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Return an array without values, whose memory starts where SIMD values may."""
    size = prod(shape) * dtype.itemsize
    memory = np.empty(size + ALIGNMENT, dtype=np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def address(array: np.ndarray) -> ctypes.c_void_p:
    """Return a pointer to an array's first number."""
    return ctypes.c_void_p(array.ctypes.data)


def addresses(arrays: Sequence[np.ndarray]) -> ctypes.Array[ctypes.c_void_p]:
    """Return an array of pointers to the first numbers of arrays."""
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
