"""Noise tapes for the rows of a stack, each from its own generator."""

import torch
from torch import Tensor

# Numbers drawn in one go per row. The block length follows from the method's appetite alone, because how a
# generator's output is cut into calls changes the numbers, and a row must not feel its neighbours.
BLOCK_NUMBERS = 1 << 15
MAX_BLOCK_STEPS = 16


class TapeRecorder:
    """Deals tapes (R, T): for each of R rows T standard normal numbers from that row's generator.

    Args:
        seeds: one per row.
        length: T, numbers per step; may be 0.
        dtype: of the numbers.
        device: where they are drawn; a CPU and a GPU draw different numbers from the same seed.
    """

    def __init__(self, seeds: list[int], length: int, dtype: torch.dtype, device: torch.device):
        self._generators = [torch.Generator(device=device).manual_seed(seed) for seed in seeds]
        steps = max(1, min(MAX_BLOCK_STEPS, BLOCK_NUMBERS // max(length, 1)))
        self._block = torch.empty(len(seeds), steps, length, dtype=dtype, device=device)
        self._next = steps

    def __next__(self) -> Tensor:
        if self._next == self._block.shape[1]:
            # New memory, because a method may keep a piece of a tape in its state.
            self._block = torch.empty_like(self._block)
            if self._block.shape[2]:
                for row, generator in zip(self._block, self._generators, strict=True):
                    torch.randn(row.shape, generator=generator, dtype=row.dtype, device=row.device, out=row)
            self._next = 0
        self._next += 1
        return self._block[:, self._next - 1]
