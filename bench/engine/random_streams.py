"""Random numbers for the replicas of a stack, each from its own generator."""

from collections.abc import Sequence

import torch
from torch import Tensor

# Numbers drawn by one call per replica. The size of a block depends on the method alone: how a generator's output is
# cut into calls changes the numbers, and a replica's numbers must not depend on its neighbours.
BLOCK_NUMBERS = 1 << 15
MAX_BLOCK_STEPS = 16


class RandomStream:
    """Endless sequence of noise (R, T): at each step T standard normal numbers for each of R replicas.

    Args:
        seeds: one per replica.
        length: T, numbers per step; may be 0.
        dtype: of the numbers.
        device: where the numbers are drawn. A CPU and a GPU draw different numbers from the same seed.
    """

    def __init__(self, seeds: Sequence[int], length: int, dtype: torch.dtype, device: torch.device):
        self._generators = [torch.Generator(device=device).manual_seed(seed) for seed in seeds]
        steps = max(1, min(MAX_BLOCK_STEPS, BLOCK_NUMBERS // max(length, 1)))
        self._block = torch.empty(len(seeds), steps, length, dtype=dtype, device=device)
        self._next = steps

    def __next__(self) -> Tensor:
        if self._next == self._block.shape[1]:
            # New memory, because a method may keep a view of its noise in its state.
            self._block = torch.empty_like(self._block)
            if self._block.shape[2]:
                for numbers, generator in zip(self._block, self._generators, strict=True):
                    torch.randn(
                        numbers.shape, generator=generator, dtype=numbers.dtype, device=numbers.device, out=numbers
                    )
            self._next = 0
        self._next += 1
        return self._block[:, self._next - 1]
