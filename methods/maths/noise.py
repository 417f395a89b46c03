"""Random numbers for methods: a stream of standard normal draws, sliced in the order in which a method asks for them.

Fits that are trained together form a stack. At each step, every fit gets draws from its own generator. A fit's
randomness therefore depends only on its seed: not on the other fits, and not on torch's global generator.
"""

import math

import torch
from torch import Tensor


class Noise:
    """Random numbers taken from a vector of draws made beforehand; each draw is used once.

    Args:
        draws: (T,), independent N(0, 1) draws.
    """

    def __init__(self, draws: Tensor):
        self._draws = draws
        self._used = 0

    @property
    def used(self) -> int:
        """The number of draws used so far."""
        return self._used

    def normal(self, *shape: int) -> Tensor:
        """Return independent N(0, 1) numbers of the given shape.

        Raises:
            RuntimeError: if fewer draws are left than the shape needs.
        """
        end = self._used + math.prod(shape)
        if end > self._draws.shape[-1]:
            raise RuntimeError(
                f"a step has {self._draws.shape[-1]} random numbers, as many as the first step of its phase used, and "
                f"the method asks for {end}: every step of a phase must use equally many"
            )
        sliced = self._draws[self._used : end]
        self._used = end
        return sliced.reshape(shape)

    def uniform(self, *shape: int) -> Tensor:
        """Return independent U(0, 1) numbers of the given shape, computed as Phi(z) from standard normal draws z."""
        probabilities: Tensor = torch.special.ndtr(self.normal(*shape))
        return probabilities


class LiveNoise(Noise):
    """Random numbers drawn on demand, for large networks, where draws for a whole step would not fit into memory.

    Args:
        generator: source of the draws; its device is the numbers' device.
        dtype: type of the numbers.
    """

    def __init__(self, generator: torch.Generator, dtype: torch.dtype):
        self._used = 0
        self._generator = generator
        self._dtype = dtype

    def normal(self, *shape: int) -> Tensor:
        self._used += math.prod(shape)
        return torch.randn(shape, generator=self._generator, dtype=self._dtype, device=self._generator.device)


class NoiseGauge(LiveNoise):
    """A source of unlimited draws that counts, in `used`, how many of them a method needs for one step."""

    def __init__(self, dtype: torch.dtype, device: torch.device | str = "cpu"):
        super().__init__(torch.Generator(device=device).manual_seed(0), dtype)
