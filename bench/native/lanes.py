"""Arrays in which the replicas of a block are interleaved: index (block, number, replica in the block).

The same number of all replicas in a block is then contiguous in memory, so that one SIMD instruction reads it.
"""

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
    """Division of R replicas into blocks of equal size; the last block is filled up with copies of the last replica.

    Attributes:
        width: number of replicas in a block.
        n_replicas: R, number of replicas.
        slack: number of unused elements at the end of each block, which loops may read or write.
    """

    width: int
    n_replicas: int
    slack: int = 0

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_replicas // self.width)

    def spread(self, leaf: Tensor) -> np.ndarray:
        """Return a tensor (R, ...) as an array (blocks, elements + slack, width); True becomes -1."""
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
        """Return an array (blocks, elements + slack, width) as one with a row per replica, (R, elements)."""
        numbers = spread[:, : spread.shape[1] - self.slack]
        flat = numbers.transpose(0, 2, 1).reshape(self.n_blocks * self.width, numbers.shape[1])
        return np.ascontiguousarray(flat[: self.n_replicas])


def aligned(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Return an uninitialised array whose memory is aligned for SIMD instructions."""
    size = prod(shape) * dtype.itemsize
    memory = np.empty(size + ALIGNMENT, dtype=np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def address(array: np.ndarray) -> ctypes.c_void_p:
    """Return a pointer to the first element of an array."""
    return ctypes.c_void_p(array.ctypes.data)


def addresses(arrays: Sequence[np.ndarray]) -> ctypes.Array[ctypes.c_void_p]:
    """Return a C array of pointers to the first element of each array."""
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
